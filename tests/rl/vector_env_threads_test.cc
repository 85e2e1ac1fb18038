// Large crowds of environments: the same bits at any thread count, no allocation in a step.
#include <gtest/gtest.h>

#include "ingot/base/random.h"
#include "ingot/rl/classic.h"
#include "ingot/rl/cube2.h"
#include "ingot/rl/cube3.h"
#include "ingot/rl/vector_env.h"
#include "tests/error_of.h"
#include "tests/ops/harness.h"
#include "tests/rl/corridor.h"

namespace ingot::rl {
namespace {

class WithThreads {
 public:
  explicit WithThreads(int n) : before_(threads()) { set_threads(n); }
  ~WithThreads() { set_threads(before_); }

 private:
  int before_;
};

// All codes and rewards of some steps, as one hash.
template <class E>
uint64_t played(const E& env, int64_t n, int steps, int team) {
  const WithThreads with(team);
  VectorEnv<E> envs(env, n, 11);
  const Tensor actions = Tensor::empty({n}, kI64), rewards = Tensor::empty({n});
  const Tensor terminated = Tensor::empty({n}, kBool), truncated = Tensor::empty({n}, kBool);
  const Tensor seen = Tensor::empty({n, envs.observation_size()});
  uint64_t hash = 0;
  for (int step = 0; step < steps; step++) {
    fill_integers(actions.data<int64_t>(), n, 0, 0, envs.action_count(), {2, static_cast<uint64_t>(step)});
    envs.step(actions, rewards, terminated, truncated);
    envs.observe(seen);
    for (int64_t i = 0; i < n; i++) {
      const float value = rewards.data<float>()[i];
      hash = hash_of(std::array<uint64_t, 2>{hash, std::bit_cast<uint32_t>(value)});
    }
    for (int64_t i = 0; i < seen.numel(); i += 5)
      hash = hash_of(std::array<uint64_t, 2>{hash, std::bit_cast<uint32_t>(seen.data<float>()[i])});
  }
  return hash;
}

TEST(VectorEnvThreads, SameBitsAtAnyNumber) {
  for (const int team : {2, 3}) {
    EXPECT_EQ(played(CartPole{}, 3000, 40, team), played(CartPole{}, 3000, 40, 1));
    EXPECT_EQ(played(GridWorld({"S..G"}, 0.4), 2100, 40, team), played(GridWorld({"S..G"}, 0.4), 2100, 40, 1));
    const PuzzleEnv<Cube2> cube{.puzzle = Cube2(CubeMetric::kQuarter, CubeEncoding::kCubies), .depth = 2.5F};
    EXPECT_EQ(played(cube, 2100, 10, team), played(cube, 2100, 10, 1));
  }
}

struct Thrower : Corridor {
  StepResult step(int64_t action) {
    if (at == 3) throw Error("corridor: the floor is broken");
    return Corridor::step(action);
  }
};

TEST(VectorEnvThreads, WhatAnEnvironmentThrowsIsSeen) {
  const WithThreads with(2);
  VectorEnv<Thrower> envs({}, 5000, 1);
  std::vector<int64_t> actions(5000, 1);
  std::vector<StepResult> results(5000);
  EXPECT_EQ(error_of([&] {
              for (int i = 0; i < 10; i++) envs.step(actions, results);
            }),
            "corridor: the floor is broken");
}

template <class E>
void allocates_nothing(const E& env, int64_t n, int64_t steps) {
  VectorEnv<E> envs(env, n, 1);
  const Tensor rewards = Tensor::empty({n}), actions = Tensor::empty({n}, kI64);
  const Tensor terminated = Tensor::empty({n}, kBool), truncated = Tensor::empty({n}, kBool);
  const Tensor seen = Tensor::empty({n, envs.observation_size()});
  const auto play = [&](int64_t count) {
    for (int64_t step = 0; step < count; step++) {
      fill_integers(actions.data<int64_t>(), n, step * n, 0, envs.action_count(), {.seed = 1});
      envs.step(actions, rewards, terminated, truncated);
      envs.observe(seen);
    }
  };
  play(10);
  const uint64_t before = harness::malloc_calls();
  play(steps);
  EXPECT_EQ(harness::malloc_calls(), before);
}

TEST(VectorEnvAllocation, NoneInTenThousandSteps) {
  allocates_nothing(CartPole{}, 4, 10000);
  allocates_nothing(Acrobot{}, 4, 2500);
  allocates_nothing(GridWorld{}, 4, 10000);
  allocates_nothing(PuzzleEnv<Cube2>{}, 4, 10000);
  allocates_nothing(PuzzleEnv<Cube3>{}, 4, 10000);
  const WithThreads with(2);
  allocates_nothing(CartPole{}, 3000, 20);
}

}  // namespace
}  // namespace ingot::rl
