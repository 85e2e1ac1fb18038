// Every op's gradient against central differences in f64, on every sample.
#include <cmath>

#include "ingot/base/error.h"
#include "tests/ops/harness.h"

namespace ingot::harness {
namespace {

struct TableGradient : OpTest {};

// A scalar function of a call: the results' dot product with fixed weights.
double projected(const std::vector<Tensor>& results, const std::vector<Tensor>& weights) {
  double total = 0;
  for (size_t i = 0; i < results.size(); i++) {
    if (!weights[i].defined()) continue;
    const std::vector<double> y = values_of(results[i]), w = values_of(weights[i]);
    for (size_t k = 0; k < y.size(); k++) total += y[k] * w[k];
  }
  return total;
}

std::vector<Tensor> random_weights(const std::vector<Tensor>& results, Random& random) {
  std::vector<Tensor> weights;
  for (const Tensor& y : results)
    weights.push_back(is_float(y.dtype()) ? random.tensor(y.shape(), y.dtype(), -1, 1) : Tensor());
  return weights;
}

bool any_defined(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    if (t.defined()) return true;
  return false;
}

std::vector<Tensor> gradients(const Case& c, const std::vector<Tensor>& results, const std::vector<Tensor>& weights) {
  return gradient(*c.op, c.pointers(), c.attrs, results, weights, {});
}

// The call with input i moved by `step` along `direction`.
Case moved(const Case& c, size_t i, const std::vector<double>& direction, double step) {
  Case result = c;
  result.inputs[i] = mapped(
      c.inputs[i], [&](double v, size_t k) { return v + step * direction[k]; }, kF64);
  return result;
}

// The derivative along a direction by five points: an error of order step⁴.
double numeric_slope(const Case& c, size_t i, const std::vector<double>& direction, const std::vector<Tensor>& weights,
                     double step) {
  const auto at = [&](double s) { return projected(run(moved(c, i, direction, s)), weights); };
  return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
}

// Directions to probe: every element of a small input, some elements of a larger one and two that move all of them.
std::vector<std::vector<double>> directions(size_t count, Random& random) {
  std::vector<std::vector<double>> result;
  const size_t probes = std::min<size_t>(count, 12);
  for (size_t k = 0; k < probes; k++) {
    result.emplace_back(count, 0.0);
    result.back()[count <= 12 ? k : static_cast<size_t>(random.below(static_cast<int64_t>(count)))] = 1;
  }
  for (int k = 0; k < 2 && count > 1; k++) {
    result.emplace_back();
    for (size_t j = 0; j < count; j++) result.back().push_back(random.real(-1, 1));
  }
  return result;
}

void check_slopes(const Case& c, size_t i, const std::vector<Tensor>& weights, const Tensor& found, Random& random) {
  const std::vector<double> slopes = values_of(found);
  const double scale = std::max(largest(found), 1e-3);
  for (const std::vector<double>& direction : directions(slopes.size(), random)) {
    double analytic = 0;
    for (size_t k = 0; k < slopes.size(); k++) analytic += slopes[k] * direction[k];
    double numeric = 0;
    bool agree = false;
    for (double step : {1e-4, 1e-5, 1e-6, 1e-3}) {  // another step where a kink lies near
      numeric = numeric_slope(c, i, direction, weights, step);
      agree = std::fabs(numeric - analytic) <= 1e-6 * std::max({scale, std::fabs(analytic), std::fabs(numeric)});
      if (agree) break;
    }
    ASSERT_TRUE(agree) << describe(c) << ": the slope along input " << i << " is " << numeric << ", its gradient says "
                       << analytic << " (difference " << numeric - analytic << ")";
  }
}

TEST_P(TableGradient, AgreesWithCentralDifferences) {
  Random random(3);
  bool tested = false;
  for (const Case& c : cases_of(op(), kF64)) {
    const std::vector<Tensor> results = run(c);
    const std::vector<Tensor> weights = random_weights(results, random);
    if (!any_defined(weights)) continue;
    const std::vector<Tensor> found = gradients(c, results, weights);
    ASSERT_EQ(found.size(), c.inputs.size());
    for (size_t i = 0; i < found.size(); i++) {
      const Tensor& x = c.inputs[i];
      if (!x.defined() || x.dtype() != kF64) {
        ASSERT_FALSE(found[i].defined()) << describe(c) << " gave input " << i << " a gradient";
        continue;
      }
      ASSERT_TRUE(found[i].defined()) << describe(c) << " gave input " << i << " no gradient";
      ASSERT_EQ(found[i].shape(), x.shape()) << describe(c) << ": gradient of input " << i;
      ASSERT_EQ(found[i].dtype(), x.dtype()) << describe(c) << ": gradient of input " << i;
      check_slopes(c, i, weights, found[i], random);
      if (HasFatalFailure()) return;
      tested = tested || x.numel() > 0;
    }
  }
  bool any_float = false;
  for (const Case& c : cases_of(op(), kF64))
    for (const Tensor& t : c.inputs) any_float = any_float || (t.defined() && t.dtype() == kF64 && t.numel() > 0);
  EXPECT_TRUE(tested || !any_float) << "no sample tests this gradient";
}

TEST_P(TableGradient, SinglePrecisionAgreesWithDouble) {
  Random random(5);
  for (const Case& c : cases_of(op(), kF32)) {
    const std::vector<Tensor> results = run(c);
    const std::vector<Tensor> weights = random_weights(results, random);
    if (!any_defined(weights)) continue;
    const std::vector<Tensor> found = gradients(c, results, weights);
    const Case wide = converted(c, kF32, kF64);
    std::vector<Tensor> wide_weights;
    for (const Tensor& w : weights)
      wide_weights.push_back(w.defined() ? mapped(
                                               w, [](double v, size_t) { return v; }, kF64)
                                         : w);
    const std::vector<Tensor> expected = gradients(wide, run(wide), wide_weights);
    for (size_t i = 0; i < found.size(); i++) {
      ASSERT_EQ(found[i].defined(), expected[i].defined()) << describe(c);
      if (!found[i].defined()) continue;
      const Tensor doubled = mapped(
          found[i], [](double v, size_t) { return v; }, kF64);
      ASSERT_TRUE(close(doubled, expected[i], {0, 1e-4 / 0x1p-52}, 1e-2)) << describe(c) << ": gradient of input " << i;
    }
  }
}

// Gradient rules are made of ops, so operands in any layout and any choice of wanted inputs must do.
TEST_P(TableGradient, TakesViewsAndPartialWishes) {
  Random random(9);
  for (const Case& c : cases_of(op(), kF64)) {
    const std::vector<Tensor> results = run(c);
    const std::vector<Tensor> weights = random_weights(results, random);
    if (!any_defined(weights)) continue;
    const std::vector<Tensor> expected = gradients(c, results, weights);
    for (Layout layout : {Layout::kTransposed, Layout::kStrided, Layout::kReversed}) {
      const PlacedCase placed(c, {layout});
      if (!placed.allowed()) continue;
      std::vector<Placed> placed_weights;
      std::vector<Tensor> strided_weights;
      for (const Tensor& w : weights) {
        if (w.defined()) placed_weights.emplace_back(w, layout);
        strided_weights.push_back(w.defined() ? placed_weights.back().tensor() : w);
      }
      const std::vector<Tensor> found = gradients(placed.call, run(placed.call), strided_weights);
      for (size_t i = 0; i < found.size(); i++) {
        if (!expected[i].defined()) continue;
        ASSERT_TRUE(close(found[i], expected[i], {64, 64}, 1))
            << describe(c) << ": gradient of input " << i << ", " << name(layout);
      }
    }
    for (size_t only = 0; only < c.inputs.size() && c.inputs.size() > 1; only++) {
      const auto wanted = std::make_unique<bool[]>(c.inputs.size());
      wanted[only] = true;
      const std::vector<Tensor> found =
          gradient(op(), c.pointers(), c.attrs, results, weights, std::span<const bool>(wanted.get(), c.inputs.size()));
      for (size_t i = 0; i < found.size(); i++) {
        ASSERT_EQ(found[i].defined(), i == only && expected[i].defined())
            << describe(c) << ": wanted " << only << ", got " << i;
        if (found[i].defined()) {
          ASSERT_TRUE(same_bits(found[i], expected[i])) << describe(c);
        }
      }
    }
  }
}

struct TableNoGradient : OpTest {};

TEST_P(TableNoGradient, SaysWhy) {
  const std::vector<Case> cases = cases_of(op(), kF32);
  ASSERT_FALSE(cases.empty());
  const std::vector<Tensor> results = run(cases[0]);
  try {
    gradients(cases[0], results, results);
    FAIL() << "no Error";
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_EQ(text.rfind(std::string(op().name) + ":", 0), 0u) << text;
    EXPECT_NE(text.find(op().not_differentiable), std::string::npos) << text;
  }
}

INGOT_FOR_OPS(TableGradient, [](const Op& op) { return op.gradient != nullptr; });
INGOT_FOR_OPS(TableNoGradient, [](const Op& op) { return op.gradient == nullptr; });

}  // namespace
}  // namespace ingot::harness
