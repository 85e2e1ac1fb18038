// Single nodes where others and the conformance data leave room for mistakes: planned and op by op.
#include <gtest/gtest.h>

#include <cmath>

#include "ingot/nn/train_step.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/exchange/onnx_parts.h"

namespace ingot::onnx {
namespace {

struct In {
  Type type;
  Tensor tensor;
  bool known = false;  // a constant of the model
};
In real(const Tensor& t) { return {Type::kFloat, t}; }
In known(const std::vector<float>& values) { return {Type::kFloat, Tensor::from(values), true}; }
In known(const std::vector<int64_t>& values) { return {Type::kInt64, Tensor::from(values), true}; }
In known(int64_t value) { return {Type::kInt64, Tensor::from<int64_t>({value}, {}), true}; }

// The results of a node, op by op; its plan gives the same.
std::vector<Tensor> made(const std::string& op, const std::vector<In>& inputs,
                         const std::vector<FieldWriter>& attributes = {}, int64_t opset = 13, size_t results = 1) {
  Parts p;
  Names in, out;
  std::vector<Tensor> given;
  std::vector<const Tensor*> list;
  for (const In& i : inputs) {
    in.push_back(i.tensor.defined() ? "x" + std::to_string(in.size()) : "");
    if (!i.tensor.defined()) continue;
    if (i.known)
      p.initializers.push_back(tensor_message(in.back(), i.type, i.tensor));
    else
      p.inputs.push_back(info(in.back(), i.type, {i.tensor.shape().begin(), i.tensor.shape().end()}));
    if (!i.known) given.push_back(i.tensor);
  }
  for (size_t i = 0; i < results; i++) {
    FieldWriter value;
    value.text(1, out.emplace_back("y" + std::to_string(i)));
    p.outputs.push_back(value);
  }
  p.nodes = {node(op, in, out, attributes)};
  Model model = read(p.bytes(opset));
  list.reserve(given.size());
  for (const Tensor& t : given) list.push_back(&t);
  std::vector<Tensor> plain;
  for (const NamedTensor& t : model.forward(given)) plain.push_back(t.tensor);
  Session session(model);
  const auto planned = session.run(list);
  for (size_t i = 0; i < plain.size(); i++) {
    EXPECT_EQ(planned[i].shape(), plain[i].shape());
    const auto a = to(planned[i], kF64).to_vector<double>(), b = to(plain[i], kF64).to_vector<double>();
    for (size_t k = 0; k < a.size(); k++) EXPECT_TRUE(a[k] == b[k] || std::isnan(b[k])) << op << " " << k;
  }
  return plain;
}
std::vector<float> reals(const std::string& op, const std::vector<In>& inputs,
                         const std::vector<FieldWriter>& attributes = {}, int64_t opset = 13) {
  return made(op, inputs, attributes, opset)[0].to_vector<float>();
}
using Reals = std::vector<float>;
using Integers = std::vector<int64_t>;

TEST(OnnxNode, ReductionsOfAScalarAreNoIdentity) {
  const In x = real(full({}, -3));
  EXPECT_EQ(reals("ReduceSum", {x}), Reals{-3});
  EXPECT_EQ(reals("ReduceL1", {x}), Reals{3});
  EXPECT_EQ(reals("ReduceL2", {x}), Reals{3});
  EXPECT_EQ(reals("ReduceSumSquare", {x}), Reals{9});
  EXPECT_FLOAT_EQ(reals("ReduceLogSum", {real(full({}, 5))})[0], std::log(5.0F));
  EXPECT_EQ(made("ReduceL1", {x})[0].rank(), 0);
}

TEST(OnnxNode, ResizesByPlacesInSinglePrecision) {
  const In x = real(reshape(arange(0, 10), {1, 1, 1, 10}));
  const std::vector<FieldWriter> how = {word("mode", "nearest"), word("coordinate_transformation_mode", "asymmetric"),
                                        word("nearest_mode", "floor")};
  const auto by = [&](float scale) { return reals("Resize", {x, {}, known(Reals{1, 1, 1, scale})}, how); };
  EXPECT_EQ(by(0.6F), (Reals{0, 1, 3, 5, 6, 8}));  // 3 / 0.6 is 5, and a little less in f64
  EXPECT_EQ(by(0.7F).size(), 7u);
  const auto refused = [&](const FieldWriter& a) {
    return [&] { reals("Resize", {x, {}, known(Reals{1, 1, 1, 2})}, {a}, 19); };
  };
  EXPECT_NE(error_of(refused(integer("antialias", 1))).find("antialias"), std::string::npos);
  EXPECT_NE(error_of(refused(word("keep_aspect_ratio_policy", "not_larger"))).find("keep_aspect"), std::string::npos);
  EXPECT_NE(error_of(refused(word("coordinate_transformation_mode", "half_pixel_symmetric"))).find("there are"),
            std::string::npos);
}

TEST(OnnxNode, WhatLaterOpsetsAskForIsNotIgnored) {
  const In x = real(uniform({1, 1, 5}, 1));
  EXPECT_REFUSED(made("LpPool", {x}, {integers("kernel_shape", {2}), integer("ceil_mode", 1)}, 18), "ceil_mode");
  EXPECT_REFUSED(made("Relu", {x}, {integer("leaks", 1)}, 21), "Relu of \"y0\": the attribute \"leaks\" of opset 21");
  EXPECT_EQ(made("Relu", {x}, {integer("leaks", 1)}, 13)[0].shape(), x.tensor.shape());
  const In steps = real(Tensor::from<float>({-3, 500})), scale = known(Reals{1});
  EXPECT_EQ(made("QuantizeLinear", {steps, scale}, {integer("output_dtype", 3)}, 21)[0].to_vector<int32_t>(),
            (std::vector<int32_t>{-3, 127}));
  EXPECT_REFUSED(made("QuantizeLinear", {steps, scale}, {integer("block_size", 2)}, 21), "a scale per block");
  const In signal = real(uniform({2, 3, 4, 1}, 2));
  const Tensor first = made("DFT", {signal, {}, known(1)}, {}, 20)[0], second = made("DFT", {signal}, {}, 20)[0];
  EXPECT_EQ(first.to_vector<float>(), reals("DFT", {signal}, {integer("axis", 1)}, 17));
  EXPECT_EQ(second.to_vector<float>(), reals("DFT", {signal}, {integer("axis", -2)}, 17));
  EXPECT_REFUSED(made("DFT", {signal, {}, known(-1)}, {}, 20), "the last axis");
}

TEST(OnnxNode, ExclusiveSumsHaveNoPartInWhatTheyLeaveOut) {
  const float inf = HUGE_VALF;
  const std::vector<FieldWriter> exclusive = {integer("exclusive", 1)},
                                 backwards = {integer("exclusive", 1), integer("reverse", 1)};
  EXPECT_EQ(reals("CumSum", {real(Tensor::from<float>({1, inf, 2})), known(0)}, exclusive), (Reals{0, 1, inf}));
  EXPECT_EQ(reals("CumSum", {real(Tensor::from<float>({1, inf, 2})), known(0)}, backwards), (Reals{inf, 2, 0}));
  EXPECT_EQ(reals("CumSum", {real(Tensor::from<float>({3})), known(0)}, exclusive), Reals{0});
}

TEST(OnnxNode, UnsignedIntegersWrapExactly) {
  const int64_t top = 4294967295;
  const auto u32 = [](const Integers& values) { return In{Type::kUint32, Tensor::from(values)}; };
  const auto result = [&](const char* op, const Integers& a, const Integers& b) {
    return made(op, {u32(a), u32(b)})[0].to_vector<int64_t>();
  };
  EXPECT_EQ(result("Mul", {top, top, 65536, 4000000007}, {top, 2, 65536, 3999999999}),
            (Integers{1, top - 1, 0, int64_t{4000000007UL * 3999999999UL % 4294967296UL}}));
  EXPECT_EQ(result("Add", {top, 5}, {top, 6}), (Integers{top - 1, 11}));
  EXPECT_EQ(result("Sub", {0, 7}, {1, 7}), (Integers{top, 0}));
}

TEST(OnnxNode, PlacesLieInEveryAxis) {
  const In x = real(reshape(arange(0, 6), {2, 3}));
  const auto at = [](const Integers& places, const Dims& shape) {
    return In{Type::kInt64, Tensor::from(places, shape)};
  };
  EXPECT_EQ(reals("GatherND", {x, at({0, 2, 1, -3}, {2, 2})}), (Reals{2, 3}));
  EXPECT_EQ(reals("GatherND", {x, at({1, -1}, {2, 1})}, {integer("batch_dims", 1)}), (Reals{1, 5}));
  EXPECT_REFUSED(made("GatherND", {x, at({0, 3}, {1, 2})}), "index");  // not [1, 0]
  EXPECT_REFUSED(made("GatherND", {x, at({0, 3}, {2, 1})}, {integer("batch_dims", 1)}), "index");
  EXPECT_REFUSED(made("GatherND", {x, at({}, {2, 0})}), "or empty");
  const In by = real(Tensor::from<float>({10}));
  EXPECT_EQ(reals("ScatterND", {x, at({1, 0}, {1, 2}), by}), (Reals{0, 1, 2, 10, 4, 5}));
  EXPECT_REFUSED(made("ScatterND", {x, at({0, 3}, {1, 2}), by}), "index");
  EXPECT_REFUSED(made("ScatterND", {x, at({2, 0}, {1, 2}), by}, {word("reduction", "mul")}), "outside of its axis");
}

TEST(OnnxNode, HostileSizesAreRefused) {
  const In x = real(ones({1, 2, 3, 3}));
  EXPECT_REFUSED(made("LRN", {x}, {integer("size", 2000000000)}), "1 to 4096");
  EXPECT_REFUSED(made("Resize", {real(ones({1})), {}, {}, known(Integers{2000000000})}), "an axis of 2000000000");
  const In rate{Type::kInt64, Tensor::from<int64_t>({1}, {}), true}, high{Type::kFloat, full({}, 1e30), true},
      low{Type::kFloat, full({}, -600), true};
  EXPECT_EQ(made("MelWeightMatrix", {known(3), known(8), rate, low, high}, {}, 17)[0].shape(), (Dims{5, 3}));
  EXPECT_REFUSED(made("MelWeightMatrix", {known(INT64_MAX), known(-2), rate, low, high}, {}, 17), "no bins");
  EXPECT_REFUSED(made("Split", {real(ones({3})), known(Integers{2, INT64_MAX})}, {}, 13, 2), "do not add up");
  EXPECT_REFUSED(made("Split", {real(ones({3})), known(Integers{1, 1})}, {}, 13, 2), "do not add up");
  EXPECT_REFUSED(made("Flatten", {x}, {integer("axis", 9)}), "axis 9");
  EXPECT_REFUSED(made("ConvTranspose", {x, real(ones({2, 1, 2, 2}))}, {integers("output_shape", {7})}),
                 "output_shape does not fit");
  EXPECT_REFUSED(made("Tile", {x, known(Integers{}), known(0)}, {}, 1), "repeats");
}

TEST(OnnxNode, InfinitiesOfNoSignAreNone) {
  const In x = real(Tensor::from<float>({1, HUGE_VALF, NAN}));
  const std::vector<Tensor> r = made("IsInf", {x}, {integer("detect_positive", 0), integer("detect_negative", 0)});
  EXPECT_EQ(max(to(r[0], kF32)).item<float>(), 0);
}

TEST(OnnxNode, ManyTensorsAreJoined) {
  const std::vector<In> parts(150, real(ones({1, 2})));
  EXPECT_EQ(made("Concat", parts, {integer("axis", 0)})[0].shape(), (Dims{150, 2}));
}

TEST(OnnxNode, UniqueKnowsWhatIsNoNumber) {
  const In x = real(Tensor::from<float>({NAN, 2, NAN, 1, 2}));
  const std::vector<Tensor> r = made("Unique", {x}, {}, 13, 4);
  EXPECT_EQ(r[0].at<float>({0}), 1);
  EXPECT_TRUE(std::isnan(r[0].at<float>({2})));
  EXPECT_EQ(r[2].to_vector<int64_t>(), (Integers{2, 1, 2, 0, 1}));
  EXPECT_EQ(r[3].to_vector<int64_t>(), (Integers{1, 2, 2}));
}

// In training ----------------------------------------------------------------------------------------------------------

TEST(OnnxNode, ADropoutsMaskDoesNotFollowItsInput) {
  Parts p;
  p.nodes = {node("Dropout", {"x"}, {"y", "mask"})};
  p.inputs = {info("x", Type::kFloat, {1000})};
  p.outputs = {info("y", Type::kFloat, {1000}), info("mask", Type::kBool, {1000})};
  Model model = read(p.bytes());
  model.train();
  const auto kept = [&](const Tensor& x) {
    const auto r = model.forward(std::vector<Tensor>{x});
    return std::pair(to(r[0].tensor, kF32), to(r[1].tensor, kF32));
  };
  const auto [y, mask] = kept(ones({1000}));
  EXPECT_EQ(y.to_vector<float>(), (mask * 2.0).to_vector<float>());
  const double share = mean(kept(zeros({1000})).second).item<double>();
  EXPECT_NEAR(share, 0.5, 0.1);
}

TEST(OnnxNode, ABatchNormGivesItsAveragesAsTheyAreThen) {
  Parts p;
  p.nodes = {node("BatchNormalization", {"x", "w", "b", "m", "v"}, {"y", "m2", "v2"}, {integer("training_mode", 1)})};
  p.inputs = {info("x", Type::kFloat, {4, 2})};
  p.outputs = {info("y", Type::kFloat, {4, 2}), info("m2", Type::kFloat, {2}), info("v2", Type::kFloat, {2})};
  for (const char* name : {"w", "b", "m", "v"}) p.initializers.push_back(tensor_message(name, Type::kFloat, ones({2})));
  Model model = read(p.bytes(15));
  model.train();
  const auto r = model.forward(std::vector<Tensor>{uniform({4, 2}, 1, 3, 9)});
  for (const auto& [name, got] : {std::pair("m", r[1].tensor), std::pair("v", r[2].tensor)})
    for (const NamedTensor& t : model.state_dict())
      if (t.name == name) {
        EXPECT_LT(max(abs(t.tensor - got)).item<double>(), 1e-6) << name;
        EXPECT_GT(max(abs(t.tensor - 1.0)).item<double>(), 0.01) << name;
      }
}

// Graphs inside, functions, patterns -----------------------------------------------------------------------------------

TEST(OnnxNode, BodiesGiveWhatTheOpNeeds) {
  Parts body;
  body.inputs = {info("s", Type::kFloat, {1}), info("e", Type::kFloat, {1})};
  Parts p;
  p.nodes = {node("Scan", {"x", "x"}, {"y"}, {attribute("body", 6, body.graph()), integer("num_scan_inputs", 1)})};
  p.inputs = {info("x", Type::kFloat, {2, 1})};
  p.outputs = {info("y", Type::kFloat, {2, 1})};
  Model scan = read(p.bytes());
  EXPECT_REFUSED(Session(scan).run(ones({2, 1})), "the body gives too little");
  Parts empty;
  empty.inputs = {info("i", Type::kInt64, {}), info("c", Type::kBool, {})};
  empty.outputs = {info("c", Type::kBool, {})};
  p.nodes = {node("Loop", {"n", ""}, {}, {attribute("body", 6, empty.graph())}), node("Neg", {"x"}, {"y"})};
  p.initializers = {tensor_message("n", Type::kInt64, Tensor::from<int64_t>({INT64_MAX}, {}))};
  Model loop = read(p.bytes(), {.as_written = true});
  EXPECT_REFUSED(Session(loop).run(ones({2, 1})), "is it meant to end?");
}

TEST(OnnxNode, NamesInsideAGraphAreItsOwn) {
  const auto branch = [](float w) {
    Parts b;
    b.nodes = {node("MatMul", {"x", "w"}, {"y"})};  // named like the result of the If
    b.initializers = {tensor_message("w", Type::kFloat, full({1, 1}, w))};
    b.outputs = {info("y", Type::kFloat, {1, 1})};
    return b.graph();
  };
  Parts p;
  p.nodes = {
      node("If", {"which"}, {"y"}, {attribute("then_branch", 6, branch(2)), attribute("else_branch", 6, branch(3))})};
  p.inputs = {info("x", Type::kFloat, {1, 1}), info("which", Type::kBool, {})};
  p.outputs = {info("y", Type::kFloat, {1, 1})};
  Model model = read(p.bytes());
  Session session(model);
  EXPECT_EQ(session(ones({1, 1}), full({}, 1, kBool)).item<float>(), 2);
  EXPECT_EQ(session(ones({1, 1}), full({}, 0, kBool)).item<float>(), 3);
  ASSERT_EQ(model.parameters().size(), 2u);  // each branch has a w of its own
  EXPECT_EQ(model.parameters()[1].tensor.item<float>(), 3);
}

TEST(OnnxNode, WeightsInFunctionsAreTrained) {
  FieldWriter f, version;
  version.integer(2, 13);
  f.text(1, "Layer"), f.text(4, "x"), f.text(4, "w"), f.text(5, "y"), f.text(10, "local"), f.message(9, version);
  const FieldWriter own = tensor_message("", Type::kFloat, uniform({2, 2}, 1));
  for (const FieldWriter& n : {node("Constant", {}, {"c"}, {attribute("value", 5, own)}),
                               node("MatMul", {"x", "c"}, {"h"}), node("MatMul", {"h", "w"}, {"y"})})
    f.message(7, n);
  Parts p;
  p.functions = {f};
  p.nodes = {node("Layer", {"x", "kernel"}, {"y"}, {}, "local")};
  p.inputs = {info("x", Type::kFloat, {3, 2})};
  p.outputs = {info("y", Type::kFloat, {3, 2})};
  p.initializers = {tensor_message("kernel", Type::kFloat, uniform({2, 2}, 2))};
  Model model = read(p.bytes());
  ASSERT_EQ(model.parameters().size(), 2u);
  EXPECT_EQ(model.parameters()[0].name, "kernel");
  EXPECT_EQ(model.parameters()[1].name, "c");
  model.train();
  const auto loss = [&](const Tensor& x) { return mean(square(model.forward(x) - 1.0)); };
  TrainStep step = nn::train_step(model, loss, optim::Sgd{.lr = 0.1f}, {{3, 2}});
  const Tensor x = uniform({3, 2}, 3), before = clone(model.parameters()[1].tensor);
  const float first = step(x);
  for (int i = 0; i < 20; i++) step(x);
  EXPECT_LT(step(x), first);
  EXPECT_GT(max(abs(model.parameters()[1].tensor - before)).item<double>(), 1e-4);
}

// (x - mean) / √(variance + eps) · weight + bias, as exporters take it apart.
TEST(OnnxNode, NormsWithOneWeightForAllAreNoPattern) {
  const auto number = [](const char* name, double value, const Dims& shape) {
    return tensor_message(name, Type::kFloat, full(shape, value));
  };
  const std::vector<FieldWriter> last = {integers("axes", {-1})};
  Parts p;
  p.nodes = {node("ReduceMean", {"x"}, {"m"}, last), node("Sub", {"x", "m"}, {"d"}),   node("Pow", {"d", "two"}, {"q"}),
             node("ReduceMean", {"q"}, {"v"}, last), node("Add", {"v", "eps"}, {"e"}), node("Sqrt", {"e"}, {"r"}),
             node("Div", {"d", "r"}, {"n"}),         node("Mul", {"n", "w"}, {"s"}),   node("Add", {"s", "b"}, {"y"})};
  p.inputs = {info("x", Type::kFloat, {2, 4})};
  p.outputs = {info("y", Type::kFloat, {2, 4})};
  p.initializers = {number("two", 2, {}), number("eps", 1e-5, {}), number("w", 3, {1}), number("b", 1, {1})};
  const Tensor x = uniform({2, 4}, 1);
  Model one = read(p.bytes());
  EXPECT_LT(max(abs(Session(one)(x) - (layer_norm(x, {}, {}, 1, 1e-5) * 3.0 + 1.0))).item<double>(), 1e-5);
  // A half with more axes gives the result more axes.
  p.nodes = {node("Div", {"x", "root"}, {"a"}), node("Erf", {"a"}, {"e"}), node("Add", {"e", "one"}, {"o"}),
             node("Mul", {"x", "o"}, {"g"}), node("Mul", {"g", "half"}, {"y"})};
  p.initializers = {number("root", std::sqrt(2.0), {}), number("one", 1, {}), number("half", 0.5, {1, 1, 1})};
  p.outputs = {info("y", Type::kFloat, {1, 2, 4})};
  Model gelu = read(p.bytes());
  const Tensor y = Session(gelu)(x);
  EXPECT_EQ(y.shape(), (Dims{1, 2, 4}));
  EXPECT_LT(max(abs(y - gelu_erf(x))).item<double>(), 1e-6);
}

}  // namespace
}  // namespace ingot::onnx
