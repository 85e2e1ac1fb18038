// What one worker touches: many footprints, found by where they are, agree with looking at each of them.
#include "graph/footprint.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/ops/harness.h"

namespace ingot::graph {
namespace {

Footprint any(harness::Random& random) {
  Footprint f;
  f.space = random.chance(0.8) ? Space::kArena : Space::kBound;
  f.index = f.space == Space::kBound ? static_cast<int>(random.below(2)) : 0;
  f.start = random.below(20000);
  f.rows = random.chance(0.5) ? 1 : random.below(8);
  f.width = random.chance(0.9) ? random.below(200) : random.below(5000);
  f.pitch = f.rows > 1 ? 64 + random.below(3) * 64 : 0;
  f.write = random.chance(0.3);
  return f;
}

TEST(Footprints, TheIndexFindsWhatMeets) {
  harness::Random random(11);
  int conflicts = 0;
  for (int round = 0; round < 60; round++) {
    FootprintIndex index;
    std::vector<Footprint> all;
    for (int i = 0; i < 40; i++) {
      const Footprint next = any(random);
      bool expected = false;
      for (const Footprint& f : all) expected = expected || ((f.write || next.write) && meet(f, next));
      ASSERT_EQ(index.conflicts(next), expected) << "round " << round << ", footprint " << i;
      conflicts += expected;
      index.add(next);
      all.push_back(next);
    }
  }
  EXPECT_GT(conflicts, 100);
  EXPECT_LT(conflicts, 2300);
}

}  // namespace
}  // namespace ingot::graph
