#include "ingot/nn/init.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/nn/draw.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::nn::init {
namespace {

void require_real(const char* what, const Tensor& t) {
  if (!t.defined() || !is_float(t.dtype()))
    throw Error(ErrorKind::kType, std::string("init::") + what + ": the tensor is " +
                                      (t.defined() ? name(t.dtype()) : "undefined") + " — give it one of f32 or f64");
}

// Φ(x), accurate in both tails.
double normal_share(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// The x with Φ(x) = p: a rough start (Winitzki's formula for erf⁻¹), then Halley's steps, which treble the digits.
double normal_quantile(double p) {
  constexpr double kA = 0.147, kPi = 3.141592653589793;
  const double u = 2 * p - 1, l = std::log(4 * p * (1 - p)), b = 2 / (kPi * kA) + l / 2;
  double x = std::copysign(std::sqrt(2 * (std::sqrt(b * b - l / kA) - b)), u);
  for (int i = 0; i < 3; i++) {
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * kPi);
    const double step = (normal_share(x) - p) / density;
    x -= step / (1 + 0.5 * x * step);
  }
  return x;
}

Tensor uniform_f64(const Dims& shape) {
  const RandomKey key = next_key();
  return ingot::uniform(shape, static_cast<int64_t>(key.seed), 0, 1, static_cast<int64_t>(key.stream), kF64);
}

// `count` orthogonal unit vectors of `size` numbers, one after the other: Gram-Schmidt, each taken twice, of normal
// ones. All directions are alike, since those of the normal vectors are.
std::vector<double> orthogonal_rows(int64_t count, int64_t size) {
  std::vector<double> rows(static_cast<size_t>(count * size));
  fill_normal(rows.data(), count * size, 0, 0.0, 1.0, next_key());
  const auto dot = [&](const double* a, const double* b) {
    double sum = 0;
    for (int64_t k = 0; k < size; k++) sum += a[k] * b[k];
    return sum;
  };
  for (int64_t i = 0; i < count; i++) {
    double* row = rows.data() + i * size;
    for (int pass = 0; pass < 2; pass++)
      for (int64_t j = 0; j < i; j++) {
        const double* other = rows.data() + j * size;
        const double share = dot(row, other);
        for (int64_t k = 0; k < size; k++) row[k] -= share * other[k];
      }
    const double length = std::sqrt(dot(row, row));
    for (int64_t k = 0; k < size; k++) row[k] /= length;
  }
  return rows;
}

}  // namespace

double gain(After after, double slope) {
  switch (after) {
    case After::kLinear:
    case After::kSigmoid: return 1;
    case After::kTanh: return 5.0 / 3;
    case After::kRelu: return std::sqrt(2.0);
    case After::kLeakyRelu: return std::sqrt(2 / (1 + slope * slope));
    case After::kSelu: return 0.75;
  }
  return 1;
}

Fans fans(const Tensor& weight) {
  require_real("fans", weight);
  if (weight.rank() < 2 || weight.numel() == 0)
    throw Error("init: a weight " + to_string(weight.shape()) +
                " has no fans — give [out, in, kernel…]; use constant() or normal() for vectors");
  const int64_t kernel = weight.numel() / (weight.size(0) * weight.size(1));
  return {weight.size(1) * kernel, weight.size(0) * kernel};
}

void constant(const Tensor& t, double value) {
  require_real("constant", t);
  fill(t, value);
}

void uniform(const Tensor& t, double low, double high) {
  require_real("uniform", t);
  if (!(low <= high))
    throw Error("init::uniform: from " + std::to_string(low) + " to " + std::to_string(high) + " — low comes first");
  const RandomKey key = next_key();
  uniform_into(t, t.shape(), static_cast<int64_t>(key.seed), low, high, static_cast<int64_t>(key.stream), t.dtype());
}

void normal(const Tensor& t, double mean, double stddev) {
  require_real("normal", t);
  if (!(stddev >= 0)) throw Error("init::normal: stddev = " + std::to_string(stddev) + " — it must not be negative");
  const RandomKey key = next_key();
  normal_into(t, t.shape(), static_cast<int64_t>(key.seed), mean, stddev, static_cast<int64_t>(key.stream), t.dtype());
}

void truncated_normal(const Tensor& t, double mean, double stddev, double low, double high) {
  require_real("truncated_normal", t);
  if (!(stddev > 0 && low < high))
    throw Error("init::truncated_normal: stddev = " + std::to_string(stddev) + " in " + std::to_string(low) + " … " +
                std::to_string(high) + " — stddev must be positive, and low below high");
  const double first = normal_share((low - mean) / stddev), last = normal_share((high - mean) / stddev);
  if (!(last - first > 1e-12))
    throw Error("init::truncated_normal: nearly nothing of the distribution lies in " + std::to_string(low) + " … " +
                std::to_string(high) + " — choose limits near the mean");
  const Tensor values = uniform_f64(t.shape());
  for (int64_t i = 0; i < values.numel(); i++) {
    double& v = values.data<double>()[i];
    const double share = std::clamp(first + v * (last - first), 1e-16, 1 - 1e-16);
    v = std::clamp(mean + stddev * normal_quantile(share), low, high);
  }
  to_into(t, values, t.dtype());
}

void xavier_uniform(const Tensor& weight, double gain) {
  const Fans f = fans(weight);
  const double bound = gain * std::sqrt(6.0 / static_cast<double>(f.in + f.out));
  uniform(weight, -bound, bound);
}
void xavier_normal(const Tensor& weight, double gain) {
  const Fans f = fans(weight);
  normal(weight, 0, gain * std::sqrt(2.0 / static_cast<double>(f.in + f.out)));
}
void kaiming_uniform(const Tensor& weight, double gain, Fan fan) {
  const Fans f = fans(weight);
  const double bound = gain * std::sqrt(3.0 / static_cast<double>(fan == Fan::kIn ? f.in : f.out));
  uniform(weight, -bound, bound);
}
void kaiming_normal(const Tensor& weight, double gain, Fan fan) {
  const Fans f = fans(weight);
  normal(weight, 0, gain / std::sqrt(static_cast<double>(fan == Fan::kIn ? f.in : f.out)));
}

void orthogonal(const Tensor& weight, double gain) {
  fans(weight);
  const int64_t rows = weight.size(0), cols = weight.numel() / rows;
  const bool wide = rows <= cols;
  const std::vector<double> unit = wide ? orthogonal_rows(rows, cols) : orthogonal_rows(cols, rows);
  Tensor values = Tensor::from(unit, wide ? Dims{rows, cols} : Dims{cols, rows});
  if (!wide) values = clone(transpose(values));
  to_into(weight, reshape(multiply(values, gain), weight.shape()), weight.dtype());
}

}  // namespace ingot::nn::init
