// The graph as it was captured, in the little that passes change: what Plan::dot(false) shows.
#pragma once
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace ingot::graph {

struct Snapshot {
  std::vector<int> starts;  // node n's inputs are inputs[starts[n]] … inputs[starts[n + 1] - 1]
  std::vector<ValueId> inputs, outputs;
  std::vector<const Op*> ops;
  std::vector<std::pair<NodeId, Tensor>> stores;  // in the order of nodes
  std::vector<std::pair<NodeId, NodeId>> after;   // a node, and one that must have run before it
  int nodes() const { return static_cast<int>(starts.size()) - 1; }
};

inline Snapshot take_snapshot(const Graph& graph) {
  Snapshot s;
  s.starts.reserve(graph.nodes.size() + 1);
  s.ops.reserve(graph.nodes.size());
  s.inputs.reserve(2 * graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    const Node& n = graph.nodes[i];
    s.starts.push_back(static_cast<int>(s.inputs.size()));
    s.ops.push_back(n.op);
    s.inputs.insert(s.inputs.end(), n.inputs.begin(), n.inputs.end());
    if (n.seed != kAbsent) s.inputs.push_back(n.seed);
    for (const NodeId before : n.after) s.after.emplace_back(static_cast<NodeId>(i), before);
    for (const Tensor& t : n.stores) s.stores.emplace_back(static_cast<NodeId>(i), t);
  }
  s.starts.push_back(static_cast<int>(s.inputs.size()));
  for (const Graph::Output& o : graph.outputs) s.outputs.push_back(o.value);
  return s;
}

}  // namespace ingot::graph
