// What layers do beyond one call: running averages, random masks, wrong inputs, and layers in training steps.
#include <gtest/gtest.h>

#include <cmath>

#include "ingot/graph/grad.h"
#include "ingot/ingot.h"
#include "ingot/nn.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

TEST(BatchNorm, RunningAveragesFollowTheBatchesOfATrainingStep) {
  nn::set_seed(1);
  nn::Sequential net{nn::BatchNorm1d(3), nn::Linear(3, 1)};
  auto& norm = static_cast<nn::BatchNorm1d&>(net[0]);
  auto step = nn::train_step(net, nn::mse, optim::Sgd{.lr = 0.01f}, {{8, 3}, {8, 1}});
  std::vector<double> mean(3, 0), variance(3, 1);
  const uint64_t before = memory_stats().allocations;
  uint64_t made = 0;
  for (int64_t i = 0; i < 5; i++) {
    const uint64_t outside = memory_stats().allocations;
    const Tensor x = normal({8, 3}, i, 2, 3), y = zeros({8, 1});
    for (int64_t c = 0; c < 3; c++) {
      double sum = 0, squares = 0;
      for (int64_t n = 0; n < 8; n++) sum += x.at<float>({n, c});
      for (int64_t n = 0; n < 8; n++) squares += std::pow(x.at<float>({n, c}) - sum / 8, 2);
      mean[c] = 0.9 * mean[c] + 0.1 * sum / 8;
      variance[c] = 0.9 * variance[c] + 0.1 * squares / 7;  // unbiased, as PyTorch keeps it
    }
    made += memory_stats().allocations - outside;
    step(x, y);
  }
  EXPECT_EQ(memory_stats().allocations - before, made) << "the step allocates";
  for (int64_t c = 0; c < 3; c++) {
    EXPECT_NEAR(norm.running_mean.at<float>({c}), mean[c], 1e-5);
    EXPECT_NEAR(norm.running_var.at<float>({c}), variance[c], 1e-4);
  }
  EXPECT_EQ(norm.num_batches_tracked.item<int64_t>(), 5);
}

TEST(BatchNorm, IsWrittenOncePerCallHoweverOftenItIsDifferentiated) {
  nn::BatchNorm1d norm(2), again(2), twice(2);
  Plan plan = compile(
      [&](const Tensor& x) {
        const Tensor y = sum(norm(x) * x);
        const Tensor a = gradients(y, {x})[0], b = gradients(y, {norm.weight})[0];
        const Tensor z = sum(checkpoint([&](const Tensor& t) { return square(again(t)); }, x) * x);
        const Tensor c = gradients(z, {x})[0];
        const Tensor w = twice(twice(x));
        return std::vector<Tensor>{a, b, c, w};
      },
      {{6, 2}});
  plan.run(normal({6, 2}, 1));
  EXPECT_EQ(norm.num_batches_tracked.item<int64_t>(), 1);
  EXPECT_EQ(again.num_batches_tracked.item<int64_t>(), 1);
  EXPECT_EQ(twice.num_batches_tracked.item<int64_t>(), 2);
  EXPECT_EQ(again.running_mean.to_vector<float>(), norm.running_mean.to_vector<float>());
  plan.run(normal({6, 2}, 1));
  EXPECT_EQ(norm.num_batches_tracked.item<int64_t>(), 2);
}

TEST(BatchNorm, EvaluationKeepsTheAverages) {
  nn::BatchNorm2d norm(2);
  norm.eval();
  Plan plan = compile([&](const Tensor& x) { return norm(x); }, {{1, 2, 3, 3}});
  plan.run(normal({1, 2, 3, 3}, 1, 5, 2));
  EXPECT_EQ(norm.running_mean.to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(norm.num_batches_tracked.item<int64_t>(), 0);
}

TEST(Dropout, DropsItsShareAndScalesTheRest) {
  nn::set_seed(3);
  nn::Dropout drop(0.25);
  const Tensor x = ones({100, 100});
  const std::vector<float> first = drop(x).to_vector<float>(), second = drop(x).to_vector<float>();
  double zeros_seen = 0;
  for (const float v : first) {
    EXPECT_TRUE(v == 0 || std::abs(v - 1 / 0.75f) < 1e-6f) << v;
    zeros_seen += v == 0;
  }
  EXPECT_NEAR(zeros_seen / 1e4, 0.25, 5 * std::sqrt(0.25 * 0.75 / 1e4));
  EXPECT_NE(first, second) << "another mask at every call";
  nn::set_seed(3);
  EXPECT_EQ(drop(x).to_vector<float>(), first);
  drop.eval();
  EXPECT_EQ(drop(x).to_vector<float>(), x.to_vector<float>());
  nn::Dropout all(1), none(0);
  EXPECT_EQ(max(all(x)).item(), 0);
  EXPECT_EQ(min(none(x)).item(), 1);
  EXPECT_THROW(nn::Dropout(1.5), Error);
}

TEST(Dropout, InAPlanTheMaskFollowsTheSeed) {
  nn::Sequential net{nn::Dropout(0.5), nn::Dropout(0.5)};
  Plan plan = compile(
      [&](const Tensor& x, const Tensor& seed) {
        const nn::RandomScope random(seed);
        const Tensor y = net(x);
        return std::vector<Tensor>{y, gradients(y, {x})[0]};
      },
      {{64}, {Dims(), kI64, "seed"}});
  const Tensor x = ones({64}), one = full({}, 1, kI64), two = full({}, 2, kI64);
  const std::vector<float> a = plan.run(x, one)[0].to_vector<float>();
  EXPECT_EQ(plan.outputs()[1].to_vector<float>(), a) << "at ones the gradient is the mask";
  EXPECT_NE(plan.run(x, two)[0].to_vector<float>(), a);
  EXPECT_EQ(plan.run(x, one)[0].to_vector<float>(), a);
  int kept = 0;
  for (const float v : a) kept += v != 0;
  EXPECT_GT(kept, 4) << "two masks of their own keep a quarter";
  EXPECT_LT(kept, 30);
  EXPECT_NE(error_of([&] { compile([&](const Tensor& t) { return net(t); }, {{64}}); }).find("RandomScope"),
            std::string::npos);
}

TEST(Layers, SharedLayersAreTrainedOnce) {
  // The same layer twice in one forward: its gradient is the sum of both uses.
  nn::set_seed(4);
  nn::Linear f(3, 3, false);
  const Tensor x = normal({2, 3}, 5);
  const ValueAndGrad both = value_and_grad([&] { return sum(f(f(x))); }, {f.weight});
  const ValueAndGrad inner = value_and_grad(
      [&] {
        const Tensor fixed = stop_gradient(f.weight);
        return sum(linear(f(x), fixed));
      },
      {f.weight});
  const ValueAndGrad outer = value_and_grad([&] { return sum(f(stop_gradient(f(x)))); }, {f.weight});
  const Tensor expected = inner.gradients[0] + outer.gradients[0];
  EXPECT_LT(max(abs(both.gradients[0] - expected)).item(), 1e-5f);
}

TEST(Layers, ErrorsNameTheLayerAndTheShapes) {
  struct Wrong {
    std::string found;
    const char *layer, *shape;
  };
  const auto of = [](nn::Layer&& layer, const Tensor& x) { return error_of([&] { layer(x); }); };
  const Wrong all[] = {
      {of(nn::Linear(8, 2), zeros({3, 9})), "Linear", "[3, 9]"},
      {of(nn::Conv1d(2, 4, 3), zeros({1, 3, 9})), "Conv1d", "[1, 3, 9]"},
      {of(nn::Conv2d(2, 4, 3), zeros({2, 8, 8})), "Conv2d", "[2, 8, 8]"},
      {of(nn::Conv2d(2, 4, 3), zeros({1, 2, 2, 8})), "Conv2d", "[2, 8]"},
      {of(nn::ConvTranspose1d(2, 4, 3), zeros({1, 3, 9})), "ConvTranspose1d", "[1, 3, 9]"},
      {of(nn::ConvTranspose2d(2, 4, 3), zeros({1, 3, 9, 9})), "ConvTranspose2d", "[1, 3, 9, 9]"},
      {of(nn::MaxPool2d(4), zeros({1, 2, 3, 3})), "MaxPool2d", "[1, 2, 3, 3]"},
      {of(nn::AvgPool1d(4), zeros({1, 2, 3})), "AvgPool1d", "[1, 2, 3]"},
      {of(nn::AdaptiveAvgPool2d(2), zeros({4, 4})), "AdaptiveAvgPool2d", "[4, 4]"},
      {of(nn::GlobalAvgPool(), zeros({4, 4})), "GlobalAvgPool", "[4, 4]"},
      {of(nn::BatchNorm1d(3), zeros({4, 4})), "BatchNorm1d", "[4, 4]"},
      {of(nn::BatchNorm1d(3), zeros({1, 3})), "BatchNorm1d", "[1, 3]"},
      {of(nn::BatchNorm2d(3), zeros({4, 3})), "BatchNorm2d", "[4, 3]"},
      {of(nn::LayerNorm(Dims{2, 3}), zeros({2, 4})), "LayerNorm", "[2, 4]"},
      {of(nn::RMSNorm(3), zeros({2, 4})), "RMSNorm", "[2, 4]"},
      {of(nn::GroupNorm(2, 4), zeros({2, 6, 3})), "GroupNorm", "[2, 6, 3]"},
      {of(nn::InstanceNorm2d(4), zeros({2, 4, 3})), "InstanceNorm2d", "[2, 4, 3]"},
      {of(nn::Embedding(4, 3), zeros({2})), "Embedding", "[2]"},
      {of(nn::Embedding(4, 3), full({2}, 4, kI64)), "Embedding", "index 4"},
      {of(nn::ReLU(), zeros({2}, kI64)), "ReLU", "i64"},
      {of(nn::Softmax(2), zeros({2, 3})), "Softmax", "2"},
      {of(nn::Unflatten(1, {2, 2}), zeros({2, 6})), "Unflatten", "[2, 6]"},
      {of(nn::Reshape({4}), zeros({2, 6})), "Reshape", "[2, 6]"},
      {of(nn::Squeeze(1), zeros({2, 6})), "Squeeze", "[2, 6]"},
      {of(nn::Permute({0, 2, 1}), zeros({2, 6})), "Permute", "[2, 6]"},
      {of(nn::Pad({1, 1, 1}, {0, 0, 0}), zeros({2, 6})), "Pad", "[2, 6]"},
      {of(nn::Concat(0, nn::Linear(2, 2), nn::Linear(2, 3)), zeros({2, 2})), "Concat", "[2, 3]"},
      {of(nn::Residual(nn::Linear(2, 3)), zeros({4, 2})), "Residual", "[4, 3]"},
  };
  for (const Wrong& w : all) {
    EXPECT_EQ(w.found.rfind(std::string(w.layer) + ": ", 0), 0u) << w.found;
    EXPECT_NE(w.found.find(w.shape), std::string::npos) << w.found;
    EXPECT_NE(w.found.find(" — "), std::string::npos) << w.found;
  }
}

TEST(Layers, WrongConstructionIsASentence) {
  for (const std::string& text : {
           error_of([] { nn::Linear(3, 0); }),
           error_of([] { nn::Conv2d(3, 4, 0); }),
           error_of([] {
             nn::Conv2d(3, 4, Dims{3, 3, 3});
           }),
           error_of([] { nn::Conv1d(3, 4, 3, {.groups = 2}); }),
           error_of([] { nn::BatchNorm2d(0); }),
           error_of([] { nn::BatchNorm1d(2, 1e-5, 2); }),
           error_of([] { nn::LayerNorm(Dims{}); }),
           error_of([] { nn::RMSNorm(0); }),
           error_of([] { nn::GroupNorm(3, 4); }),
           error_of([] { nn::InstanceNorm2d(0); }),
           error_of([] { nn::Embedding(3, 2, 3); }),
           error_of([] {
             nn::Pad({1}, {1, 1});
           }),
       }) {
    EXPECT_NE(text, "no error");
    EXPECT_NE(text.find(": "), std::string::npos) << text;
  }
}

// Two layers with one matrix: one step of descent moves it by both gradients, and both layers see it.
TEST(Layers, TiedWeightsAreTrainedAsOne) {
  nn::set_seed(9);
  struct Tied : nn::Layer {
    nn::Linear in{3, 3, false}, out{3, 3};
    Tied() { out.weight = in.weight; }
    void parts(nn::Parts& p) override { p("in", in), p("out", out); }
    Tensor forward(const Tensor& x) override { return out(tanh(in(x))); }
  } net;
  const Tensor x = normal({4, 3}, 1), y = normal({4, 3}, 2), w = clone(net.in.weight);
  const Tensor slope =
      value_and_grad([&] { return nn::mse_loss(linear(tanh(linear(x, w)), w, net.out.bias), y); }, {w}).gradients[0];
  auto step = nn::train_step(net, nn::mse, optim::Sgd{.lr = 0.5f}, {{4, 3}, {4, 3}});
  EXPECT_EQ(step.slab().size(), 2u);
  step(x, y);
  EXPECT_EQ(net.in.weight.raw(), net.out.weight.raw());
  EXPECT_LT(max(abs(net.out.weight - (w - 0.5 * slope))).item(), 1e-6f);
}

TEST(Layers, FrozenOnesStayAsTheyAre) {
  nn::set_seed(10);
  nn::Sequential net{nn::Linear(3, 4), nn::Tanh(), nn::Linear(4, 2)};
  net[0].freeze();
  auto& first = static_cast<nn::Linear&>(net[0]);
  auto& last = static_cast<nn::Linear&>(net[2]);
  const std::vector<float> frozen = first.weight.to_vector<float>(), trained = last.weight.to_vector<float>();
  auto step = nn::train_step(net, nn::mse, optim::Adam{}, {{4, 3}, {4, 2}});
  EXPECT_EQ(step.slab().size(), 2u);
  step(normal({4, 3}, 1), normal({4, 2}, 2));
  EXPECT_EQ(first.weight.to_vector<float>(), frozen);
  EXPECT_NE(last.weight.to_vector<float>(), trained);
}

TEST(Layers, AnEmptyBatchIsASentence) {
  nn::Linear net(3, 2);
  const std::string text = error_of([&] { nn::train_step(net, nn::mse, optim::Adam{}, {{0, 3}, {0, 2}}); });
  EXPECT_EQ(text, "Linear: the batch is empty, [0, 3] — give at least one sample");
}

// A small residual network with everything that is special about layers, trained: it must learn, and not allocate.
TEST(Layers, ANetworkOfManyLayersLearns) {
  nn::set_seed(6);
  nn::Sequential net{
      nn::Conv2d(1, 8, 3, {.padding = {1}}, false),
      nn::BatchNorm2d(8),
      nn::ReLU(),
      nn::MaxPool2d(2),
      nn::Residual(nn::Sequential(nn::Conv2d(8, 8, 3, {.padding = {1}}), nn::GroupNorm(2, 8), nn::GELU())),
      nn::Concat(1, nn::GlobalAvgPool(), nn::GlobalMaxPool()),
      nn::LayerNorm(16),
      nn::Linear(16, 3)};
  const Tensor x = normal({24, 1, 8, 8}, 1);
  const Tensor labels = argmax(stack({mean(slice(x, 2, 0, 3), {1, 2, 3}), mean(slice(x, 2, 3, 6), {1, 2, 3}),
                                      mean(slice(x, 2, 6, 8), {1, 2, 3})},
                                     1),
                               {1});
  auto step = nn::train_step(net, nn::cross_entropy, optim::Adam{.lr = 1e-2f}, {{24, 1, 8, 8}, {24}});
  const float first = step(x, labels);
  const uint64_t before = memory_stats().allocations;
  float last = first;
  for (int i = 0; i < 150; i++) last = step(x, labels);
  EXPECT_EQ(memory_stats().allocations, before);
  EXPECT_LT(last, 0.2f * first);
  net.eval();
  EXPECT_GT(nn::accuracy(net(x), labels), 0.8);
}

}  // namespace
}  // namespace ingot
