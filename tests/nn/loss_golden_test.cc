// Every loss against PyTorch (tools/golden_layers.py) and central differences: values and gradients in f64 and f32,
// eager and planned, without allocating; extremes; what is refused.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/graph/grad.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/nn/layer_cases.h"

namespace ingot {
namespace {

using nn::Reduction;
using LossFunction = std::function<Tensor(const Tensor&, const Tensor&)>;

const std::vector<Golden>& cases() {
  static const std::vector<Golden> all = read_cases("losses.txt");
  return all;
}

Reduction reduction_of(const std::string& name) {
  return name.ends_with("_sum") ? Reduction::kSum : name.ends_with("_none") ? Reduction::kNone : Reduction::kMean;
}

// The loss of a case by its name; the types of options follow the result's.
LossFunction loss_of(const std::string& name) {
  const auto starts = [&](const char* text) { return name.starts_with(text); };
  const Reduction r = name.ends_with("_extreme") ? Reduction::kNone : reduction_of(name);
  if (starts("mse")) return [=](const Tensor& x, const Tensor& t) { return nn::mse_loss(x, t, r); };
  if (starts("mae")) return [=](const Tensor& x, const Tensor& t) { return nn::mae_loss(x, t, r); };
  if (name == "huber_default") return nn::huber().function;
  if (starts("huber")) return [=](const Tensor& x, const Tensor& t) { return nn::huber_loss(x, t, 0.7, r); };
  if (starts("nll")) return [=](const Tensor& x, const Tensor& t) { return nn::nll_loss(x, t, r); };
  if (starts("cross_entropy_on_probabilities")) return nn::cross_entropy_on_probabilities.function;
  if (starts("cross_entropy"))
    return [=](const Tensor& x, const Tensor& t) {
      nn::CrossEntropyOptions o{.reduction = r, .skip_negative = name.find("_skip") != std::string::npos};
      const bool both = name.find("_both") != std::string::npos;
      if (both || name.find("_smooth") != std::string::npos) o.label_smoothing = 0.125;
      if (both || name.find("_weighted") != std::string::npos)
        o.weight = to(Tensor::from<double>({0.5, 1, 2, 0.25, 1, 1.5}), x.dtype());
      return nn::cross_entropy_with(o)(x, t);
    };
  if (starts("bce_with_logits"))
    return [=](const Tensor& x, const Tensor& t) { return nn::bce_with_logits_loss(x, t, r); };
  if (starts("bce")) return [=](const Tensor& x, const Tensor& t) { return nn::bce_loss(x, t, r); };
  if (name == "kl_div_batchmean") return nn::kl_div.function;
  if (starts("kl_div")) return [=](const Tensor& x, const Tensor& t) { return nn::kl_div_loss(x, t, r); };
  throw Error("no loss for the golden " + name);
}

double tolerance(DType type) { return type == kF64 ? 1e-12 : 2e-6; }

class LossGolden : public testing::TestWithParam<size_t> {
 protected:
  const Golden& golden() const { return cases()[GetParam()]; }
};

TEST_P(LossGolden, ValueAndGradient) {
  const Golden& g = golden();
  const LossFunction loss = loss_of(g.name);
  for (const DType type : {kF64, kF32}) {
    const Tensor x = in_type(g.in, type), target = in_type(g.target, type);
    EXPECT_TRUE(close(loss(x, target), g.out, tolerance(type))) << name(type);
    Plan plan = compile(
        [&](const Tensor& in, const Tensor& t) {
          const Tensor y = loss(in, t);
          return std::vector<Tensor>{y, gradients(y, {in})[0]};
        },
        {{x.shape(), x.dtype()}, {target.shape(), target.dtype()}});
    plan.run(x, target);
    EXPECT_TRUE(close(plan.outputs()[0], g.out, tolerance(type))) << name(type);
    // PyTorch limits that gradient by a 1e-12 of single precision.
    const double bound = g.name == "bce_extreme" ? 1e-8 : tolerance(type);
    EXPECT_TRUE(close(plan.outputs()[1], g.grad, std::max(bound, tolerance(type)))) << name(type);
    const uint64_t before = memory_stats().allocations;
    plan.run(x, target);
    EXPECT_EQ(memory_stats().allocations, before);
  }
}

TEST_P(LossGolden, GradientIsTheSlope) {
  const Golden& g = golden();
  if (g.name.ends_with("_extreme")) return;  // at kinks and 1e12 there is nothing to measure
  const LossFunction loss = loss_of(g.name);
  const Tensor x = clone(g.in), found = zeros(x.shape(), kF64);
  constexpr double kStep = 1e-6;
  for (int64_t i = 0; i < x.numel(); i++) {
    double& element = x.data<double>()[i];
    const double at = element;
    element = at + kStep;
    const double above = sum(loss(x, g.target)).item<double>();
    element = at - kStep;
    found.data<double>()[i] = (above - sum(loss(x, g.target)).item<double>()) / (2 * kStep);
    element = at;
  }
  EXPECT_TRUE(close(found, g.grad, 1e-7));
}

INSTANTIATE_TEST_SUITE_P(Case, LossGolden, testing::Range(size_t{0}, cases().size()),
                         [](const auto& test) { return cases()[test.param].name; });

TEST(Loss, StaysFiniteAtExtremes) {
  const Tensor sure = Tensor::from<float>({0, 1, 0, 1}), truth = Tensor::from<float>({0, 1, 1, 0});
  EXPECT_EQ(nn::bce_loss(sure, truth, Reduction::kNone).to_vector<float>(), (std::vector<float>{0, 0, 100, 100}));
  Plan plan =
      compile([&](const Tensor& p, const Tensor& t) { return gradients(nn::bce_loss(p, t, Reduction::kSum), {p}); },
              {{4}, {4}});
  // Where the truth is met the derivatives of -log(1 - p) and -log p; elsewhere PyTorch's bound.
  EXPECT_EQ(plan.run(sure, truth)[0].to_vector<float>(), (std::vector<float>{1, -1, -1e12f, 1e12f}));
  const Tensor p = Tensor::from<float>({0, 1, 0.5f, 0.5f}, {2, 2});
  EXPECT_EQ(nn::cross_entropy_on_probabilities_loss(p, Tensor::from<int64_t>({0, 1}), Reduction::kNone).at<float>({0}),
            100);
  for (const double x : {1e4, -1e4}) {
    const Tensor logits = Tensor::from<float>({static_cast<float>(x), 0}, {1, 2});
    for (const int64_t label : {0, 1}) {
      const float loss = nn::cross_entropy_loss(logits, Tensor::from<int64_t>({label})).item();
      EXPECT_EQ(loss, (x > 0) == (label == 0) ? 0 : 1e4f);
    }
  }
}

TEST(Loss, NegativeLabelsHaveNoLoss) {
  const Tensor logits = normal({3, 4}, 1);
  const Tensor labels = Tensor::from<int64_t>({2, -1, 0});
  const Tensor rows = nn::cross_entropy_loss(logits, labels, {.reduction = Reduction::kNone});
  EXPECT_EQ(rows.at<float>({1}), 0);
  const float total = sum(rows).item();
  EXPECT_NEAR(nn::cross_entropy_loss(logits, labels).item(), total / 3, 1e-6);
  EXPECT_NEAR(nn::cross_entropy_loss(logits, labels, {.skip_negative = true}).item(), total / 2, 1e-6);
  EXPECT_EQ(nn::cross_entropy_loss(logits, Tensor::from<int64_t>({-1, -1, -1}), {.skip_negative = true}).item(), 0);
  EXPECT_EQ(nn::nll_loss(log_softmax(logits), labels, Reduction::kNone).at<float>({1}), 0);
  EXPECT_EQ(nn::cross_entropy_on_probabilities_loss(softmax(logits), labels, Reduction::kNone).at<float>({1}), 0);
}

TEST(Loss, ConvertsTargets) {
  EXPECT_EQ(nn::mse(full({2}, 3, kF64), ones({2})).item<double>(), 4);
  EXPECT_EQ(nn::mse(full({2}, 3), Tensor::from<int64_t>({1, 1})).item(), 4);
}

TEST(Loss, ErrorsAreSentences) {
  const Tensor y = zeros({4, 1});
  EXPECT_EQ(error_of([&] { nn::mse_loss(y, zeros({4})); }),
            "mse: result [4, 1] and target [4] — they must have the same shape");
  EXPECT_EQ(error_of([&] {
              nn::bce(zeros({0, 2}), zeros({0, 2}));
            }),
            "bce: the batch is empty, result [0, 2] and target [0, 2] — give at least one sample");
  EXPECT_EQ(error_of([&] {
              nn::cross_entropy(zeros({0, 2}), zeros({0}, kI64));
            }),
            "cross_entropy: the batch is empty, result [0, 2] and target [0] — give at least one sample");
  EXPECT_EQ(error_of([&] {
              nn::cross_entropy(zeros({4, 3}), zeros({4, 1}, kI64));
            }),
            "cross_entropy: result [4, 3] and target [4, 1] — give [n, …, classes] and one label for each row");
  EXPECT_EQ(error_of([&] { nn::nll(zeros({4, 3}), zeros({4})); }), "nll: labels are f32 — give i32 or i64");
  EXPECT_EQ(error_of([&] { nn::huber(0)(y, y); }), "huber: delta = 0.000000 — it must be positive");
  EXPECT_EQ(error_of([&] { nn::mae(y, Tensor()); }), "mae: result or target is undefined");
  EXPECT_NE(error_of([&] {
              nn::cross_entropy_with({.label_smoothing = 2})(zeros({4, 3}), zeros({4}, kI64));
            }).find("label_smoothing = 2"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              nn::cross_entropy_with({.weight = ones({2})})(zeros({4, 3}), zeros({4}, kI64));
            }).find("weight is f32 [2] for logits [4, 3]"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              nn::cross_entropy(zeros({1, 3}), Tensor::from<int64_t>({3}));
            }).find("out of range"),
            std::string::npos);
}

// A user's own loss, and one with options, in a training step.
TEST(Loss, TrainsWithAnyLoss) {
  nn::set_seed(2);
  const Tensor x = normal({32, 4}, 5), y = matmul(x, normal({4, 1}, 6));
  for (const nn::Loss& loss : {nn::huber(0.5), nn::mae,
                               nn::Loss{"log_cosh",
                                        [](const Tensor&a, const Tensor&b) {
                                          const Tensor e = a - b;
                                          return mean(e + softplus(-2.0 * e) - std::log(2.0));
                                        },
                                        kF32}}) {
    nn::Sequential net{nn::Linear(4, 1)};
    auto step = nn::train_step(net, loss, optim::Adam{.lr = 0.05f}, {{32, 4}, {32, 1}});
    const float first = step(x, y);
    float last = first;
    for (int i = 0; i < 150; i++) last = step(x, y);
    EXPECT_LT(last, 0.1f * first) << loss.name;
  }
}

}  // namespace
}  // namespace ingot
