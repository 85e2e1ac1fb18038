// Files as others write them, and as nobody should: made here field by field.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ingot/base/memory.h"
#include "ingot/io/io.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/exchange/onnx_parts.h"
#include "tests/test_file.h"

namespace ingot::onnx {
namespace {

namespace fs = std::filesystem;
// x · w + b, its nodes in the wrong order and its weights among the inputs, as old files have them.
Parts linear_model() {
  Parts p;
  p.nodes = {node("Add", {"h", "b"}, {"y"}), node("MatMul", {"x", "w"}, {"h"})};
  p.inputs = {info("x", Type::kFloat, {-1, 2}), info("w", Type::kFloat, {2, 2}), info("b", Type::kFloat, {2})};
  p.outputs = {info("y", Type::kFloat, {-1, 2})};
  p.initializers = {tensor_message("w", Type::kFloat, Tensor::from<float>({1, 2, 3, 4}, {2, 2})),
                    tensor_message("b", Type::kFloat16, to(vector({10, 20}), kF16)),
                    tensor_message("unused", Type::kInt8, Tensor::from<int32_t>({-1}))};
  return p;
}

TEST(OnnxImport, SortsNodesAndKnowsWeightsAmongInputs) {
  Model model = read(linear_model().bytes());
  ASSERT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.inputs()[0].text(), "x: f32 [n1, 2]");
  EXPECT_EQ(model.parameter_count(), 6);
  EXPECT_EQ(Session(model)(Tensor::from<float>({1, 1, 0, 1}, {2, 2})).to_vector<float>(),
            (std::vector<float>{14, 26, 13, 24}));
  EXPECT_NE(model.describe().find("2 nodes: Add, MatMul"), std::string::npos) << model.describe();
}

TEST(OnnxImport, KeepsConstantsFromTraining) {
  EXPECT_EQ(read(linear_model().bytes(), {.constants = {"b"}}).parameters().size(), 1u);
  EXPECT_REFUSED(read(linear_model().bytes(), {.constants = {"c"}}), "there is no weight \"c\"");
  Parts p = linear_model();  // a single number is none, and neither is what a node holds
  p.initializers[1] = tensor_message("b", Type::kFloat, full({}, 3));
  EXPECT_EQ(read(p.bytes()).parameters().size(), 1u);
  p.initializers.erase(p.initializers.begin() + 1);
  p.nodes.push_back(
      node("Constant", {}, {"b"}, {attribute("value", 5, tensor_message("", Type::kFloat, vector({1, 2})))}));
  EXPECT_EQ(read(p.bytes()).parameters().size(), 1u);
}

TEST(OnnxImport, ListsAllOpsThatItDoesNotHave) {
  Parts p = linear_model();
  p.nodes.push_back(node("Frobnicate", {"h"}, {"z"}));
  p.nodes.push_back(node("Frobnicate", {"h"}, {"zz"}));
  p.nodes.push_back(node("Thing", {"h"}, {"zzz"}, {}, "com.example"));
  EXPECT_REFUSED(read(p.bytes()), "2 kinds of op that Ingot does not have: Frobnicate (2), com.example:Thing (1)");
}

TEST(OnnxImport, SaysWhatIsWrongWithInputs) {
  Model model = read(linear_model().bytes());
  Session session(model);
  EXPECT_REFUSED(session(vector({1, 2})), "input \"x\" is f32 [2] — the model takes x: f32 [n1, 2]");
  EXPECT_REFUSED(session(zeros({1, 2}, kI64)), "the model takes x: f32");
  EXPECT_REFUSED(session(zeros({1, 2}), zeros({1, 2})), "takes 1 input, 2 given");
  EXPECT_REFUSED(session(zeros({1, 3})),
                 "input \"x\" is f32 [1, 3] — the model takes x: f32 [n1, 2]: axis 1 has 3 places, not 2");
  EXPECT_REFUSED(model.forward(zeros({1, 3})), "axis 1 has 3 places, not 2");
  Parts loose = linear_model();  // where the file does not say, its ops do
  loose.inputs[0] = info("x", Type::kFloat, {-1, -2});
  Model open = read(loose.bytes());
  Session ops(open);
  EXPECT_REFUSED(ops(zeros({1, 3})), "onnx: MatMul of \"h\": matmul: ");
}

TEST(OnnxImport, ANameStandsForOneSize) {
  Parts p;
  p.nodes = {node("Add", {"x", "y"}, {"z"})};
  p.inputs = {info("x", Type::kFloat, {-1, 2}), info("y", Type::kFloat, {-1, 2})};
  p.outputs = {info("z", Type::kFloat, {-1, 2})};
  Model model = read(p.bytes());
  Session session(model);
  EXPECT_EQ(session(ones({3, 2}), ones({3, 2})).shape(), (Dims{3, 2}));
  EXPECT_EQ(session(ones({4, 2}), ones({4, 2})).shape(), (Dims{4, 2}));
  try {
    session(ones({1, 2}), ones({3, 2}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kShape);
    EXPECT_STREQ(e.what(),
                 "onnx: input \"y\" is f32 [3, 2] — the model takes y: f32 [n1, 2]: axis 0 has 3 places, not n1 = 1");
  }
}

TEST(OnnxImport, PlansPerShapeAndAllocatesNothing) {
  Model model = read(linear_model().bytes());
  Session session(model, {.plans = 2});
  const Tensor a = ones({3, 2}), b = ones({4, 2}), c = ones({5, 2});
  for (int i = 0; i < 2; i++) session.run(a), session.run(b);
  const Tensor* const list[] = {&a};
  Plan* const kept = session.plan_for(list);
  const uint64_t before = memory_stats().allocations;
  session.run(a), session.run(b);
  EXPECT_EQ(memory_stats().allocations, before);
  session.run(a), session.run(c);  // b gives way
  EXPECT_EQ(session.plan_for(list), kept);
  const Tensor* const many[] = {&a, &b, &c};
  EXPECT_REFUSED(session.plan_for(many), "takes 1 input, 3 given");
}

// A branch that a small input decides: each value has a plan of its own.
TEST(OnnxImport, AnInputThatDecidesABranchCountsLikeAShape) {
  const auto branch = [](const char* op) {
    Parts p;
    p.nodes = {node(op, {"x"}, {"r"})};
    p.outputs = {info("r", Type::kFloat, {2})};
    return p.graph();
  };
  Parts p;
  p.nodes = {node("If", {"which"}, {"y"},
                  {attribute("then_branch", 6, branch("Neg")), attribute("else_branch", 6, branch("Exp"))})};
  p.inputs = {info("x", Type::kFloat, {2}), info("which", Type::kBool, {})};
  p.outputs = {info("y", Type::kFloat, {2})};
  Model model = read(p.bytes());
  Session session(model);
  const Tensor x = vector({0, 1});
  EXPECT_EQ(session(x, full({}, 1, kBool)).to_vector<float>(), (std::vector<float>{0, -1}));
  EXPECT_EQ(session(x, full({}, 0, kBool)).at<float>({0}), 1);
  EXPECT_EQ(session.why_not_planned(), "");
  EXPECT_REFUSED(compile(
                     [&](const Tensor& a, const Tensor& b) {
                       return model.forward(std::vector<Tensor>{a, b});
                     },
                     {{2}, {{}, kBool}}),
                 "the plan must know them beforehand");
}

TEST(OnnxImport, RunsOpByOpWhereComputedElementsDecideShapes) {
  Parts p;
  p.nodes = {node("NonZero", {"x"}, {"y"})};
  p.inputs = {info("x", Type::kFloat, {-1})};
  p.outputs = {info("y", Type::kInt64, {1, -2})};
  Model model = read(p.bytes());
  Session session(model);
  const Tensor x = arange(0, 5000);  // too large to count like a shape
  EXPECT_EQ(session(x).shape(), (Dims{1, 4999}));
  EXPECT_NE(session.why_not_planned().find("NonZero of \"y\" needs the elements of input 0"), std::string::npos);
}

TEST(OnnxImport, RefusesWhatAsksForTooMuch) {
  Parts p;
  p.nodes = {node("ConstantOfShape", {"s"}, {"y"})};
  p.outputs = {info("y", Type::kFloat, {})};
  p.initializers = {tensor_message("s", Type::kInt64, Tensor::from<int64_t>({1 << 20, 1 << 20, 1 << 20}))};
  Model model = read(p.bytes());
  EXPECT_REFUSED(model.forward(std::span<const Tensor>()), "");
  Parts loop;  // without an end
  Parts body;
  body.nodes = {node("Identity", {"c"}, {"d"}), node("Identity", {"s"}, {"t"})};
  body.inputs = {info("i", Type::kInt64, {}), info("c", Type::kBool, {}), info("s", Type::kFloat, {})};
  body.outputs = {info("d", Type::kBool, {}), info("t", Type::kFloat, {})};
  loop.nodes = {node("Loop", {"", "", "x"}, {"y"}, {attribute("body", 6, body.graph())})};
  loop.inputs = {info("x", Type::kFloat, {})};
  loop.outputs = {info("y", Type::kFloat, {})};
  Model endless = read(loop.bytes());
  Session session(endless);
  EXPECT_REFUSED(session(full({}, 1)), "is it meant to end?");
}

// Hostile files ---------------------------------------------------------------------------------------------------------

TEST(OnnxFile, EveryPrefixIsReadOrRefused) {
  const std::string whole = io::read_file(test_file("goldens/onnx/mlp.onnx"));
  for (size_t n = 0; n < whole.size(); n++) {
    try {
      read(whole.substr(0, n));
    } catch (const Error& e) {
      ASSERT_TRUE(std::string(e.what()).starts_with("onnx: ")) << e.what();
    }
  }
}

TEST(OnnxFile, ChangedBytesAreReadOrRefused) {
  const std::string whole = linear_model().bytes();
  const Tensor x = ones({1, 2});
  for (size_t at = 0; at < whole.size(); at++)
    for (const int value : {0, 1, 8, 127, 128, 255}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      try {
        Model model = read(changed);
        Session(model).run(x);
      } catch (const Error&) {
      }
    }
}

// Functions f0 … that call the next one `calls` times each; the last one does nothing.
Model nested(int depth, int calls) {
  Parts p;
  for (int i = 0; i < depth; i++) {
    FieldWriter f, version;
    f.text(1, "f" + std::to_string(i)), f.text(4, "a"), f.text(5, "b"), f.text(10, "local");
    for (int k = 0; k < (i + 1 < depth ? calls : 1); k++) {
      const Names in = {k == 0 ? "a" : "t" + std::to_string(k)};
      const Names out = {k + 1 == calls || i + 1 == depth ? "b" : "t" + std::to_string(k + 1)};
      f.message(7, i + 1 < depth ? node("f" + std::to_string(i + 1), in, out, {}, "local") : node("Identity", in, out));
    }
    version.integer(2, 13), f.message(9, version);
    p.functions.push_back(f);
  }
  p.nodes = {node("f0", {"x"}, {"y"}, {}, "local")};
  p.inputs = {info("x", Type::kFloat, {1})};
  p.outputs = {info("y", Type::kFloat, {1})};
  return read(p.bytes());
}

TEST(OnnxFile, FunctionsAreRefusedForWhatTheyAre) {
  Model fits = nested(30, 1), deep = nested(40, 1), many = nested(24, 2);
  const Tensor x = ones({1});
  EXPECT_EQ(fits.forward(x).item<double>(), 1);
  EXPECT_REFUSED(deep.forward(x), "functions call each other more than 32 deep");
  EXPECT_REFUSED(many.forward(x), "the model runs more than 1,000,000 nodes, those in loops and functions counted");
}

TEST(OnnxFile, SizesAreCheckedBeforeMemoryIsTaken) {
  FieldWriter t;
  for (int i = 0; i < 3; i++) t.integer(1, 1 << 20);
  t.integer(2, 1), t.text(8, "w"), t.text(9, "1234");
  Parts p = linear_model();
  p.initializers[0] = t;
  EXPECT_REFUSED(read(p.bytes()),
                 "tensor \"w\" [1048576, 1048576, 1048576] needs 1152921504606846976 elements, but the file has 1");
  FieldWriter inside;
  for (int i = 0; i < 200; i++) {
    FieldWriter a, n, g;
    a.message(6, inside), n.message(5, a), g.message(1, n);
    inside = g;
  }
  FieldWriter m;
  m.integer(1, 8), m.message(7, inside);
  EXPECT_REFUSED(read(m.bytes()), "messages nest deeper than 64");
  Parts twice = linear_model();
  twice.inputs.push_back(twice.inputs[0]);
  EXPECT_REFUSED(read(twice.bytes()), "onnx: two inputs are called \"x\" — the file is broken");
  twice = linear_model();
  twice.initializers.push_back(twice.initializers[0]);
  EXPECT_REFUSED(read(twice.bytes()), "onnx: two initializers are called \"w\" — the file is broken");
  Parts circle = linear_model();
  circle.nodes = {node("Neg", {"a"}, {"b2"}), node("Neg", {"b2"}, {"a"})};
  EXPECT_REFUSED(read(circle.bytes()), "needs its own result");
}

TEST(OnnxFile, ExternalDataStayInTheFolder) {
  const fs::path folder = fs::path(testing::TempDir()) / "onnx_external";
  fs::create_directories(folder);
  const auto with = [&](const std::string& location, const std::string& offset) {
    FieldWriter t;
    t.integer(1, 2), t.integer(1, 2), t.integer(2, 1), t.text(8, "w"), t.integer(14, 1);
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location}, {"offset", offset}}) {
      FieldWriter entry;
      entry.text(1, key), entry.text(2, value);
      t.message(13, entry);
    }
    Parts p = linear_model();
    p.initializers[0] = t;
    io::write_file((folder / "model.onnx").string(), p.bytes());
    return load((folder / "model.onnx").string());
  };
  const float data[] = {9, 1, 2, 3, 4};
  io::write_file((folder / "w.bin").string(), std::string_view(reinterpret_cast<const char*>(data), sizeof data));
  Model model = with("w.bin", "4");
  EXPECT_EQ(Session(model)(ones({1, 2})).to_vector<float>(), (std::vector<float>{14, 26}));
  EXPECT_REFUSED(with("../w.bin", "4"), "only files in the model's folder are read");
  EXPECT_REFUSED(with("/etc/passwd", "0"), "only files in the model's folder are read");
  EXPECT_REFUSED(with("w.bin", "21"), "is said to lie at byte 21");
  EXPECT_REFUSED(with("w.bin", "-1"), "it must be a number of bytes");
  EXPECT_REFUSED(with("missing.bin", "0"), "onnx: ");
}

}  // namespace
}  // namespace ingot::onnx
