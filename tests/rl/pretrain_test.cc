// Labels of a puzzle's states against what they must be, and a network that has learned them before its first step.
#include "ingot/rl/pretrain.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ingot/base/memory.h"
#include "ingot/rl/cube2.h"
#include "ingot/rl/cube3.h"
#include "ingot/rl/curriculum.h"
#include "tests/error_of.h"
#include "tests/ops/harness.h"

namespace ingot::rl {
namespace {

constexpr double kDiscount = 0.95;
const PretrainOptions kExact{.updates = 1, .labels = LabelSource::kExact, .depth = 5};
const PretrainOptions kWalks{.updates = 1, .labels = LabelSource::kWalks, .depth = 5};

const std::vector<uint8_t>& distances() {
  static const std::vector<uint8_t> all = all_distances(Cube2());
  return all;
}

// What a player gets who makes this move and then solves it the shortest way, step by step.
double return_of(PuzzleEnv<Cube2> env, const Cube2::State& start, int64_t move) {
  env.state = start, env.steps = 0, env.limit = 1000;
  double total = 0;
  for (double share = 1;; share *= kDiscount) {
    const StepResult r = env.step(move);
    total += share * r.reward;
    if (r.terminated) return total;
    for (move = 0; !is_optimal(env.puzzle, distances(), env.state, static_cast<int>(move));) move++;
  }
}

TEST(Labels, ExactOnesAreTheReturnsOfShortestSolutions) {
  const PuzzleEnv<Cube2> env{.move_reward = -1, .solved_reward = 3};
  for (const double shaping : {0.0, 2.0}) {
    PuzzleLabels<Cube2> labels(env, kExact, kDiscount, shaping);
    const Tensor states = zeros({20, 24}, kI32), values = zeros({20, 6});
    labels.fill(0, {1, 2}, states, values);  // reads the table
    for (uint64_t i = 0; i < 50; i++) {
      const Cube2::State s = scrambled(env.puzzle, static_cast<int>(i % 12) + 1, {3, i});
      if (env.puzzle.is_solved(s)) continue;
      std::array<float, 6> value{};
      labels.label(s, 1, 0, value);
      for (int64_t a = 0; a < 6; a++)
        EXPECT_NEAR(value[static_cast<size_t>(a)], return_of(env, s, a) - shaping * env.puzzle.potential(s), 1e-5);
    }
  }
}

TEST(Labels, OfWalksTakeTheScrambleBack) {
  const PuzzleEnv<Cube2> env{};
  const PuzzleLabels<Cube2> labels(env, kWalks, kDiscount, 0);
  const Cube2& cube = env.puzzle;
  std::array<float, 6> value{};
  labels.label(cube.apply(cube.solved(), 2), 1, 2, value);  // U: U' solves it
  const float three = static_cast<float>(-1 - kDiscount);   // three moves: two that cost
  EXPECT_FLOAT_EQ(value[3], 0);
  for (const size_t a : {0U, 1U, 2U, 4U, 5U}) EXPECT_FLOAT_EQ(value[a], three) << a;
  labels.label(cube.apply(cube.apply(cube.solved(), 2), 4), 2, 4, value);  // U F: F' leaves one move
  EXPECT_FLOAT_EQ(value[5], -1);
  EXPECT_FLOAT_EQ(value[0], static_cast<float>(-1 - kDiscount - kDiscount * kDiscount));
}

DqnOptions options() {
  return {.net = {.hidden = {64, 32}},
          .discount = kDiscount,
          .environments = 4,
          .batch = 64,
          .capacity = 2'000,
          .learning_starts = 100,
          .total_steps = 8'000,
          .seed = 5};
}
const CurriculumOptions kCurriculum{.start = 1, .end = 3};

TEST(Pretraining, TeachesBeforeTheFirstStep) {
  for (const LabelSource labels : {LabelSource::kExact, LabelSource::kWalks}) {
    PuzzleDqn<Cube2> agent({}, options(), kCurriculum, {.updates = 1'500, .labels = labels, .depth = 3});
    EXPECT_TRUE(agent.status().pretraining);
    const EpisodeMeans before = agent.evaluate(200, 1);
    for (int i = 0; i < 1'500; i++) agent.step();
    EXPECT_FALSE(agent.status().pretraining);
    EXPECT_EQ(agent.status().steps, 0);
    EXPECT_EQ(agent.status().updates, 1'500);
    EXPECT_GT(agent.evaluate(200, 1).total, -2.5);  // three turns: -2 at most
    EXPECT_LT(before.total, -10);
    agent.step();
    EXPECT_EQ(agent.status().steps, 4);
  }
}

TEST(Pretraining, GoesOnToTheBitFromItsMiddle) {
  const PretrainOptions pretrain{.updates = 100, .labels = LabelSource::kExact, .depth = 3};
  PuzzleDqn<Cube2> whole({}, options(), kCurriculum, pretrain);
  for (int i = 0; i < 300; i++) whole.step();
  for (const int stop : {60, 100, 150}) {
    PuzzleDqn<Cube2> first({}, options(), kCurriculum, pretrain), second({}, options(), kCurriculum, pretrain);
    for (int i = 0; i < stop; i++) first.step();
    second.load_state(first.state());
    for (int i = stop; i < 300; i++) second.step();
    EXPECT_EQ(whole.status().td_loss, second.status().td_loss) << stop;
    EXPECT_EQ(whole.status().updates, second.status().updates) << stop;
    const auto a = whole.network().parameters(), b = second.network().parameters();
    for (size_t i = 0; i < a.size(); i++) EXPECT_EQ(a[i].tensor.to_vector<float>(), b[i].tensor.to_vector<float>());
  }
}

TEST(Pretraining, AllocatesNothing) {
  for (const LabelSource labels : {LabelSource::kExact, LabelSource::kWalks}) {
    PuzzleDqn<Cube2> agent({}, options(), kCurriculum, {.updates = 500, .labels = labels, .depth = 6});
    for (int i = 0; i < 5; i++) agent.step();
    const uint64_t mallocs = harness::malloc_calls(), tensors = memory_stats().allocations;
    for (int i = 0; i < 400; i++) agent.step();
    EXPECT_EQ(harness::malloc_calls(), mallocs);
    EXPECT_EQ(memory_stats().allocations, tensors);
  }
}

TEST(Pretraining, RefusesWhatHasNoTable) {
  EXPECT_REFUSED(PuzzleLabels<Cube3>({}, kExact, kDiscount, 0), "exact labels");
  PretrainOptions o = kWalks;
  o.depth = 0;
  EXPECT_REFUSED(PuzzleLabels<Cube3>({}, o, kDiscount, 0), "depth");
}

}  // namespace
}  // namespace ingot::rl
