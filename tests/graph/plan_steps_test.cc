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

// Functions of x that store to a [8, 8] and b [8, 8], and how many steps they take.
struct InPlace {
  const char* what;
  void (*run)(const Tensor& a, const Tensor& b, const Tensor& x);
  int steps;
};
constexpr InPlace kInPlace[] = {
    {"read and written alike", [](const Tensor& a, const Tensor&, const Tensor& x) { copy_into(a, a * 0.5 + x); }, 1},
    {"read by another op of the chain",
     [](const Tensor& a, const Tensor&, const Tensor& x) { copy_into(a, exp(a) * x + tanh(a)); }, 1},
    {"stored twice",
     [](const Tensor& a, const Tensor& b, const Tensor& x) {
       const Tensor next = a * 0.5 + x;
       copy_into(a, next);
       copy_into(b, next);
     },
     1},
    {"read again after the new value",
     [](const Tensor& a, const Tensor& b, const Tensor& x) {
       const Tensor next = a * 0.5 + x;
       copy_into(b, b + (next - a) * 0.5);
       copy_into(a, next);
     },
     1},
    {"two results of one operand",
     [](const Tensor& a, const Tensor& b, const Tensor& x) {
       const Tensor first = tanh(x), second = square(x);
       copy_into(a, first);
       copy_into(b, second);
     },
     1},
    {"exchanged",
     [](const Tensor& a, const Tensor& b, const Tensor&) {
       const Tensor sum = a + b, difference = a - b;
       copy_into(a, difference);
       copy_into(b, sum);
     },
     1},
    {"read after it was written",
     [](const Tensor& a, const Tensor& b, const Tensor& x) {
       copy_into(a, a + x);
       copy_into(b, a * b);
     },
     1},
    {"written twice",
     [](const Tensor& a, const Tensor& b, const Tensor& x) {
       copy_into(a, a + x);
       copy_into(b, a * 2.0);
       copy_into(a, a * x);
     },
     -1},
    {"written across", [](const Tensor& a, const Tensor&, const Tensor& x) { copy_into(a, transpose(a) + x); }, -1},
    {"read across by another op",
     [](const Tensor& a, const Tensor& b, const Tensor& x) {
       const Tensor next = a + x;
       copy_into(b, transpose(a) * 2.0);
       copy_into(a, next);
     },
     -1},
    {"shifted by a row",
     [](const Tensor& a, const Tensor&, const Tensor& x) {
       copy_into(slice(a, 0, 1, 8, 1), slice(a, 0, 0, 7, 1) + slice(x, 0, 1, 8, 1));
     },
     -1},
    {"a sum of what is overwritten",
     [](const Tensor& a, const Tensor& b, const Tensor& x) {
       const Tensor next = a * 0.5 + x;
       copy_into(b, next - sum(a));
       copy_into(a, next);
     },
     -1},
    {"a product of what is overwritten",
     [](const Tensor& a, const Tensor&, const Tensor& x) { copy_into(a, a + matmul(a, x)); }, -1},
    {"after a product", [](const Tensor& a, const Tensor&, const Tensor& x) { copy_into(a, a + matmul(x, x)); }, 1},
};

// A chain may overwrite what it reads if it does so element by element; whatever it may not is a step of its own.
TEST(PlanSteps, ChainsWorkInPlaceWhereElementsMeet) {
  const Tensor x = uniform({8, 8}, 1, -1, 1);
  for (const InPlace& c : kInPlace)
    for (const char* without : {"", "stores", "chains", "gemm_epilogue", "reduce", "in_place", "views"}) {
      const auto start = [](int seed) { return uniform({8, 8}, seed, -1, 1); };
      const Tensor a = start(2), b = start(3), want_a = start(2), want_b = start(3);
      PlanOptions options;
      if (*without != 0) options.without.emplace_back(without);
      Plan plan = compile([&](const Tensor& in) { c.run(a, b, in); }, {{8, 8}}, options);
      if (*without == 0 && c.steps > 0) EXPECT_EQ(plan.step_count(), c.steps) << c.what << "\n" << plan.dump();
      for (int i = 0; i < 2; i++) {
        plan.run(x);
        c.run(want_a, want_b, x);
        EXPECT_LT(max(abs(a - want_a)).item(), 1e-5f) << c.what << " without " << without << "\n" << plan.dump();
        EXPECT_LT(max(abs(b - want_b)).item(), 1e-5f) << c.what << " without " << without << "\n" << plan.dump();
      }
    }
}

}  // namespace
}  // namespace ingot
