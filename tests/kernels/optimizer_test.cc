#include "kernels/optimizer.h"

#include <algorithm>
#include <cmath>

#include "reduce_test_util.h"

namespace ingot::kernels {
namespace {

using OptimizerTest = OnTarget;
INGOT_ON_TARGETS(OptimizerTest);

constexpr int kSteps = 5;
constexpr int64_t kSizes[] = {0, 1, 3, 7, 16, 31, 64, 65, 129, 1000};

// The definition, in double, one number at a time.
double prepared(double g, double p, const GradientScaling& s, double weight_decay) {
  g *= s.scale;
  if (s.clip_value > 0) g = std::min(std::max(g, -s.clip_value), s.clip_value);
  return g + weight_decay * p;
}
void plain_step(const SgdStep& s, bool has_buffer, double g, double& p, double& b) {
  g = prepared(g, p, s.scaling, s.weight_decay);
  if (has_buffer) {
    b = s.momentum * b + g;
    g = s.nesterov ? g + s.momentum * b : b;
  }
  p -= s.lr * g;
}
void plain_step(const AdamStep& s, double g, double& p, double& m, double& v) {
  g = prepared(g, p, s.scaling, s.decoupled ? 0 : s.weight_decay);
  if (s.decoupled) p -= s.lr * s.weight_decay * p;
  m = s.beta1 * m + (1 - s.beta1) * g;
  v = s.beta2 * v + (1 - s.beta2) * g * g;
  const double m_hat = m / (1 - std::pow(s.beta1, static_cast<double>(s.count)));
  const double v_hat = v / (1 - std::pow(s.beta2, static_cast<double>(s.count)));
  p -= s.lr * m_hat / (std::sqrt(v_hat) + s.eps);
}

template <class T>
void expect_close(const std::vector<T>& got, const std::vector<double>& want, const char* what) {
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(close(got[i], want[i], std::max(1.0, std::fabs(want[i])), 8 * kSteps)) << what << " " << i;
}

template <class T>
std::vector<double> widened(const std::vector<T>& x) {
  return std::vector<double>(x.begin(), x.end());
}

// Several steps over the same arrays, each with its own gradient.
template <class T>
void check_sgd(int64_t n, const SgdStep& step, bool has_buffer) {
  std::mt19937 rng(static_cast<unsigned>(n));
  std::vector<T> p = normal_values<T>(rng, n), b(p.size());
  std::vector<double> want_p = widened(p), want_b(p.size());
  for (int k = 0; k < kSteps; ++k) {
    const std::vector<T> g = normal_values<T>(rng, n);
    if (has_buffer)
      sgd_momentum_step(step, n, p.data(), g.data(), b.data(), p.data(), b.data(), Team());
    else
      sgd_step(step, n, p.data(), g.data(), p.data(), Team());
    for (size_t i = 0; i < p.size(); ++i) plain_step(step, has_buffer, static_cast<double>(g[i]), want_p[i], want_b[i]);
  }
  expect_close(p, want_p, "p");
  expect_close(b, want_b, "b");
}

template <class T>
void check_adam(int64_t n, AdamStep step) {
  std::mt19937 rng(static_cast<unsigned>(n));
  std::vector<T> p = normal_values<T>(rng, n), m(p.size()), v(p.size());
  std::vector<double> want_p = widened(p), want_m(p.size()), want_v(p.size());
  for (step.count = 1; step.count <= kSteps; ++step.count) {
    const std::vector<T> g = normal_values<T>(rng, n);
    adam_step<T>(step, n, {p.data(), g.data(), m.data(), v.data(), p.data(), m.data(), v.data()}, Team());
    for (size_t i = 0; i < p.size(); ++i) plain_step(step, static_cast<double>(g[i]), want_p[i], want_m[i], want_v[i]);
  }
  expect_close(p, want_p, "p");
  expect_close(m, want_m, "m");
  expect_close(v, want_v, "v");
}

TEST_P(OptimizerTest, Sgd) {
  for (int64_t n : kSizes)
    for (double weight_decay : {0.0, 0.1})
      for (const GradientScaling& scaling : {GradientScaling{}, GradientScaling{0.5, 0}, GradientScaling{2, 0.75}}) {
        SgdStep step{.lr = 0.1, .weight_decay = weight_decay, .scaling = scaling};
        check_sgd<float>(n, step, false);
        check_sgd<double>(n, step, false);
        step.momentum = 0.9;
        for (bool nesterov : {false, true}) {
          step.nesterov = nesterov;
          check_sgd<float>(n, step, true);
          check_sgd<double>(n, step, true);
        }
      }
}

TEST_P(OptimizerTest, Adam) {
  for (int64_t n : kSizes)
    for (double weight_decay : {0.0, 0.1})
      for (bool decoupled : {false, true})
        for (const GradientScaling& scaling : {GradientScaling{}, GradientScaling{2, 0.75}}) {
          const AdamStep step{.lr = 0.1,
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .eps = 1e-8,
                              .weight_decay = weight_decay,
                              .decoupled = decoupled,
                              .scaling = scaling};
          check_adam<float>(n, step);
          check_adam<double>(n, step);
        }
}

// At the first step Adam moves every parameter by lr against the gradient's sign, however small the gradient.
TEST_P(OptimizerTest, FirstStepOfAdamIsTheLearningRate) {
  const std::vector<float> g = {1e-3f, -5, 2e4f, -1e-2f, 0};
  std::vector<float> p(g.size()), m(g.size()), v(g.size());
  const AdamStep step{.lr = 0.5, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-12};
  adam_step<float>(step, 5, {p.data(), g.data(), m.data(), v.data(), p.data(), m.data(), v.data()}, Team());
  const double want[] = {-0.5, 0.5, -0.5, 0.5, 0};
  for (size_t i = 0; i < g.size(); ++i) EXPECT_TRUE(close(p[i], want[i], 1)) << i;
}

TEST_P(OptimizerTest, NanInTheGradientIsNotClipped) {
  const std::vector<double> g = {std::nan(""), INFINITY, -INFINITY};
  std::vector<double> p(3);
  sgd_step({.lr = 1, .scaling = {1, 2}}, 3, p.data(), g.data(), p.data(), Team());
  EXPECT_TRUE(std::isnan(p[0]));
  EXPECT_EQ(p[1], -2);
  EXPECT_EQ(p[2], 2);
}

template <class T>
void check_teams() {
  for (int64_t n : {1, 100, 10'007}) {
    std::mt19937 rng(5);
    const std::vector<T> p = normal_values<T>(rng, n), g = normal_values<T>(rng, n), m = normal_values<T>(rng, n);
    std::vector<T> v = normal_values<T>(rng, n);
    for (T& x : v) x *= x;
    const AdamStep adam{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.1, .count = 7};
    const SgdStep sgd{.lr = 0.1, .weight_decay = 0.1, .momentum = 0.9, .nesterov = true};
    const size_t size = static_cast<size_t>(n);
    expect_same_bits<T>(
        3 * size,
        [&](T* out, const Team& team) {
          adam_step<T>(adam, n, {p.data(), g.data(), m.data(), v.data(), out, out + n, out + 2 * n}, team);
        },
        "adam of " + std::to_string(n));
    expect_same_bits<T>(
        2 * size,
        [&](T* out, const Team& team) { sgd_momentum_step(sgd, n, p.data(), g.data(), m.data(), out, out + n, team); },
        "sgd with momentum of " + std::to_string(n));
    expect_same_bits<T>(
        size, [&](T* out, const Team& team) { sgd_step(sgd, n, p.data(), g.data(), out, team); },
        "sgd of " + std::to_string(n));
  }
}

TEST_P(OptimizerTest, SameBitsForAnyTeam) {
  check_teams<float>();
  check_teams<double>();
}

// An element's bits do not depend on where it stands: a tail of any length equals the same elements inside a long run.
TEST_P(OptimizerTest, SameBitsAnywhere) {
  std::mt19937 rng(6);
  const int64_t n = 75;
  const std::vector<float> p = normal_values<float>(rng, n), g = normal_values<float>(rng, n), zero(p.size());
  const AdamStep step{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
  std::vector<float> whole_p(p.size()), whole_m(p.size()), whole_v(p.size());
  adam_step<float>(
      step, n, {p.data(), g.data(), zero.data(), zero.data(), whole_p.data(), whole_m.data(), whole_v.data()}, Team());
  for (int64_t first : {0, 1, 17})
    for (int64_t length : {1, 2, 5, 9, 20}) {
      std::vector<float> q(static_cast<size_t>(length)), m(q.size()), v(q.size());
      adam_step<float>(step, length,
                       {p.data() + first, g.data() + first, zero.data(), zero.data(), q.data(), m.data(), v.data()},
                       Team());
      EXPECT_TRUE(std::equal(q.begin(), q.end(), whole_p.begin() + first)) << first << " " << length;
    }
}

}  // namespace
}  // namespace ingot::kernels
