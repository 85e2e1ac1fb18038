// A whole training step as one plan: it learns, it says what it uses, and it allocates nothing.
#include <gtest/gtest.h>

#include <cmath>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/base/threads.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan_cache.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/ops.h"

namespace ingot {
namespace {

// y = x wᵀ + b, to be found from samples of it.
struct Regression {
  Tensor w = zeros({1, 3}), b = zeros({1});
  Tensor x = uniform({32, 3}, 1, -1, 1), y;
  ParameterSlab slab{{{"w", &w}, {"b", &b}}};

  Regression() { y = linear(x, Tensor::from(std::vector<float>{1, -2, 0.5f}, {1, 3}), full({1}, 0.25)); }
  TrainStep step(const Optimizer& optimizer) {
    return {[this](const Tensor& in, const Tensor& target) { return mean(square(linear(in, w, b) - target)); },
            slab,
            optimizer,
            {{32, 3}, {32, 1}}};
  }
};

TEST(TrainStep, Learns) {
  const Optimizer optimizers[] = {optim::Sgd{.lr = 0.3f}, optim::Sgd{.lr = 0.1f, .momentum = 0.9, .nesterov = true},
                                  optim::Adam{.lr = 0.05f}, optim::AdamW{.lr = 0.05f, .weight_decay = 0},
                                  optim::Adam{.lr = 0.05f, .clip_norm = 1}};
  for (size_t k = 0; k < std::size(optimizers); k++) {
    Regression r;
    TrainStep step = r.step(optimizers[k]);
    const float first = step(r.x, r.y);
    EXPECT_NEAR(first, mean(square(r.y)).item(), 1e-5f) << "the loss is that before the update";
    float last = first;
    for (int i = 0; i < 500; i++) last = step(r.x, r.y);
    EXPECT_LT(last, 1e-4f * first) << k;
    EXPECT_NEAR(r.w.at<float>({0, 1}), -2, 0.02) << k;
    EXPECT_NEAR(r.b.item(), 0.25, 0.02) << k;
    EXPECT_EQ(step.steps(), 501);
  }
}

// The gradient of the mean square is known, so the same updates can be made by hand.
TEST(TrainStep, IsForwardBackwardAndUpdate) {
  const optim::Adam adam{.lr = 0.1f, .clip_norm = 0.5};
  Regression planned, eager;
  TrainStep step = planned.step(adam);
  const Tensor state = make_state(adam, eager.slab);
  for (int64_t k = 1; k <= 5; k++) {
    const Tensor difference = linear(eager.x, eager.w, eager.b) - eager.y;
    copy_into(eager.slab.gradient(0), matmul(transpose(difference, 0, 1), eager.x) * (2.0 / 32));
    copy_into(eager.slab.gradient(1), sum(difference, {0}) * (2.0 / 32));
    record_update(adam, eager.slab, state, full({}, 0.1), Tensor::from(std::vector<int64_t>{k}, {}));
    step(planned.x, planned.y);
    EXPECT_LT(max(abs(planned.slab.values() - eager.slab.values())).item(), 1e-5f) << k;
    EXPECT_LT(max(abs(planned.slab.gradients() - eager.slab.gradients())).item(), 1e-5f) << k;
  }
}

TEST(TrainStep, AllocatesNothing) {
  Regression r;
  TrainStep step = r.step(optim::AdamW{.clip_norm = 1});
  step(r.x, r.y);
  const uint64_t before = memory_stats().allocations;
  for (int i = 0; i < 10; i++) step(r.x, r.y);
  EXPECT_EQ(memory_stats().allocations, before);
}

// The number of the step is looked at before the first step of the plan: nobody waits for it in the walk.
TEST(TrainStep, ChecksBeforeTheWalk) {
  Regression r;
  TrainStep step = r.step(optim::Adam{});
  EXPECT_EQ(step.plan().dump().find("check"), std::string::npos) << step.plan().dump();
}

TEST(TrainStep, KnowsItsBytes) {
  Regression r;
  const TrainStep step = r.step(optim::Adam{});
  const PlanBytes bytes = step.plan().bytes();
  const size_t slab = static_cast<size_t>(r.slab.values().numel()) * 4;
  EXPECT_EQ(bytes.parameters, slab);
  EXPECT_EQ(bytes.gradients, slab);
  EXPECT_EQ(bytes.state, 2 * slab);
}

TEST(TrainStep, SameBitsAtAnyThreadCount) {
  const int before = threads();
  std::vector<float> alone;
  for (int n : {1, 2, 3}) {
    set_threads(n);
    Regression r;
    TrainStep step = r.step(optim::Adam{.clip_norm = 1});
    for (int i = 0; i < 20; i++) step(r.x, r.y);
    const std::vector<float> values = r.slab.values().to_vector<float>();
    if (n == 1) alone = values;
    EXPECT_EQ(values, alone) << n;
  }
  set_threads(before);
}

TEST(TrainStep, LearningRateAndStepsCanBeSet) {
  Regression r;
  TrainStep step = r.step(optim::Sgd{.lr = 0.5f});
  EXPECT_EQ(step.lr(), 0.5f);
  step.set_lr(0);
  step(r.x, r.y);
  EXPECT_EQ(max(abs(r.w)).item(), 0) << "a rate of 0 changes nothing";
  step.set_lr(0.1f);
  step.set_steps(7);
  step(r.x, r.y);
  EXPECT_GT(max(abs(r.w)).item(), 0);
  EXPECT_EQ(step.steps(), 8);
}

TEST(TrainStep, GivesOtherResultsToo) {
  Regression r;
  TrainStep step(
      [&](const Tensor& x, const Tensor& y) {
        const Tensor out = linear(x, r.w, r.b);
        return std::vector<NamedTensor>{{"", mean(square(out - y))}, {"prediction", out}};
      },
      r.slab, optim::Sgd{}, {{32, 3}, {32, 1}});
  step(r.x, r.y);
  EXPECT_EQ(step.plan().output("prediction").shape(), (Dims{32, 1}));
}

// A smaller last batch: one plan per size, all on one slab and one state.
TEST(TrainStep, ByHandForChangingBatchSizes) {
  Regression r;
  const optim::Adam adam;
  const Tensor state = make_state(adam, r.slab), lr = full({}, 0.05), count = zeros({}, kI64);
  PlanCache cache(
      [&](const Tensor& x, const Tensor& y, const Tensor& rate, const Tensor& step) {
        const auto [loss, slopes] =
            value_and_grad([&] { return mean(square(linear(x, r.w, r.b) - y)); }, r.slab.named());
        for (size_t i = 0; i < r.slab.size(); i++) copy_into(r.slab.gradient(i), slopes[i]);
        record_update(adam, r.slab, state, rate, step);
        return loss;
      },
      4);
  const Tensor few_x = slice(r.x, 0, 0, 7), few_y = slice(r.y, 0, 0, 7);
  float last = 0;
  uint64_t warm = 0;
  for (int64_t k = 1; k <= 500; k++) {
    *count.data<int64_t>() = k;
    last = (k % 4 == 0 ? cache.run(few_x, few_y, lr, count) : cache.run(r.x, r.y, lr, count))[0].item();
    if (k == 4) warm = memory_stats().allocations;
  }
  EXPECT_EQ(cache.compiles(), 2);
  EXPECT_EQ(memory_stats().allocations, warm);
  EXPECT_LT(last, 1e-4f);
  EXPECT_NEAR(r.w.at<float>({0, 1}), -2, 0.02);
}

TEST(TrainStep, RefusesWithASentence) {
  Regression r;
  const std::vector<InputSpec> inputs = {{32, 3}};
  const auto make = [&](auto loss) { TrainStep step(loss, r.slab, optim::Sgd{}, inputs); };
  EXPECT_THROW(make([&](const Tensor& x) { return linear(x, r.w, r.b); }), Error) << "no scalar";
  EXPECT_THROW(make([&](const Tensor& x) { return mean(matmul(x, transpose(r.w, 0, 1))); }), Error) << "b is unused";
  TrainStep step = r.step(optim::Sgd{});
  EXPECT_THROW(step(r.x), Error);
  EXPECT_THROW(step(r.x, r.x), Error);
  EXPECT_EQ(step.steps(), 0) << "a refused step is none";
}

}  // namespace
}  // namespace ingot
