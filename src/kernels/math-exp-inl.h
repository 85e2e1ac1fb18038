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

// x = n ln2 + r with |r| ≤ ln2 / 2. Adding 1.5·2^mantissa rounds to an integer and leaves it in the low bits of the
// sum; `bias` rides along so that a shift turns those bits into the exponent of a power of two.
template <class D>
struct ExpReduction {
  hn::Vec<D> expm1_r;                     // e^r − 1
  hn::Vec<hn::RebindToUnsigned<D>> bits;  // n + bias in the low bits
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE ExpReduction<D> ReduceExp(D d, V x, int bias) {
  const hn::RebindToUnsigned<D> du;
  const V shift = Constant(d, 0x1.8p23f + static_cast<float>(bias), 0x1.8p52 + bias);
  const V sum = hn::MulAdd(x, Constant(d, 0x1.715476p0f, 0x1.71547652b82fep0), shift);
  const V n = hn::Sub(sum, shift);
  // ln2 in two parts, the first short enough for an exact product: targets without FMA reduce as well as the others.
  V r = hn::NegMulAdd(n, Constant(d, 0x1.62e4p-1f, 0x1.62e42fefa38p-1), x);
  r = hn::NegMulAdd(n, Constant(d, 0x1.7f7d1cp-20f, 0x1.ef35793c7673p-45), r);
  V q;
  if constexpr (kIsF32<D>) {
    q = Horner(d, r, 0.49999994f, 0.166665152f, 0.041668456f, 0.00836941879f, 0.00138131331f);
  } else {
    q = Horner(d, r, 0.500000000000001221, 0.166666666666663854, 0.0416666666665191504, 0.00833333333350752894,
               0.00138888889469200062, 0.000198412694864439964, 0.0000248014893522248745, 2.75575969397384664e-6,
               2.76316873707307148e-7, 2.49990686651181987e-8);
  }
  return {hn::MulAdd(hn::Mul(r, r), q, r), hn::BitCast(du, sum)};
}

template <class D>
inline constexpr int kExponentBias = kIsF32<D> ? 127 : 1023;
template <class D>
inline constexpr int kMantissaBits = kIsF32<D> ? 23 : 52;

/// 2^n of a reduction whose bias was kExponentBias, for n inside the range of normal numbers.
template <class D>
HWY_INLINE hn::Vec<D> PowerOfTwo(D d, hn::Vec<hn::RebindToUnsigned<D>> bits) {
  return hn::BitCast(d, hn::ShiftLeft<kMantissaBits<D>>(bits));
}

// 2^n in two factors, of a reduction whose bias was twice kExponentBias: together they reach infinity and the
// subnormals, and the second product is the only one that rounds.
template <class D>
struct Scale {
  hn::Vec<D> first, second;
};
template <class D>
HWY_INLINE Scale<D> SplitScale(D d, hn::Vec<hn::RebindToUnsigned<D>> bits) {
  const auto half = hn::ShiftRight<1>(bits);
  return {PowerOfTwo(d, half), PowerOfTwo(d, hn::Sub(bits, half))};
}

// Below this e^x rounds to zero, even times |x|; above it rounds to infinity.
template <class D>
HWY_INLINE hn::Vec<D> ExpLow(D d) {
  return Constant(d, -120.0f, -800.0);
}
template <class D>
HWY_INLINE hn::Vec<D> ExpHigh(D d) {
  return Constant(d, 89.0f, 710.0);
}

/// e^x, subnormal results included. f32 1 ULP, f64 1 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  const auto e = ReduceExp(d, AtMost(d, AtLeast(d, x, ExpLow(d)), ExpHigh(d)), 2 * kExponentBias<D>);
  const auto s = SplitScale(d, e.bits);
  const V p = hn::Add(e.expm1_r, hn::Set(d, 1));
  return hn::Mul(hn::Mul(p, s.first), s.second);
}

/// e^x − 1. f32 2 ULP, f64 2 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Expm1(D d, V x) {
  const V clamped = AtMost(d, AtLeast(d, x, Constant(d, -18.0f, -40.0)), ExpHigh(d));
  const auto e = ReduceExp(d, clamped, kExponentBias<D> - 1);
  const V half_scale = PowerOfTwo(d, e.bits);  // 2^(n−1), so that n may pass the largest exponent
  const V half = hn::MulAdd(half_scale, e.expm1_r, hn::Sub(half_scale, hn::Set(d, 0.5)));
  return hn::CopySign(hn::Add(half, half), x);  // the sign of −0
}

/// tanh x = expm1(2|x|) / (expm1(2|x|) + 2) with the sign of x. f32 2 ULP, f64 2 ULP, relative for tiny x too.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  const V a = AtMost(d, hn::Abs(x), Constant(d, 10.0f, 20.0));
  const auto e = ReduceExp(d, hn::Add(a, a), kExponentBias<D>);
  const V scale = PowerOfTwo(d, e.bits);
  const V expm1 = hn::MulAdd(scale, e.expm1_r, hn::Sub(scale, hn::Set(d, 1)));
  return hn::CopySignToAbs(hn::Div(expm1, hn::Add(expm1, hn::Set(d, 2))), x);
}

/// x / (1 + e^−w). With e = e^−|w| neither side overflows; x joins before the factor that may make e subnormal, so the
/// product keeps its digits. Where w → −∞, x must be finite.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V TimesSigmoid(D d, V x, V w) {
  const V minus_abs = hn::Or(w, hn::SignBit(d));
  const auto r = ReduceExp(d, AtLeast(d, minus_abs, ExpLow(d)), 2 * kExponentBias<D>);
  const auto s = SplitScale(d, r.bits);
  const V one = hn::Set(d, 1);
  const V p = hn::Mul(hn::Add(r.expm1_r, one), s.first);
  const V e = hn::Mul(p, s.second);
  const V numerator = hn::IfNegativeThenElse(w, hn::Mul(hn::Mul(p, x), s.second), x);
  return hn::Div(numerator, hn::Add(one, e));
}

/// 1 / (1 + e^−x). f32 3 ULP, f64 3 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  return TimesSigmoid(d, hn::Set(d, 1), x);
}

/// x · sigmoid(x), 0 at −∞. f32 3 ULP, f64 3 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Silu(D d, V x) {
  const V bounded = AtLeast(d, x, ExpLow(d));  // below, the result is −0 and −∞ · 0 is avoided
  return TimesSigmoid(d, bounded, bounded);
}

/// x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))), written x · sigmoid(2…) so that the negative tail keeps its digits.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluTanh(D d, V x) {
  constexpr double k = 1.5957691216057308, kCubic = 0.044715 * k;  // 2 √(2/π)
  const V bounded = AtLeast(d, x, hn::Set(d, -22));
  const V slope = hn::MulAdd(hn::Mul(bounded, bounded), hn::Set(d, kCubic), hn::Set(d, k));
  return TimesSigmoid(d, bounded, hn::Mul(bounded, slope));
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
