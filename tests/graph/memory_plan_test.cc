// The arena's layout, without a tensor in sight: lifetimes in, offsets out, checked by brute force.
#include "graph/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/ops/harness.h"

namespace ingot::graph {
namespace {

using harness::Random;

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

// The largest sum alive at once, step by step.
size_t peak(const std::vector<Lifetime>& all) {
  int steps = 0;
  for (const Lifetime& l : all) steps = std::max(steps, l.last + 1);
  size_t most = 0;
  for (int s = 0; s < steps; s++) {
    size_t now = 0;
    for (const Lifetime& l : all)
      if (l.first <= s && s <= l.last) now += rounded(l.bytes);
    most = std::max(most, now);
  }
  return most;
}

testing::AssertionResult valid(const std::vector<Lifetime>& all, const MemoryPlan& plan) {
  if (plan.offsets.size() != all.size()) return testing::AssertionFailure() << "not one offset per lifetime";
  if (plan.live_peak != peak(all))
    return testing::AssertionFailure() << "live peak " << plan.live_peak << ", not " << peak(all);
  if (plan.bytes < plan.live_peak) return testing::AssertionFailure() << "an arena below the live peak";
  for (size_t i = 0; i < all.size(); i++) {
    if (plan.offsets[i] % 64 != 0) return testing::AssertionFailure() << "offset " << plan.offsets[i];
    if (plan.offsets[i] + all[i].bytes > plan.bytes)
      return testing::AssertionFailure() << "lifetime " << i << " sticks out of the arena";
    for (size_t k = 0; k < i; k++) {
      const bool together = all[i].first <= all[k].last && all[k].first <= all[i].last;
      const bool apart = plan.offsets[i] + all[i].bytes <= plan.offsets[k] ||
                         plan.offsets[k] + all[k].bytes <= plan.offsets[i] || all[i].bytes == 0 || all[k].bytes == 0;
      if (together && !apart) return testing::AssertionFailure() << "lifetimes " << k << " and " << i << " overlap";
    }
  }
  return testing::AssertionSuccess();
}

double waste(const MemoryPlan& plan) {
  return plan.live_peak == 0 ? 1 : static_cast<double>(plan.bytes) / static_cast<double>(plan.live_peak);
}

TEST(MemoryPlan, NothingTakesNothing) {
  const MemoryPlan none = plan_memory({});
  EXPECT_EQ(none.bytes, 0u);
  EXPECT_EQ(none.live_peak, 0u);
  const std::vector<Lifetime> empty = {{0, 0, 3}, {0, 1, 1}};
  const MemoryPlan plan = plan_memory(empty);
  EXPECT_TRUE(valid(empty, plan));
  EXPECT_EQ(plan.bytes, 0u);
}

TEST(MemoryPlan, OneAfterTheOtherShareTheirPlace) {
  const std::vector<Lifetime> chain = {{1000, 0, 1}, {1000, 2, 3}, {1000, 4, 5}};
  const MemoryPlan plan = plan_memory(chain);
  EXPECT_TRUE(valid(chain, plan));
  EXPECT_EQ(plan.bytes, 1024u);
}

TEST(MemoryPlan, BothEndsBelongToALifetime) {  // a value is read in the step where the next one is written
  const std::vector<Lifetime> chain = {{64, 0, 1}, {64, 1, 2}};
  const MemoryPlan plan = plan_memory(chain);
  EXPECT_TRUE(valid(chain, plan));
  EXPECT_EQ(plan.bytes, 128u);
}

TEST(MemoryPlan, TheSameTwiceIsTheSame) {
  Random random(5);
  std::vector<Lifetime> all;
  for (int i = 0; i < 200; i++) {
    const int first = static_cast<int>(random.below(100));
    all.push_back({static_cast<size_t>(random.below(9000)), first, first + static_cast<int>(random.below(20))});
  }
  EXPECT_EQ(plan_memory(all).offsets, plan_memory(all).offsets);
}

TEST(MemoryPlan, RandomLifetimesNeverOverlap) {
  for (uint64_t seed = 1; seed <= 400; seed++) {
    Random random(seed);
    const int64_t count = 1 + random.below(60), steps = 1 + random.below(50);
    const bool powers = random.chance(0.3), zeros = random.chance(0.3);
    std::vector<Lifetime> all;
    for (int64_t i = 0; i < count; i++) {
      size_t bytes = powers ? size_t{1} << random.below(20) : static_cast<size_t>(1 + random.below(100000));
      if (zeros && random.chance(0.2)) bytes = 0;
      const int first = static_cast<int>(random.below(steps));
      const int span = static_cast<int>(random.chance(0.2) ? random.below(steps) : random.below(4));
      all.push_back({bytes, first, first + span});
    }
    ASSERT_TRUE(valid(all, plan_memory(all))) << "seed " << seed;
  }
}

// Too many for every pair to be looked at: as time goes, from either end.
TEST(MemoryPlan, ManyLifetimesDoNotOverlap) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    Random random(seed);
    std::vector<Lifetime> all;
    const int steps = 4000;
    for (int i = 0; i < steps; i++) {
      const auto bytes = static_cast<size_t>(random.chance(0.1) ? 0 : 1 + random.below(3000));
      const bool nested = seed == 2 && i < steps / 2;  // as values that the backward pass reads
      all.push_back({bytes, i, nested ? steps - i : std::min(steps, i + static_cast<int>(random.below(30)))});
    }
    const MemoryPlan plan = plan_memory(all);
    ASSERT_TRUE(valid(all, plan)) << "seed " << seed;
    EXPECT_LT(waste(plan), 1.25) << "seed " << seed;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Lifetimes as training steps have them. Values of the forward pass stay until their layer's turn in the backward pass.

class Training {
 public:
  /// A value made now; `last` is set by keep().
  int make(int64_t elements) {
    values_.push_back({static_cast<size_t>(elements) * 4, step_, step_});
    return static_cast<int>(values_.size()) - 1;
  }
  void read(int value) { values_[static_cast<size_t>(value)].last = step_; }
  void next() { step_++; }
  const std::vector<Lifetime>& lifetimes() const { return values_; }

 private:
  std::vector<Lifetime> values_;
  int step_ = 0;
};

// Layer k: activation from activation, and backwards the gradient of its input and of its weights (used one step on).
std::vector<Lifetime> chain_training(const std::vector<int64_t>& sizes, const std::vector<int64_t>& weights,
                                     const std::vector<int64_t>& scratch) {
  Training t;
  std::vector<int> activations;
  for (size_t k = 0; k < sizes.size(); k++) {
    if (k > 0) t.read(activations.back());
    if (scratch[k] > 0) t.make(scratch[k]);
    activations.push_back(t.make(sizes[k]));
    t.next();
  }
  t.read(activations.back());
  int dy = t.make(sizes.back());
  t.next();
  for (size_t k = sizes.size(); k-- > 1;) {
    t.read(dy);
    t.read(activations[k - 1]);
    const int dw = t.make(weights[k]);
    if (scratch[k] > 0) t.make(scratch[k]);
    t.next();
    t.read(dw);  // the optimiser's pass
    t.next();
    t.read(dy);
    const int dx = t.make(sizes[k - 1]);
    t.next();
    t.read(activations[k - 1]);
    dy = dx;
  }
  return t.lifetimes();
}

std::vector<Lifetime> mlp(Random& random) {
  const int64_t batch = int64_t{1} << random.below(9), layers = 2 + random.below(12);
  std::vector<int64_t> sizes, weights, scratch;
  int64_t before = 784;
  for (int64_t k = 0; k < layers; k++) {
    const int64_t width = 16 + random.below(1024);
    sizes.push_back(batch * width);
    weights.push_back(width * before);
    scratch.push_back(random.chance(0.3) ? 4096 : 0);
    before = width;
  }
  return chain_training(sizes, weights, scratch);
}

std::vector<Lifetime> cnn(Random& random) {  // planes shrink, channels grow
  const int64_t batch = 1 + random.below(64);
  int64_t side = 32, channels = 3;
  std::vector<int64_t> sizes, weights, scratch;
  for (int64_t k = 0; k < 4 + random.below(8); k++) {
    const int64_t out = channels * (random.chance(0.4) ? 2 : 1) + (k == 0 ? 13 : 0);
    if (random.chance(0.4) && side > 2) side /= 2;
    sizes.push_back(batch * out * side * side);
    weights.push_back(out * channels * 9);
    scratch.push_back(channels * 9 * side * side);  // columns of one picture
    channels = out;
  }
  return chain_training(sizes, weights, scratch);
}

std::vector<Lifetime> lstm(
    Random& random) {  // every step keeps gates and cell; the backward pass carries two gradients
  const int64_t batch = 1 + random.below(64), hidden = 8 + random.below(256), length = 4 + random.below(40);
  Training t;
  struct Kept {
    int gates, cell, hidden;
  };
  std::vector<Kept> kept;
  for (int64_t k = 0; k < length; k++) {
    const int z = t.make(batch * 4 * hidden);
    if (k > 0) t.read(kept.back().hidden);
    t.next();
    t.read(z);
    const int gates = t.make(batch * 4 * hidden), cell = t.make(batch * hidden);
    if (k > 0) t.read(kept.back().cell);
    t.next();
    t.read(gates);
    t.read(cell);
    kept.push_back({gates, cell, t.make(batch * hidden)});
    t.next();
  }
  const int dw = t.make(4 * hidden * 2 * hidden);
  int dh = t.make(batch * hidden), dc = t.make(batch * hidden);
  for (size_t k = kept.size(); k-- > 0;) {
    t.read(dh), t.read(dc), t.read(kept[k].gates), t.read(kept[k].cell);
    const int dz = t.make(batch * 4 * hidden);
    dc = t.make(batch * hidden);
    t.next();
    t.read(dz), t.read(dw);
    if (k > 0) t.read(kept[k - 1].hidden);
    t.next();
    t.read(dz);
    dh = t.make(batch * hidden);
    t.read(dc);
    t.next();
  }
  return t.lifetimes();
}

struct Family {
  const char* name;
  std::vector<Lifetime> (*make)(Random&);
};

class MemoryPlanOf : public testing::TestWithParam<Family> {};

TEST_P(MemoryPlanOf, StaysNearTheLivePeak) {
  double most = 1, sum = 0;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    Random random(seed);
    const std::vector<Lifetime> all = GetParam().make(random);
    const MemoryPlan plan = plan_memory(all);
    ASSERT_TRUE(valid(all, plan)) << "seed " << seed;
    EXPECT_LE(waste(plan), 1.10) << "seed " << seed << ": " << plan.bytes << " for " << plan.live_peak;
    most = std::max(most, waste(plan));
    sum += waste(plan);
  }
  RecordProperty("worst", std::to_string(most));
  RecordProperty("mean", std::to_string(sum / 200));
}

INSTANTIATE_TEST_SUITE_P(Training, MemoryPlanOf,
                         testing::Values(Family{"Mlp", mlp}, Family{"Cnn", cnn}, Family{"Lstm", lstm}),
                         [](const auto& family) { return family.param.name; });

}  // namespace
}  // namespace ingot::graph
