// What is added to rewards: shaping that leaves the best policy alone, and a bonus that wears off.
#include "ingot/rl/rewards.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "ingot/base/memory.h"
#include "ingot/rl/classic.h"
#include "ingot/rl/cube2.h"
#include "ingot/rl/cube3.h"
#include "ingot/rl/curriculum.h"
#include "ingot/rl/distance.h"
#include "ingot/rl/dqn.h"
#include "tests/error_of.h"
#include "tests/ops/harness.h"
#include "tests/rl/corridor.h"

namespace ingot::rl {
namespace {

// A corridor whose potential points the wrong way, and far.
struct Misleading : Corridor {
  double potential(const Code& code) const { return 3.7 * std::sin(5.0 * code) - 0.8 * code; }
};
static_assert(ShapedEnvironment<Misleading> && !ShapedEnvironment<Corridor> && !ShapedEnvironment<CartPole>);
static_assert(ShapedEnvironment<PuzzleEnv<Cube2>> && ShapedEnvironment<PuzzleEnv<Cube3>>);
static_assert(CountableEnvironment<Corridor> && CountableEnvironment<PuzzleEnv<Cube2>> &&
              CountableEnvironment<MountainCar> && !CountableEnvironment<CartPole>);

constexpr double kDiscount = 0.9;
using Table = std::array<std::array<double, 2>, 8>;

// The values of all actions, by value iteration with rewards that are shaped as the learner's are.
Table exact_values(double scale) {
  Misleading env;
  Table q{};
  for (int sweep = 0; sweep < 1000; sweep++)
    for (int32_t at = 0; at < 7; at++)
      for (size_t action = 0; action < 2; action++) {
        env.at = at, env.steps = 0;
        const StepResult r = env.step(static_cast<int64_t>(action));
        const Window<int32_t> w{at, env.at, r.reward, r.terminated ? 0.0F : static_cast<float>(kDiscount), 0, 1};
        const auto& next = q[static_cast<size_t>(env.at)];
        q[static_cast<size_t>(at)][action] = shaped_reward(env, w, scale) + w.discount * std::max(next[0], next[1]);
      }
  return q;
}

TEST(Shaping, LeavesTheBestPolicyAlone) {
  const Table plain = exact_values(0), shaped = exact_values(10);
  const Misleading env;
  for (int32_t at = 0; at < 7; at++) {
    const auto& before = plain[static_cast<size_t>(at)];
    const auto& after = shaped[static_cast<size_t>(at)];
    EXPECT_EQ(before[1] > before[0], after[1] > after[0]) << at;
    for (size_t a = 0; a < 2; a++) EXPECT_NEAR(after[a], before[a] - 10 * env.potential(at), 1e-4) << at;
  }
}

// Of n steps nothing is left but the ends: the same as shaping every single step.
TEST(Shaping, OfAWindowIsThatOfItsSteps) {
  const Misleading env;
  for (const bool terminated : {false, true}) {
    Replay<int32_t> replay({.capacity = 16, .n_step = 4, .discount = kDiscount});
    const std::array<int32_t, 5> path = {3, 4, 3, 2, 5};
    double expected = 0, share = 1;
    for (size_t i = 0; i < 4; i++) {
      const bool end = terminated && i == 3;
      const Transition<int32_t> t{path[i], path[i + 1], static_cast<float>(i) - 1.5F, 0, end, false};
      replay.push({&t, 1});
      const double next = end ? 0 : env.potential(t.next);
      expected += share * (t.reward + 2 * (kDiscount * next - env.potential(t.state)));
      share *= kDiscount;
    }
    EXPECT_NEAR(shaped_reward(env, replay.window(0), 2), expected, 1e-5);
  }
}

TEST(Shaping, ReadyPotentials) {
  const Cube2 small;
  EXPECT_EQ(small.potential(small.solved()), 1);
  EXPECT_DOUBLE_EQ(small.potential(small.apply(small.solved(), 0)), 3 / 7.0);
  const Cube3 large;
  EXPECT_EQ(large.potential(large.solved()), 1);
  EXPECT_DOUBLE_EQ(large.potential(large.apply(large.solved(), 0)), 12 / 20.0);
  const MountainCar car;
  EXPECT_NEAR(car.potential({-0.5236F, 0}), 0, 1e-6);
  EXPECT_NEAR(car.potential({0.5F, 0}), 1, 2e-3);
  EXPECT_GT(car.potential({-0.5236F, 0.03F}), 0.2);
}

TEST(Bonus, IsOneOverTheRootOfTheVisits) {
  VisitCounts counts;
  const uint64_t here = hash_of(7), there = hash_of(8);
  EXPECT_EQ(counts.novelty(here), 1);
  for (int i = 0; i < 9; i++) counts.visit(here);
  EXPECT_EQ(counts.visits(here), 9);
  EXPECT_DOUBLE_EQ(counts.novelty(here), 1 / 3.0);
  EXPECT_EQ(counts.visits(there), 0);
  nn::TrainingState state;
  counts.save(state, "visits");
  VisitCounts restored;
  restored.load(state, "visits");
  EXPECT_EQ(restored.visits(here), 9);
}

TEST(Bonus, CountsTheCellsOfFloats) {
  const MountainCar car;
  EXPECT_EQ(car.cell({-0.5F, 0.001F}), car.cell({-0.501F, 0.0012F}));
  EXPECT_NE(car.cell({-0.5F, 0.001F}), car.cell({0.2F, 0.001F}));
  EXPECT_NE(car.cell({-0.5F, 0.001F}), car.cell({-0.5F, 0.03F}));
  EXPECT_EQ(car.cell({0.6F, 0.07F}), 1023U);  // the end of both is within
}

DqnOptions small() {
  return {.net = {.hidden = {32, 24}},
          .n_step = 2,
          .discount = kDiscount,
          .tau = 0.05,
          .environments = 3,
          .batch = 16,
          .capacity = 600,
          .learning_starts = 60,
          .updates_per_step = 0.5,
          .total_steps = 3'000,
          .exploration = 0.5,
          .seed = 11};
}

TEST(Bonus, ReachesTheTargetsAndIsOfNow) {
  DqnOptions o = small();
  o.bonus = 1000, o.prioritised = false, o.n_step = 1;
  Dqn<Corridor> agent({}, o);
  while (agent.status().updates == 0) agent.step();
  const Tensor& reward = agent.learner().batch().reward;
  std::vector<int64_t> visits(8);
  for (int64_t i = 0; i < agent.replay().size(); i++) visits[static_cast<size_t>(agent.replay()[i].next)]++;
  for (int64_t i = 0; i < o.batch; i++) {
    bool found = false;  // -0.1 or 1 and the bonus of one of the cells, as often as it has been reached by now
    for (const int64_t n : visits)
      for (const float plain : {-0.1F, 1.0F})
        found |= n > 0 && std::abs(reward.at<float>({i}) - plain - 1000 / std::sqrt(static_cast<float>(n))) < 0.01F;
    EXPECT_TRUE(found) << reward.at<float>({i});
  }
}

// With all switches on: it learns, allocates nothing, and goes on to the bit.
TEST(Dqn, LearnsWithShapingAndBonus) {
  DqnOptions o = small();
  o.shaping = 0.3, o.bonus = 0.05;
  Dqn<Misleading> whole({}, o), first({}, o), second({}, o);
  while (whole.status().steps < 3'000) whole.step();
  EXPECT_GT(whole.evaluate(50, 9).total, 0.6) << "returns are reported without what was added";
  while (first.status().steps < 1'500) first.step();
  second.load_state(first.state());
  while (second.status().steps < 3'000) second.step();
  EXPECT_EQ(whole.status().td_loss, second.status().td_loss);
  const uint64_t mallocs = harness::malloc_calls(), tensors = memory_stats().allocations;
  for (int i = 0; i < 1'000; i++) whole.step();
  EXPECT_EQ(harness::malloc_calls(), mallocs);
  EXPECT_EQ(memory_stats().allocations, tensors);
}

TEST(Dqn, RefusesWhatAnEnvironmentCannot) {
  DqnOptions o = small();
  o.shaping = 1;
  EXPECT_REFUSED(Dqn<CartPole>({}, o), "potential(code)");
  o.shaping = 0, o.bonus = 1;
  EXPECT_REFUSED(Dqn<CartPole>({}, o), "cell(code)");
  o.bonus = -1;
  EXPECT_REFUSED(Dqn<Corridor>({}, o), "bonus is 0 or more");
}

}  // namespace
}  // namespace ingot::rl
