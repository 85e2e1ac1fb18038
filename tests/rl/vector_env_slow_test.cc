// Memory of the whole process over very many steps.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "ingot/base/random.h"
#include "ingot/rl/classic.h"
#include "ingot/rl/cube3.h"
#include "ingot/rl/vector_env.h"
#include "tests/ops/harness.h"

namespace ingot::rl {
namespace {

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

template <class E>
void stays_flat(const E& env) {
  constexpr int64_t kCount = 8;
  VectorEnv<E> envs(env, kCount, 1);
  std::vector<int64_t> actions(kCount);
  std::vector<StepResult> results(kCount);
  const auto play = [&](int64_t steps) {
    for (int64_t step = 0; step < steps; step++) {
      fill_integers(actions.data(), kCount, step * kCount, 0, envs.action_count(), {.seed = 1});
      envs.step(actions, results);
    }
  };
  play(1000);
  const size_t before = resident_bytes();
  const uint64_t mallocs = harness::malloc_calls();
  play(1'000'000 / kCount);
  EXPECT_EQ(harness::malloc_calls(), mallocs);
  EXPECT_LE(resident_bytes(), before + (size_t{1} << 20));
}

TEST(VectorEnvSlow, MemoryStaysFlatOverAMillionSteps) {
  stays_flat(CartPole{});
  stays_flat(Acrobot{});
  stays_flat(MountainCar{});
  stays_flat(GridWorld{});
  stays_flat(PuzzleEnv<Cube2>{});
  stays_flat(PuzzleEnv<Cube3>{});
}

}  // namespace
}  // namespace ingot::rl
