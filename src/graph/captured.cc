#include "ingot/graph/captured.h"

#include "graph/capture.h"

namespace ingot {

Captured capture_function(const PlanFunction& fn, std::span<const InputSpec> inputs) {
  const auto graph = std::make_shared<graph::Graph>();
  {
    graph::Capture capture(inputs, true);
    capture.finish(fn(capture.inputs()));
    *graph = std::move(capture.graph());
  }
  Captured c;
  for (const graph::Node& n : graph->nodes) {
    const auto kind = n.kind == graph::NodeKind::kInput   ? Captured::Kind::kInput
                      : n.kind == graph::NodeKind::kBound ? Captured::Kind::kBound
                                                          : Captured::Kind::kOp;
    c.nodes.push_back({kind, n.op, n.attrs, n.inputs, n.first, n.count, n.bound, n.input, n.seed != graph::kAbsent,
                       n.is_store(), n.scope});
  }
  for (const graph::Value& v : graph->values) c.values.push_back({v.node, v.symbol.dtype(), v.symbol.shape()});
  for (const graph::Graph::Output& o : graph->outputs) c.outputs.emplace_back(o.name, o.value);
  c.keeper = graph;
  return c;
}

}  // namespace ingot
