// The pass `pool`: what it makes of max pooling, that it gives the numbers of eager code and of plans without it, and
// what it leaves alone.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"
#include "ingot/ops/plumbing.h"

namespace ingot {
namespace {

using Function = std::function<std::vector<Tensor>(const Tensor& x)>;

struct Net {
  Tensor w = uniform({5, 3, 3, 3}, 1, -1, 1), b = uniform({5}, 2, -1, 1), x = uniform({2, 3, 13, 14}, 3, -1, 1);
  PoolOptions pool{.kernel = {2, 2}};
};

bool has(const Plan& plan, const std::string& word) { return plan.dump().find(word) != std::string::npos; }

void expect_near(std::span<const Tensor> got, std::span<const Tensor> want, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); i++) {
    ASSERT_TRUE(got[i].shape() == want[i].shape()) << what;
    const std::vector<float> a = got[i].to_vector<float>(), e = want[i].to_vector<float>();
    for (size_t k = 0; k < a.size(); k++)
      ASSERT_NEAR(a[k], e[k], 2e-5 * (1 + std::abs(e[k]))) << what << ": result " << i << ", element " << k;
  }
}

// With and without the pass, and at every number of threads, the function gives what `eager` says.
Plan check(const Function& f, const Tensor& x, std::span<const Tensor> eager) {
  const std::vector<InputSpec> specs{InputSpec(x.shape(), x.dtype())};
  const PlanFunction named = [&](std::span<const Tensor> in) {
    std::vector<NamedTensor> out;
    for (const Tensor& t : f(in[0])) out.push_back({"result " + std::to_string(out.size()), t});
    return out;
  };
  const Tensor* in[] = {&x};
  Plan without = compile_function(named, specs, {.without = {"pool"}});
  expect_near(without.run(in), eager, "without the pass");
  EXPECT_FALSE(has(without, "taps") || has(without, "conv2d_max_pool")) << without.dump();
  Plan plan = compile_function(named, specs, {});
  expect_near(plan.run(in), eager, "with the pass");
  return plan;
}

// A gradient of pooling checks its positions, and checks keep their order among themselves and with stores: none of that
// is left when the positions are taps.
TEST(PoolPass, AllOfSeveralPoolingsAreJoinedAndGradientsAreStoredWhereTheyAreMade) {
  Tensor w1 = uniform({4, 3, 3, 3}, 1, -1, 1), w2 = uniform({5, 4, 3, 3}, 2, -1, 1), w3 = uniform({5, 3}, 3, -1, 1);
  const std::vector<Tensor> parameters{w1, w2, w3};
  std::vector<Tensor> slopes;
  for (const Tensor& w : parameters) slopes.push_back(zeros(w.shape()));
  const Tensor x = uniform({2, 3, 16, 16}, 4, -1, 1);
  const auto step = [&](const Tensor& in) {
    Tensor h = max_pool2d(relu(conv2d(in, w1)), {.kernel = {2, 2}})[0];
    h = max_pool2d(relu(conv2d(h, w2)), {.kernel = {2, 2}})[0];
    const Tensor loss = sum(square(matmul(max(h, {2, 3}), w3)));
    const std::vector<Tensor> g = gradients(loss, parameters);
    for (size_t i = 0; i < g.size(); i++) copy_into(slopes[i], g[i]);
    return loss;
  };
  Plan without = compile(step, {InputSpec(x.shape())}, {.without = {"pool"}});
  without.run(x);
  std::vector<Tensor> want;
  for (Tensor& s : slopes) want.push_back(clone(s)), fill(s, 0);
  Plan plan = compile(step, {InputSpec(x.shape())});
  plan.run(x);
  expect_near(slopes, want, "gradients");
  EXPECT_FALSE(has(plan, "max_pool2d") || has(plan, "max_pool_grad") || has(plan, "taps_grad") || has(plan, "copy"))
      << plan.dump();
}

// Loss and gradients of a network of one layer; eager gradients come from a plan that is thrown away, so the eager
// numbers are put together by hand.
std::vector<Tensor> by_hand(const Net& n) {
  const Tensor c = conv2d(n.x, n.w, n.b), r = relu(c);
  const auto pooled = max_pool2d(r, n.pool);
  const Tensor dr = max_pool_grad(2.0 * pooled[0], pooled[1], {r.size(2), r.size(3)});
  const Tensor dc = relu_grad(r, dr);
  return {pooled[0], conv_grad_kernel(n.x, dc, {3, 3}), sum(dc, {0, 2, 3}), conv_grad_input(dc, n.w, {13, 14})};
}

TEST(PoolPass, ConvolutionReluAndPoolingAreOneStepEachWay) {
  const Net n;
  const Plan plan = check(
      [&](const Tensor& x) {
        const Tensor y = max_pool2d(relu(conv2d(x, n.w, n.b)), n.pool)[0];
        std::vector<Tensor> out = gradients(sum(y * y), {n.w, n.b, x});
        out.insert(out.begin(), y);
        return out;
      },
      n.x, by_hand(n));
  EXPECT_TRUE(has(plan, "conv2d_max_pool+relu") && has(plan, "conv2d_max_pool_input_grad") &&
              has(plan, "conv2d_max_pool_kernel_grad"))
      << plan.dump();
  EXPECT_FALSE(has(plan, "max_pool2d") || has(plan, "max_pool_grad") || has(plan, "check") || has(plan, "taps_grad"))
      << plan.dump();
}

TEST(PoolPass, InferenceKeepsNoTaps) {
  const Net n;
  const Tensor eager[] = {max_pool2d(relu(conv2d(n.x, n.w, n.b)), n.pool)[0]};
  const Plan plan =
      check([&](const Tensor& x) { return std::vector<Tensor>{max_pool2d(relu(conv2d(x, n.w, n.b)), n.pool)[0]}; }, n.x,
            eager);
  EXPECT_TRUE(has(plan, "with_taps=0")) << plan.dump();
  EXPECT_EQ(plan.step_count(), 1) << plan.dump();
}

TEST(PoolPass, PositionsThatSomebodyReadsStay) {
  const Net n;
  const auto pooled = max_pool2d(relu(n.x), n.pool);
  const Tensor eager[] = {pooled[0], to(pooled[1], kF32)};
  const Plan plan = check(
      [&](const Tensor& x) {
        const auto p = max_pool2d(relu(x), n.pool);
        return std::vector<Tensor>{p[0], to(p[1], kF32)};
      },
      n.x, eager);
  EXPECT_TRUE(has(plan, "max_pool2d")) << plan.dump();
}

TEST(PoolPass, WhatOthersReadIsStillThere) {
  const Net n;
  const Tensor c = conv2d(n.x, n.w, n.b), r = relu(c);
  const Tensor eager[] = {max_pool2d(r, n.pool)[0] * 2.0, r, sum(c)};
  const Plan plan = check(
      [&](const Tensor& x) {
        const Tensor conv = conv2d(x, n.w, n.b), positive = relu(conv);
        return std::vector<Tensor>{max_pool2d(positive, n.pool)[0] * 2.0, positive, sum(conv)};
      },
      n.x, eager);
  EXPECT_TRUE(has(plan, "max_pool_taps")) << plan.dump();
  EXPECT_FALSE(has(plan, "conv2d_max_pool") || has(plan, "max_pool_taps+relu")) << plan.dump();
}

TEST(PoolPass, OverlappingWindowsKeepTapsToo) {
  const Net n;
  const PoolOptions pool{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  const auto pooled = max_pool2d(relu(n.x), pool);
  const Tensor eager[] = {pooled[0], relu_grad(n.x, max_pool_grad(2.0 * pooled[0], pooled[1], {13, 14}))};
  const Plan plan = check(
      [&](const Tensor& x) {
        const Tensor y = max_pool2d(relu(x), pool)[0];
        return std::vector<Tensor>{y, gradients(sum(y * y), {x})[0]};
      },
      n.x, eager);
  EXPECT_TRUE(has(plan, "max_pool_taps+relu") && has(plan, "max_pool_taps_grad")) << plan.dump();
}

TEST(PoolPass, OneAxis) {
  const Tensor x = uniform({2, 3, 23}, 4, -1, 1);
  const PoolOptions pool{.kernel = {2}};
  const auto pooled = max_pool1d(x, pool);
  const Tensor eager[] = {pooled[0], max_pool_grad(2.0 * pooled[0], pooled[1], {23})};
  const Plan plan = check(
      [&](const Tensor& in) {
        const Tensor y = max_pool1d(in, pool)[0];
        return std::vector<Tensor>{y, gradients(sum(y * y), {in})[0]};
      },
      x, eager);
  EXPECT_TRUE(has(plan, "max_pool_taps_grad")) << plan.dump();
}

// Where windows are all negative, all zero, or have equal elements, the gradient goes where it went before.
TEST(PoolPass, TiesAndNegativeWindows) {
  Net n;
  const Tensor numbers = to(uniform({2, 3, 13, 14}, 9, -3, 2), kI64);  // many equal ones
  n.x = to(numbers, kF32);
  n.w = to(to(uniform({5, 3, 3, 3}, 8, -1.9, 1.9), kI64), kF32), n.b = to(to(uniform({5}, 7, -4, 1), kI64), kF32);
  check(
      [&](const Tensor& x) {
        const Tensor y = max_pool2d(relu(conv2d(x, n.w, n.b)), n.pool)[0];
        std::vector<Tensor> out = gradients(sum(y * y), {n.w, n.b, x});
        out.insert(out.begin(), y);
        return out;
      },
      n.x, by_hand(n));
}

// A gradient that is used for more than the convolution is spread out as before.
TEST(PoolPass, AGradientThatIsReturnedIsComputed) {
  const Net n;
  const Tensor c = conv2d(n.x, n.w, n.b);
  const auto pooled = max_pool2d(c, n.pool);
  const Tensor dc = max_pool_grad(2.0 * pooled[0], pooled[1], {11, 12});
  const Tensor eager[] = {dc, conv_grad_kernel(n.x, dc, {3, 3})};
  const Plan plan = check(
      [&](const Tensor& x) {
        const Tensor conv = conv2d(x, n.w, n.b), y = max_pool2d(conv, n.pool)[0];
        return gradients(sum(y * y), {conv, n.w});
      },
      n.x, eager);
  EXPECT_TRUE(has(plan, "max_pool_taps_grad") && has(plan, "conv2d_max_pool")) << plan.dump();
}

}  // namespace
}  // namespace ingot
