// More seeds of the random functions: other graphs than the fast tier's.
#include "tests/graph/random_graph_checks.h"

namespace ingot::harness {
namespace {

TEST(RandomGraphsSlow, PlannedEqualsEager) {
  for (uint64_t seed = 1000; seed < 6000; seed++) {
    check_planned(seed);
    if (HasFatalFailure()) return;
  }
}

TEST(RandomGraphsSlow, GradientsAreSlopes) {
  for (uint64_t seed = 1000; seed < 5000; seed++) {
    check_gradients(seed);
    if (HasFatalFailure()) return;
  }
}

TEST(RandomGraphsSlow, ArenasStayNearTheLivePeak) {
  ArenaWaste waste;
  for (uint64_t seed = 1000; seed < 3000; seed++) {
    add_waste(seed, waste);
    if (HasFatalFailure()) return;
  }
  EXPECT_LE(waste.worst, 1.10) << waste.above << " of " << waste.plans << " plans are above";
}

}  // namespace
}  // namespace ingot::harness
