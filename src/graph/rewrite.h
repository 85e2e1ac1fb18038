// Drives the ops' own rewrite rules over a graph.
#pragma once
#include <string_view>

#include "graph/graph.h"

namespace ingot::graph {

/// Asks the rule of every live call that only makes values, in order, on behalf of a pass; returns how many changed
/// something. What a rule leaves without readers is dropped.
int apply_rules(Graph& graph, std::string_view pass);

}  // namespace ingot::graph
