// Gradients of compositions against central differences.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "ingot/graph/grad.h"
#include "ingot/ops/ops.h"

namespace ingot::logic {

/// The numbers of an f64 tensor, in order.
inline std::vector<double> numbers(const Tensor& t) { return to(t, kF64).to_vector<double>(); }

/// That the gradients of a weighted sum of f(xs), in f64, are its central differences to 1e-6.
inline void expect_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                             const std::vector<Tensor>& xs) {
  const Tensor weights = uniform(f(xs).shape(), 77, 0.5, 1.5, 0, kF64);
  const auto value = [&](const std::vector<Tensor>& at) { return sum(multiply(f(at), weights)); };
  const ValueAndGrad both = value_and_grad([&] { return value(xs); }, xs);
  for (size_t i = 0; i < xs.size(); i++) {
    const std::vector<double> gradient = numbers(both.gradients[i]);
    for (size_t k = 0; k < gradient.size(); k++) {
      const auto moved = [&](double step) {
        std::vector<Tensor> at = xs;
        at[i] = clone(xs[i]);
        at[i].data<double>()[k] += step;
        return numbers(value(at))[0];
      };
      const double step = 1e-4;  // five points: an error of order step⁴
      const double slope = (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step);
      EXPECT_NEAR(gradient[k], slope, 1e-6 * std::max(1.0, std::abs(slope))) << "input " << i << ", element " << k;
    }
  }
}

}  // namespace ingot::logic
