// Memory of the user's as slabs of a Program: found, named, and looked up by address while a graph is lowered.
#pragma once
#include <vector>

#include "graph/fuse.h"
#include "graph/graph.h"
#include "graph/memory.h"
#include "ingot/graph/program.h"

namespace ingot::graph {

class BoundSlabs {
 public:
  /// Finds the tensors of the user's that the groups read or write and makes slabs of them, named after the tensors and
  /// roles of `options`.
  void collect(const Graph& graph, const std::vector<Group>& groups, const PlanOptions& options, Program& program,
               Memory& memory);
  /// Where one of them is.
  Operand operand(const Tensor& tensor) const;

 private:
  int find(const std::byte* address) const;
  std::vector<const std::byte*> bases_;  // ascending
};

/// What slabs of a role are called if no name of the user's fits.
const char* role_name(Role role);

}  // namespace ingot::graph
