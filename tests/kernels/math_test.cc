// Every function of kernels/math-inl.h on every target of this machine, against libm in the next wider type.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/math_test.cc"
#include <hwy/foreach_target.h>
// foreach_target comes first
#include <hwy/highway.h>

#include "ingot/base/dispatch.h"
#include "kernels/math-inl.h"

#define INGOT_MATH_FUNCTIONS(F) \
  F(Exp) F(Expm1) F(Tanh) F(Sigmoid) F(Silu) F(GeluTanh) F(GeluErf) F(Erf) F(Log) F(Log1p) F(Softplus) F(Sin) F(Cos)

#ifndef INGOT_MATH_TEST_ONCE
#define INGOT_MATH_TEST_ONCE
namespace ingot::kernels {
#define INGOT_NAME(f) k##f,
enum Function { INGOT_MATH_FUNCTIONS(INGOT_NAME) kFunctions };
#undef INGOT_NAME
}  // namespace ingot::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {

// Whole vectors only: n is a multiple of every vector's lanes.
template <class T>
void Map(Function function, const T* x, T* y, size_t n) {
  const hn::ScalableTag<T> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto v = hn::LoadU(d, x + i);
    switch (function) {
#define INGOT_CASE(f) \
  case k##f: hn::StoreU(f(d, v), d, y + i); break;
      INGOT_MATH_FUNCTIONS(INGOT_CASE)
#undef INGOT_CASE
      case kFunctions: break;
    }
  }
}

template <class T>
void MapPow(const T* x, const T* exponent, T* y, size_t n) {
  const hn::ScalableTag<T> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d))
    hn::StoreU(Pow(d, hn::LoadU(d, x + i), hn::LoadU(d, exponent + i)), d, y + i);
}

template <class T>
void MapExpNonPositive(const T* x, T* y, size_t n) {
  const hn::ScalableTag<T> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) hn::StoreU(ExpNonPositive(d, hn::LoadU(d, x + i)), d, y + i);
}

void Map32(Function f, const float* x, float* y, size_t n) { Map(f, x, y, n); }
void Map64(Function f, const double* x, double* y, size_t n) { Map(f, x, y, n); }
void Pow32(const float* x, const float* e, float* y, size_t n) { MapPow(x, e, y, n); }
void Pow64(const double* x, const double* e, double* y, size_t n) { MapPow(x, e, y, n); }
void ExpNonPositive32(const float* x, float* y, size_t n) { MapExpNonPositive(x, y, n); }
void ExpNonPositive64(const double* x, double* y, size_t n) { MapExpNonPositive(x, y, n); }

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "tests/kernels/on_target.h"

namespace ingot::kernels {
namespace {

using Quad = long double;
template <class T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, Quad>;
template <class T>
using Bits = std::conditional_t<std::is_same_v<T, float>, uint32_t, uint64_t>;
template <class T>
using Limits = std::numeric_limits<T>;
constexpr size_t kVector = 64;
// Emulated machines take a hundred times as long.
constexpr size_t kEffort = HWY_ARCH_X86 ? 1 : 40;

std::vector<float> map(Function f, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  INGOT_DISPATCH(Map32)(f, x.data(), y.data(), x.size());
  return y;
}
std::vector<double> map(Function f, const std::vector<double>& x) {
  std::vector<double> y(x.size());
  INGOT_DISPATCH(Map64)(f, x.data(), y.data(), x.size());
  return y;
}
std::vector<float> power(const std::vector<float>& x, const std::vector<float>& e) {
  std::vector<float> y(x.size());
  INGOT_DISPATCH(Pow32)(x.data(), e.data(), y.data(), x.size());
  return y;
}
std::vector<double> power(const std::vector<double>& x, const std::vector<double>& e) {
  std::vector<double> y(x.size());
  INGOT_DISPATCH(Pow64)(x.data(), e.data(), y.data(), x.size());
  return y;
}
std::vector<float> exp_non_positive(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  INGOT_DISPATCH(ExpNonPositive32)(x.data(), y.data(), x.size());
  return y;
}
std::vector<double> exp_non_positive(const std::vector<double>& x) {
  std::vector<double> y(x.size());
  INGOT_DISPATCH(ExpNonPositive64)(x.data(), y.data(), x.size());
  return y;
}

#define INGOT_NAME(f) #f,
const char* const kNames[] = {INGOT_MATH_FUNCTIONS(INGOT_NAME)};
#undef INGOT_NAME

// The bounds that stand beside the functions, in ULP.
struct Bound {
  double f32, f64;
};
Bound bound(Function f) {
  switch (f) {
    case kExp: return {1.2, 1.4};
    case kExpm1: return {1.6, 2.6};
    case kTanh: return {2.7, 2.7};
    case kSigmoid: return {2.6, 2.6};
    case kSilu: return {3.3, 3.3};
    case kGeluTanh: return {3.3, 3.3};
    case kGeluErf: return {7, 12};
    case kErf: return {1.5, 1.5};
    case kLog: return {1, 1};
    case kLog1p: return {1.6, 1.2};
    case kSoftplus: return {3, 3};
    case kSin:
    case kCos: return {1.7, 2.5};
    case kFunctions: break;
  }
  return {};
}

template <class W>
W gelu_argument(W x) {
  return 2 * std::sqrt(2 / std::numbers::pi_v<W>) * (x + static_cast<W>(0.044715L) * x * x * x);
}

// What each bound grows by in a negative tail, where the rounding of an argument w of e^w costs about |w| ULP.
template <class T>
double tail(Function f, T x) {
  const double lowest = std::is_same_v<T, float> ? -87 : -708;
  if (!(x < 0) || std::isinf(x)) return 0;
  if (f == kSilu) return x < lowest ? -static_cast<double>(x) : 0;
  if (f == kGeluTanh) return -2.5 * static_cast<double>(gelu_argument<Wider<T>>(x));
  if (f == kGeluErf) return 0.75 * static_cast<double>(x) * static_cast<double>(x);
  return 0;
}

// Results of these below this size may be 0.
template <class T>
bool may_vanish(Function f, Wider<T> want) {
  return (f == kExp || f == kSoftplus || f == kGeluErf) && std::abs(want) < Limits<T>::min() * Wider<T>(0.7072);
}

template <class W>
W times_logistic(W x, W w) {
  if (std::isinf(x) && x < 0) return -W(0);
  return w < 0 ? x * std::exp(w) / (1 + std::exp(w)) : x / (1 + std::exp(-w));
}

template <class W>
W reference(Function f, W x) {
  switch (f) {
    case kExp: return std::exp(x);
    case kExpm1: return std::expm1(x);
    case kTanh: return std::tanh(x);
    case kSigmoid: return times_logistic<W>(1, x);
    case kSilu: return times_logistic(x, x);
    case kGeluTanh: return times_logistic(x, gelu_argument(x));
    case kGeluErf: return std::isinf(x) ? std::max(x, -W(0)) : x * std::erfc(-x / std::numbers::sqrt2_v<W>) / 2;
    case kErf: return std::erf(x);
    case kLog: return std::log(x);
    case kLog1p: return std::log1p(x);
    case kSoftplus: return std::max(x, W(0)) + std::log1p(std::exp(-std::abs(x)));
    case kSin: return std::sin(x);
    case kCos: return std::cos(x);
    case kFunctions: break;
  }
  return 0;
}

template <class T>
bool same(T a, T b) {
  return std::bit_cast<Bits<T>>(a) == std::bit_cast<Bits<T>>(b) || (std::isnan(a) && std::isnan(b));
}

// |got − want| in units of the spacing of T at `want`; infinite where NaN, infinity or the sign of zero differ.
template <class T>
double ulp(T got, Wider<T> want) {
  const T nearest = static_cast<T>(want);
  if (!std::isfinite(nearest) || !std::isfinite(got) || (want == 0 && got == 0))
    return same(nearest, got) ? 0 : Limits<double>::infinity();
  int exponent = Limits<T>::min_exponent;
  if (want != 0) std::frexp(want, &exponent);
  exponent = std::max(exponent, Limits<T>::min_exponent) - Limits<T>::digits;
  return static_cast<double>(std::ldexp(std::abs(static_cast<Wider<T>>(got) - want), -exponent));
}

template <class T>
void pad(std::vector<T>& x) {
  while (x.size() % kVector != 0) x.push_back(T(0.5));
}

// Where formulas change, and the edges of the arithmetic.
template <class T>
std::vector<T> landmarks() {
  const T inf = Limits<T>::infinity(), nan = Limits<T>::quiet_NaN();
  std::vector<T> x = {0, inf, nan, Limits<T>::max(), Limits<T>::min(), Limits<T>::denorm_min(), 1, 2, T(0.5), 100};
  for (double v :
       {0.1732868,  0.3465736, 0.5198604, 0.6931472, 1.0397208, 0.9,   3.95,   6.0,   9.0,   10.0,       11.5,
        13.2,       13.27,     17.0,      18.0,      20.0,      22.0,  37.7,   38.5,  40.0,  87.0,       87.3365,
        87.68,      88.0,      88.376,    88.7228,   88.73,     89.0,  103.97, 104.0, 110.0, 120.0,      300.0,
        708.4,      708.7,     709.09,    709.7,     709.78,    710.0, 745.1,  746.0, 800.0, 0.70710678, 1.41421356,
        0.78539816, 1e-4,      1e-8,      1e5,       1e9,       1e15,  1e30})
    x.push_back(static_cast<T>(v));
  for (size_t i = 0, n = x.size(); i < n; ++i) x.push_back(-x[i]);
  return x;
}

// Multiples of π/2, the arguments that are hardest for sin and cos.
template <class T>
void push_quarter_turns(std::vector<T>& x) {
  const int64_t last = std::is_same_v<T, float> ? 63700 : 640000000;
  const int64_t step = std::is_same_v<T, float> ? static_cast<int64_t>(kEffort) : 4001 * static_cast<int64_t>(kEffort);
  for (int64_t k = 1; k < last; k += step)
    x.push_back(static_cast<T>(static_cast<Quad>(k) * std::numbers::pi_v<Quad> / 2));
}

// The landmarks and their neighbourhoods, then a sample: of f32 every 1597th bit pattern, of f64 random numbers of many
// sizes.
template <class T>
std::vector<T> arguments() {
  std::vector<T> x;
  const int around = 300;
  for (T v : landmarks<T>()) {
    x.push_back(v);
    const auto bits = std::bit_cast<Bits<T>>(v);
    if (!std::isfinite(v)) continue;
    for (int i = -around; i <= around; ++i)
      x.push_back(std::bit_cast<T>(static_cast<Bits<T>>(bits + static_cast<Bits<T>>(i))));
  }
  push_quarter_turns(x);
  if constexpr (std::is_same_v<T, float>) {
    for (uint64_t b = 0; b < (uint64_t{1} << 32); b += 1597 * kEffort)
      x.push_back(std::bit_cast<float>(static_cast<uint32_t>(b)));
  } else {
    std::mt19937_64 rng(7);
    std::uniform_real_distribution<double> unit(-1, 1);
    for (size_t i = 0; i < 30000 / kEffort; ++i) {
      x.push_back(std::bit_cast<double>(rng()));
      for (double size : {1e-3, 0.4, 1.5, 6.0, 40.0, 750.0, 1e5, 1e9}) x.push_back(unit(rng) * size);
    }
  }
  pad(x);
  return x;
}

class MathTest : public testing::TestWithParam<int> {
 protected:
  void TearDown() override { set_simd(before_); }
  Function function() const { return static_cast<Function>(GetParam()); }

  template <class T>
  void check_bounds();

 private:
  Simd before_ = simd();
};

template <class T>
void MathTest::check_bounds() {
  const Function f = function();
  const double base = std::is_same_v<T, float> ? bound(f).f32 : bound(f).f64;
  static const std::vector<T> x = arguments<T>();
  std::vector<Wider<T>> want(x.size());
  for (size_t i = 0; i < x.size(); ++i) want[i] = reference<Wider<T>>(f, x[i]);
  for (Simd target : targets_here()) {
    set_simd(target);
    const std::vector<T> got = map(f, x);
    double worst = 0;
    int failures = 0;
    for (size_t i = 0; i < x.size() && failures < 5; ++i) {
      const double error = ulp(got[i], want[i]);
      const double allowed = base + tail(f, x[i]);
      if (error <= allowed) {
        worst = std::max(worst, error / allowed * base);
      } else if (!(got[i] == 0 && may_vanish<T>(f, want[i]))) {
        ++failures;
        ADD_FAILURE() << name(target) << ": " << kNames[f] << "(" << std::hexfloat << x[i] << ") is " << got[i]
                      << ", not " << want[i] << std::defaultfloat << ": " << error << " ULP of " << allowed;
      }
    }
    RecordProperty(std::string(name(target)) + (sizeof(T) == 4 ? "_f32" : "_f64"), std::to_string(worst));
    if (std::getenv("INGOT_MATH_ULP") != nullptr)
      std::printf("%-9s %s %s %.3f ULP\n", kNames[f], sizeof(T) == 4 ? "f32" : "f64", name(target), worst);
  }
}

TEST_P(MathTest, KeepsItsBoundInF32) { check_bounds<float>(); }
TEST_P(MathTest, KeepsItsBoundInF64) { check_bounds<double>(); }

// A lane's bits depend on that lane alone: not on its position, nor on neighbours that take the slow path.
TEST_P(MathTest, LanesAreIndependent) {
  std::vector<float> x;
  for (float v : landmarks<float>())
    for (float w : {0.3f, -2.0f, 1e-20f}) x.insert(x.end(), {v, w, w * 7});
  pad(x);
  for (Simd target : targets_here()) {
    set_simd(target);
    const auto whole = map(function(), x);
    for (size_t i = 0; i < x.size(); ++i) {
      const auto alone = map(function(), std::vector<float>(kVector, x[i]));
      ASSERT_TRUE(same(alone[0], whole[i])) << name(target) << " " << kNames[function()] << "(" << x[i] << ")";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, MathTest, testing::Range(0, static_cast<int>(kFunctions)),
                         [](const auto& test) { return std::string(kNames[test.param]); });

class MathFacts : public testing::Test {
 protected:
  void TearDown() override { set_simd(before_); }

 private:
  Simd before_ = simd();
};

template <class T>
void check_exact_values() {
  const T inf = Limits<T>::infinity(), nan = Limits<T>::quiet_NaN();
  struct Value {
    Function f;
    T x, want;
  };
  const Value values[] = {
      {kExp, 0, 1},
      {kExp, T(-0.0), 1},
      {kExp, inf, inf},
      {kExp, -inf, 0},
      {kExp, 1000, inf},
      {kExp, -1000, 0},
      {kExpm1, -inf, -1},
      {kExpm1, T(-0.0), T(-0.0)},
      {kTanh, inf, 1},
      {kTanh, -inf, -1},
      {kTanh, 30, 1},
      {kTanh, T(-0.0), T(-0.0)},
      {kSigmoid, 0, T(0.5)},
      {kSigmoid, inf, 1},
      {kSigmoid, -inf, 0},
      {kSilu, -inf, T(-0.0)},
      {kSilu, inf, inf},
      {kSilu, T(-0.0), T(-0.0)},
      {kGeluTanh, inf, inf},
      {kGeluTanh, -inf, T(-0.0)},
      {kGeluErf, inf, inf},
      {kGeluErf, -inf, T(-0.0)},
      {kErf, inf, 1},
      {kErf, -inf, -1},
      {kErf, T(-0.0), T(-0.0)},
      {kLog, 1, 0},
      {kLog, 0, -inf},
      {kLog, T(-0.0), -inf},
      {kLog, -1, nan},
      {kLog, -inf, nan},
      {kLog, inf, inf},
      {kLog1p, -1, -inf},
      {kLog1p, -2, nan},
      {kLog1p, T(-0.0), T(-0.0)},
      {kLog1p, inf, inf},
      {kSoftplus, inf, inf},
      {kSoftplus, -inf, 0},
      {kSin, T(-0.0), T(-0.0)},
      {kSin, inf, nan},
      {kCos, 0, 1},
      {kCos, -inf, nan},
      {kSilu, Limits<T>::max(), Limits<T>::max()},
      {kGeluTanh, Limits<T>::max(), Limits<T>::max()},
  };
  for (const Value& v : values)
    EXPECT_TRUE(same(map(v.f, std::vector<T>(kVector, v.x))[3], v.want)) << kNames[v.f] << "(" << v.x << ")";
  for (int f = 0; f < kFunctions; ++f)
    EXPECT_TRUE(std::isnan(map(static_cast<Function>(f), std::vector<T>(kVector, nan))[1])) << kNames[f];
  EXPECT_GT(map(kSigmoid, std::vector<T>(kVector, -100))[0], 0);
}

TEST_F(MathFacts, ExactValues) {
  for (Simd target : targets_here()) {
    SCOPED_TRACE(name(target));
    set_simd(target);
    check_exact_values<float>();
    check_exact_values<double>();
  }
}

template <class T>
void check_shapes() {
  std::vector<T> x, minus;
  std::mt19937_64 rng(3);
  std::uniform_real_distribution<double> exponent(-12, 3);
  for (int i = 0; i < 64000; ++i) x.push_back(static_cast<T>(std::pow(10.0, exponent(rng))));
  for (T v : x) minus.push_back(-v);
  const auto tanh = map(kTanh, x), tanh_minus = map(kTanh, minus), sigmoid = map(kSigmoid, x), erf = map(kErf, x);
  const auto exp = map(kExp, minus), exp_low = exp_non_positive(minus), sigmoid_minus = map(kSigmoid, minus);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(tanh[i], -tanh_minus[i]) << x[i];
    ASSERT_TRUE(tanh[i] > 0 && tanh[i] <= 1) << x[i];
    ASSERT_TRUE(erf[i] > 0 && erf[i] <= 1) << x[i];
    ASSERT_TRUE(sigmoid[i] >= T(0.5) && sigmoid[i] <= 1) << x[i];
    ASSERT_TRUE(sigmoid_minus[i] >= 0 && sigmoid_minus[i] <= T(0.5)) << x[i];
    ASSERT_TRUE(exp[i] >= 0 && exp[i] <= 1) << x[i];
    ASSERT_EQ(exp[i], exp_low[i]) << x[i];
  }
}

TEST_F(MathFacts, OddBoundedAndPositiveWhereTheyMustBe) {
  for (Simd target : targets_here()) {
    SCOPED_TRACE(name(target));
    set_simd(target);
    check_shapes<float>();
    check_shapes<double>();
  }
}

// Every pair of special operands, then bases and exponents whose powers fill the range.
template <class T>
void check_pow(double allowed) {
  const T inf = Limits<T>::infinity();
  const T odd = std::is_same_v<T, float> ? T(16777215) : T(9007199254740991.0);
  const T specials[] = {0,
                        1,
                        2,
                        3,
                        T(0.5),
                        T(1.5),
                        Limits<T>::denorm_min() * 3,
                        Limits<T>::max(),
                        inf,
                        Limits<T>::quiet_NaN(),
                        odd,
                        odd + 1,
                        T(1e10),
                        T(1) + Limits<T>::epsilon(),
                        T(1) - Limits<T>::epsilon(),
                        10};
  std::vector<T> x, y;
  for (T a : specials)
    for (T b : specials)
      for (int signs = 0; signs < 4; ++signs) {
        x.push_back(signs & 1 ? -a : a);
        y.push_back(signs & 2 ? -b : b);
      }
  std::mt19937_64 rng(5);
  std::uniform_real_distribution<double> unit(-1, 1);
  const double range = std::is_same_v<T, float> ? 104 : 745;
  for (size_t i = 0; i < 150000 / kEffort; ++i) {
    double log = unit(rng) * (i % 2 == 0 ? 1 : range / 2);
    double exponent = unit(rng) * range / log;
    if (i % 3 == 0) exponent = std::round(exponent);
    x.push_back(static_cast<T>(i % 3 == 0 && i % 2 == 0 ? -std::exp(log) : std::exp(log)));
    y.push_back(static_cast<T>(exponent));
  }
  while (x.size() % kVector != 0) x.push_back(1), y.push_back(1);
  const auto got = power(x, y);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = ulp(got[i], std::pow(static_cast<Wider<T>>(x[i]), static_cast<Wider<T>>(y[i])));
    ASSERT_LE(error, allowed) << x[i] << " ^ " << y[i] << " is not " << got[i];
    worst = std::max(worst, error);
  }
  if (std::getenv("INGOT_MATH_ULP") != nullptr)
    std::printf("Pow       %s %s %.3f ULP\n", sizeof(T) == 4 ? "f32" : "f64", name(simd()), worst);
}

TEST_F(MathFacts, PowIsThatOfC) {
  for (Simd target : targets_here()) {
    SCOPED_TRACE(name(target));
    set_simd(target);
    check_pow<float>(0.51);
    check_pow<double>(1.7);
  }
}

}  // namespace
}  // namespace ingot::kernels
#endif  // HWY_ONCE
