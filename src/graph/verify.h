// Checks of our own work between the passes: what a graph must be, whatever was made of it.
#pragma once
#include <atomic>
#include <string_view>

#include "graph/graph.h"

namespace ingot::graph {

/// Check after every pass? On in debug builds; tests turn it on.
extern std::atomic<bool> verify_plans;

/// Throws an Error of kind kInternal that names `after` (a pass) and the fault: shapes and types that are not what the
/// ops' shape rules say, edges that do not lead to live, earlier nodes, stores that do not fit or could change places
/// with what touches the same memory.
void verify(const Graph& graph, std::string_view after);

}  // namespace ingot::graph
