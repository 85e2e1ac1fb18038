// verify(Graph) finds what is broken on purpose, and nothing in graphs that are sound.
#include "graph/verify.h"

#include <gtest/gtest.h>

#include <functional>

#include "graph/capture.h"
#include "graph/passes.h"
#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/ops/ops.h"

namespace ingot::graph {
namespace {

// Every plan that this program's tests compile is checked after every pass.
[[maybe_unused]] const bool kAlways = (verify_plans = true);

struct Sound {
  Tensor w = uniform({4, 5}, 1), state = zeros({3, 4});
  Graph graph;

  Sound() {
    const InputSpec specs[] = {InputSpec({3, 5})};
    Capture capture(specs, true);
    const Tensor x = capture.inputs()[0];
    const Tensor y = relu(linear(x, w)) + state;
    copy_into(state, y);
    const Tensor z = transpose(state) * 2.0;
    capture.finish({{"y", sum(y)}, {"z", z}, {"dw", gradients(sum(y), {w})[0]}});
    graph = std::move(capture.graph());
  }

  NodeId find(std::string_view op) const {
    for (size_t i = 0; i < graph.nodes.size(); i++)
      if (graph.nodes[i].kind == NodeKind::kOp && op == graph.nodes[i].op->name) return static_cast<NodeId>(i);
    throw Error("no node of that op");
  }
  Node& node(std::string_view op) { return graph.node(find(op)); }
  Tensor symbol(ValueId v, DType type, const Dims& shape) {
    return Tensor::symbolic(&graph, v, type, shape, contiguous_strides(shape));
  }
};

TEST(VerifyGraph, SoundGraphsPassBeforeAndAfterEveryPass) {
  Sound s;
  EXPECT_NO_THROW(verify(s.graph, "capture"));
  for (const Pass& p : passes())
    if (p.run != nullptr) {
      p.run(s.graph);
      EXPECT_NO_THROW(verify(s.graph, p.name)) << p.name;
    }
}

TEST(VerifyGraph, EveryMutationIsFound) {
  const std::pair<const char*, std::function<void(Sound&)>> mutations[] = {
      {"reads later", [](Sound& s) { s.node("relu").inputs[0] = s.graph.outputs[0].value; }},
      {"reads itself", [](Sound& s) { s.node("relu").inputs[0] = s.node("relu").first; }},
      {"reads nothing", [](Sound& s) { s.node("relu").inputs[0] = 100000; }},
      {"reads the dropped", [](Sound& s) { s.node("linear").dead = true; }},
      {"returns the dropped", [](Sound& s) { s.graph.node(s.graph.value(s.graph.outputs[1].value).node).dead = true; }},
      {"returns nothing", [](Sound& s) { s.graph.outputs[0].value = -7; }},
      {"other type",
       [](Sound& s) {
         const ValueId v = s.node("relu").first;
         s.graph.values[static_cast<size_t>(v)].symbol = s.symbol(v, kF64, {3, 4});
       }},
      {"other shape",
       [](Sound& s) {
         const ValueId v = s.node("linear").first;
         s.graph.values[static_cast<size_t>(v)].symbol = s.symbol(v, kF32, {4, 3});
       }},
      {"other strides",
       [](Sound& s) {
         const ValueId v = s.node("transpose").first;
         s.graph.values[static_cast<size_t>(v)].symbol = s.symbol(v, kF32, {4, 3});
       }},
      {"other maker", [](Sound& s) { s.graph.values[static_cast<size_t>(s.node("relu").first)].node = 0; }},
      {"other symbol",
       [](Sound& s) {
         const ValueId v = s.node("relu").first;
         s.graph.values[static_cast<size_t>(v)].symbol = s.symbol(v + 1, kF32, {3, 4});
       }},
      {"other op", [](Sound& s) { s.node("relu").op = s.node("transpose").op; }},
      {"lost an input", [](Sound& s) { s.node("linear").inputs[1] = kAbsent; }},
      {"inputs exchanged", [](Sound& s) { std::swap(s.node("linear").inputs[0], s.node("linear").inputs[1]); }},
      {"one result more", [](Sound& s) { s.node("relu").count = 2; }},
      {"stores elsewhere",
       [](Sound& s) {
         s.node("copy").stores[0] = zeros({3, 3});
       }},
      {"one store more", [](Sound& s) { s.node("copy").stores.emplace_back(); }},
      {"waits for the future", [](Sound& s) { s.node("relu").after.push_back(s.find("copy")); }},
      {"store before its read", [](Sound& s) { s.node("copy").after.clear(); }},
      {"read before the store", [](Sound& s) { s.node("multiply_scalar").after.clear(); }},
      {"bound to another",
       [](Sound& s) {
         for (Node& n : s.graph.nodes)
           if (n.kind == NodeKind::kBound) n.bound = zeros({7});
       }},
      {"inputs renumbered", [](Sound& s) { s.graph.node(s.graph.value(s.graph.inputs[0]).node).input = 4; }},
  };
  for (const auto& [name, mutate] : mutations) {
    Sound s;
    mutate(s);
    try {
      verify(s.graph, "mutation");
      ADD_FAILURE() << name << " was not found";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kInternal) << name;
      EXPECT_EQ(std::string(e.what()).find("verify: after mutation, "), 0u) << e.what();
    }
  }
}

}  // namespace
}  // namespace ingot::graph
