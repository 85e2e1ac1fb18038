// Every action of a drawn state is valued, by what the environment foretells.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "ingot/base/memory.h"
#include "ingot/ops/functions.h"
#include "ingot/rl/cube2.h"
#include "ingot/rl/curriculum.h"
#include "ingot/rl/dqn.h"
#include "tests/error_of.h"
#include "tests/ops/harness.h"
#include "tests/rl/corridor.h"

namespace ingot::rl {
namespace {

struct KnownCorridor : Corridor {
  Outcome<int32_t> outcome(int32_t code, int64_t action) const {
    const int32_t next = std::max(0, code + (action == 1 ? 1 : -1));
    const bool there = next == length - 1;
    return {next, there ? 1.0F : -0.1F, there};
  }
};
static_assert(ForeseenEnvironment<KnownCorridor> && !ForeseenEnvironment<Corridor>);
static_assert(ForeseenEnvironment<PuzzleEnv<Cube2>>);

DqnOptions all_actions(int64_t batch) {
  return {.net = {.hidden = {24, 16}},
          .all_actions = true,
          .n_step = 1,
          .discount = 0.9,
          .environments = 3,
          .batch = batch,
          .capacity = 600,
          .learning_starts = 60,
          .total_steps = 2'000,
          .seed = 11};
}

// It is the update of a batch that has every state once for each of its actions.
TEST(AllActions, AreABatchOfEachOfThem) {
  constexpr int64_t kStates = 6, kActions = 3, kRows = kStates * kActions;
  for (const bool double_q : {false, true}) {
    DqnOptions o = all_actions(kStates);
    o.double_q = double_q;
    DqnUpdate all({5, 0}, kActions, o);
    o.all_actions = false, o.batch = kRows;
    DqnUpdate single({5, 0}, kActions, o);
    for (int round = 0; round < 3; round++) {  // the second time, networks differ
      const DqnUpdate::Batch &a = all.batch(), &b = single.batch();
      const auto seed = static_cast<uint64_t>(10 * round);
      copy_into(a.state, normal(a.state.shape(), seed + 1));
      copy_into(a.next, normal(a.next.shape(), seed + 2));
      copy_into(a.reward, normal(a.reward.shape(), seed + 3, 0, 2));
      copy_into(a.discount, uniform(a.discount.shape(), seed + 4));
      copy_into(a.weight, uniform(a.weight.shape(), seed + 5));
      copy_into(b.next, a.next), copy_into(b.reward, a.reward), copy_into(b.discount, a.discount);
      for (int64_t row = 0; row < kRows; row++) {
        const int64_t i = row / kActions, action = (row + i) % kActions;  // in some order
        for (int64_t k = 0; k < 5; k++) b.state.at<float>({row, k}) = a.state.at<float>({i, k});
        b.weight.at<float>({row}) = a.weight.at<float>({i});
        a.action.at<int64_t>({i, row % kActions}) = b.action.at<int64_t>({row, 0}) = action;
      }
      EXPECT_NEAR(all.run(), single.run(), 1e-5);
      for (int64_t i = 0; i < kStates; i++) {
        float off = 0;
        for (size_t k = 0; k < kActions; k++)
          off += std::abs(single.td_errors()[static_cast<size_t>(i) * kActions + k]) / kActions;
        EXPECT_NEAR(all.td_errors()[static_cast<size_t>(i)], off, 1e-5);
      }
      const auto pa = all.online().parameters(), pb = single.online().parameters();
      for (size_t i = 0; i < pa.size(); i++) EXPECT_LT(max(abs(pa[i].tensor - pb[i].tensor)).item<float>(), 1e-5);
    }
  }
}

// What the update was given last is what the rules of the corridor say.
TEST(AllActions, AreThoseOfTheEnvironment) {
  DqnOptions o = all_actions(16);
  Dqn<KnownCorridor> agent({}, o);
  while (agent.status().updates < 20) agent.step();
  const DqnUpdate::Batch& b = agent.learner().batch();
  const auto cell = [](const Tensor& x, int64_t row) {
    for (int64_t i = 0;; i++)
      if (x.at<float>({row, i}) == 1) return static_cast<int32_t>(i);
  };
  bool ended = false;
  for (int64_t i = 0; i < 16; i++)
    for (int64_t action = 0; action < 2; action++) {
      const int64_t row = 2 * i + action;
      const Outcome<int32_t> told = KnownCorridor().outcome(cell(b.state, i), action);
      EXPECT_EQ(b.action.at<int64_t>({i, action}), action);
      EXPECT_EQ(cell(b.next, row), told.next);
      EXPECT_EQ(b.reward.at<float>({row}), told.reward);
      EXPECT_EQ(b.discount.at<float>({row}), told.terminated ? 0 : 0.9F);
      ended |= told.terminated;
    }
  EXPECT_TRUE(ended);
}

// What was never played is known as well: with no end ever reached in play, only rules can tell where it is.
TEST(AllActions, KnowWhatWasNeverPlayed) {
  struct NeverRight : KnownCorridor {
    StepResult step(int64_t) { return Corridor::step(0); }
  };
  for (const bool all : {true, false}) {
    DqnOptions o = all_actions(16);
    o.all_actions = all, o.total_steps = 4'000;
    Dqn<NeverRight> agent({}, o);
    while (agent.status().steps < o.total_steps) agent.step();
    int right = 0;
    const Tensor x = zeros({1, 8});
    for (int64_t at = 0; at < 7; at++) {
      copy_into(x, zeros({1, 8})), x.at<float>({0, at}) = 1;
      const Tensor q = agent.network()(x);
      right += q.at<float>({0, 1}) > q.at<float>({0, 0}) ? 1 : 0;
    }
    EXPECT_EQ(right == 7, all) << right;
  }
}

TEST(AllActions, OfACubeAllocateNothingAndTeachIt) {
  constexpr int64_t kSteps = 12'000;
  const PuzzleEnv<Cube2> env{
      .puzzle = Cube2(CubeMetric::kQuarter, CubeEncoding::kTurned), .depth = 3, .mixed = 0.5F, .limit = 2};
  DqnOptions o = all_actions(16);
  o.net.hidden = {32, 16}, o.discount = 0.95, o.capacity = 5'000, o.lr = 2e-3F, o.lr_end = 0, o.total_steps = kSteps;
  PuzzleDqn<Cube2> agent(env, o, {.start = 3, .end = 3, .judged_limit = 8});
  for (int i = 0; i < 100; i++) agent.step();
  const uint64_t mallocs = harness::malloc_calls(), tensors = memory_stats().allocations;
  while (agent.status().steps < kSteps) agent.step();
  EXPECT_EQ(harness::malloc_calls(), mallocs);
  EXPECT_EQ(memory_stats().allocations, tensors);
  const EpisodeMeans judged = agent.evaluate(200, 5);
  EXPECT_GT(judged.total, -2.3) << "three random moves are two that cost, or none";
  EXPECT_GT(judged.length, 2) << "it learns in episodes of two, and is judged in longer ones";
}

TEST(AllActions, NeedAnEnvironmentThatKnowsAndOneStep) {
  EXPECT_REFUSED(Dqn<Corridor>({}, all_actions(16)), "outcome(code, action)");
  DqnOptions o = all_actions(16);
  o.n_step = 2;
  EXPECT_REFUSED(Dqn<KnownCorridor>({}, o), "n_step is 1");
}

}  // namespace
}  // namespace ingot::rl
