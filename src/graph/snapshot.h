// The graph as it was captured, before passes rewrite it: what Plan::dot(false) shows. Values outlive the passes, so
// shapes are looked up there.
#pragma once
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace ingot::graph {

struct Snapshot {
  struct Item {
    NodeKind kind;
    bool constant;
    int input;               // kInput: which
    const Op* op;            // kOp
    std::string_view scope;  // the graph owns it
    int first_use;           // its inputs are uses[first_use] … up to the next node's
  };
  struct Use {
    NodeId node;  // that made the value
    ValueId value;
  };
  std::vector<Item> nodes;
  std::vector<Use> uses, outputs;
  std::vector<std::pair<NodeId, Tensor>> bound, stores;  // in the order of nodes
  std::vector<std::pair<NodeId, NodeId>> after;          // a node, and one that must have run before it
  std::span<const Use> uses_of(NodeId n) const {
    const auto first = static_cast<size_t>(nodes[static_cast<size_t>(n)].first_use);
    const size_t next = static_cast<size_t>(n) + 1;
    const size_t last = next < nodes.size() ? static_cast<size_t>(nodes[next].first_use) : uses.size();
    return {uses.data() + first, last - first};
  }
};

inline Snapshot take_snapshot(const Graph& graph) {
  Snapshot s;
  s.nodes.reserve(graph.nodes.size());
  s.uses.reserve(2 * graph.nodes.size());
  const auto use = [&](ValueId v) { return Snapshot::Use{graph.value(v).node, v}; };
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    const Node& n = graph.nodes[i];
    const auto id = static_cast<NodeId>(i);
    s.nodes.push_back({n.kind, n.constant, n.input, n.op, n.scope, static_cast<int>(s.uses.size())});
    for (const ValueId v : n.inputs)
      if (v != kAbsent) s.uses.push_back(use(v));
    if (n.seed != kAbsent) s.uses.push_back(use(n.seed));
    if (n.kind == NodeKind::kBound) s.bound.emplace_back(id, n.bound);
    for (const NodeId before : n.after) s.after.emplace_back(id, before);
    for (const Tensor& t : n.stores)
      if (t.defined()) s.stores.emplace_back(id, t);
  }
  for (const Graph::Output& o : graph.outputs) s.outputs.push_back(use(o.value));
  return s;
}

}  // namespace ingot::graph
