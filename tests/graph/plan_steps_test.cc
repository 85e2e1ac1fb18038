// What plans are made of: which steps there are, and which are not.
#include <gtest/gtest.h>

#include <string>

#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"

namespace ingot {
namespace {

int count(const std::string& text, const std::string& word) {
  int n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size())) n++;
  return n;
}

// The gradient of a product is two products with a transposed operand each; no transpose is ever written out.
TEST(PlanSteps, TransposesGoIntoTheProduct) {
  const Tensor w1 = ones({16, 8}), b1 = ones({16}), w2 = ones({4, 16}), b2 = ones({4});
  const auto slopes = [&](const Tensor& x) {
    const Tensor y = linear(relu(linear(x, w1, b1)), w2, b2);
    return gradients(sum(y * y), {w1, b1, w2, b2, x});
  };
  const Plan plan = compile(slopes, {{32, 8}});
  const std::string steps = plan.dump();
  EXPECT_EQ(count(steps, " gemm "), 6) << steps;
  EXPECT_EQ(count(steps, " NT"), 2) << steps;  // forward: x wᵀ
  EXPECT_EQ(count(steps, " TN"), 2) << steps;  // dw = dyᵀ x
  EXPECT_EQ(count(steps, " NN"), 2) << steps;  // dx = dy w
  EXPECT_EQ(count(steps, "transpose") + count(steps, "copy"), 0) << steps;
  const Plan copied = compile(slopes, {{32, 8}}, {.without = {"views"}});
  EXPECT_GT(copied.step_count(), plan.step_count()) << "without the pass a transpose is a copy";
}

TEST(PlanSteps, NothingIsComputedThatNobodyNeeds) {
  const Tensor kept = zeros({8});
  const auto f = [&](const Tensor& x) {
    const Tensor unused = matmul(exp(x), x);
    copy_into(kept, mean(x, {0}));  // nobody returns it, but it is asked for
    return relu(x);
  };
  const Plan plan = compile(f, {{8, 8}});
  EXPECT_EQ(count(plan.dump(), "matmul") + count(plan.dump(), "exp"), 0) << plan.dump();
  EXPECT_EQ(count(plan.dump(), "mean"), 1) << plan.dump();
  EXPECT_EQ(plan.step_count(), 2) << plan.dump();
  EXPECT_EQ(compile(f, {{8, 8}}, {.without = {"dce"}}).step_count(), 4);
}

TEST(PlanSteps, ViewsTakeNoStep) {
  const Plan plan = compile(
      [](const Tensor& x) {
        return sum(reshape(slice(transpose(x), 0, 1, 3, 1), {2, 8})) + select(x, 0, 2);
      },
      {{8, 4}});
  EXPECT_EQ(count(plan.dump(), "slice") + count(plan.dump(), "select") + count(plan.dump(), "transpose"), 0)
      << plan.dump();
}

TEST(PlanSteps, AChainIsOneStep) {
  const Plan plan = compile(
      [](const Tensor& x, const Tensor& row) { return mean(square(tanh(x * 2.0 + row) - x), {1}); }, {{64, 32}, {32}});
  EXPECT_EQ(plan.step_count(), 1) << plan.dump();
  EXPECT_EQ(plan.bytes().arena, 0u) << "what is in between stays in cache";
}

}  // namespace
}  // namespace ingot
