// What steps share: accumulated gradients, averaged parameters, seeds of random layers.
#include <gtest/gtest.h>

#include <cmath>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/nn.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot {
namespace {

struct Net {
  nn::Sequential model = (nn::set_seed(3), nn::Sequential{nn::Linear(6, 8), nn::Tanh(), nn::Linear(8, 2)});
  ParameterSlab slab{model.named_parameters()};
  TrainStep step(Updates& updates, int64_t batch) {
    const PlanFunction loss = [this](std::span<const Tensor> in) {
      return std::vector<NamedTensor>{{"", nn::mse_loss(model(in[0]), in[1])}};
    };
    return {loss, updates, {{batch, 6}, {batch, 2}}};
  }
};

const Tensor kX = uniform({12, 6}, 1, -1, 1), kY = uniform({12, 2}, 2, -1, 1);
Tensor rows(const Tensor& t, int64_t first, int64_t count) { return slice(t, 0, first, first + count, 1); }

double difference(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item<double>(); }

// The mean of the gradients of three batches is the gradient of the batch of all of them.
TEST(Updates, AccumulatedBatchesAreOneLargeBatch) {
  Net whole, parts;
  const optim::Adam adam{.lr = 0.05f, .clip_norm = 0.1};
  Updates one(whole.slab, adam), three(parts.slab, adam, {.accumulate = 3});
  TrainStep large = whole.step(one, 12), small = parts.step(three, 4);
  for (int i = 0; i < 5; i++) {
    large(kX, kY);
    for (int64_t k = 0; k < 3; k++) {
      EXPECT_EQ(small.steps(), i);
      small(rows(kX, 4 * k, 4), rows(kY, 4 * k, 4));
    }
    EXPECT_EQ(three.batches(), 3 * (i + 1));
    EXPECT_LT(difference(whole.slab.values(), parts.slab.values()), 2e-6) << "update " << i;
    EXPECT_LT(difference(whole.slab.gradients(), parts.slab.gradients()), 1e-6) << "update " << i;
  }
}

TEST(Updates, StepsOfSeveralShapesShareThem) {
  Net shared, alone;
  Updates updates(shared.slab, optim::Adam{}), by_hand(alone.slab, optim::Adam{});
  TrainStep full = shared.step(updates, 8), rest = shared.step(updates, 4);
  TrainStep first = alone.step(by_hand, 8);
  full(rows(kX, 0, 8), rows(kY, 0, 8));
  first(rows(kX, 0, 8), rows(kY, 0, 8));
  EXPECT_EQ(difference(shared.slab.values(), alone.slab.values()), 0);
  rest(rows(kX, 8, 4), rows(kY, 8, 4));
  EXPECT_EQ(updates.steps(), 2);
  EXPECT_EQ(rest.steps(), 2) << "both count the same updates";
  full.set_lr(0.5f);
  EXPECT_EQ(rest.lr(), 0.5f);
  const uint64_t before = memory_stats().allocations;
  for (int i = 0; i < 5; i++) full(rows(kX, 0, 8), rows(kY, 0, 8));
  EXPECT_EQ(memory_stats().allocations, before);
}

TEST(Updates, AveragesFollowTheParameters) {
  Net net;
  Updates updates(net.slab, optim::Sgd{.lr = 0.1f}, {.ema = 0.9});
  TrainStep step = net.step(updates, 12);
  Tensor expected = clone(net.slab.values());
  for (int i = 1; i <= 40; i++) {
    step(kX, kY);
    const double decay = std::min(0.9, (1.0 + i) / (10.0 + i));
    expected = expected * decay + net.slab.values() * (1 - decay);
    EXPECT_LT(difference(updates.averages(), expected), 1e-6) << i;
  }
  EXPECT_GT(difference(updates.averages(), net.slab.values()), 1e-5);
}

// Random layers draw other numbers at every batch, the same ones when a run is repeated or gone on with.
TEST(Updates, RandomLayersFollowTheBatches) {
  Tensor w = ones({64});
  const ParameterSlab slab({{"w", &w}});
  const PlanFunction loss = [&](std::span<const Tensor>) {
    const auto [seed, stream] = nn::next_random();
    const Tensor kept = dropout(w, 0.5, seed, stream);
    const auto [other, next] = nn::next_random();
    return std::vector<NamedTensor>{{"", sum(kept)}, {"kept", kept}, {"other", dropout(w, 0.5, other, next)}};
  };
  const optim::Sgd still{.lr = 0};
  const auto draw = [&](int64_t seed, int64_t first, int count) {
    Updates updates(slab, still, {.seed = seed});
    updates.set_steps(first);
    TrainStep step(loss, updates, {});
    std::vector<std::vector<float>> all;
    for (int i = 0; i < count; i++) {
      step();
      all.push_back(step.plan().output("kept").to_vector<float>());
      EXPECT_NE(all.back(), step.plan().output("other").to_vector<float>()) << "two layers, two masks";
    }
    return all;
  };
  const auto run = draw(5, 0, 4);
  EXPECT_NE(run[0], run[1]);
  EXPECT_EQ(run, draw(5, 0, 4));
  EXPECT_EQ(run[3], draw(5, 3, 1)[0]);
  EXPECT_NE(run[0], draw(6, 0, 1)[0]);
}

TEST(Updates, SharedWeightsGetBothGradients) {
  nn::set_seed(1);
  nn::Linear encode(4, 3, false), tied(4, 3, false);
  tied.weight = encode.weight;
  const ParameterSlab slab({{"encode.weight", &encode.weight}, {"tied.weight", &tied.weight}});
  Tensor w = clone(slab.value(0));
  const ParameterSlab once({{"w", &w}});
  const Tensor x = uniform({5, 4}, 9, -1, 1);
  TrainStep two([&](const Tensor& in) { return mean(square(encode(in) * 2.0 + tied(in * in))); }, slab, optim::Sgd{},
                {{5, 4}});
  TrainStep one([&](const Tensor& in) { return mean(square(linear(in, w) * 2.0 + linear(in * in, w))); }, once,
                optim::Sgd{}, {{5, 4}});
  for (int i = 0; i < 3; i++) EXPECT_EQ(two(x), one(x));
  EXPECT_EQ(difference(slab.values(), once.values()), 0);
}

TEST(Updates, RefusesWithASentence) {
  Net net;
  EXPECT_THROW(Updates(net.slab, optim::Sgd{}, {.accumulate = 0}), Error);
  EXPECT_THROW(Updates(net.slab, optim::Sgd{}, {.ema = 1}), Error);
  const auto moved = [&] {
    Updates updates(net.slab, optim::Sgd{});
    TrainStep a = net.step(updates, 4);
    const TrainStep b = std::move(a);
    a(rows(kX, 0, 4), rows(kY, 0, 4));
  };
  EXPECT_THROW(moved(), Error);
  EXPECT_THROW(compile([] { return nn::next_random().seed; }, {}), Error) << "a capture without a seed";
}

}  // namespace
}  // namespace ingot
