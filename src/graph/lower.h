// From groups of nodes to a Program, with every value at its place.
#pragma once
#include <memory>
#include <vector>

#include "graph/fuse.h"
#include "graph/graph.h"
#include "graph/memory.h"
#include "ingot/graph/program.h"

namespace ingot::graph {

struct LowerOptions {
  bool order = true;  // groups may run in another order than the captured one
  bool in_place = true;
  int threads = 1;
  const PlanOptions& plan;
};

/// A Program, and the elements that it refers to.
struct Lowered {
  Program program;
  Memory memory;
  size_t order_saved = 0;  // bytes of the live peak
};

Lowered lower(const std::shared_ptr<const Graph>& graph, const std::vector<Group>& groups, const LowerOptions& options);

/// An Error that names the largest parts if the program needs more than `limit` bytes (0: no limit); `others` is what
/// the program itself does not know of: scratch and what kernels keep.
void check_limit(const Program& program, size_t limit, size_t others, bool at_least);

}  // namespace ingot::graph
