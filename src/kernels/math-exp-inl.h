// exp and what is made of it: expm1, tanh, sigmoid, silu, gelu (tanh form). Bounds are in units in the last place (ULP)
// and hold on every target; tests/kernels/math_test.cc checks them.
#if defined(INGOT_KERNELS_MATH_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_MATH_EXP_INL_H_
#undef INGOT_KERNELS_MATH_EXP_INL_H_
#else
#define INGOT_KERNELS_MATH_EXP_INL_H_
#endif

#include "kernels/math-util-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {

template <class D>
inline constexpr int kExponentBias = kIsF32<D> ? 127 : 1023;
template <class D>
inline constexpr int kMantissaBits = kIsF32<D> ? 23 : 52;

// Adding 1.5·2^mantissa rounds to an integer n and leaves it in the low bits of the sum; `bias` rides along, so that a
// shift turns those bits into the exponent of a power of two.
template <class D>
HWY_INLINE hn::Vec<D> RoundingShift(D d, int bias) {
  return Constant(d, 0x1.8p23f + static_cast<float>(bias), 0x1.8p52 + bias);
}
template <class D>
HWY_INLINE hn::Vec<D> Log2E(D d) {
  return Constant(d, 0x1.715476p0f, 0x1.71547652b82fep0);
}
// ln2 in two parts, the first short enough for exact products with n: targets without FMA reduce as well as the others.
template <class D>
HWY_INLINE hn::Vec<D> Ln2High(D d) {
  return Constant(d, 0x1.62e4p-1f, 0x1.62e42fefa38p-1);
}
template <class D>
HWY_INLINE hn::Vec<D> Ln2Low(D d) {
  return Constant(d, 0x1.7f7d1cp-20f, 0x1.ef35793c7673p-45);
}

/// 2^n of a sum that was shifted with kExponentBias, for n inside the range of normal numbers.
template <class D>
HWY_INLINE hn::Vec<D> PowerOfTwo(D d, hn::Vec<hn::RebindToUnsigned<D>> bits) {
  return hn::BitCast(d, hn::ShiftLeft<kMantissaBits<D>>(bits));
}

// x = n ln2 + r, |r| ≤ ln2 / 2.
template <class D>
struct ExpReduction {
  hn::Vec<D> expm1_r;                     // e^r − 1
  hn::Vec<hn::RebindToUnsigned<D>> bits;  // n + bias in the low bits
};

/// Where e^x may pass the largest number, n stops at the largest exponent and r grows instead: the polynomial holds up
/// to r = ln2, where e^x becomes infinite, and is infinite where r is.
template <bool kMayOverflow = true, class D, class V = hn::Vec<D>>
HWY_INLINE ExpReduction<D> ReduceExp(D d, V x, int bias = kExponentBias<D>) {
  const hn::RebindToUnsigned<D> du;
  const V shift = RoundingShift(d, bias);
  V sum = hn::MulAdd(x, Log2E(d), shift);
  if constexpr (kMayOverflow) sum = AtMost(d, sum, RoundingShift(d, bias + kExponentBias<D>));
  const V n = hn::Sub(sum, shift);
  const V r = hn::NegMulAdd(n, Ln2Low(d), hn::NegMulAdd(n, Ln2High(d), x));
  V p;
  if constexpr (kIsF32<D>) {
    p = Horner(d, r, 0.49999994f, 0.166667014f, 0.0416682921f, 0.00832650345f, 0.00138281041f, 0.000234007486f);
  } else {
    p = Estrin(d, r, 0.50000000000000111, 0.166666666666657581, 0.0416666666665831062, 0.00833333333382615254,
               0.00138888889052920335, 0.000198412688690736652, 0.0000248015797424637372, 2.75581288793487894e-6,
               2.75520899061261817e-7, 2.48309781273016061e-8, 2.46358780577196156e-9);
  }
  return {hn::MulAdd(hn::Mul(r, r), p, r), hn::BitCast(du, sum)};
}

template <bool kMayOverflow, class D, class V>
HWY_INLINE V ExpOrZero(D d, V x) {
  const V bounded = AtLeast(d, x, Constant(d, -88.0f, -709.0));  // there the bits of the scale become those of 0
  const auto e = ReduceExp<kMayOverflow>(d, bounded);
  const V scale = PowerOfTwo(d, e.bits);
  return hn::MulAdd(scale, e.expm1_r, scale);
}

/// e^x. f32 1.2 ULP, f64 1.4 ULP; results below 2^−126.5 (f64: 2^−1022.5) are 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  return ExpOrZero<true>(d, x);
}

/// The same bits for x ≤ 0 (or NaN), one operation less: what softmax needs.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpNonPositive(D d, V x) {
  return ExpOrZero<false>(d, x);
}

/// e^x − 1. f32 1.6 ULP, f64 2.6 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Expm1(D d, V x) {
  const auto e = ReduceExp(d, AtLeast(d, x, Constant(d, -18.0f, -40.0)));
  const V scale = PowerOfTwo(d, e.bits);
  return hn::CopySign(hn::MulAdd(scale, e.expm1_r, hn::Sub(scale, hn::Set(d, 1))), x);  // the sign of −0
}

/// tanh x. f32 2.7 ULP, f64 2.7 ULP, relative for tiny x too; odd to the last bit. With x = n ln2/2 + r, s = 2^n and
/// t = tanh r it is ((1 + s) t − (1 − s)) / ((1 + s) − (1 − s) t): a short polynomial and the one division it needs
/// anyway.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const V limit = Constant(d, 10.0f, 20.0);  // from here on the result rounds to 1
  const V a = AtMost(d, AtLeast(d, x, hn::Neg(limit)), limit);
  const V shift = RoundingShift(d, kExponentBias<D>);
  const V sum = hn::MulAdd(a, hn::Add(Log2E(d), Log2E(d)), shift);
  // One part of ln2/2 is enough: its error grows with n, but the slope of tanh falls as 4^−n.
  const V r = hn::NegMulAdd(hn::Sub(sum, shift), Constant(d, 0x1.62e43p-2f, 0x1.62e42fefa39efp-2), a);
  const V z = hn::Mul(r, r);
  V p;
  if constexpr (kIsF32<D>) {
    p = Horner(d, z, 1.0f, -0.33331269f, 0.131103933f);
  } else {
    p = Estrin(d, z, 1.0, -0.333333333333333315, 0.133333333333301718, -0.0539682539593258626, 0.0218694873405826974,
               -0.00886314982984399806, 0.00358874566060643973, -0.00138631467940357922);
  }
  const V t = hn::Mul(r, p);
  const V s = PowerOfTwo(d, hn::BitCast(du, sum)), one = hn::Set(d, 1);
  const V above = hn::Add(one, s), below = hn::Sub(one, s);
  return hn::Div(hn::MulSub(above, t, below), hn::NegMulAdd(below, t, above));
}

// The logistic function as 1 / (1 + e^−w) = c (1 + t) / (c (1 + t) + c 2^n (1 − t)), t = tanh(r/2), w = r − n ln2. The
// factor c keeps 2^n finite for every w that counts, so that only the last division meets the subnormals.
template <class D>
struct Logistic {
  hn::Vec<D> above, below;
};

template <class D>
HWY_INLINE hn::Vec<D> LogisticLow(D d) {  // where even |w| / (1 + e^−w) is 0
  return Constant(d, -120.0f, -800.0);
}

/// For w ≥ −130 (f64: −1000).
template <class D, class V = hn::Vec<D>>
HWY_INLINE Logistic<D> LogisticParts(D d, V w) {
  const hn::RebindToUnsigned<D> du;
  constexpr int kDown = kIsF32<D> ? 64 : 512;  // c = 2^−kDown
  const V shift = RoundingShift(d, kExponentBias<D> - kDown);
  const V bounded = AtMost(d, w, Constant(d, 40.0f, 300.0));  // from here on e^−w vanishes beside 1
  const V sum = hn::NegMulAdd(bounded, Log2E(d), shift);
  const V n = hn::Sub(sum, shift);
  const V r = hn::MulAdd(n, Ln2Low(d), hn::MulAdd(n, Ln2High(d), bounded));
  const V z = hn::Mul(r, r);
  V p;
  if constexpr (kIsF32<D>) {
    p = Horner(d, z, 0.5f, -0.0416634716f, 0.00409088982f);
  } else {
    p = Estrin(d, z, 0.5, -0.0416666666666643953, 0.00416666666637531633, -0.00042162697075421435,
               0.0000427135508416947833, -4.32439691778636949e-6, 4.19256245158860335e-7);
  }
  const V t = hn::Mul(r, p);
  const V scale = PowerOfTwo(d, hn::BitCast(du, sum)), c = Constant(d, 0x1p-64f, 0x1p-512);
  const V above = hn::MulAdd(c, t, c);
  return {above, hn::Add(above, hn::NegMulAdd(scale, t, scale))};
}

/// 1 / (1 + e^−x), subnormal results included. f32 2.6 ULP, f64 2.6 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  const auto parts = LogisticParts(d, AtLeast(d, x, LogisticLow(d)));
  return hn::Div(parts.above, parts.below);
}

/// x · sigmoid(x), 0 at −∞. f32 3.3 ULP, f64 3.3 ULP where sigmoid(x) is normal.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Silu(D d, V x) {
  const V bounded = AtLeast(d, x, LogisticLow(d));
  const auto parts = LogisticParts(d, bounded);
  return hn::Mul(bounded, hn::Div(parts.above, parts.below));
}

/// x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))), 0 at −∞. Written x · sigmoid(w), w twice the argument of tanh, it keeps
/// its digits in the negative tail: f32 and f64 3.3 ULP for x ≥ 0, 3.3 + 2.5|w| ULP below.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluTanh(D d, V x) {
  constexpr double k = 1.5957691216057308, kCubic = 0.044715 * k;  // 2 √(2/π)
  const V bounded = AtLeast(d, x, Constant(d, -11.5f, -22.0));
  const V slope = hn::MulAdd(hn::Mul(bounded, bounded), hn::Set(d, kCubic), hn::Set(d, k));
  const auto parts = LogisticParts(d, hn::Mul(bounded, slope));
  return hn::Mul(bounded, hn::Div(parts.above, parts.below));
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
