// Lowering of loops.
#pragma once
#include <cstddef>
#include <vector>

#include "graph/fuse.h"
#include "graph/loop.h"
#include "graph/lower.h"
#include "graph/passes.h"

namespace ingot::graph {

/// Runs the passes over a graph; the groups that are left to lower.
std::vector<Group> plan_groups(Graph& graph, PassRun& passes);

/// Makes a Program of the body of each loop among the groups, for `LoopOp::lowered`.
void lower_bodies(const Graph& graph, const std::vector<Group>& groups, const LowerOptions& options);

/// Bytes of scratch for a loop whose body is lowered.
size_t loop_scratch(const Graph& graph, const Node& node, int threads);

}  // namespace ingot::graph
