// The order of steps: never worse than the captured one, close to the best of all orders, and the same results.
#include "graph/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"
#include "tests/graph/random_graph.h"
#include "tests/ops/harness.h"

namespace ingot::graph {
namespace {

using harness::Random;

constexpr size_t kPage = 4096;

// Steps and values like those of a network: most values are read soon after they were made, some much later.
Steps random_steps(Random& random, int count) {
  Steps steps;
  std::vector<int> makers;
  for (int s = 0; s < count; s++) {
    std::vector<int> operands;
    for (int64_t k = random.below(4); k > 0 && !makers.empty(); k--) {
      const int values = static_cast<int>(makers.size());
      const int near = std::max(0, values - 1 - static_cast<int>(random.below(4)));
      const int v = random.chance(0.6) ? near : static_cast<int>(random.below(values));
      if (std::find(operands.begin(), operands.end(), v) == operands.end()) operands.push_back(v);
    }
    for (const int v : operands) {
      steps.before.add(makers[static_cast<size_t>(v)]);
      steps.touched.add(v);
    }
    if (s > 0 && random.chance(0.1)) steps.before.add(static_cast<int>(random.below(s)));
    const int64_t results = random.chance(0.2)   ? 0
                            : random.chance(0.1) ? 2
                                                 : 1;  // none: it stores to the user's memory
    for (int64_t k = 0; k < results; k++) {
      const int v = static_cast<int>(makers.size());
      size_t bytes = kPage * static_cast<size_t>(1 + random.below(random.chance(0.3) ? 40 : 8));
      if (k == 0 && !operands.empty() && random.chance(0.4)) {
        bytes = steps.bytes[static_cast<size_t>(operands[0])];
        steps.shares.add(v);
        steps.shares.add(operands[0]);
      }
      makers.push_back(s);
      steps.bytes.push_back(bytes);
      steps.touched.add(v);
    }
    steps.scratch.push_back(random.chance(0.1) ? kPage * static_cast<size_t>(random.below(20)) : 0);
    steps.before.close();
    steps.touched.close();
    steps.shares.close();
  }
  return steps;
}

bool can_run(const Steps& steps, const std::vector<int>& order) {
  if (order.size() != static_cast<size_t>(steps.count())) return false;
  std::vector<bool> done(order.size(), false);
  for (const int s : order) {
    if (done[static_cast<size_t>(s)]) return false;
    for (const int b : steps.before[s])
      if (!done[static_cast<size_t>(b)]) return false;
    done[static_cast<size_t>(s)] = true;
  }
  return true;
}

// Every order there is: from every set of steps that can have run, every step that can come next. What is alive is
// counted from the sets alone, with no code of ours. least[set] is the lowest peak on any way to the set.
class EveryOrder {
 public:
  explicit EveryOrder(const Steps& steps) : steps_(steps), touching_(steps.bytes.size(), 0) {
    for (int s = 0; s < steps.count(); s++)
      for (const int v : steps.touched[s]) touching_[static_cast<size_t>(v)] |= bit(s);
  }

  size_t least_peak() const {
    const int count = steps_.count();
    std::vector<size_t> least(size_t{1} << count, SIZE_MAX);
    least[0] = 0;
    for (uint32_t done = 0; done + 1 < least.size(); done++)
      for (int s = 0; s < count && least[done] != SIZE_MAX; s++) {
        if ((done & bit(s)) != 0 || !is_ready(s, done)) continue;
        size_t& next = least[done | bit(s)];
        next = std::min(next, std::max(least[done], alive_in(s, done)));
      }
    return least.back();
  }

  size_t peak_of(const std::vector<int>& order) const {
    size_t peak = 0;
    uint32_t done = 0;
    for (const int s : order) {
      peak = std::max(peak, alive_in(s, done));
      done |= bit(s);
    }
    return peak;
  }

 private:
  static uint32_t bit(int s) { return uint32_t{1} << s; }

  bool is_ready(int s, uint32_t done) const {
    return std::all_of(steps_.before[s].begin(), steps_.before[s].end(), [&](int b) { return (done & bit(b)) != 0; });
  }

  size_t alive_in(int s, uint32_t done) const {
    size_t sum = steps_.scratch[static_cast<size_t>(s)];
    for (size_t v = 0; v < touching_.size(); v++) {
      const bool touched = (touching_[v] & bit(s)) != 0;
      const bool kept = (touching_[v] & done) != 0 && (touching_[v] & ~done) != 0;
      if (touched || kept) sum += steps_.bytes[v];
    }
    for (size_t i = 0; i < steps_.shares[s].size(); i += 2)  // random steps have one pair at most
      if ((touching_[static_cast<size_t>(steps_.shares[s][i + 1])] & ~(done | bit(s))) == 0)
        sum -= steps_.bytes[static_cast<size_t>(steps_.shares[s][i])];
    return sum;
  }

  const Steps& steps_;
  std::vector<uint32_t> touching_;  // by value: the steps
};

TEST(Order, IsCloseToTheBestOfAllOrders) {
  double captured_sum = 0, ours_sum = 0, worst = 1;
  int graphs = 0, best = 0;
  for (uint64_t seed = 0; seed < 600; seed++) {
    Random random(seed);
    const Steps steps = random_steps(random, 4 + static_cast<int>(seed % 9));
    const EveryOrder every(steps);
    const Order order = choose_order(steps);
    ASSERT_TRUE(can_run(steps, order.steps)) << "seed " << seed;
    const size_t captured = every.peak_of(captured_order(steps).steps), ours = every.peak_of(order.steps);
    ASSERT_EQ(captured - ours, order.saved) << "seed " << seed;  // never worse
    ASSERT_EQ(find_liveness(steps, order.steps).peak, ours) << "seed " << seed;
    const size_t least = every.least_peak();
    ASSERT_LE(least, ours) << "seed " << seed;
    if (least == 0) continue;
    const double ratio = static_cast<double>(ours) / static_cast<double>(least);
    graphs++;
    best += ours == least;
    ours_sum += ratio;
    captured_sum += static_cast<double>(captured) / static_cast<double>(least);
    worst = std::max(worst, ratio);
  }
  RecordProperty("mean", std::to_string(ours_sum / graphs));
  EXPECT_GT(captured_sum / graphs, 1.10) << "too easy";
  EXPECT_LE(ours_sum / graphs, 1.02);
  EXPECT_LE(worst, 1.5);
  EXPECT_GE(best, graphs * 8 / 10);
}

// Branches that each make something large of x and reduce it: captured level by level, all of them are alive at once.
Steps branches(int count) {
  Steps steps;
  const auto close = [&](size_t scratch) {
    steps.before.close();
    steps.touched.close();
    steps.shares.close();
    steps.scratch.push_back(scratch);
  };
  for (int i = 0; i < count; i++) {
    steps.bytes.push_back(64 * kPage);
    steps.touched.add(i);
    close(0);
  }
  for (int i = 0; i < count; i++) {
    steps.bytes.push_back(64);
    steps.before.add(i);
    steps.touched.add(i);
    steps.touched.add(count + i);
    close(0);
  }
  return steps;
}

TEST(Order, OneBranchAfterTheOther) {
  const Steps steps = branches(100);
  const Order order = choose_order(steps);
  ASSERT_TRUE(can_run(steps, order.steps));
  EXPECT_EQ(find_liveness(steps, captured_order(steps).steps).peak, 100 * 64 * kPage + 64);
  EXPECT_EQ(find_liveness(steps, order.steps).peak, 64 * kPage + 64);
}

TEST(Order, TooLittleToSaveChangesNothing) {
  Steps steps;
  const auto close = [&] {
    steps.before.close();
    steps.touched.close();
    steps.shares.close();
    steps.scratch.push_back(0);
  };
  // A large value is alive throughout; two small ones are made before either is read.
  steps.bytes = {100 * kPage, 2 * kPage, 2 * kPage};
  steps.touched.add(0);
  close();
  for (const int v : {1, 2, 1, 2}) {
    steps.before.add(steps.count() > 2 ? v : 0);
    steps.touched.add(v);
    close();
  }
  for (int s = 0; s < 5; s++) steps.before.add(s);
  steps.touched.add(0);
  close();
  const std::vector<int> captured = captured_order(steps).steps;
  EXPECT_EQ(choose_order(steps).steps, captured);
  EXPECT_EQ(choose_order(steps).saved, 0u);
  steps.bytes = {50 * kPage, 2 * kPage, 2 * kPage};  // now it is more than a page, and more than a part in 32
  EXPECT_EQ(choose_order(steps).saved, 2 * kPage);
  EXPECT_NE(choose_order(steps).steps, captured);
}

TEST(Order, MovesOnlyWhatHelps) {
  // Twice the same: branches, and a step that waits for all. The first time they are small.
  const Steps half = branches(4);
  Steps steps;
  for (const size_t part : {1, 64}) {
    const int first_step = steps.count(), first_value = static_cast<int>(steps.bytes.size());
    for (int s = 0; s < half.count(); s++) {
      if (first_step > 0) steps.before.add(first_step - 1);
      for (const int b : half.before[s]) steps.before.add(first_step + b);
      for (const int v : half.touched[s]) steps.touched.add(first_value + v);
      steps.before.close();
      steps.touched.close();
      steps.shares.close();
      steps.scratch.push_back(0);
    }
    for (const size_t bytes : half.bytes) steps.bytes.push_back(bytes * part / 64);
    for (int s = 0; s < half.count(); s++) steps.before.add(first_step + s);
    steps.before.close();
    steps.touched.close();
    steps.shares.close();
    steps.scratch.push_back(0);
  }
  const Order order = choose_order(steps);
  ASSERT_TRUE(can_run(steps, order.steps));
  EXPECT_EQ(find_liveness(steps, order.steps).peak, 64 * kPage + 64);
  for (int i = 0; i <= half.count(); i++) EXPECT_EQ(order.steps[static_cast<size_t>(i)], i);
}

TEST(Order, TheSameTwiceIsTheSame) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    Random a(seed), b(seed);
    EXPECT_EQ(choose_order(random_steps(a, 200)).steps, choose_order(random_steps(b, 200)).steps);
  }
}

TEST(Order, NothingHasAnOrder) { EXPECT_TRUE(choose_order(Steps()).steps.empty()); }

// Plans of random graphs: less alive, or the captured order; and the same bits.
TEST(Order, PlansGiveTheSameBits) {
  int changed = 0;
  for (uint64_t seed = 0; seed < 100; seed++) {
    harness::RandomGraphOptions shape;
    shape.ops = 40;
    shape.stores = seed % 2 == 0;
    const harness::RandomGraph graph(seed, shape);
    std::vector<std::vector<Tensor>> results;
    size_t peaks[2];
    for (const bool off : {false, true}) {
      graph.reset_states();
      PlanOptions options{.without = {"chains"}, .threads = 2};
      if (off) options.without.emplace_back("order");
      Plan plan = compile([&](std::span<const Tensor> in) { return graph(in); }, graph.specs(), options);
      plan.run(graph.input_pointers());
      peaks[off] = plan.bytes().live_peak;
      results.emplace_back();
      for (const Tensor& t : plan.outputs()) results.back().push_back(clone(t));
      for (const Tensor& t : graph.states()) results.back().push_back(clone(t));
    }
    ASSERT_LE(peaks[0], peaks[1]) << "seed " << seed;
    changed += peaks[0] < peaks[1];
    for (size_t i = 0; i < results[0].size(); i++)
      ASSERT_TRUE(harness::same_bits(results[0][i], results[1][i])) << "seed " << seed << ", result " << i;
  }
  EXPECT_GE(changed, 4);  // or the comparison would say nothing
}

// A weight's gradient goes straight to the user's memory; it runs before the gradient of the activation, which needs
// memory while the activation is still there.
TEST(Order, GradientsOfWeightsLetActivationsGo) {
  const Tensor w = uniform({64, 64}, 1, -1, 1), slope = zeros({64, 64});
  const auto f = [&](const Tensor& x) {
    const Tensor h = exp(x), y = matmul(h, w);
    const Tensor down = matmul(y, transpose(w));  // 256 KiB more
    copy_into(slope, matmul(transpose(h), y));    // h is needed no more
    return sum(softmax(matmul(down, w)));
  };
  const std::vector<InputSpec> specs{InputSpec({1024, 64})};
  const size_t one = 1024 * 64 * sizeof(float);
  EXPECT_GE(compile(f, specs, {.without = {"order"}}).bytes().live_peak, 3 * one);
  EXPECT_LT(compile(f, specs).bytes().live_peak, 2 * one + one / 10);
}

// Stores stay behind the checks that were captured before them: a run that ends in one leaves the user's memory alone.
TEST(Order, StoresWaitForChecks) {
  const Tensor state = zeros({256, 256});
  const auto f = [&](const Tensor& x, const Tensor& index) {
    const Tensor a = softmax(x);
    const Tensor picked = index_select(x, to(index * 2.0, kI64));  // computed indices are looked at in the walk
    copy_into(state, softmax(a));                                  // before it, less would be alive
    return max(picked);
  };
  const std::vector<InputSpec> specs{InputSpec({256, 256}), InputSpec({1024})};
  Plan plan = compile(f, specs);
  const Tensor x = uniform({256, 256}, 3, -1, 1);
  EXPECT_THROW(plan.run(x, full({1024}, 1000.0)), Error);
  EXPECT_EQ(sum(state).item<float>(), 0.0f);
  plan.run(x, full({1024}, 1.0));
  EXPECT_NEAR(sum(state).item<float>(), 256.0f, 1e-2f);
}

// Neither the pass that lets a value be made where it is stored nor the order of groups may bring a store before a check.
TEST(Order, StoresInPlaceWaitForChecks) {
  const Tensor m = ones({64}), w = uniform({10, 64}, 1, -1, 1);
  const auto made_before = [&](const Tensor& g, const Tensor& index) {
    const Tensor next = m * 0.9 + g;
    const Tensor rows = embedding(w, index + index);
    copy_into(m, next);
    return std::vector<Tensor>{sum(rows)};
  };
  const auto index_used_later = [&](const Tensor& g, const Tensor& index) {
    const Tensor twice = index + index, rows = embedding(w, twice);
    copy_into(m, m * 0.9 + g);
    return std::vector<Tensor>{sum(rows), twice * 3.0};
  };
  const std::vector<InputSpec> specs{InputSpec({64}), InputSpec({2}, kI64)};
  Plan plans[] = {compile(made_before, specs), compile(index_used_later, specs)};
  for (Plan& plan : plans) {
    copy_into(m, ones({64}));
    EXPECT_THROW(plan.run(ones({64}), Tensor::from<int64_t>({1, 50}, {2})), Error);
    EXPECT_EQ(m.data<float>()[0], 1.0f) << plan.dump();
    plan.run(ones({64}), Tensor::from<int64_t>({1, 4}, {2}));
    EXPECT_FLOAT_EQ(m.data<float>()[0], 1.9f);
  }
}

}  // namespace
}  // namespace ingot::graph
