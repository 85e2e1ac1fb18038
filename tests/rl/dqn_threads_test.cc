// The same bits at any number of threads.
#include <gtest/gtest.h>

#include "ingot/base/threads.h"
#include "ingot/rl/dqn.h"
#include "tests/rl/corridor.h"

namespace ingot::rl {
namespace {

std::vector<float> trained(int count) {
  const int before = threads();
  set_threads(count);
  Dqn<Corridor> agent({}, {.net = {.hidden = {256, 128}},
                           .environments = 16,
                           .batch = 128,
                           .capacity = 4'000,
                           .learning_starts = 160,
                           .total_steps = 1'600,
                           .seed = 2});
  while (agent.status().steps < 800) agent.step();
  std::vector<float> weights;
  for (const NamedTensor& p : agent.network().parameters())
    for (const float v : p.tensor.to_vector<float>()) weights.push_back(v);
  set_threads(before);
  return weights;
}

TEST(DqnThreads, SameBitsAtOneTwoAndThree) {
  const std::vector<float> one = trained(1);
  EXPECT_EQ(trained(2), one);
  EXPECT_EQ(trained(3), one);
}

}  // namespace
}  // namespace ingot::rl
