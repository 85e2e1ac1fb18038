// Where stores, views, fusion and captures meet: each of these was wrong once.
#include <gtest/gtest.h>

#include "ingot/base/error.h"
#include "ingot/ingot.h"

namespace ingot {
namespace {

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(to_string(a.shape()), to_string(b.shape()));
  const std::vector<float> x = contiguous(a).to_vector<float>(), y = contiguous(b).to_vector<float>();
  for (size_t i = 0; i < x.size(); i++) ASSERT_NEAR(x[i], y[i], 1e-5 * (1 + std::abs(y[i]))) << "element " << i;
}

// Groups that have been joined may wait for a later node than their own: joining them again must not close a circle.
TEST(PlanCorners, JoinedGroupsDoNotWaitForEachOther) {
  const Tensor x = uniform({8, 8}, 1), z = uniform({8, 8}, 2), o = uniform({8, 8}, 3);
  const auto f = [](const Tensor& a_in, const Tensor& c_in, const Tensor& left) {
    const Tensor a = exp(a_in), b = matmul(left, a), c = exp(c_in), d = a + c, e = c + b;
    return std::vector<Tensor>{d, e};
  };
  Plan plan = compile(f, {{8, 8}, {8, 8}, {8, 8}});
  plan.run(x, z, o);
  const std::vector<Tensor> expected = f(x, z, o);
  expect_equal(plan.outputs()[0], expected[0]);
  expect_equal(plan.outputs()[1], expected[1]);
}

TEST(PlanCorners, StoresThatOverlapAViewOfTheirInputAreRefused) {
  const Tensor w = uniform({4, 4}, 1), v = uniform({9}, 2);
  EXPECT_THROW(compile([&] { copy_into(w, transpose(w)); }, {}), Error);
  EXPECT_THROW(compile([&] { add_into(slice(v, 0, 1, 9), slice(v, 0, 0, 8), slice(v, 0, 0, 8)); }, {}), Error);
}

TEST(PlanCorners, APlanCanRunInsideACapture) {
  Plan inner = compile([](const Tensor& x) { return x * 2.0; }, {{3, 2}});
  const Tensor x = transpose(uniform({2, 3}, 1));  // strided: staged by a copy
  Tensor seen;
  Plan outer = compile(
      [&](const Tensor& y) {
        seen = clone(y);
        const Tensor now = inner.run(x)[0];
        return y + now;
      },
      {{3, 2}});
  const Tensor y = uniform({3, 2}, 2);
  expect_equal(outer.run(y)[0], y + contiguous(x) * 2.0);
}

TEST(PlanCorners, GradientsThroughAViewMadeOutsideAreNotLost) {
  const Tensor w = uniform({3, 3}, 1), outside = transpose(w);
  EXPECT_THROW(value_and_grad([&] { return sum(w * 2.0 + outside * 3.0); }, {w}), Error);
  const ValueAndGrad inside = value_and_grad([&] { return sum(w * 2.0 + transpose(w) * 3.0); }, {w});
  expect_equal(inside.gradients[0], full({3, 3}, 5));
}

TEST(PlanCorners, SeedsHaveAllTheirBits) {
  const int64_t large = (int64_t{1} << 53) + 1;
  const Tensor seed = full({}, 0, kI64);
  *seed.data<int64_t>() = large;
  Plan plan = compile([](const Tensor& s) { return uniform({16}, s); }, {InputSpec({}, kI64)});
  expect_equal(plan.run(seed)[0], uniform({16}, large));
  expect_equal(uniform({16}, seed), uniform({16}, large));
}

TEST(PlanCorners, AFoldNextToAStridedStore) {
  const Tensor wide = zeros({4, 6, 8}), x = uniform({4, 3, 8}, 1);
  const auto f = [&](const Tensor& t) {
    const Tensor y = t * 2.0;
    add_into(slice(wide, 1, 0, 6, 2), y, t);
    return sum(y + t, {1, 2});
  };
  Plan plan = compile(f, {{4, 3, 8}});
  expect_equal(plan.run(x)[0], sum(x * 3.0, {1, 2}));
  expect_equal(slice(wide, 1, 0, 6, 2), x * 3.0);
}

TEST(PlanCorners, EvictingAPlanLeavesTheOthersInPlace) {
  PlanCache cache([](const Tensor& x) { return x * 2.0; }, 1, {}, 2);
  const Tensor a = ones({1}), b = ones({2}), c = ones({3});
  const Tensor *pa = &a, *pb = &b, *pc = &c;
  cache.plan_for({&pa, 1});
  Plan& second = cache.plan_for({&pb, 1});
  cache.plan_for({&pc, 1});
  EXPECT_EQ(second.run(b)[0].numel(), 2);
}

// The first member's part of a product is all of the column that every member of the next step reads.
TEST(PlanCorners, ABroadcastColumnIsReadByAll) {
  set_threads(2);
  const Tensor x = uniform({6, 512}, 1, -1, 1), w = uniform({256, 512}, 2, -1, 1);
  const auto f = [&](const Tensor& t) {
    const Tensor h = linear(t, w);
    return tanh(broadcast_to(slice(h, 1, 0, 1), {6, 256}) * 0.5) * tanh(h);
  };
  Plan plan = compile(f, {{6, 512}});
  const Tensor expected = f(x);
  for (int i = 0; i < 300; i++) expect_equal(plan.run(x)[0], expected);
  set_threads(1);
}

TEST(PlanCorners, InPlaceOpsDoNotOverwriteWhatAViewReads) {
  const MapFunction product("product", [](auto a, auto b) { return a * b + a; });
  const Tensor x = uniform({33, 33}, 1, -1, 1);
  const auto f = [&](const Tensor& t) {
    const Tensor a = exp(t);
    return map(product, a, transpose(a));
  };
  Plan plan = compile(f, {{33, 33}});
  expect_equal(plan.run(x)[0], f(x));
}

TEST(PlanCorners, ALossThatScalesItsOwnGradient) {
  const Tensor w = uniform({5, 4}, 1, -1, 1), x = uniform({6, 4}, 2, -1, 1), labels = full({6}, 2, kI64);
  const auto loss = [&] {
    const Tensor ce = softmax_cross_entropy(linear(x, w), labels);
    return sum(ce * stop_gradient(ce));
  };
  Plan together = compile([&] { return value_and_grad(loss, {w}).gradients; }, {});
  Plan apart = compile([&] { return value_and_grad(loss, {w}).gradients; }, {}, {.without = {"cross_entropy"}});
  expect_equal(together.run()[0], apart.run()[0]);
}

TEST(PlanCorners, SymbolicTensorsThatLeakAreRefused) {
  Tensor seed, moved;
  const Tensor w = zeros({3});
  compile(
      [&](const Tensor& s) {
        seed = s;
        return uniform({3}, s);
      },
      {InputSpec({}, kI64)});
  EXPECT_THROW(uniform({3}, seed), Error);
  EXPECT_THROW(compile(
                   [&](const Tensor& x) {
                     Tensor a = x * 2.0;
                     const Tensor b = std::move(a);
                     add_into(a, x, b);  // NOLINT: a is moved from, which is what this is about
                   },
                   {{3}}),
               Error);
}

// It divided by the number of positions.
TEST(PlanCorners, ABatchNormOfNoChannelsAndNoPositionsRuns) {
  Plan plan = compile([](const Tensor& x) { return batch_norm(x).y; }, {{3, 0, 0}});
  EXPECT_EQ(plan(zeros({3, 0, 0})).shape(), Dims({3, 0, 0}));
}

}  // namespace
}  // namespace ingot
