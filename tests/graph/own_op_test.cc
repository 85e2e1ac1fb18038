// Ops that a user's program defines with the public headers: called, broadcast, differentiated, planned and fused.
#include "ingot/ops/own_op.h"

#include <cmath>

#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/ops/harness.h"

namespace ingot {
namespace {

// x / (1 + |y|^p)
struct Damped {
  static constexpr int kInputs = 2;
  template <class T>
  static T run(T x, T y, const T* p) {
    return x / (1 + std::pow(std::abs(y), p[0]));
  }
};
const Op kDamped =
    own_elementwise<Damped>({.name = "damped",
                             .signature = "damped(x, y, p:real=2)",
                             .doc = "x / (1 + |y|^p).",
                             .weight = 10,
                             .gradient = [](Gradient& g) {
                               const double p = g.call().real("p");
                               const Tensor below = add(pow(abs(g.in(1)), p), 1.0);
                               g.set(0, divide(g.dy(), below));
                               const Tensor slope = multiply(multiply(pow(abs(g.in(1)), p - 1), sign(g.in(1))), -p);
                               g.set(1, multiply(g.dy(), multiply(divide(slope, square(below)), g.in(0))));
                             }});
Tensor damped(const Tensor& x, const Tensor& y, double p) { return call(kDamped, {x, y}, Attrs().set("p", p)); }

TEST(OwnOp, AgreesWithItsFormulaInEveryType) {
  for (const DType type : {kF32, kF64})
    for (const harness::Case& c : harness::cases_of(kDamped, type)) {
      const std::vector<Tensor> results = harness::run(c);
      EXPECT_TRUE(harness::close(results[0], harness::reference(c)[0], {4, 0})) << harness::describe(c);
    }
  const Tensor y = damped(full({2, 1}, 6.0), full({3}, 2.0), 1);
  EXPECT_TRUE(harness::same_bits(y, full({2, 3}, 2.0)));
}

TEST(OwnOp, IsRefusedLikeOthers) {
  const std::string shapes = error_of([] { damped(zeros({2}), zeros({3}), 2); });
  EXPECT_NE(shapes.find("damped"), std::string::npos) << shapes;
  const std::string attributes = error_of([] { call(kDamped, {zeros({2}), zeros({2})}); });
  EXPECT_NE(attributes.find("damped(x, y, p:real=2)"), std::string::npos) << attributes;
}

TEST(OwnOp, DifferentiatesInAPlan) {
  const Tensor x = uniform({5, 4}, 1, -2, 2, 0, kF64), y = uniform({4}, 2, 0.5, 2, 0, kF64);
  Plan plan = compile(
      [](const Tensor& a, const Tensor& b) {
        return gradients(sum(damped(a, b, 3)), {a, b});
      },
      {{x.shape(), kF64}, {y.shape(), kF64}});
  plan.run(x, y);
  const double step = 1e-6;
  for (int64_t k = 0; k < y.numel(); k++) {
    const auto at = [&](double by) {
      Tensor moved = copy(y);
      moved.data<double>()[k] += by;
      return sum(damped(x, moved, 3)).item<double>();
    };
    EXPECT_NEAR(plan.outputs()[1].data<double>()[k], (at(step) - at(-step)) / (2 * step), 1e-6);
  }
}

TEST(OwnOp, IsFusedWithItsNeighbours) {
  const Tensor x = uniform({8, 33}, 1), y = uniform({8, 33}, 2);
  const auto f = [](const Tensor& a, const Tensor& b) { return multiply(damped(add(a, 1.0), b, 2), 0.5); };
  Plan plan = compile(f, {x.shape(), y.shape()});
  EXPECT_EQ(plan.step_count(), 1) << plan.describe();
  EXPECT_TRUE(harness::same_bits(plan.run(x, y)[0], f(x, y)));
}

TEST(AddOps, FindsByNameAndRefusesAnotherOfThatName) {
  EXPECT_EQ(find_op("damped"), nullptr);
  const size_t before = all_ops().size();
  const Op* mine[] = {&kDamped};
  add_ops(mine);
  add_ops(mine);
  EXPECT_EQ(find_op("damped"), &kDamped);
  EXPECT_EQ(all_ops().size(), before + 1);
  EXPECT_EQ(all_ops().back(), &kDamped);
  static Op other = kDamped;
  const Op* twin[] = {&other};
  EXPECT_NE(error_of([&] { add_ops(twin); }).find("there is another op \"damped\""), std::string::npos);
  static Op relu_again = kDamped;
  relu_again.name = "relu";
  const Op* taken[] = {&relu_again};
  EXPECT_NE(error_of([&] { add_ops(taken); }).find("relu"), std::string::npos);
  static Op half = kDamped;
  half.name = "half";
  half.infer = nullptr;
  const Op* incomplete[] = {&half};
  EXPECT_NE(error_of([&] { add_ops(incomplete); }).find("not complete"), std::string::npos);
  EXPECT_EQ(all_ops().size(), before + 1);
}

}  // namespace
}  // namespace ingot
