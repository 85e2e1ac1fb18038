// Initial values: their distribution, to five standard errors, and what is exact about them.
#include "ingot/nn/init.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ingot/ingot.h"
#include "ingot/nn.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

namespace init = nn::init;

struct Moments {
  double mean, variance, fourth, least, most, n;
};
Moments moments_of(const Tensor& t) {
  const std::vector<double> v = to(t, kF64).to_vector<double>();
  Moments m{0, 0, 0, v[0], v[0], static_cast<double>(v.size())};
  for (const double x : v) m.mean += x / m.n, m.least = std::min(m.least, x), m.most = std::max(m.most, x);
  for (const double x : v) m.variance += std::pow(x - m.mean, 2) / m.n, m.fourth += std::pow(x - m.mean, 4) / m.n;
  return m;
}
// Mean and variance of what was drawn, within five standard errors of what they should be.
void expect_moments(const Tensor& t, double mean, double variance) {
  const Moments m = moments_of(t);
  EXPECT_NEAR(m.mean, mean, 5 * std::sqrt(variance / m.n));
  EXPECT_NEAR(m.variance, variance, 5 * std::sqrt((m.fourth - m.variance * m.variance) / m.n));
}
void expect_uniform(const Tensor& t, double bound) {
  expect_moments(t, 0, bound * bound / 3);
  const Moments m = moments_of(t);
  EXPECT_LE(m.most, bound * (1 + 1e-6));
  EXPECT_GE(m.least, -bound * (1 + 1e-6));
  EXPECT_GT(m.most, 0.99 * bound);
}
void expect_normal(const Tensor& t, double deviation) {
  expect_moments(t, 0, deviation * deviation);
  const Moments m = moments_of(t);
  EXPECT_NEAR(m.fourth / std::pow(m.variance, 2), 3, 5 * std::sqrt(96 / m.n)) << "kurtosis";
}

TEST(Init, FansAndGains) {
  EXPECT_EQ(init::fans(zeros({8, 3})).in, 3);
  EXPECT_EQ(init::fans(zeros({8, 3})).out, 8);
  EXPECT_EQ(init::fans(zeros({8, 3, 5, 2})).in, 30);
  EXPECT_EQ(init::fans(zeros({8, 3, 5, 2})).out, 80);
  EXPECT_EQ(init::gain(init::After::kLinear), 1);
  EXPECT_DOUBLE_EQ(init::gain(init::After::kTanh), 5.0 / 3);
  EXPECT_DOUBLE_EQ(init::gain(init::After::kRelu), std::sqrt(2));
  EXPECT_DOUBLE_EQ(init::gain(init::After::kLeakyRelu, 0.2), std::sqrt(2 / 1.04));
  EXPECT_EQ(init::gain(init::After::kSelu), 0.75);
}

TEST(Init, XavierAndKaiming) {
  nn::set_seed(5);
  for (const DType type : {kF32, kF64}) {
    const Tensor w = zeros({120, 40, 3, 3}, type);  // fans 360 and 1080
    init::xavier_uniform(w);
    expect_uniform(w, std::sqrt(6.0 / 1440));
    init::xavier_normal(w, 2);
    expect_normal(w, 2 * std::sqrt(2.0 / 1440));
    init::kaiming_uniform(w);
    expect_uniform(w, std::sqrt(6.0 / 360));
    init::kaiming_uniform(w, init::gain(init::After::kTanh), init::Fan::kOut);
    expect_uniform(w, 5.0 / 3 * std::sqrt(3.0 / 1080));
    init::kaiming_normal(w, 1, init::Fan::kOut);
    expect_normal(w, std::sqrt(1.0 / 1080));
  }
}

TEST(Init, TruncatedNormal) {
  nn::set_seed(6);
  const Tensor t = zeros({50000}, kF64);
  const auto share = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2)); };
  const auto density = [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * 3.141592653589793); };
  init::truncated_normal(t, 0, 1, -2, 2);
  const double inside = share(2) - share(-2);
  expect_moments(t, 0, 1 - 4 * density(2) / inside);
  EXPECT_LE(moments_of(t).most, 2);
  EXPECT_GT(moments_of(t).most, 1.99);
  // One-sided, where the mean moves: (φ(a) - φ(b)) / (Φ(b) - Φ(a)) and its variance, scaled and shifted.
  init::truncated_normal(t, 3, 0.5, 2.75, 4);
  const double a = -0.5, b = 2, z = share(b) - share(a), shift = (density(a) - density(b)) / z;
  expect_moments(t, 3 + 0.5 * shift, 0.25 * (1 + (a * density(a) - b * density(b)) / z - shift * shift));
  // The distribution itself: the share below a point.
  for (const double x : {2.8, 3.0, 3.5}) {
    double below = 0;
    for (const double v : t.to_vector<double>()) below += v < x;
    const double expected = (share((x - 3) / 0.5) - share(a)) / z;
    EXPECT_NEAR(below / 50000, expected, 5 * std::sqrt(expected * (1 - expected) / 50000)) << x;
  }
  init::truncated_normal(t, 0, 1, -1e9, 1e9);
  expect_normal(t, 1);
}

TEST(Init, OrthogonalIsOrthogonal) {
  nn::set_seed(7);
  for (const Dims& shape : {Dims{20, 50}, Dims{50, 20}, Dims{16, 16}, Dims{8, 3, 3, 3}, Dims{1, 5}}) {
    const Tensor w = zeros(shape, kF64);
    init::orthogonal(w, 1.5);
    const Tensor m = reshape(w, {shape[0], -1});
    const bool wide = m.size(0) <= m.size(1);
    const Tensor product = wide ? matmul(m, transpose(m)) : matmul(transpose(m), m);
    const Tensor off = abs(product - 2.25 * eye(product.size(0), -1, kF64));
    EXPECT_LT(max(off).item<double>(), 1e-13) << to_string(shape);
  }
  const Tensor single = zeros({64, 64});
  init::orthogonal(single);
  EXPECT_LT(max(abs(matmul(single, transpose(single)) - eye(64))).item(), 1e-5f);
}

TEST(Init, TheSameSeedGivesTheSameValuesInAnyLayout) {
  const auto draw = [](const Tensor& t) {
    nn::set_seed(11);
    init::uniform(t, -1, 1);
    std::vector<float> all = t.to_vector<float>();
    init::truncated_normal(t);
    for (const float v : t.to_vector<float>()) all.push_back(v);
    init::orthogonal(t);
    for (const float v : t.to_vector<float>()) all.push_back(v);
    return all;
  };
  const std::vector<float> values = draw(zeros({4, 6}));
  EXPECT_EQ(draw(zeros({4, 6})), values);
  EXPECT_EQ(draw(transpose(zeros({6, 4}))), values);
  EXPECT_NE(std::vector<float>(values.begin(), values.begin() + 24),
            std::vector<float>(values.begin() + 24, values.begin() + 48));
}

TEST(Init, LayersBeginAsPyTorchs) {
  nn::set_seed(8);
  expect_uniform(nn::Linear(400, 100).weight, 1 / std::sqrt(400.0));
  expect_uniform(nn::Conv2d(20, 60, 5, {.groups = 2}).weight, 1 / std::sqrt(250.0));
  expect_uniform(nn::ConvTranspose2d(60, 20, 5).weight, 1 / std::sqrt(500.0));
  expect_normal(nn::Embedding(500, 40).weight, 1);
  nn::Embedding padded(4, 3, 2);
  EXPECT_EQ(slice(padded.weight, 0, 2, 3).to_vector<float>(), (std::vector<float>{0, 0, 0}));
}

TEST(Init, ErrorsAreSentences) {
  EXPECT_EQ(error_of([] { init::xavier_normal(zeros({4})); }),
            "init: a weight [4] has no fans — give [out, in, kernel…]; use constant() or normal() for vectors");
  EXPECT_EQ(error_of([] { init::constant(zeros({4}, kI64), 1); }),
            "init::constant: the tensor is i64 — give it one of f32 or f64");
  EXPECT_THROW(init::normal(zeros({4}), 0, -1), Error);
  EXPECT_THROW(init::uniform(zeros({4}), 1, -1), Error);
  EXPECT_THROW(init::truncated_normal(zeros({4}), 0, 1, 2, 1), Error);
  EXPECT_THROW(init::truncated_normal(zeros({4}), 0, 1, 30, 40), Error);
}

}  // namespace
}  // namespace ingot
