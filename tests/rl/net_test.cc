// Networks: attention over the inputs that are one.
#include "ingot/rl/net.h"

#include <gtest/gtest.h>

#include "ingot/graph/plan.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/rl/cube2.h"
#include "ingot/rl/curriculum.h"
#include "ingot/rl/value_learning.h"
#include "tests/error_of.h"

namespace ingot::rl {
namespace {

const NetOptions kAttention{.hidden = {24, 24}, .kind = NetKind::kAttention, .heads = 2, .blocks = 1};

TEST(AttentionNet, SeesASetOfStickers) {
  const nn::SeedScope seed(3);
  QNet net({12, 3}, 4, kAttention);
  const Tensor x = Tensor::from(std::vector<int32_t>{1, 5, 9, 9, 1, 5, 1, 5, 10}, {3, 3}), y = net(x);
  EXPECT_TRUE((y.shape() == Dims{3, 4}));
  for (int64_t a = 0; a < 4; a++) EXPECT_NEAR(y.at<float>({0, a}), y.at<float>({1, a}), 1e-5) << "in any order";
  EXPECT_GT(max(abs(slice(y, 0, 0, 1) - slice(y, 0, 2, 3))).item<float>(), 1e-3) << "another sticker";
  bool found = false;
  for (const NamedTensor& p : net.parameters()) found |= p.name.find("self_attn.in_proj_weight") != std::string::npos;
  EXPECT_TRUE(found);
}

// What one sticker is worth depends on the others: no sum of rows says that.
TEST(AttentionNet, LearnsTheCubeByPlaying) {
  PuzzleDqn<Cube2> agent({.puzzle = Cube2(CubeMetric::kQuarter, CubeEncoding::kCubies), .mixed = 0.3F, .limit = 10},
                         {.net = kAttention,
                          .discount = 0.95,
                          .environments = 8,
                          .batch = 32,
                          .capacity = 5'000,
                          .learning_starts = 200,
                          .total_steps = 6'000,
                          .seed = 2},
                         {.start = 1, .end = 2});
  while (agent.status().steps < 6'000) agent.step();
  EXPECT_GT(agent.evaluate(100, 3).total, -5);  // -1 is optimal, -10 is never solved
}

TEST(AttentionNet, LearnsValuesOfStates) {
  ValueLearner<Cube2> learner(Cube2(CubeMetric::kQuarter, CubeEncoding::kCubies),
                              {.net = kAttention, .walk_length = 5, .walks = 16, .walk_updates = 500, .lr = 2e-3F});
  while (learner.updates() < 500) learner.step();
  LearnedValue<Cube2> value(learner.puzzle(), learner.network(), 4);
  const Cube2& cube = learner.puzzle();
  const std::array<Cube2::State, 2> states = {cube.apply(cube.solved(), 0), scrambled(cube, 5, {1})};
  std::array<float, 2> far{};
  value(states, far);
  EXPECT_LT(far[0], far[1]);
}

TEST(AttentionNet, RefusesWhatItCannotSee) {
  EXPECT_REFUSED(QNet({4, 0}, 2, kAttention), "does not say which");
  NetOptions o = kAttention;
  o.heads = 5;
  EXPECT_REFUSED(QNet({12, 3}, 2, o), "divide the width");
  o = kAttention, o.blocks = 0;
  EXPECT_REFUSED(QNet({12, 3}, 2, o), "one of each at least");
}

}  // namespace
}  // namespace ingot::rl
