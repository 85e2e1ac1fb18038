// Results of plans: their own tensors by plan(x), the plan's memory by plan.run(x); names of ops with several results.
#include <gtest/gtest.h>

#include "ingot/base/memory.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/graph/plan_cache.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

const auto kTwice = [](const Tensor& x) { return x * 2.0; };

TEST(Results, OfACallAreTensorsOfTheirOwn) {
  Plan plan = compile(kTwice, {{1}});
  ExecutionContext context(plan);
  PlanCache cache(kTwice, 1);
  std::vector<Tensor> kept;
  for (int i = 0; i < 3; i++) {
    kept.push_back(plan(full({1}, i)));
    kept.push_back(context(full({1}, i)));
    kept.push_back(cache(full({1}, i)));
    kept.push_back(plan.compute(full({1}, i))[0]);
  }
  for (size_t i = 0; i < kept.size(); i++) EXPECT_EQ(kept[i].item(), 2 * static_cast<float>(i / 4));
}

TEST(Results, OfRunAreThePlansAndAllocateNothing) {
  Plan plan = compile(kTwice, {{1}});
  const Tensor one = ones({1}), two = full({1}, 2);
  const Tensor* first = &plan.run(one)[0];
  const uint64_t before = memory_stats().allocations;
  EXPECT_EQ(&plan.run(two)[0], first);
  EXPECT_EQ(memory_stats().allocations, before);
  EXPECT_EQ(first->item(), 4);
}

// What is refused has not run: a store would have been made.
TEST(Results, AreCountedBeforeThePlanRuns) {
  const Tensor counter = zeros({1});
  const auto counts = [&](const Tensor& x) {
    copy_into(counter, counter + 1.0);
    return std::vector<Tensor>{x + 1.0, x * 3.0};
  };
  Plan plan = compile(counts, {{1}});
  PlanCache cache(counts, 1);
  EXPECT_REFUSED(plan(ones({1})), "it has 2 results");
  EXPECT_REFUSED(cache(ones({1})), "it has 2 results");
  EXPECT_EQ(counter.item(), 0);
}

TEST(Results, SeveralAreTakenTogether) {
  Plan plan = compile([](const Tensor& x) { return std::vector<Tensor>{x + 1.0, x * 3.0}; }, {{1}});
  EXPECT_REFUSED(plan(ones({1})), "it has 2 results — take them all with compute()");
  const std::vector<Tensor> results = plan.compute(ones({1}));
  plan.run(zeros({1}));
  EXPECT_EQ(results[0].item(), 2);
  EXPECT_EQ(results[1].item(), 3);
}

// The names of docs/ops.md are fields, parts of a structured binding, and names of a plan's results.
TEST(Results, HaveTheNamesOfTheSignature) {
  const Tensor x = Tensor::from<float>({3, 1, 2});
  const SortResult sorted = sort(x);
  EXPECT_EQ(sorted.values.to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(sorted.indices.to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 0}));
  const auto [values, indices] = topk(x, 1);
  EXPECT_EQ(values.item(), 3);
  EXPECT_EQ(indices.item<int>(), 0);
  EXPECT_EQ(sort(x)[1].to_vector<int64_t>(), sorted.indices.to_vector<int64_t>());
  EXPECT_REFUSED(sorted[2], "result 2 of 2");
  EXPECT_EQ(attention(ones({1, 2, 4}), ones({1, 2, 4}), ones({1, 2, 4})).lse.shape(), (Dims{1, 1, 2}));

  Plan plan = compile([](const Tensor& t) { return sort(t); }, {{3}});
  plan.run(x);
  EXPECT_EQ(plan.output("indices").to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 0}));
}

// Arity is found for generic functions, too.
TEST(Results, GenericFunctionsAreCompiled) {
  const Tensor x = full({2}, 3), y = full({2}, 4);
  EXPECT_EQ(compile([](auto a) { return a * 2.0; }, {{2}})(x).at<float>({0}), 6);
  EXPECT_EQ(compile([](const auto& a, const auto& b) { return a * b; }, {{2}, {2}})(x, y).at<float>({0}), 12);
  EXPECT_EQ(compile([](auto&&... all) { return (all + ...); }, {{2}})(x).at<float>({0}), 3);
  EXPECT_REFUSED(compile([](auto... all) { return (all + ...); }, {{2}, {2}}), "takes 1 tensors, 2 input specs given");
  EXPECT_EQ(compile([](const Tensor& a, double factor = 5) { return a * factor; }, {{2}})(x).at<float>({0}), 15);
  EXPECT_EQ(compile([](std::span<const Tensor> in) { return in[0] - in[1]; }, {{2}, {2}})(x, y).at<float>({0}), -1);
}

}  // namespace
}  // namespace ingot
