#include "ingot/rl/vector_env.h"

#include <gtest/gtest.h>

#include "ingot/base/random.h"
#include "tests/error_of.h"
#include "tests/ops/harness.h"
#include "tests/rl/corridor.h"

namespace ingot::rl {
namespace {

std::vector<int64_t> random_actions(int64_t n, int64_t count, uint64_t step) {
  std::vector<int64_t> actions(static_cast<size_t>(n));
  fill_integers(actions.data(), n, 0, 0, count, {.seed = 5, .stream = step});
  return actions;
}

TEST(VectorEnv, IsTheSameAsEnvironmentsOneByOne) {
  constexpr int64_t kCount = 70;
  VectorEnv<Corridor> envs({}, kCount, 3);
  std::vector<Corridor> alone(kCount);
  std::vector<int64_t> episodes(kCount, 1);
  for (int64_t i = 0; i < kCount; i++) alone[static_cast<size_t>(i)].reset(episode_seed(3, i, 0));
  std::vector<StepResult> results(kCount);
  for (uint64_t step = 0; step < 200; step++) {
    const auto actions = random_actions(kCount, 2, step);
    envs.step(actions, results);
    for (size_t i = 0; i < alone.size(); i++) {
      ASSERT_EQ(results[i], alone[i].step(actions[i]));
      ASSERT_EQ(envs.reached()[i], alone[i].code());
      if (results[i].ended()) alone[i].reset(episode_seed(3, static_cast<int64_t>(i), episodes[i]++));
      ASSERT_EQ(envs.codes()[i], alone[i].code());
    }
  }
}

TEST(VectorEnv, BeginsTheNextEpisodeInTheSameStep) {
  VectorEnv<Corridor> envs({.length = 3, .limit = 4}, 2, 0);
  envs.envs()[0].at = 1, envs.envs()[1].at = 0;
  std::vector<StepResult> results(2);
  envs.step(std::vector<int64_t>{1, 0}, results);
  EXPECT_TRUE(results[0].terminated && !results[0].truncated);
  EXPECT_EQ(envs.reached()[0], 2);  // the end of the corridor,
  EXPECT_NE(envs.codes()[0], 2);    // and the next episode's start
  EXPECT_EQ(envs.finished(0), (Episode{1.0, 1}));
  EXPECT_EQ(envs.finished(1), Episode{});
  for (int i = 0; i < 3; i++) envs.step(std::vector<int64_t>{0, 0}, results);
  EXPECT_TRUE(results[1].truncated && !results[1].terminated);
  EXPECT_EQ(envs.finished(1).length, 4);
}

TEST(VectorEnv, WritesIntoTensors) {
  VectorEnv<Corridor> envs({}, 3, 0), same({}, 3, 0);
  const Tensor actions = Tensor::from<int64_t>({1, 0, 1}), rewards = Tensor::empty({3});
  const Tensor terminated = Tensor::empty({3}, kBool), truncated = Tensor::empty({3}, kBool);
  std::vector<StepResult> results(3);
  for (int step = 0; step < 60; step++) {
    envs.step(actions, rewards, terminated, truncated);
    same.step({actions.data<int64_t>(), 3}, results);
    for (size_t i = 0; i < 3; i++) {
      ASSERT_EQ(rewards.data<float>()[i], results[i].reward);
      ASSERT_EQ(terminated.data<bool>()[i], results[i].terminated);
      ASSERT_EQ(truncated.data<bool>()[i], results[i].truncated);
    }
  }
  const Tensor seen = Tensor::empty({3, 8});
  envs.observe(seen);
  for (size_t i = 0; i < 3; i++)
    for (int64_t k = 0; k < 8; k++)
      EXPECT_EQ(seen.at<float>({static_cast<int64_t>(i), k}), envs.codes()[i] == k ? 1.0F : 0.0F);
}

TEST(VectorEnv, RefusesWhatDoesNotFit) {
  VectorEnv<Corridor> envs({}, 2, 0);
  std::vector<StepResult> results(2);
  EXPECT_EQ(error_of([&] { VectorEnv<Corridor>({}, 0, 0); }), "VectorEnv: 0 environments — there must be one at least");
  EXPECT_EQ(error_of([&] {
              envs.step(std::vector<int64_t>{0, 2}, results);
            }),
            "step: action 2 of environment 1 — actions are 0 to 1");
  EXPECT_EQ(error_of([&] {
              envs.step(std::vector<int64_t>{-1, 0}, results);
            }),
            "step: action -1 of environment 0 — actions are 0 to 1");
  EXPECT_EQ(error_of([&] { envs.step(std::vector<int64_t>{0}, results); }),
            "VectorEnv::step: 1 actions and room for 2 results for 2 environments");
  EXPECT_EQ(error_of([&] {
              envs.observe(Tensor::empty({2, 7}));
            }),
            "VectorEnv::observe: observations is f32 [2, 7] — give a contiguous f32 [2, 8]");
}

TEST(VectorEnv, GoesOnFromWhatWasSaved) {
  VectorEnv<Corridor> envs({}, 5, 9), other({}, 5, 1);
  std::vector<StepResult> a(5), b(5);
  for (uint64_t step = 0; step < 30; step++) envs.step(random_actions(5, 2, step), a);
  std::vector<std::byte> bytes(envs.saved_bytes());
  envs.save(bytes);
  other.load(bytes);
  for (uint64_t step = 30; step < 120; step++) {
    envs.step(random_actions(5, 2, step), a);
    other.step(random_actions(5, 2, step), b);
    ASSERT_EQ(a, b);
    ASSERT_TRUE(std::ranges::equal(envs.codes(), other.codes()));
  }
  EXPECT_EQ(envs.finished(0), other.finished(0));
  bytes.pop_back();
  EXPECT_NE(error_of([&] { other.load(bytes); }), "");
}

}  // namespace
}  // namespace ingot::rl
