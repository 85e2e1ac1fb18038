// Activations, element-wise. NaN goes through all of them. Gradients at a kink take the value from the left (relu'(0) =
// 0).
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/activation.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/chain-inl.h"
#include "kernels/math-inl.h"
#include "ops/define.h"
#include "ops/rules.h"

#define INGOT_FAMILY "activation"
INGOT_SIMD_BEGIN
namespace hn = hwy::HWY_NAMESPACE;
namespace math = kernels::HWY_NAMESPACE;

using Unary = Elementwise<1>;
using Binary = Elementwise<2>;

template <class D>
HWY_INLINE hn::Vec<D> constant(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}

struct Relu : Unary {
  template <class D, class V>
  static V run(D d, V x) {
    return hn::Max(hn::Zero(d), x);  // x second: NaN comes out
  }
  static double plain(double x) { return x < 0 ? 0 : x; }
};
INGOT_ELEMENTWISE(
    relu, Relu, .signature = "relu(x)", .doc = "max(x, 0).", .epilogue = Epilogue::kRectify,
    .simplify =
        [](Rewrite& r) {  // a norm, convolution or pooling does it on its way out
          const Site maker = r.maker(r.in());
          if (r.pass() != "relu" || !maker || !r.op(maker).takes_relu || r.is_store(maker)) return false;
          if (!r.same(r.in(), r.out(maker, 0)) || r.readers(r.in()).size() != 1) return false;
          if (r.attrs(maker).find(kRelu) != nullptr || !r.replace(r.in())) return false;
          r.set_attr(maker, kRelu, 1);
          return true;
        },
    .gradient = [](Gradient& g) { g.set(0, relu_grad(g.out(), g.dy())); })

struct ReluGrad : Binary {
  template <class D, class V>
  static V run(D d, V y, V dy) {
    return hn::IfThenElseZero(hn::Gt(y, hn::Zero(d)), dy);
  }
  static double plain(double y, double dy) { return y > 0 ? dy : 0; }
};
INGOT_ELEMENTWISE(
    relu_grad, ReluGrad, .signature = "relu_grad(y, dy)",
    .doc = "The gradient of relu: dy where its result (or argument) y is positive, else 0.",
    .gradient =
        [](Gradient& g) {
          if (g.wants(0)) g.set(0, zeros_like(g.in(0)));
          if (g.wants(1)) g.set(1, relu_grad(g.in(0), g.dy()));
        },
    .plumbing = true)

struct Relu6 : Unary {
  template <class D, class V>
  static V run(D d, V x) {
    return hn::Min(constant(d, 6), hn::Max(hn::Zero(d), x));
  }
  static double plain(double x) { return x < 0 ? 0 : x > 6 ? 6 : x; }
};
INGOT_ELEMENTWISE(
    relu6, Relu6, .signature = "relu6(x)", .doc = "x limited to [0, 6].",
    .gradient =
        [](Gradient& g) {
          const Tensor inside = relu_grad(g.in(), g.dy());
          g.set(0, where(less(g.in(), 6.0), inside, zeros({}, inside.dtype())));
        },
    .low = -3, .high = 9)

struct LeakyRelu : Unary {
  template <class D, class V, class P>
  static V run(D d, V x, const P* p) {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, constant(d, p[0])));
  }
  static double plain(double x, const double* p) { return x > 0 ? x : x * p[0]; }
};
INGOT_ELEMENTWISE(
    leaky_relu, LeakyRelu, .signature = "leaky_relu(x, slope:real=0.01)", .doc = "x where positive, else slope · x.",
    .gradient = [](Gradient& g) {
      g.set(0, where(greater(g.in(), 0.0), g.dy(), multiply(g.dy(), g.call().real("slope"))));
    })

struct Elu : Unary {
  static constexpr float kWeight = 6;
  template <class D, class V>
  static V run(D d, V x, const double* p) {
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(constant(d, p[0]), math::Expm1(d, x)));
  }
  static double plain(double x, const double* p) { return x > 0 ? x : p[0] * std::expm1(x); }
};
INGOT_ELEMENTWISE(
    elu, Elu, .signature = "elu(x, alpha:real=1)", .doc = "x where positive, else alpha · (eˣ - 1).",
    .gradient =
        [](Gradient& g) {
          const Tensor slope = add(g.out(), g.call().real("alpha"));  // alpha · eˣ
          g.set(0, where(greater(g.in(), 0.0), g.dy(), multiply(g.dy(), slope)));
        },
    .rounding = {4, 8})

struct Selu : Unary {
  static constexpr float kWeight = 6;
  static constexpr double kScale = 1.0507009873554805, kAlpha = 1.6732632423543772;
  template <class D, class V>
  static V run(D d, V x) {
    const V negative = hn::Mul(constant(d, kScale * kAlpha), math::Expm1(d, x));
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Mul(constant(d, kScale), x), negative);
  }
  static double plain(double x) { return x > 0 ? kScale * x : kScale * kAlpha * std::expm1(x); }
};
INGOT_ELEMENTWISE(
    selu, Selu, .signature = "selu(x)",
    .doc = "Self-normalising ELU: 1.0507 · (x where positive, else 1.6733 · (eˣ - 1)).",
    .gradient =
        [](Gradient& g) {
          using F = HWY_STATIC_DISPATCH(Selu);
          const Tensor slope = add(g.out(), F::kScale * F::kAlpha);
          g.set(0, where(greater(g.in(), 0.0), multiply(g.dy(), F::kScale), multiply(g.dy(), slope)));
        },
    .rounding = {4, 8})

struct Softplus : Unary {
  static constexpr float kWeight = 8;
  template <class D, class V>
  static V run(D d, V x) {
    return math::Softplus(d, x);
  }
  static double plain(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
};
INGOT_ELEMENTWISE(
    softplus, Softplus, .signature = "softplus(x)", .doc = "log(1 + eˣ), without overflow.",
    .gradient = [](Gradient& g) { g.set(0, multiply(g.dy(), sigmoid(g.in()))); }, .rounding = {4, 8})

struct Sigmoid : Unary {
  static constexpr float kWeight = 5;
  template <class D, class V>
  static V run(D d, V x) {
    return math::Sigmoid(d, x);
  }
  static double plain(double x) { return 1 / (1 + std::exp(-x)); }
};
INGOT_ELEMENTWISE(
    sigmoid, Sigmoid, .signature = "sigmoid(x)", .doc = "1 / (1 + e⁻ˣ).",
    .gradient = [](Gradient& g) { g.set(0, multiply(g.dy(), multiply(g.out(), add(negative(g.out()), 1.0)))); })

struct Tanh : Unary {
  static constexpr float kWeight = 5;
  template <class D, class V>
  static V run(D d, V x) {
    return math::Tanh(d, x);
  }
  static double plain(double x) { return std::tanh(x); }
};
INGOT_ELEMENTWISE(
    tanh, Tanh, .signature = "tanh(x)", .doc = "The hyperbolic tangent.",
    .gradient = [](Gradient& g) { g.set(0, multiply(g.dy(), add(negative(square(g.out())), 1.0))); })

struct HardSigmoid : Unary {
  template <class D, class V>
  static V run(D d, V x) {
    const V line = hn::MulAdd(x, constant(d, 1.0 / 6), constant(d, 0.5));
    return hn::Min(constant(d, 1), hn::Max(hn::Zero(d), line));
  }
  static double plain(double x) { return x <= -3 ? 0 : x >= 3 ? 1 : x / 6 + 0.5; }
};
INGOT_ELEMENTWISE(
    hard_sigmoid, HardSigmoid, .signature = "hard_sigmoid(x)", .doc = "x / 6 + ½ limited to [0, 1].",
    .gradient =
        [](Gradient& g) {
          const Tensor inside = multiply(g.dy(), 1.0 / 6);
          g.set(0, where(less(abs(g.in()), 3.0), inside, zeros({}, inside.dtype())));
        },
    .low = -5, .high = 5, .rounding = {4, 8})

struct Silu : Unary {
  static constexpr float kWeight = 6;
  template <class D, class V>
  static V run(D d, V x) {
    return math::Silu(d, x);
  }
  static double plain(double x) { return x == -INFINITY ? 0 : x / (1 + std::exp(-x)); }
};
INGOT_ELEMENTWISE(
    silu, Silu, .signature = "silu(x)", .doc = "x · sigmoid(x), also called swish.",
    .gradient =
        [](Gradient& g) {
          const Tensor s = sigmoid(g.in());
          g.set(0, multiply(g.dy(), add(s, multiply(g.out(), add(negative(s), 1.0)))));
        },
    .rounding = {4, 8})

// gelu: x·Φ(x), the tanh form that most published weights use: ½x(1 + tanh u), u = k(x + c·x³).
struct Gelu : Unary {
  static constexpr float kWeight = 7;
  static constexpr double k = 0.7978845608028654, c = 0.044715;
  template <class D, class V>
  static V run(D d, V x) {
    return math::GeluTanh(d, x);
  }
  static double plain(double x) { return x == -INFINITY ? -0.0 : 0.5 * x * (1 + std::tanh(k * (x + c * x * x * x))); }
};
INGOT_ELEMENTWISE(
    gelu, Gelu, .signature = "gelu(x)", .doc = "GELU activation, tanh form: ½x(1 + tanh(0.79788(x + 0.044715x³))).",
    .gradient = [](Gradient& g) { g.set(0, gelu_grad(g.in(), g.dy())); }, .rounding = {4, 8})

struct GeluGrad : Binary {
  static constexpr float kWeight = 8;
  static constexpr double kFlat = 16;  // from here on the derivative is 0 or 1; x³ must not overflow into ∞ · 0
  template <class D, class V>
  static V run(D d, V x, V dy) {
    x = hn::Min(constant(d, kFlat), hn::Max(constant(d, -kFlat), x));
    const V half = constant(d, 0.5), x2 = hn::Mul(x, x);
    const V u = hn::Mul(x, hn::MulAdd(constant(d, Gelu::k * Gelu::c), x2, constant(d, Gelu::k)));
    const V slope = hn::MulAdd(constant(d, 3 * Gelu::k * Gelu::c), x2, constant(d, Gelu::k));  // du/dx
    const V t = math::Tanh(d, u);
    const V bend = hn::Mul(hn::Mul(hn::Mul(half, x), hn::NegMulAdd(t, t, constant(d, 1))), slope);
    return hn::Mul(dy, hn::Add(hn::MulAdd(half, t, half), bend));
  }
  static double plain(double x, double dy) {
    x = x > kFlat ? kFlat : x < -kFlat ? -kFlat : x;
    const double t = std::tanh(Gelu::k * (x + Gelu::c * x * x * x)), slope = Gelu::k * (1 + 3 * Gelu::c * x * x);
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope);
  }
};
INGOT_ELEMENTWISE(
    gelu_grad, GeluGrad, .signature = "gelu_grad(x, dy)", .doc = "dy times the derivative of gelu at x.",
    .gradient =
        [](Gradient& g) {
          using F = HWY_STATIC_DISPATCH(Gelu);
          const Tensor &x = g.in(0), &dy = g.in(1);
          if (g.wants(1)) g.set(1, gelu_grad(x, g.dy()));
          if (!g.wants(0)) return;
          // With s = 1 - tanh²u: the second derivative is s·u' + ½x·s·(u'' - 2·tanh(u)·u'²).
          const Tensor x2 = square(x);
          const Tensor t = tanh(multiply(x, add(multiply(x2, F::k * F::c), F::k)));
          const Tensor s = add(negative(square(t)), 1.0), slope = add(multiply(x2, 3 * F::k * F::c), F::k);
          const Tensor bend = subtract(multiply(x, 6 * F::k * F::c), multiply(multiply(t, 2.0), square(slope)));
          const Tensor second = multiply(s, add(slope, multiply(multiply(x, 0.5), bend)));
          g.set(0, multiply(multiply(g.dy(), dy), second));
        },
    .rounding = {4, 8}, .plumbing = true)

struct GeluErf : Unary {
  static constexpr float kWeight = 8;
  template <class D, class V>
  static V run(D d, V x) {
    return math::GeluErf(d, x);
  }
  static double plain(double x) { return x == -INFINITY ? -0.0 : 0.5 * x * std::erfc(-x * 0.7071067811865476); }
};
INGOT_ELEMENTWISE(
    gelu_erf, GeluErf, .signature = "gelu_erf(x)", .doc = "GELU activation, exact form: ½x(1 + erf(x/√2)).",
    .gradient = [](Gradient& g) { g.set(0, gelu_erf_grad(g.in(), g.dy())); }, .rounding = {4, 8})

struct GeluErfGrad : Binary {
  static constexpr float kWeight = 12;
  static constexpr double kDensity = 0.3989422804014327;  // 1/√(2π)
  static constexpr double kFlat = 40;                     // from here on the derivative is 0 or 1, also at ∞
  template <class D, class V>
  static V run(D d, V x, V dy) {
    x = hn::Min(constant(d, kFlat), hn::Max(constant(d, -kFlat), x));
    const V half = constant(d, 0.5);
    const V cumulative = hn::MulAdd(half, math::Erf(d, hn::Mul(x, constant(d, 0.7071067811865476))), half);
    const V density = hn::Mul(constant(d, kDensity), math::Exp(d, hn::Mul(hn::Mul(x, x), constant(d, -0.5))));
    return hn::Mul(dy, hn::MulAdd(x, density, cumulative));
  }
  static double plain(double x, double dy) {
    x = x > kFlat ? kFlat : x < -kFlat ? -kFlat : x;
    return dy * (0.5 * std::erfc(-x * 0.7071067811865476) + x * kDensity * std::exp(-0.5 * x * x));
  }
};
INGOT_ELEMENTWISE(
    gelu_erf_grad, GeluErfGrad, .signature = "gelu_erf_grad(x, dy)", .doc = "dy times the derivative of gelu_erf at x.",
    .gradient =
        [](Gradient& g) {
          using F = HWY_STATIC_DISPATCH(GeluErfGrad);
          const Tensor &x = g.in(0), &dy = g.in(1);
          if (g.wants(1)) g.set(1, gelu_erf_grad(x, g.dy()));
          if (!g.wants(0)) return;
          const Tensor x2 = square(x);  // the second derivative is (2 - x²) times the density
          const Tensor density = multiply(exp(multiply(x2, -0.5)), F::kDensity);
          g.set(0, multiply(multiply(g.dy(), dy), multiply(density, add(negative(x2), 2.0))));
        },
    .rounding = {4, 8}, .plumbing = true)
INGOT_SIMD_END
