// Parallel Q-learning: λ-returns by hand, learning, no allocation, going on to the bit.
#include "ingot/rl/pqn.h"

#include <gtest/gtest.h>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/ops/functions.h"
#include "tests/ops/harness.h"
#include "tests/rl/corridor.h"

namespace ingot::rl {
namespace {

PqnOptions small() {
  return {.net = {.hidden = {32}, .dueling = false},
          .discount = 0.9,
          .environments = 4,
          .rollout = 6,
          .minibatches = 2,
          .lr = 3e-3f,
          .total_steps = 6'000,
          .seed = 3};
}

// A step's target is its λ-return: brute force forward over the rollout, from the same values.
TEST(Pqn, TargetsAreLambdaReturns) {
  for (const double lambda : {0.0, 0.65, 1.0}) {
    PqnOptions o = small();
    o.lambda = lambda, o.rollout = 40, o.lr = 0, o.minibatches = 1;  // the network stays as it is
    Corridor env{.length = 8, .limit = 9};
    Pqn<Corridor> agent(env, o);
    Player<Corridor> same(env, o.environments, agent.network(), o.seed);  // plays the same steps
    std::vector<std::vector<Transition<int32_t>>> rows;
    for (int64_t t = 0; t < o.rollout; t++) {
      const double at = static_cast<double>(same.steps()) / (o.exploration * static_cast<double>(o.total_steps));
      same.step(o.epsilon_start + (o.epsilon_end - o.epsilon_start) * at);
      rows.emplace_back(same.transitions().begin(), same.transitions().end());
      agent.step();
    }
    const auto value = [&](int32_t cell) {
      const Tensor x = zeros({1, 8});
      x.at<float>({0, cell}) = 1;
      return static_cast<double>(max(agent.network()(x)).item<float>());
    };
    for (int64_t i = 0; i < o.environments; i++)
      for (int64_t t = 0; t < o.rollout; t++) {
        double sum = 0, share = 1;  // of what is still to come
        for (int64_t k = t;; k++) {
          const auto& r = rows[static_cast<size_t>(k)][static_cast<size_t>(i)];
          sum += share * r.reward;
          if (r.terminated) break;
          const bool last = r.truncated || k + 1 == o.rollout;
          sum += share * 0.9 * (last ? 1 : 1 - lambda) * value(r.next);
          if (last) break;
          share *= 0.9 * lambda;
        }
        EXPECT_NEAR(agent.target(t, i), sum, 1e-5) << "step " << t << ", lambda " << lambda;
      }
  }
}

TEST(Pqn, LearnsTheCorridor) {
  Pqn<Corridor> agent({}, small());
  while (agent.status().steps < 6'000) agent.step();
  EXPECT_LT(agent.evaluate(50, 9).length, 5);
}

TEST(Pqn, AllocatesNothing) {
  PqnOptions o = small();
  o.total_steps = 1'000'000;
  Pqn<Corridor> agent({}, o);
  for (int i = 0; i < 100; i++) agent.step();
  const uint64_t mallocs = harness::malloc_calls(), tensors = memory_stats().allocations;
  for (int i = 0; i < 10'000; i++) agent.step();
  EXPECT_EQ(harness::malloc_calls(), mallocs);
  EXPECT_EQ(memory_stats().allocations, tensors);
}

TEST(Pqn, GoesOnToTheBitFromWhatWasSaved) {
  Pqn<Corridor> whole({}, small()), first({}, small()), second({}, small());
  for (int i = 0; i < 301; i++) whole.step();
  for (int i = 0; i < 152; i++) first.step();  // in the middle of a rollout
  second.load_state(first.state());
  for (int i = 152; i < 301; i++) second.step();
  const auto a = whole.network().parameters(), b = second.network().parameters();
  for (size_t i = 0; i < a.size(); i++) EXPECT_EQ(a[i].tensor.to_vector<float>(), b[i].tensor.to_vector<float>());
}

TEST(Pqn, RefusesWhatCannotBe) {
  PqnOptions o = small();
  o.minibatches = 5;
  EXPECT_THROW(Pqn<Corridor>({}, o), Error);
  o = small(), o.lambda = 2;
  EXPECT_THROW(Pqn<Corridor>({}, o), Error);
}

}  // namespace
}  // namespace ingot::rl
