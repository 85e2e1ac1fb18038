// Models that PyTorch exported (tools/golden_onnx.py): the same results, and the same losses when they are trained on.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "ingot/exchange/onnx.h"
#include "ingot/io/io.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/test_file.h"

namespace ingot::onnx {
namespace {

class OnnxFromPyTorch : public testing::TestWithParam<const char*> {
 protected:
  Model model = load(test_file("goldens/onnx/" + std::string(GetParam()) + ".onnx"));
  io::SafeTensors data = io::load_safetensors(test_file("goldens/onnx/" + std::string(GetParam()) + ".safetensors"));
};

double distance(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item<double>(); }

TEST_P(OnnxFromPyTorch, GivesTheSameResults) {
  Session session(model);
  const Tensor y = session(data["x0"]);
  EXPECT_LT(distance(y, data["y0"]), 1e-5);
  EXPECT_EQ(session.why_not_planned(), "");
  EXPECT_LT(distance(model.forward(data["x0"]), data["y0"]), 1e-5) << "op by op";
}

TEST_P(OnnxFromPyTorch, TrainsOnAsPyTorchDoes) {
  model.train();
  const Tensor &x = data["x0"], &target = data["target"];
  TrainStep step =
      nn::train_step(model, [&](const Tensor& in, const Tensor& to) { return mean(square(model.forward(in) - to)); },
                     optim::Sgd{.lr = 0.05f}, {{x.shape(), x.dtype()}, {target.shape()}});
  for (const double expected : data["losses"].to_vector<double>()) EXPECT_NEAR(step(x, target), expected, 1e-4);
}

TEST_P(OnnxFromPyTorch, KeepsItsWeightsInAState) {
  const std::string path = testing::TempDir() + "onnx_" + GetParam() + ".safetensors";
  io::save_safetensors(path, model.state_dict());
  Model other = nn::clone(model);
  for (const NamedTensor& p : other.parameters()) fill(p.tensor, 0);
  EXPECT_GT(distance(Session(other)(data["x0"]), data["y0"]), 1e-3);
  other.load_state_dict(io::load_safetensors(path).tensors);
  EXPECT_LT(distance(Session(other)(data["x0"]), data["y0"]), 1e-5);
}

TEST_P(OnnxFromPyTorch, RunsWhatExportersTookApartAsOneOp) {
  const std::map<std::string, std::vector<std::string>> whole = {{"encoder", {"gelu_erf", "layer_norm"}},
                                                                 {"unet", {"silu"}}};
  Session session(model);
  const Tensor* const list[] = {&data["x0"]};
  const std::string plan = session.plan_for(list)->dump();
  if (const auto ops = whole.find(GetParam()); ops != whole.end())
    for (const std::string& op : ops->second) EXPECT_NE(plan.find(op), std::string::npos) << op << " in\n" << plan;
  for (const char* part :
       {"erf+", "sigmoid+", "subtract", "reciprocal", "sqrt"})  // batch norms are in the convolutions
    EXPECT_EQ(plan.find(part), std::string::npos) << part << " in\n" << plan;
}

TEST_P(OnnxFromPyTorch, TakesOtherBatches) {
  const int64_t axis = data["x0"].rank() == 3 ? 1 : 0;  // recurrent layers have steps first
  const Tensor one = contiguous(slice(data["x0"], axis, 1, 2));
  EXPECT_LT(distance(Session(model)(one), slice(data["y0"], 0, 1, 2)), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(All, OnnxFromPyTorch, testing::Values("mlp", "resnet", "lstm", "gru", "encoder", "unet"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace ingot::onnx
