// Agents that are shown one of symmetric states: labels and transitions are of the moves as they are numbered there.
#include <gtest/gtest.h>

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

TEST(Turned, LabelsAreOfTheMovesThatAreShown) {
  constexpr int64_t kRows = 300;
  const PretrainOptions exact{.updates = 1, .labels = LabelSource::kExact, .depth = 5};
  PuzzleLabels<Cube2> turned({.puzzle = kTurned}, exact, 0.95, 0), plain({.puzzle = kPlain}, exact, 0.95, 0);
  const Tensor states = zeros({kRows, 7}, kI32), labels = zeros({kRows, 6}), others = zeros({1, 6});
  turned.fill(0, {1, 2}, states, labels);
  plain.fill(0, {1, 2}, zeros({1, 7}, kI32), others);  // reads the table of distances
  std::map<std::vector<int32_t>, Cube2::State> by_view;
  const std::vector<uint8_t> distances = all_distances(kPlain);
  for (uint32_t code = 0; code < Cube2::kStates; code++)
    if (distances[code] <= 5) by_view[seen(kPlain, kPlain.state(code))] = kPlain.state(code);
  for (int64_t i = 0; i < kRows; i++) {
    const int32_t* row = states.data<int32_t>() + i * 7;
    std::vector<float> expected(6);
    plain.label(by_view.at(std::vector<int32_t>(row, row + 7)), 1, 0, expected);
    for (size_t a = 0; a < 6; a++) EXPECT_FLOAT_EQ(labels.data<float>()[static_cast<size_t>(i) * 6 + a], expected[a]);
  }
}

constexpr int64_t kSteps = 24'000;
const NetOptions kNet{.hidden = {64, 32}};

// Numbers of moves that were mixed up would teach nothing: at random, no episode in a dozen is solved.
TEST(Turned, DqnLearns) {
  PuzzleEnv<Cube2> env{.puzzle = kTurned, .mixed = 0.3F, .limit = 12};
  const DqnOptions o{.net = kNet, .n_step = 1, .discount = 0.95, .learning_starts = 500, .total_steps = kSteps};
  PuzzleDqn<Cube2> agent(env, o, {.start = 1, .end = 3, .when = 0.7});
  while (agent.status().steps < kSteps) agent.step();
  EXPECT_GT(agent.evaluate(200, 5).total, -2.3) << "three random moves are two that cost, or none";
}

TEST(Turned, PqnLearns) {
  PuzzleEnv<Cube2> env{.puzzle = kTurned, .depth = 2, .limit = 8};
  const PqnOptions o{.net = kNet, .discount = 0.95, .total_steps = 4 * kSteps};
  Pqn<PuzzleEnv<Cube2>> agent(env, o);
  while (agent.status().steps < 4 * kSteps) agent.step();
  EXPECT_GT(agent.evaluate(200, 5).total, -1.3);
}

}  // namespace
}  // namespace ingot::rl
