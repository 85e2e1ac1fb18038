// Agents that are shown one of symmetric states: labels and transitions are of the moves as they are numbered there.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "ingot/ops/functions.h"
#include "ingot/rl/cube2.h"
#include "ingot/rl/curriculum.h"
#include "ingot/rl/pqn.h"
#include "ingot/rl/pretrain.h"

namespace ingot::rl {
namespace {

const Cube2 kTurned(CubeMetric::kQuarter, CubeEncoding::kTurned), kPlain(CubeMetric::kQuarter, CubeEncoding::kCubies);

std::vector<int32_t> seen(const Cube2& cube, const Cube2::State& s) {
  std::vector<int32_t> hot(static_cast<size_t>(cube.hot_count()));
  cube.hot(s, hot);
  return hot;
}

struct Near {
  Cube2::State state;
  int distance;
};

// What is at most `most` moves from solved, by the pieces that an observation shows.
std::map<std::vector<int32_t>, Near> states_within(int most) {
  std::map<std::vector<int32_t>, Near> known = {{seen(kPlain, {}), {{}, 0}}};
  std::vector<Near> reached = {{{}, 0}};
  for (size_t i = 0; i < reached.size(); i++)
    for (int move = 0; move < 6 && reached[i].distance < most; move++) {
      const Near next{kPlain.apply(reached[i].state, move), reached[i].distance + 1};
      if (known.emplace(seen(kPlain, next.state), next).second) reached.push_back(next);
    }
  return known;
}

TEST(Turned, LabelsAreOfTheMovesThatAreShown) {
  constexpr int64_t kRows = 300;
  constexpr int kDepth = 5;
  constexpr double kDiscount = 0.95;
  PuzzleLabels<Cube2> exact({.puzzle = kTurned}, {.labels = LabelSource::kExact, .depth = kDepth}, kDiscount, 0);
  const Tensor states = zeros({kRows, 7}, kI32), labels = zeros({kRows, 6});
  exact.fill(0, {1, 2}, states, labels);
  const auto near = states_within(kDepth + 1);
  for (int64_t i = 0; i < kRows; i++) {
    const int32_t* row = states.data<int32_t>() + i * 7;
    const Near& shown = near.at(std::vector<int32_t>(row, row + 7));
    ASSERT_LE(shown.distance, kDepth);
    for (int move = 0; move < 6; move++) {  // every move costs 1, but the one that solves
      const int left = near.at(seen(kPlain, kPlain.apply(shown.state, move))).distance;
      EXPECT_NEAR(labels.data<float>()[i * 6 + move], -(1 - std::pow(kDiscount, left)) / (1 - kDiscount), 1e-5);
    }
  }
}

const NetOptions kNet{.hidden = {32, 16}};

// Numbers of moves that were mixed up would teach nothing: at random, one episode in four is solved.
TEST(Turned, DqnLearns) {
  constexpr int64_t kSteps = 8'000;
  const PuzzleEnv<Cube2> env{.puzzle = kTurned, .mixed = 0.3F, .limit = 8};
  const DqnOptions o{.net = kNet, .n_step = 1, .discount = 0.95, .learning_starts = 500, .total_steps = kSteps};
  PuzzleDqn<Cube2> agent(env, o, {.start = 2, .end = 2});
  while (agent.status().steps < kSteps) agent.step();
  EXPECT_GT(agent.evaluate(200, 5).total, -1.1) << "two random moves are one that costs, and the last";
}

TEST(Turned, PqnLearns) {
  constexpr int64_t kSteps = 32'000;
  const PuzzleEnv<Cube2> env{.puzzle = kTurned, .depth = 2, .limit = 8};
  Pqn<PuzzleEnv<Cube2>> agent(env, {.net = kNet, .discount = 0.95, .epochs = 4, .lr = 3e-3F, .total_steps = kSteps});
  while (agent.status().steps < kSteps) agent.step();
  EXPECT_GT(agent.evaluate(200, 5).total, -1.1);
}

}  // namespace
}  // namespace ingot::rl
