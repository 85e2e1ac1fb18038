// Arithmetic, element-wise, with broadcasting. Integers wrap around; NaN goes through every op, minimum and maximum
// included.
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/arithmetic.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/chain-inl.h"
#include "kernels/math-inl.h"
#include "ops/define.h"
#include "ops/rules.h"

#define INGOT_FAMILY "arithmetic"
INGOT_SIMD_BEGIN
namespace hn = hwy::HWY_NAMESPACE;
namespace math = kernels::HWY_NAMESPACE;

using Binary = Elementwise<2, Types::kNumbers>;
using Unary = Elementwise<1, Types::kNumbers>;
using RealUnary = Elementwise<1, Types::kFloats>;

// Parameter i as a vector, or as one element of type T.
template <class D, class P>
HWY_INLINE hn::Vec<D> param(D d, const P* p, int i = 0) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(p[i]));
}
template <class T>
HWY_INLINE T param_as(const double* p, int i = 0) {
  if constexpr (std::is_integral_v<T>)
    return saturate<T>(p[i]);
  else
    return static_cast<T>(p[i]);
}
// Signed overflow is undefined in C++; unsigned arithmetic gives the same bits and wraps.
template <class T, class F>
HWY_INLINE T wrap(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}

struct Add : Binary {
  template <class D, class V>
  static V run(D, V a, V b) {
    return hn::Add(a, b);
  }
  template <class T>
  static T plain(T a, T b) {
    return wrap(a, b, [](auto x, auto y) { return x + y; });
  }
};
INGOT_ELEMENTWISE(
    add, Add, .signature = "add(a, b)", .doc = "a + b, with broadcasting.", .epilogue = Epilogue::kAddBias,
    .gradient = [](Gradient& g) {
      g.set(0, g.dy());
      g.set(1, g.dy());
    })

struct Subtract : Binary {
  template <class D, class V>
  static V run(D, V a, V b) {
    return hn::Sub(a, b);
  }
  template <class T>
  static T plain(T a, T b) {
    return wrap(a, b, [](auto x, auto y) { return x - y; });
  }
};
INGOT_ELEMENTWISE(
    subtract, Subtract, .signature = "subtract(a, b)", .doc = "a - b, with broadcasting.",
    .simplify = [](Rewrite& r) { return r.pass() == "algebra" && drop_identity(r, 0, 1, 0); },
    .gradient =
        [](Gradient& g) {
          g.set(0, g.dy());
          if (g.wants(1)) g.set(1, negative(g.dy()));
        })

struct Multiply : Binary {
  template <class D, class V>
  static V run(D, V a, V b) {
    return hn::Mul(a, b);
  }
  template <class T>
  static T plain(T a, T b) {
    return wrap(a, b, [](auto x, auto y) { return x * y; });
  }
};
INGOT_ELEMENTWISE(
    multiply, Multiply, .signature = "multiply(a, b)", .doc = "a · b, with broadcasting.",
    .simplify =
        [](Rewrite& r) { return r.pass() == "algebra" && (drop_identity(r, 0, 1, 1) || drop_identity(r, 1, 0, 1)); },
    .gradient =
        [](Gradient& g) {
          if (g.wants(0)) g.set(0, multiply(g.dy(), g.in(1)));
          if (g.wants(1)) g.set(1, multiply(g.dy(), g.in(0)));
        })

struct Divide : Elementwise<2> {
  static constexpr float kWeight = 2;
  template <class D, class V>
  static V run(D, V a, V b) {
    return hn::Div(a, b);
  }
  template <class T>
  static T plain(T a, T b) {
    return a / b;
  }
};
INGOT_ELEMENTWISE(
    divide, Divide, .signature = "divide(a, b)", .doc = "a / b, with broadcasting.",
    .simplify = [](Rewrite& r) { return r.pass() == "algebra" && drop_identity(r, 0, 1, 1); },
    .gradient =
        [](Gradient& g) {
          if (g.wants(0)) g.set(0, divide(g.dy(), g.in(1)));
          if (g.wants(1)) g.set(1, negative(divide(multiply(g.dy(), g.out()), g.in(1))));
        },
    .low = 0.5, .high = 3)

struct AddScalar : Unary {
  template <class D, class V, class P>
  static V run(D d, V a, const P* p) {
    return hn::Add(a, param(d, p));
  }
  template <class T>
  static T plain(T a, const double* p) {
    return Add::plain(a, param_as<T>(p));
  }
};
INGOT_ELEMENTWISE(
    add_scalar, AddScalar, .signature = "add(x, value:real)", .doc = "x + value.",
    .gradient = [](Gradient& g) { g.set(0, g.dy()); })

struct SubtractScalar : Unary {
  template <class D, class V, class P>
  static V run(D d, V a, const P* p) {
    return hn::Sub(a, param(d, p));
  }
  template <class T>
  static T plain(T a, const double* p) {
    return Subtract::plain(a, param_as<T>(p));
  }
};
INGOT_ELEMENTWISE(
    subtract_scalar, SubtractScalar, .signature = "subtract(x, value:real)", .doc = "x - value.",
    .simplify =
        [](Rewrite& r) {
          return r.pass() == "algebra" && r.real("value") == 0 && !std::signbit(r.real("value")) && r.replace(r.in());
        },
    .gradient = [](Gradient& g) { g.set(0, g.dy()); })

struct MultiplyScalar : Unary {
  template <class D, class V, class P>
  static V run(D d, V a, const P* p) {
    return hn::Mul(a, param(d, p));
  }
  template <class T>
  static T plain(T a, const double* p) {
    return Multiply::plain(a, param_as<T>(p));
  }
};
INGOT_ELEMENTWISE(
    multiply_scalar, MultiplyScalar, .signature = "multiply(x, value:real)", .doc = "x · value.",
    .simplify = [](Rewrite& r) { return r.pass() == "algebra" && r.real("value") == 1 && r.replace(r.in()); },
    .gradient = [](Gradient& g) { g.set(0, multiply(g.dy(), g.call().real("value"))); })

struct DivideScalar : RealUnary {
  static constexpr float kWeight = 2;
  template <class D, class V, class P>
  static V run(D d, V a, const P* p) {
    return hn::Div(a, param(d, p));
  }
  static double plain(double a, const double* p) { return a / p[0]; }
};
INGOT_ELEMENTWISE(
    divide_scalar, DivideScalar, .signature = "divide(x, value:real)", .doc = "x / value.",
    .simplify = [](Rewrite& r) { return r.pass() == "algebra" && r.real("value") == 1 && r.replace(r.in()); },
    .gradient = [](Gradient& g) { g.set(0, divide(g.dy(), g.call().real("value"))); })

struct AddScaled : Elementwise<2> {
  template <class D, class V, class P>
  static V run(D d, V a, V b, const P* p) {
    return hn::MulAdd(b, param(d, p), a);
  }
  static double plain(double a, double b, const double* p) { return a + p[0] * b; }
};
INGOT_ELEMENTWISE(
    add_scaled, AddScaled, .signature = "add_scaled(a, b, factor:real)",
    .doc = "a + factor · b (axpy), rounded once where the machine has fused multiply-add.",
    .gradient =
        [](Gradient& g) {
          g.set(0, g.dy());
          if (g.wants(1)) g.set(1, multiply(g.dy(), g.call().real("factor")));
        },
    .rounding = {4, 8})

struct Minimum : Elementwise<2, Types::kAll> {
  template <class D, class V>
  static V run(D, V a, V b) {
    return hn::IfThenElse(hn::IsNaN(a), a, hn::Min(a, b));  // Min gives its second argument if either is NaN
  }
  template <class T>
  static T plain(T a, T b) {
    return a != a ? a : b < a || b != b ? b : a;
  }
};
// What maximum and minimum pass on: to the chosen operand, half each where they are equal.
#if HWY_ONCE
INGOT_SIMD_END
namespace ingot {
static void choose_gradient(Gradient& g, const Tensor& first_wins, const Tensor& second_wins) {
  const Tensor half = multiply(g.dy(), 0.5), zero = zeros({}, g.dy().dtype());
  if (g.wants(0)) g.set(0, where(first_wins, g.dy(), where(second_wins, zero, half)));
  if (g.wants(1)) g.set(1, where(second_wins, g.dy(), where(first_wins, zero, half)));
}
}  // namespace ingot
INGOT_SIMD_BEGIN
#endif
INGOT_ELEMENTWISE(
    minimum, Minimum, .signature = "minimum(a, b)",
    .doc = "The smaller of a and b, NaN if either is; at equality the gradient is shared.",
    .gradient = [](Gradient& g) { choose_gradient(g, less(g.in(0), g.in(1)), less(g.in(1), g.in(0))); })

struct Maximum : Elementwise<2, Types::kAll> {
  template <class D, class V>
  static V run(D, V a, V b) {
    return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, b));
  }
  template <class T>
  static T plain(T a, T b) {
    return a != a ? a : b > a || b != b ? b : a;
  }
};
INGOT_ELEMENTWISE(
    maximum, Maximum, .signature = "maximum(a, b)",
    .doc = "The larger of a and b, NaN if either is; at equality the gradient is shared.",
    .gradient = [](Gradient& g) { choose_gradient(g, greater(g.in(0), g.in(1)), greater(g.in(1), g.in(0))); })

struct Clamp : Unary {
  template <class D, class V, class P>
  static V run(D d, V x, const P* p) {
    return hn::Min(param(d, p, 1), hn::Max(param(d, p, 0), x));  // this order lets NaN through
  }
  template <class T>
  static T plain(T x, const double* p) {
    const T low = param_as<T>(p, 0), high = param_as<T>(p, 1);
    return x != x ? x : x > high ? high : x < low ? (high < low ? high : low) : x;
  }
};
INGOT_ELEMENTWISE(
    clamp, Clamp, .signature = "clamp(x, low:real, high:real)",
    .doc = "x limited to [low, high]; `high` wins if they cross. The gradient passes where low ≤ x ≤ high.",
    .real_constants = RealConstants::kBounds, .gradient = [](Gradient& g) {
      const double low = g.call().real("low"), high = g.call().real("high");
      const Tensor zero = zeros({}, g.dy().dtype());
      g.set(0, where(less(g.in(), low), zero, where(greater(g.in(), high), zero, g.dy())));
    })

struct Negative : Unary {
  template <class D, class V>
  static V run(D, V x) {
    return hn::Neg(x);
  }
  template <class T>
  static T plain(T x) {
    if constexpr (std::is_integral_v<T>)
      return Subtract::plain(T{0}, x);
    else
      return -x;
  }
};
INGOT_ELEMENTWISE(
    negative, Negative, .signature = "negative(x)", .doc = "-x.",
    .simplify =
        [](Rewrite& r) {
          const Site maker = r.maker(r.in());
          return r.pass() == "algebra" && r.is(maker, op_negative) && !r.is_store(maker) && r.replace(r.in(maker, 0));
        },
    .gradient = [](Gradient& g) { g.set(0, negative(g.dy())); })

struct Abs : Unary {
  template <class D, class V>
  static V run(D, V x) {
    return hn::Abs(x);
  }
  template <class T>
  static T plain(T x) {
    if constexpr (std::is_integral_v<T>)
      return x < 0 ? Negative::plain(x) : x;
    else
      return std::fabs(x);
  }
};
INGOT_ELEMENTWISE(
    abs, Abs, .signature = "abs(x)", .doc = "|x|; the gradient at 0 is 0.",
    .gradient = [](Gradient& g) { g.set(0, multiply(g.dy(), sign(g.in()))); })

struct Sign : Unary {
  template <class D, class V>
  static V run(D d, V x) {
    const V zero = hn::Zero(d), one = hn::Set(d, 1);
    const V sign = hn::IfThenElse(hn::Gt(x, zero), one, hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), zero));
    return hn::IfThenElse(hn::IsNaN(x), x, sign);
  }
  template <class T>
  static T plain(T x) {
    return x > 0 ? T{1} : x < 0 ? T{-1} : x != x ? x : T{0};
  }
};
INGOT_ELEMENTWISE(
    sign, Sign, .signature = "sign(x)", .doc = "-1, 0 or 1 by the sign of x; NaN for NaN. The gradient is 0.",
    .gradient = [](Gradient& g) { g.set(0, zeros_like(g.in())); })

struct Square : Unary {
  template <class D, class V>
  static V run(D, V x) {
    return hn::Mul(x, x);
  }
  template <class T>
  static T plain(T x) {
    return Multiply::plain(x, x);
  }
};
INGOT_ELEMENTWISE(
    square, Square, .signature = "square(x)", .doc = "x².",
    .gradient = [](Gradient& g) { g.set(0, multiply(multiply(g.dy(), 2.0), g.in())); })

struct Sqrt : RealUnary {
  static constexpr float kWeight = 2;
  template <class D, class V>
  static V run(D, V x) {
    return hn::Sqrt(x);
  }
  static double plain(double x) { return std::sqrt(x); }
};
INGOT_ELEMENTWISE(
    sqrt, Sqrt, .signature = "sqrt(x)", .doc = "√x; NaN below 0.",
    .gradient = [](Gradient& g) { g.set(0, divide(multiply(g.dy(), 0.5), g.out())); }, .low = 0.1, .high = 4)

struct Reciprocal : RealUnary {
  static constexpr float kWeight = 2;
  template <class D, class V>
  static V run(D d, V x) {
    return hn::Div(hn::Set(d, 1), x);
  }
  static double plain(double x) { return 1 / x; }
};
INGOT_ELEMENTWISE(
    reciprocal, Reciprocal, .signature = "reciprocal(x)", .doc = "1 / x.",
    .gradient = [](Gradient& g) { g.set(0, negative(multiply(g.dy(), square(g.out())))); }, .low = 0.3, .high = 3)

struct Exp : RealUnary {
  static constexpr float kWeight = 4;
  template <class D, class V>
  static V run(D d, V x) {
    return math::Exp(d, x);
  }
  static double plain(double x) { return std::exp(x); }
};
INGOT_ELEMENTWISE(
    exp, Exp, .signature = "exp(x)", .doc = "eˣ.", .gradient = [](Gradient& g) { g.set(0, multiply(g.dy(), g.out())); })

struct Log : RealUnary {
  static constexpr float kWeight = 4;
  template <class D, class V>
  static V run(D d, V x) {
    return math::Log(d, x);
  }
  static double plain(double x) { return std::log(x); }
};
INGOT_ELEMENTWISE(
    log, Log, .signature = "log(x)", .doc = "The natural logarithm; -∞ at 0, NaN below.",
    .gradient = [](Gradient& g) { g.set(0, divide(g.dy(), g.in())); }, .low = 0.1, .high = 5)

struct Sin : RealUnary {
  static constexpr float kWeight = 6;
  template <class D, class V>
  static V run(D d, V x) {
    return math::Sin(d, x);
  }
  static double plain(double x) { return std::sin(x); }
};
INGOT_ELEMENTWISE(
    sin, Sin, .signature = "sin(x)", .doc = "The sine of x radians.",
    .gradient = [](Gradient& g) { g.set(0, multiply(g.dy(), cos(g.in()))); }, .low = -20, .high = 20)

struct Cos : RealUnary {
  static constexpr float kWeight = 6;
  template <class D, class V>
  static V run(D d, V x) {
    return math::Cos(d, x);
  }
  static double plain(double x) { return std::cos(x); }
};
INGOT_ELEMENTWISE(
    cos, Cos, .signature = "cos(x)", .doc = "The cosine of x radians.",
    .gradient = [](Gradient& g) { g.set(0, negative(multiply(g.dy(), sin(g.in())))); }, .low = -20, .high = 20)

struct Erf : RealUnary {
  static constexpr float kWeight = 8;
  template <class D, class V>
  static V run(D d, V x) {
    return math::Erf(d, x);
  }
  static double plain(double x) { return std::erf(x); }
};
INGOT_ELEMENTWISE(
    erf, Erf, .signature = "erf(x)", .doc = "The error function, 2/√π · ∫₀ˣ exp(-t²) dt.", .gradient = [](Gradient& g) {
      constexpr double kTwoOverRootPi = 1.1283791670955126;
      g.set(0, multiply(multiply(g.dy(), kTwoOverRootPi), exp(negative(square(g.in())))));
    })

struct Pow : Elementwise<2> {
  static constexpr float kWeight = 30;
  template <class D, class V>
  static V run(D d, V x, V y) {
    return math::Pow(d, x, y);
  }
  static double plain(double x, double y) { return std::pow(x, y); }
};
INGOT_ELEMENTWISE(
    pow, Pow, .signature = "pow(x, y)", .doc = "x to the power y, with C's rules for zero, infinity and NaN.",
    .gradient =
        [](Gradient& g) {
          if (g.wants(0)) g.set(0, multiply(g.dy(), multiply(g.in(1), pow(g.in(0), subtract(g.in(1), 1.0)))));
          if (g.wants(1)) {  // 0 where x is 0: log would be -∞ there
            const Tensor slope = multiply(g.out(), log(g.in(0)));
            const Tensor zero = zeros({}, g.dy().dtype());
            g.set(1, multiply(g.dy(), where(equal(g.in(0), 0.0), zero, slope)));
          }
        },
    .low = 0.2, .high = 3)

struct PowScalar : RealUnary {
  static constexpr float kWeight = 30;
  template <class D, class V>
  static V run(D d, V x, const double* p) {
    return math::Pow(d, x, param(d, p));
  }
  static double plain(double x, const double* p) { return std::pow(x, p[0]); }
};
INGOT_ELEMENTWISE(
    pow_scalar, PowScalar, .signature = "pow(x, exponent:real)", .doc = "x to a constant power.",
    .simplify =
        [](Rewrite& r) {
          if (r.pass() != "algebra") return false;
          if (r.real("exponent") == 1) return r.replace(r.in());
          return r.real("exponent") == 2 && r.replace(square(r.in()));
        },
    .gradient =
        [](Gradient& g) {
          const double y = g.call().real("exponent");
          g.set(0, multiply(multiply(g.dy(), y), pow(g.in(), y - 1)));
        },
    .low = 0.2, .high = 3)
INGOT_SIMD_END
