// Elements that moved away: a plan that was compiled before says so, and a PlanCache compiles anew.
#include <gtest/gtest.h>

#include "ingot/base/memory.h"
#include "ingot/graph/plan.h"
#include "ingot/graph/plan_cache.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

struct Moved : testing::Test {
  Tensor w = full({3}, 2), x = ones({3});
  Plan plan = compile([this](const Tensor& a) { return a * w; }, {{3}}, {.name = "double"});

  // As a slab does: the elements go elsewhere, and whoever owns the handle looks there.
  void move() {
    const Tensor there = clone(w);
    mark_moved(w, "w");
    w = there;
    fill(w, 5);
  }
};

TEST_F(Moved, APlanSaysWhichAndWhatToDo) {
  EXPECT_EQ(plan(x).at<float>({0}), 2);
  move();
  const std::string text = error_of([&] { plan.run(x); });
  EXPECT_EQ(text.find("double: \"w\" is no longer where it was"), 0u) << text;
  EXPECT_NE(text.find("compile it after that, or use a PlanCache"), std::string::npos) << text;
  EXPECT_EQ(error_of([&] { plan.run(x); }), text) << "and again, as often as it is asked";
  EXPECT_REFUSED(plan.profile(2), "no longer where it was");
  EXPECT_EQ(compile([this](const Tensor& a) { return a * w; }, {{3}})(x).at<float>({0}), 5);
}

TEST_F(Moved, ContextsAndBatchesSayIt) {
  ExecutionContext context(plan);
  context.run(x);
  plan.run_batch(ones({4, 3}));
  move();
  EXPECT_REFUSED(context.run(x), "\"w\" is no longer");
  EXPECT_REFUSED(plan.run_batch(ones({4, 3})), "\"w\" is no longer");
  EXPECT_REFUSED(ExecutionContext(plan).run(x), "\"w\" is no longer");
}

TEST_F(Moved, ALoadedPlanSaysIt) {
  Plan loaded = Plan::from_bytes(plan.to_bytes(), {{plan.slabs()[0], w}});
  EXPECT_EQ(loaded(x).at<float>({0}), 2);
  move();
  EXPECT_REFUSED(loaded.run(x), "\"w\" is no longer");
}

TEST_F(Moved, APlanCacheCompilesAnew) {
  PlanCache cache([this](const Tensor& a) { return a * w; }, 1);
  EXPECT_EQ(cache(x).at<float>({0}), 2);
  move();
  EXPECT_EQ(cache(x).at<float>({0}), 5);
  EXPECT_EQ(cache.compiles(), 2);
  const uint64_t before = memory_stats().allocations;
  cache.run(x);
  EXPECT_EQ(memory_stats().allocations, before);
  EXPECT_EQ(cache.compiles(), 2);
}

// A handle of before looks at memory that nobody changes any more: a plan of it would not be what it seems.
TEST_F(Moved, AHandleOfBeforeIsRefusedWhenItIsCompiled) {
  const Tensor before = w;
  move();
  const auto distance = [&](const Tensor& a) { return sum(square(a - before)); };
  EXPECT_REFUSED(compile(distance, {{3}}), "looks at memory that \"w\" has left");
  EXPECT_REFUSED(PlanCache(distance, 1)(x), "clone() it");
  const Tensor kept = clone(before);
  EXPECT_EQ(compile([&](const Tensor& a) { return sum(square(a - kept)); }, {{3}})(x).item(), 3);
}

// Shapes that nobody asks for again are not compiled again.
TEST_F(Moved, APlanCacheLetsStaleOnesGo) {
  PlanCache cache([this](const Tensor& a) { return sum(a) * w; }, 1);
  for (int64_t n = 1; n <= 4; n++) cache(ones({n}));
  move();
  cache(ones({2}));
  EXPECT_EQ(cache.compiles(), 5);
  EXPECT_EQ(cache.size(), 1u);
}

// It was compiled for the elements of then.
TEST_F(Moved, AFrozenPlanGoesOn) {
  Plan frozen = compile([this](const Tensor& a) { return a * w; }, {{3}}, {.frozen = true});
  move();
  EXPECT_EQ(frozen(x).at<float>({0}), 2);
}

// Other elements of the same memory stay where they are.
TEST_F(Moved, NeighboursAreNotConcerned) {
  const Tensor block = full({6}, 3), left = slice(block, 0, 0, 3), right = slice(block, 0, 3, 6);
  Plan of_left = compile([&](const Tensor& a) { return a * left; }, {{3}});
  Plan of_right = compile([&](const Tensor& a) { return a * right; }, {{3}});
  mark_moved(right, "right");
  EXPECT_EQ(of_left(x).at<float>({0}), 3);
  EXPECT_REFUSED(of_right.run(x), "\"right\"");
}

// Memory that was only looked at through a wrapper is new when it is wrapped again.
TEST_F(Moved, WrappedAgainItIsNew) {
  float numbers[3] = {4, 4, 4};
  Tensor t = Tensor::wrap(numbers, {3});
  mark_moved(t, "t");
  t = Tensor::wrap(numbers, {3});
  EXPECT_EQ(compile([&](const Tensor& a) { return a * t; }, {{3}})(x).at<float>({0}), 4);
}

TEST_F(Moved, LookingTakesNoMemory) {
  plan.run(x);
  Tensor other = ones({2});
  mark_moved(other, "other");
  const uint64_t before = memory_stats().allocations;
  plan.run(x);
  EXPECT_EQ(memory_stats().allocations, before);
}

}  // namespace
}  // namespace ingot
