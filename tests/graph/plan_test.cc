// Plans against eager code.
#include "ingot/graph/plan.h"

#include <gtest/gtest.h>

#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/ingot.h"
#include "ingot/ops/plumbing.h"

namespace ingot {
namespace {

void expect_near(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(to_string(a.shape()), to_string(b.shape()));
  const std::vector<float> x = contiguous(a).to_vector<float>(), y = contiguous(b).to_vector<float>();
  for (size_t i = 0; i < x.size(); i++) ASSERT_NEAR(x[i], y[i], tolerance * (1 + std::abs(y[i]))) << "element " << i;
}

TEST(Plan, ChainEqualsEager) {
  const Tensor x = uniform({37, 65}, 1, -2, 2), b = uniform({65}, 2, -1, 1);
  const auto f = [&](const Tensor& t) { return exp(relu(t * 2.0 + b) - 1.0) * t; };
  Plan plan = compile(f, {{37, 65}});
  expect_near(plan.run(x)[0], f(x), 1e-6);
  EXPECT_EQ(plan.step_count(), 1) << plan.describe();
}

TEST(Plan, MlpGradients) {
  Tensor w1 = uniform({128, 784}, 1, -0.05, 0.05), b1 = uniform({128}, 2, -0.1, 0.1);
  Tensor w2 = uniform({10, 128}, 3, -0.1, 0.1), b2 = uniform({10}, 4, -0.1, 0.1);
  const Tensor x = uniform({32, 784}, 5, -1, 1), y = one_hot(argmax(uniform({32, 10}, 6), {1}), 10);
  const Tensor labels = argmax(y, {1});
  const auto loss = [&](const Tensor& in, const Tensor& l) {
    return mean(softmax_cross_entropy(linear(relu(linear(in, w1, b1)), w2, b2), l));
  };
  Plan plan = compile(
      [&](const Tensor& in, const Tensor& l) {
        auto [value, g] = value_and_grad([&] { return loss(in, l); }, {w1, b1, w2, b2});
        return std::vector<Tensor>{value, g[0], g[1], g[2], g[3]};
      },
      {{32, 784}, {{32}, kI64}});
  plan.run(x, labels);
  // By hand.
  const Tensor h = relu(linear(x, w1, b1)), z = linear(h, w2, b2);
  const Tensor dz = (softmax(z, 1) - y) * (1.0 / 32), dh = relu_grad(h, matmul(dz, w2));
  expect_near(plan.outputs()[0], loss(x, labels), 1e-5);
  expect_near(plan.outputs()[3], matmul(transpose(dz), h), 1e-5);
  expect_near(plan.outputs()[4], sum(dz, {0}), 1e-5);
  expect_near(plan.outputs()[1], matmul(transpose(dh), x), 1e-5);
  expect_near(plan.outputs()[2], sum(dh, {0}), 1e-5);
}

TEST(Plan, FrozenWeightsAreLaidOutOnce) {
  for (const int64_t m : {1, 2, 5, 32, 70})
    for (const int64_t n : {1, 6, 16, 17, 100})
      for (const int threads : {1, 3}) {
        const Tensor w = uniform({n, 37}, 1, -1, 1), v = uniform({37, n}, 2, -1, 1), b = uniform({n}, 3, -1, 1);
        const Tensor x = uniform({m, 37}, 4, -1, 1);
        const auto f = [&](const Tensor& t) { return relu(linear(t, w, b)) + matmul(t, v); };
        const Tensor expected = f(x);
        set_threads(threads);
        Plan plan = compile(f, {{m, 37}}, {.frozen = true});
        fill(w, 0);  // the plan has its own by now, or (a single row) reads it in place
        if (m == 1 || n == 1) copy_into(w, uniform({n, 37}, 1, -1, 1));
        expect_near(plan.run(x)[0], expected, 1e-5);
        set_threads(1);
      }
}

TEST(Plan, NormsAndConvolutionsTakeOverARelu) {
  const Tensor x = uniform({3, 4, 9, 9}, 1, -1, 1), w = uniform({5, 4, 3, 3}, 2, -1, 1), b = uniform({5}, 3, -1, 1);
  const Tensor gain = uniform({7}, 4, -1, 1), shift = uniform({7}, 5, -1, 1);
  const auto f = [&](const Tensor& t) { return relu(layer_norm(relu(conv2d(t, w, b)), gain, shift)); };
  Plan plan = compile(f, {{3, 4, 9, 9}});
  EXPECT_EQ(plan.step_count(), 2) << plan.describe();
  expect_near(plan.run(x)[0], f(x), 1e-6);
  // Not if somebody else wants what comes before it.
  Plan both = compile(
      [&](const Tensor& t) {
        const Tensor y = conv2d(t, w, b);
        return std::vector<Tensor>{y, relu(y)};
      },
      {{3, 4, 9, 9}});
  both.run(x);
  expect_near(both.outputs()[0], conv2d(x, w, b), 1e-6);
  expect_near(both.outputs()[1], relu(conv2d(x, w, b)), 1e-6);
}

}  // namespace
}  // namespace ingot
