// Random functions, eager and planned. Failures print the seed and the function; the slow tier asks more seeds.
#include "tests/graph/random_graph_checks.h"
#include "tests/sanitized.h"

namespace ingot::harness {
namespace {

constexpr uint64_t kSeeds = kSanitized ? 30 : 100;

TEST(RandomGraphs, PlannedEqualsEager) {
  for (uint64_t seed = 1; seed <= kSeeds + kSeeds / 2; seed++) {
    check_planned(seed);
    if (HasFatalFailure()) return;
  }
}

TEST(RandomGraphs, GradientsAreSlopes) {
  for (uint64_t seed = 1; seed <= kSeeds; seed++) {
    check_gradients(seed);
    if (HasFatalFailure()) return;
  }
}

TEST(RandomGraphs, ArenasStayNearTheLivePeak) {
  ArenaWaste waste;
  for (uint64_t seed = 1; seed <= kSeeds; seed++) {
    add_waste(seed, waste);
    if (HasFatalFailure()) return;
  }
  EXPECT_LE(waste.worst, 1.10) << waste.above << " of " << waste.plans << " plans are above";
  EXPECT_LE(waste.arena / waste.peak, 1.02);
}

TEST(RandomGraphs, TheSameSeedIsTheSameFunction) {
  const RandomGraph a(7), b(7), c(8);
  EXPECT_EQ(a.text(), b.text());
  EXPECT_NE(a.text(), c.text());
  EXPECT_TRUE(same_bits(a(a.inputs())[0], b(b.inputs())[0]));
}

}  // namespace
}  // namespace ingot::harness
