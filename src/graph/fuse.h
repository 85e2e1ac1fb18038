// Fusion: which nodes become one step.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace ingot::graph {

/// Nodes that run as one step, in order. At most one of them is no element-wise op: the product that the chain follows,
/// or the reduction that it feeds.
struct Group {
  std::vector<NodeId> nodes;
  NodeId product = -1;    // a matmul or linear: runs before the chain
  NodeId reduction = -1;  // last
  bool chain = false;     // element-wise nodes only, or with one of the above
};

struct FuseOptions {
  bool chains = true, products = true, reductions = true;
  int64_t* searched = nullptr;  // gets how many steps were looked at to keep them from waiting for each other
};

/// Groups of all live nodes but views, inputs and bound tensors, in an order in which they can run.
std::vector<Group> make_groups(const Graph& graph, const FuseOptions& options);

/// A product that a product record can run: two matrices, or a contiguous stack of rows and a matrix.
bool is_plain_product(const Graph& graph, const Node& node);

}  // namespace ingot::graph
