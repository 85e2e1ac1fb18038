// The laws of connectives and quantifiers, on a grid of truths and on random ones.
#include <gtest/gtest.h>

#include <random>

#include "ingot/graph/plan.h"
#include "ingot/logic/truth.h"
#include "tests/error_of.h"
#include "tests/logic/gradients.h"
#include "tests/ops/harness.h"

namespace ingot::logic {
namespace {

constexpr const char* kNorms[] = {"godel", "product", "lukasiewicz", "drastic", "nilpotent", "hamacher"};

struct EveryNorm : testing::TestWithParam<const char*> {
  Semantics own() const { return semantics(GetParam()); }
  bool drastic() const { return own().norm == TNorm::kDrastic; }
};
INSTANTIATE_TEST_SUITE_P(Truth, EveryNorm, testing::ValuesIn(kNorms),
                         [](const auto& test) { return std::string(test.param); });

// Eighths, whose sums are exact, and some numbers between them; all pairs and triples.
std::vector<double> truths() {
  std::vector<double> all;
  for (int i = 0; i <= 8; i++) all.push_back(i / 8.0);
  std::mt19937 random(1);
  for (int i = 0; i < 4; i++) all.push_back(static_cast<double>(random() % 1000) / 1024);
  return all;
}
struct Triples {
  Tensor a, b, c;
};
Triples triples() {
  std::vector<double> a, b, c;
  for (const double x : truths())
    for (const double y : truths())
      for (const double z : truths()) a.push_back(x), b.push_back(y), c.push_back(z);
  return {Tensor::from<double>(a), Tensor::from<double>(b), Tensor::from<double>(c)};
}

constexpr double kSlack = 1e-12;
void expect_same(const Tensor& x, const Tensor& y) {
  const std::vector<double> p = numbers(x), q = numbers(y);
  ASSERT_EQ(p.size(), q.size());
  for (size_t i = 0; i < p.size(); i++) ASSERT_NEAR(p[i], q[i], kSlack) << "place " << i;
}
void expect_at_most(const Tensor& x, const Tensor& y) {
  const std::vector<double> p = numbers(x), q = numbers(y);
  for (size_t i = 0; i < p.size(); i++) ASSERT_LE(p[i], q[i] + kSlack) << "place " << i;
}
Tensor all_of(double value, const Tensor& like) { return full(like.shape(), value, kF64); }

TEST_P(EveryNorm, IsATNormAndItsDual) {
  const Semantics s = own();
  const auto [a, b, c] = triples();
  const Tensor one = all_of(1, a), zero = all_of(0, a);
  const auto both = [&](const Tensor& x, const Tensor& y) { return conjunction(x, y, s); };
  const auto any = [&](const Tensor& x, const Tensor& y) { return disjunction(x, y, s); };
  for (const bool dual : {false, true}) {
    const auto f = [&](const Tensor& x, const Tensor& y) { return dual ? any(x, y) : both(x, y); };
    expect_same(f(a, b), f(b, a));
    expect_same(f(f(a, b), c), f(a, f(b, c)));
    expect_same(f(a, dual ? zero : one), a);
    expect_same(f(a, dual ? one : zero), dual ? one : zero);
    expect_at_most(f(a, minimum(b, c)), f(a, maximum(b, c)));
    expect_at_most(zero, f(a, b));
    expect_at_most(f(a, b), one);
  }
  expect_same(any(a, b), 1.0 - both(1.0 - a, 1.0 - b));
}

TEST_P(EveryNorm, ResiduumIsAdjointToAnd) {
  const Semantics s = own();
  const auto [a, b, z] = triples();
  const std::vector<double> both = numbers(conjunction(a, z, s)), r = numbers(implication(a, b, s)), x = numbers(a),
                            y = numbers(b), t = numbers(z);
  for (size_t i = 0; i < r.size(); i++) {
    if (both[i] <= y[i] - kSlack || both[i] == y[i]) EXPECT_LE(t[i], r[i] + kSlack);  // T(a, z) ≤ b makes z ≤ a → b
    if (!drastic() && t[i] <= r[i] - kSlack) EXPECT_LE(both[i], y[i] + kSlack);  // and back, where T is left-continuous
    if (!drastic()) EXPECT_EQ(r[i] == 1, x[i] <= y[i]) << x[i] << " " << y[i];
  }
  expect_same(implication(all_of(1, b), b, s), b);
  expect_same(implication(all_of(0, b), b, s), all_of(1, b));
  expect_same(implication(a, all_of(1, a), s), all_of(1, a));
}

TEST_P(EveryNorm, StrongImplicationIsNotAOrB) {
  Semantics s = own();
  s.implies = Implies::kStrong;
  const auto [a, b, c] = triples();
  expect_same(implication(a, b, s), disjunction(1.0 - a, b, s));
  expect_same(implication(a, b, s), implication(1.0 - b, 1.0 - a, s));
  expect_same(implication(all_of(1, b), b, s), b);
  expect_at_most(implication(a, minimum(b, c), s), implication(a, maximum(b, c), s));
}

TEST_P(EveryNorm, NegationsAreWhatTheyAreCalled) {
  Semantics s = own();
  const auto [a, b, c] = triples();
  expect_same(negation(negation(a, s), s), a);
  expect_same(negation(a, s), 1.0 - a);
  s.negation = Not::kResidual;
  expect_same(negation(a, s), implication(a, all_of(0, a), own()));
  if (s.norm == TNorm::kLukasiewicz || s.norm == TNorm::kNilpotent) expect_same(negation(a, s), 1.0 - a);
}

TEST_P(EveryNorm, IsBooleanLogicAtTheCorners) {
  for (const Implies implies : {Implies::kResiduum, Implies::kStrong}) {
    Semantics s = own();
    s.implies = implies;
    const Tensor a = Tensor::from<double>({0, 0, 1, 1}), b = Tensor::from<double>({0, 1, 0, 1});
    EXPECT_EQ(numbers(conjunction(a, b, s)), (std::vector<double>{0, 0, 0, 1}));
    EXPECT_EQ(numbers(disjunction(a, b, s)), (std::vector<double>{0, 1, 1, 1}));
    EXPECT_EQ(numbers(implication(a, b, s)), (std::vector<double>{1, 1, 0, 1}));
    EXPECT_EQ(numbers(equivalence(a, b, s)), (std::vector<double>{1, 0, 0, 1}));
    EXPECT_EQ(numbers(negation(a, s)), (std::vector<double>{1, 1, 0, 0}));
  }
}

TEST_P(EveryNorm, Differentiates) {
  const Tensor a = Tensor::from<double>({0.3, 0.6, 0.85, 0.2}), b = Tensor::from<double>({0.55, 0.45, 0.7, 0.65});
  for (const Implies implies : {Implies::kResiduum, Implies::kStrong}) {
    Semantics s = own();
    s.implies = implies;
    using Xs = const std::vector<Tensor>&;
    expect_gradients([&](Xs x) { return conjunction(x[0], x[1], s) + 0.0 * (x[0] + x[1]); }, {a, b});
    expect_gradients([&](Xs x) { return disjunction(x[0], x[1], s) + 0.0 * (x[0] + x[1]); }, {a, b});
    expect_gradients([&](Xs x) { return implication(x[0], x[1], s) + 0.0 * (x[0] + x[1]); }, {a, b});
    expect_gradients([&](Xs x) { return equivalence(x[0], x[1], s) + 0.0 * (x[0] + x[1]); }, {a, b});
  }
}

TEST_P(EveryNorm, GradientsAreNumbersAtTheCorners) {
  const Tensor a = Tensor::from<double>({0, 0, 1, 1, 0.5}), b = Tensor::from<double>({0, 1, 0, 1, 0.5});
  for (const auto& f : {conjunction, disjunction, implication, equivalence}) {
    const auto both = value_and_grad([&] { return sum(f(a, b, own()) + 0.0 * (a + b)); }, {a, b});
    for (const Tensor& g : both.gradients)
      for (const double value : numbers(g)) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(TensorTruth, NormsAreOrdered) {
  const Triples t = triples();
  const auto both = [&](const char* name) { return conjunction(t.a, t.b, semantics(name)); };
  expect_at_most(both("drastic"), both("lukasiewicz"));
  expect_at_most(both("lukasiewicz"), both("product"));
  expect_at_most(both("product"), both("hamacher"));
  expect_at_most(both("hamacher"), both("godel"));
  expect_at_most(both("lukasiewicz"), both("nilpotent"));
  expect_at_most(both("nilpotent"), both("godel"));
}

TEST(TensorTruth, AtEqualityTheFirstOperandGetsTheGradient) {
  const Tensor a = Tensor::from<double>({0.5}), b = Tensor::from<double>({0.5});
  const auto both = value_and_grad([&] { return sum(conjunction(a, b, semantics("godel"))); }, {a, b});
  EXPECT_EQ(numbers(both.gradients[0])[0], 1);
  EXPECT_EQ(numbers(both.gradients[1])[0], 0);
}

// Quantifiers from their definitions, element by element.
double quantified(std::vector<double> x, bool all, const Semantics& s) {
  double least = 1, most = 0, product = 1, none = 1, powers = 0;
  const double p = all ? s.p_forall : s.p_exists;
  for (double v : x) {
    least = std::min(least, v), most = std::max(most, v), product *= v, none *= 1 - v;
    v = (1 - s.stable) * v + (all ? 0 : s.stable);
    powers += std::pow(all ? 1 - v : v, p);
  }
  switch (s.quantify) {
    case Quantify::kMinMax: return all ? least : most;
    case Quantify::kProduct: return all ? product : 1 - none;
    case Quantify::kGeometric:
      return !all ? 1 - none : x.empty() ? 1 : std::pow(product, 1 / static_cast<double>(x.size()));
    case Quantify::kPMean: {
      const double root = x.empty() ? 0 : std::pow(powers / static_cast<double>(x.size()), 1 / p);
      return all ? 1 - root : root;
    }
  }
  return 0;
}

TEST(TensorTruth, QuantifiersAreTheirDefinitions) {
  const int64_t rows = 6, columns = 9;
  const Tensor x = uniform({rows, columns}, 1, 0, 1, 0, kF64);
  Tensor guard = bernoulli({rows, columns}, 2, 0.5);
  for (int64_t j = 0; j < columns; j++) guard.at<bool>({2, j}) = false;  // a row where nothing counts
  for (const Quantify quantify : {Quantify::kMinMax, Quantify::kProduct, Quantify::kPMean, Quantify::kGeometric})
    for (const double p : {1.0, 2.0, 5.0})
      for (const double stable : {0.0, 1e-4})
        for (const bool all : {true, false})
          for (const bool guarded : {true, false}) {
            const Semantics s{.quantify = quantify, .p_forall = p, .p_exists = p, .stable = stable};
            const Tensor g = guarded ? guard : Tensor();
            const std::vector<double> y = numbers(all ? for_all(x, {1}, s, g) : exists(x, {1}, s, g));
            for (int64_t i = 0; i < rows; i++) {
              std::vector<double> row;
              for (int64_t j = 0; j < columns; j++)
                if (!guarded || guard.at<bool>({i, j})) row.push_back(x.at<double>({i, j}));
              EXPECT_NEAR(y[static_cast<size_t>(i)], quantified(row, all, s), 1e-12);
            }
          }
}

// Of all choices of so many witnesses the best, by going through them.
TEST(TensorTruth, AtLeastIsTheBestChoiceOfWitnesses) {
  const Tensor x = uniform({4, 5}, 6, 0, 1, 0, kF64);
  const Tensor guard = bernoulli({4, 5}, 7, 0.7);
  for (const char* name : {"godel", "product", "lukasiewicz", "drastic", "nilpotent", "hamacher"}) {
    const Semantics s = semantics(name);
    for (const int64_t count : {1, 2, 3}) {
      const std::vector<double> y = numbers(at_least(count, x, {1}, s, guard));
      for (int64_t i = 0; i < 4; i++) {
        double best = 0;
        for (int64_t chosen = 0; chosen < 32; chosen++) {
          Tensor all;
          int64_t n = 0;
          for (int64_t j = 0; j < 5; j++) {
            if ((chosen >> j & 1) == 0) continue;
            const Tensor truth = full({}, guard.at<bool>({i, j}) ? x.at<double>({i, j}) : 0.0, kF64);
            all = n++ == 0 ? truth : conjunction(all, truth, s);
          }
          if (n == count) best = std::max(best, all.item<double>());
        }
        EXPECT_NEAR(y[static_cast<size_t>(i)], best, 1e-12) << name << " " << count;
      }
    }
    expect_gradients([&](const std::vector<Tensor>& at) { return at_least(2, at[0], {0}, semantics("product")); }, {x});
  }
  EXPECT_EQ(numbers(at_least(6, x, {1})), std::vector<double>(4, 0));
  EXPECT_REFUSED(at_least(0, x), "give 1 or more");
}

TEST(TensorTruth, QuantifiersAreDualAndBounded) {
  const Tensor x = uniform({5, 7}, 3, 0, 1, 0, kF64);
  for (const Quantify quantify : {Quantify::kMinMax, Quantify::kProduct, Quantify::kPMean}) {
    const Semantics s{.quantify = quantify, .stable = 0};
    expect_same(for_all(x, {1}, s), 1.0 - exists(1.0 - x, {1}, s));
    expect_at_most(for_all(x, {}, s), exists(x, {}, s));
  }
}

TEST(TensorTruth, QuantifiersDifferentiate) {
  const Tensor x = uniform({3, 5}, 4, 0.1, 0.9, 0, kF64);
  const Tensor guard = bernoulli({3, 5}, 5, 0.7);
  for (const Quantify quantify : {Quantify::kMinMax, Quantify::kProduct, Quantify::kPMean, Quantify::kGeometric})
    for (const Tensor& g : {Tensor(), guard}) {
      const Semantics s{.quantify = quantify, .p_forall = 3, .p_exists = 4};
      expect_gradients([&](const std::vector<Tensor>& at) { return for_all(at[0], {1}, s, g); }, {x});
      expect_gradients([&](const std::vector<Tensor>& at) { return exists(at[0], {0}, s, g); }, {x});
    }
}

TEST(TensorTruth, GradientsAreNumbersWhereEverythingIsFalse) {
  const Tensor x = zeros({4}, kF64), none = zeros({4}, kBool);
  for (const double stable : {0.0, 1e-4})
    for (const Tensor& g : {Tensor(), none}) {
      const Semantics s{.stable = stable};
      const auto both = value_and_grad([&] { return exists(x, {}, s, g) + for_all(1.0 - x, {}, s, g); }, {x});
      for (const double value : numbers(both.gradients[0])) EXPECT_TRUE(std::isfinite(value));
    }
}

TEST(TensorTruth, StableProductIsThatOfLogicTensorNetworks) {
  const double e = 1e-4, a = 0.3, b = 0.8;
  const auto pi0 = [&](double x) { return (1 - e) * x + e; };
  const auto pi1 = [&](double x) { return (1 - e) * x; };
  const Tensor x = Tensor::from<double>({a}), y = Tensor::from<double>({b});
  EXPECT_NEAR(numbers(conjunction(x, y))[0], pi0(a) * pi0(b), 1e-15);
  EXPECT_NEAR(numbers(disjunction(x, y))[0], pi1(a) + pi1(b) - pi1(a) * pi1(b), 1e-15);
  EXPECT_NEAR(numbers(implication(x, y))[0], 1 - pi0(a) + pi0(a) * pi1(b), 1e-15);
}

TEST(TensorTruth, AFormulaIsOneStepOfAPlanAndAllocatesNothing) {
  const Semantics s = semantics("product");
  Plan plan = compile([&](const Tensor& a, const Tensor& b) { return implication(conjunction(a, b, s), a, s); },
                      {{1000}, {1000}});
  EXPECT_EQ(plan.step_count(), 1) << plan.dump();
  const Tensor a = uniform({1000}, 1), b = uniform({1000}, 2);
  plan.run(a, b);
  const uint64_t calls = harness::malloc_calls();
  plan.run(a, b);
  EXPECT_EQ(harness::malloc_calls(), calls);
}

TEST(TensorTruth, WhatIsNoNumberStaysNone) {
  const Tensor x = Tensor::from<float>({0.5F, std::nanf("")}), g = Tensor::from<bool>({true, true});
  for (const double p : {1.0, 2.0, 6.0, 20.0}) {
    const Semantics s{.p_forall = p, .p_exists = p};
    const auto both = [&](const Tensor& t) { return exists(t, {}, s, g) + for_all(t, {}, s); };
    Plan plan = compile([&](const Tensor& t) { return both(t); }, {{2}});
    EXPECT_TRUE(std::isnan(both(x).item<float>())) << p;
    EXPECT_TRUE(std::isnan(plan.run(x)[0].item<float>())) << p;
    if (p == 1) continue;  // whose gradient is that of a sum
    EXPECT_TRUE(std::isnan(value_and_grad([&] { return exists(x, {}, s); }, {x}).gradients[0].at<float>({1}))) << p;
  }
}

TEST(TensorTruth, ALargePIsThatOfLargeNumbers) {
  const double small = 1e-4;
  const Tensor x = Tensor::from<float>({0.2F, 0.F, 0.1F, 0.9F}), g = Tensor::from<bool>({true, true, true, false});
  for (const double p : {9.0, 100.0, 1000.0}) {
    const Semantics s{.p_forall = p, .p_exists = p, .stable = 0};
    const double right = 0.2 * std::pow((1 + std::pow(0.5, p)) / 3, 1 / p);
    const auto both = value_and_grad([&] { return exists(x, {}, s, g); }, {x});
    EXPECT_NEAR(both.value.item<float>(), right, 1e-6) << p;
    EXPECT_NEAR(for_all(1.0 - x, {}, s, g).item<float>(), 1 - right, 1e-6) << p;
    const double slope = std::pow(right / 0.2, 1 - p) / 3;
    EXPECT_NEAR(both.gradients[0].at<float>({0}), slope, 1e-5) << p;
    EXPECT_EQ(both.gradients[0].at<float>({3}), 0) << p;
    EXPECT_EQ(exists(zeros({3}), {}, s).item<float>(), 0) << p;
    EXPECT_NEAR(exists(full({2, 3}, small), {1}, s).at<float>({1}), small, 1e-9) << p;
  }
}

TEST(TensorTruth, MistakesGetASentence) {
  const Tensor x = ones({3}), mask = ones({3}, kBool);
  EXPECT_REFUSED(semantics("fuzzy"), "there are godel");
  EXPECT_REFUSED(conjunction(mask, mask), "truths are f32 or f64");
  EXPECT_REFUSED(conjunction(x, ones({4})), "[3]");
  EXPECT_REFUSED(exists(x, {}, {.p_exists = 0.5}), "give p ≥ 1");
  EXPECT_REFUSED(for_all(x, {}, {}, x), "not bool");
  EXPECT_REFUSED(for_all(x, {}, {}, ones({2, 3}, kBool)), "it must broadcast to what it guards");
}

}  // namespace
}  // namespace ingot::logic
