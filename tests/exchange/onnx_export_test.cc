// What is written as ONNX and read again gives the same bits, at other batch sizes too, and trains on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "ingot/exchange/onnx.h"
#include "ingot/nn/attention.h"
#include "ingot/nn/layers.h"
#include "ingot/nn/recurrent.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/exchange/onnx_networks.h"

namespace ingot::onnx {
namespace {

Model again(const std::string& bytes) { return parse(std::as_bytes(std::span(bytes))); }

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::memcmp(contiguous(a).raw(), contiguous(b).raw(), static_cast<size_t>(a.numel()) * size_of(a.dtype())) ==
             0;
}

Tensor input_of(const TestNetwork& n, int64_t batch) {
  Dims shape = n.input.shape;
  shape[static_cast<int>(n.batch_axis)] = batch;
  return n.input.dtype == kI64 ? to(uniform(shape, 5, 0, 9), kI64) : uniform(shape, 5, -1, 1);
}

class OnnxRoundTrip : public testing::TestWithParam<size_t> {};

TEST_P(OnnxRoundTrip, GivesTheSameBits) {
  TestNetwork n = test_networks()[GetParam()];
  n.net->eval();
  Model back = again(to_onnx(*n.net, n.input, {.batch_axis = n.batch_axis}));
  for (const int64_t batch : {2, 5}) {
    const Tensor x = input_of(n, batch);
    const Tensor expected = (*n.net)(x);
    EXPECT_TRUE(same_bits(back.forward(x), expected)) << "batch " << batch << ", op by op";
    Plan plan = compile([&](const Tensor& in) { return (*n.net)(in); }, {{x.shape(), x.dtype()}});
    Plan other = compile([&](const Tensor& in) { return back.forward(in); }, {{x.shape(), x.dtype()}});
    EXPECT_TRUE(same_bits(other(x), plan(x))) << "batch " << batch << ", planned";
    const Tensor difference = max(abs(Session(back)(x) - expected));
    EXPECT_LE(difference.item<double>(), 2e-6) << "batch " << batch << ", frozen";
  }
}

// Others run the bodies of what we write as functions.
TEST_P(OnnxRoundTrip, MeansTheSameToOthers) {
  TestNetwork n = test_networks()[GetParam()];
  n.net->eval();
  std::string bytes = to_onnx(*n.net, n.input, {.batch_axis = n.batch_axis});
  const std::string ours = "ingot", theirs = "other";
  for (size_t at = bytes.find(ours); at != std::string::npos; at = bytes.find(ours))
    bytes.replace(at, ours.size(), theirs);
  Model other = again(bytes);
  const Tensor x = input_of(n, 3);
  EXPECT_LT(max(abs(other.forward(x) - (*n.net)(x))).item<double>(), 1e-5);
}

TEST_P(OnnxRoundTrip, KeepsNamesOfWeights) {
  TestNetwork n = test_networks()[GetParam()];
  n.net->eval();
  Model back = again(to_onnx(*n.net, n.input, {.batch_axis = n.batch_axis}));
  std::vector<std::string> names, expected;
  for (const NamedTensor& t : back.state_dict()) names.push_back(t.name);
  for (const NamedTensor& t : n.net->state_dict())
    if (is_float(t.tensor.dtype())) expected.push_back(t.name);
  std::sort(names.begin(), names.end()), std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names, expected);
}

TEST_P(OnnxRoundTrip, TrainsOnAlike) {
  TestNetwork n = test_networks()[GetParam()];
  n.net->eval();
  Model back = again(to_onnx(*n.net, n.input, {.batch_axis = n.batch_axis}));
  n.net->train(), back.train();
  const Tensor x = input_of(n, 4);
  const auto loss_of = [](nn::Layer& net) { return [&](const Tensor& in) { return mean(square(net(in) - 0.5)); }; };
  TrainStep a = nn::train_step(*n.net, loss_of(*n.net), optim::Sgd{.lr = 0.05f}, {{x.shape(), x.dtype()}});
  TrainStep b = nn::train_step(back, loss_of(back), optim::Sgd{.lr = 0.05f}, {{x.shape(), x.dtype()}});
  for (int i = 0; i < 5; i++) EXPECT_NEAR(a(x), b(x), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(All, OnnxRoundTrip, testing::Range<size_t>(0, test_networks().size()),
                         [](const auto& each) { return test_networks()[each.param].name; });

TEST(OnnxExport, RefusesWhatItCannotWrite) {
  nn::Sequential norm{nn::BatchNorm1d(3)};
  EXPECT_REFUSED(to_onnx(norm, {4, 3}), "call eval() first");
  nn::Sequential drop{nn::Linear(3, 3), nn::Dropout(0.5)};
  EXPECT_REFUSED(to_onnx(drop, {4, 3}), "random layer");
  const PlanFunction fn = [](std::span<const Tensor> in) {
    return std::vector<NamedTensor>{{"y", permutation(4, 1)}, {"z", in[0]}};
  };
  const InputSpec spec{4};
  EXPECT_REFUSED(to_onnx(fn, std::span(&spec, 1), {}), "permutation");
  const PlanFunction rows = [](std::span<const Tensor> in) {
    return std::vector<NamedTensor>{{"y", in[0] + zeros(in[0].shape())}};
  };
  EXPECT_REFUSED(to_onnx(rows, std::span(&spec, 1), {}), "follows the batch");
  EXPECT_NO_THROW(to_onnx(rows, std::span(&spec, 1), {}, {.batch_axis = -1}));
}

// A function of one tensor [4, 3] whose batch is free.
std::string written(Tensor (*f)(const Tensor&), int64_t batch = 4) {
  const PlanFunction fn = [f](std::span<const Tensor> in) { return std::vector<NamedTensor>{{"y", f(in[0])}}; };
  const InputSpec spec{batch, 3};
  return to_onnx(fn, std::span(&spec, 1), {});
}

TEST(OnnxExport, RefusesNumbersThatFollowTheBatch) {
  for (const int64_t n : {3, 4}) {
    EXPECT_REFUSED(written([](const Tensor& x) { return x * (1.0 / static_cast<double>(x.shape()[0])); }, n),
                   "multiply_scalar's value follows the batch — export for one size, with batch_axis = -1");
    EXPECT_REFUSED(
        written([](const Tensor& x) { return x * Tensor::from<float>({static_cast<float>(x.shape()[0])}); }, n),
        "a tensor [1] that is no weight follows the batch");
    EXPECT_REFUSED(written(
                       [](const Tensor& x) {
                         return pad(x, {x.shape()[0], 0}, {0, 0});
                       },
                       n),
                   "pad's before follows the batch");
    EXPECT_REFUSED(written([](const Tensor& x) { return select(x, 0, x.shape()[0] / 2); }, n), "follows the batch");
    EXPECT_REFUSED(written([](const Tensor& x) { return slice(x, 0, 0, x.shape()[0] / 2); }, n), "follows its size");
    EXPECT_REFUSED(written([](const Tensor& x) { return slice(x, 0, x.shape()[0] / 2, x.shape()[0]); }, n),
                   "follows its size");
  }
  EXPECT_REFUSED(written([](const Tensor& x) { return slice(x, 0, 0, 4); }), "follows its size");
}

TEST(OnnxExport, SlicesOfTheBatchKeepTheirMeaning) {
  Tensor (*const slices[])(const Tensor&) = {
      [](const Tensor& x) { return slice(x, 0, 1, x.shape()[0]); },
      [](const Tensor& x) { return slice(x, 0, 1, x.shape()[0] - 1); },
      [](const Tensor& x) { return slice(x, 0, x.shape()[0] - 2, 1000); },
      [](const Tensor& x) { return slice(x, 0, -2, 1000); },
      [](const Tensor& x) { return slice(x, 0, x.shape()[0] - 1, -x.shape()[0] - 1, -1); },
      [](const Tensor& x) { return slice(x, 0, -1, -x.shape()[0] - 1, -2); },
      [](const Tensor& x) { return slice(x, 0, -1, -x.shape()[0], -1); },
      [](const Tensor& x) { return slice(x, 0, 1, -1000, -1); },
      [](const Tensor& x) { return slice(x, 1, 0, 2); },
  };
  for (Tensor (*const f)(const Tensor&) : slices) {
    Model back = again(written(f));
    for (const int64_t n : {2, 4, 7}) {
      const Tensor x = uniform({n, 3}, 1);
      EXPECT_TRUE(same_bits(back.forward(x), contiguous(f(x)))) << "slice " << &f - slices << ", batch " << n;
    }
  }
}

// What has the form of a batch norm but not its axes is not one.
TEST(OnnxExport, KnowsABatchNormByItsAxes) {
  const Tensor mean = uniform({3}, 1), variance = uniform({3}, 2, 1, 2);
  for (const Dims& spread : {Dims{3, 1, 1}, Dims{1, 3, 1, 1}, Dims{1, 1, 3}, Dims{1, 3, 1}}) {
    const PlanFunction fn = [&](std::span<const Tensor> in) {
      const Tensor scale = reciprocal(sqrt(variance + 1e-5));
      return std::vector<NamedTensor>{{"y", (in[0] - reshape(mean, spread)) * reshape(scale, spread)}};
    };
    const InputSpec spec{2, 3, 3, 3};
    const std::string bytes = to_onnx(fn, std::span(&spec, 1), {});
    const bool is_norm = spread[spread.size() - 3] == 3 && spread.size() >= 3 && spread[spread.size() - 1] == 1 &&
                         spread[spread.size() - 2] == 1;
    EXPECT_EQ(bytes.find("BatchNormalization") != std::string::npos, is_norm) << to_string(spread);
    const std::vector<Tensor> x{uniform({2, 3, 3, 3}, 3)};
    EXPECT_LT(max(abs(again(bytes).forward(x)[0].tensor - fn(x)[0].tensor)).item<double>(), 1e-6);
  }
}

TEST(OnnxExport, WritesFunctionsOfSeveralTensors) {
  const Tensor w = uniform({3, 2}, 1);
  const PlanFunction fn = [&](std::span<const Tensor> in) {
    const Tensor h = matmul(in[0], w);
    return std::vector<NamedTensor>{{"sum", h + in[1]}, {"in", in[1]}, {"where", where(greater(h, 0.0), h, in[1])}};
  };
  const std::vector<InputSpec> specs{{{4, 3}, kF32, "left"}, {{4, 2}, kF32, "right"}};
  const std::vector<NamedTensor> weights{{"w", w}};
  Model back = again(to_onnx(fn, specs, weights));
  EXPECT_EQ(back.inputs()[1].text(), "right: f32 [batch, 2]");
  ASSERT_EQ(back.parameters().size(), 1u);
  EXPECT_EQ(back.parameters()[0].name, "w");
  const std::vector<Tensor> in{uniform({7, 3}, 2, -1, 1), uniform({7, 2}, 3)};
  const auto expected = fn(in), got = back.forward(in);
  ASSERT_EQ(got.size(), 3u);
  for (size_t i = 0; i < 3; i++) {
    EXPECT_EQ(got[i].name, expected[i].name);
    EXPECT_TRUE(same_bits(got[i].tensor, expected[i].tensor));
  }
}

}  // namespace
}  // namespace ingot::onnx
