// sin and cos. Bounds are in units in the last place (ULP); tests/kernels/math_test.cc checks them.
#if defined(INGOT_KERNELS_MATH_TRIG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_MATH_TRIG_INL_H_
#undef INGOT_KERNELS_MATH_TRIG_INL_H_
#else
#define INGOT_KERNELS_MATH_TRIG_INL_H_
#endif

#include <cmath>

#include "kernels/math-util-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {

/// x = n π/2 + r with |r| ≤ π/4.
template <class D>
struct TrigReduction {
  hn::Vec<D> r;
  hn::Vec<hn::RebindToUnsigned<D>> n;  // its low two bits are n's
};

/// From here on libm answers: n no longer leaves room for the exact products below.
template <class D>
HWY_INLINE hn::Vec<D> TrigLimit(D d) {
  return Constant(d, 1e5f, 1e9);
}

template <class D, class V, class... Part>
HWY_INLINE V SubtractParts(D d, V x, V n, Part... part) {
  ((x = hn::NegMulAdd(n, hn::Set(d, part), x)), ...);
  return x;
}

#if !HWY_NATIVE_FMA
/// The f32 reduction of half a vector, in f64: without FMA the products of f32 would need seven parts of π/2.
template <class DHalf>
HWY_INLINE hn::Vec<DHalf> ReduceTrigHalf(DHalf dh, hn::Vec<DHalf> x, hn::Vec<DHalf>& n) {
  const hn::Rebind<double, DHalf> dd;
  const auto shift = hn::Set(dd, 0x1.8p52);
  const auto x64 = hn::PromoteTo(dd, x);
  const auto n64 = hn::Sub(hn::MulAdd(x64, hn::Set(dd, 0x1.45f306dc9c883p-1), shift), shift);
  n = hn::DemoteTo(dh, n64);
  return hn::DemoteTo(dh, SubtractParts(dd, x64, n64, 0x1.921fb544p0, 0x1.0b4611a626331p-34));
}
#endif

template <class D, class V = hn::Vec<D>>
HWY_INLINE TrigReduction<D> ReduceTrig(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const V shift = Constant(d, 0x1.8p23f, 0x1.8p52);
#if !HWY_NATIVE_FMA
  if constexpr (kIsF32<D>) {
    const hn::Half<D> dh;
    hn::Vec<decltype(dh)> n_low, n_high;
    const auto r_low = ReduceTrigHalf(dh, hn::LowerHalf(dh, x), n_low);
    const auto r_high = ReduceTrigHalf(dh, hn::UpperHalf(dh, x), n_high);
    return {hn::Combine(d, r_high, r_low), hn::BitCast(du, hn::Add(hn::Combine(d, n_high, n_low), shift))};
  }
#endif
  const V sum = hn::MulAdd(x, Constant(d, 0x1.45f306p-1f, 0x1.45f306dc9c883p-1), shift);
  const V n = hn::Sub(sum, shift);
  V r;
  if constexpr (kIsF32<D>) {
    r = SubtractParts(d, x, n, 0x1.921fb6p0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f);
  } else if constexpr (HWY_NATIVE_FMA) {
    r = SubtractParts(d, x, n, 0x1.921fb54442d18p0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110);
  } else {
    // Parts of 23 bits: products with the 30 bits of n are exact.
    r = SubtractParts(d, x, n, 0x1.921fb4p0, 0x1.4442dp-24, 0x1.846988p-48, 0x1.8cc514p-72, 0x1.80dc1cd129025p-95);
  }
  return {r, hn::BitCast(du, sum)};
}

/// sin(r + n π/2).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V SinOfParts(D d, V r, hn::Vec<hn::RebindToUnsigned<D>> n) {
  constexpr int kTop = sizeof(hn::TFromD<D>) * 8 - 1;
  const V z = hn::Mul(r, r);
  V s, c;
  if constexpr (kIsF32<D>) {
    s = Horner(d, z, -0.166666538f, 0.00833213143f, -0.000195108645f);
    c = Horner(d, z, 0.0416666456f, -0.00138872513f, 2.44257189e-5f);
  } else {
    s = Horner(d, z, -0.166666666666666269, 0.00833333333332129077, -0.000198412698288749303, 2.75573133577104985e-6,
               -2.50507043091673322e-8, 1.58935997305771274e-10);
    c = Horner(d, z, 0.0416666666666665811, -0.00138888888888713839, 0.0000248015872877883319, -2.75573138670783469e-7,
               2.08756577781238095e-9, -1.13562771683947097e-11);
  }
  const V sine = hn::MulAdd(hn::Mul(z, r), s, r);
  const V cosine = hn::MulAdd(hn::MulAdd(z, c, hn::Set(d, -0.5)), z, hn::Set(d, 1));
  const V odd = hn::BitCast(d, hn::ShiftLeft<kTop>(n));
  const V flip = hn::And(hn::BitCast(d, hn::ShiftLeft<kTop - 1>(n)), hn::SignBit(d));
  return hn::Xor(hn::IfNegativeThenElse(odd, cosine, sine), flip);
}

/// sin x for every x. f32 1.7 ULP, f64 2.5 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sin(D d, V x) {
  using T = hn::TFromD<D>;
  const auto parts = ReduceTrig(d, x);
  const V sine = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, SinOfParts(d, parts.r, parts.n));  // the sign of −0
  const auto beyond = hn::Not(hn::Le(hn::Abs(x), TrigLimit(d)));
  if (HWY_LIKELY(hn::AllFalse(d, beyond))) return sine;
  return ReplaceLanes(
      d, beyond, sine, [](T v) { return std::sin(v); }, x);
}

/// cos x for every x. f32 1.7 ULP, f64 2.5 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Cos(D d, V x) {
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> du;
  const auto parts = ReduceTrig(d, x);
  const V cosine = SinOfParts(d, parts.r, hn::Add(parts.n, hn::Set(du, 1)));
  const auto beyond = hn::Not(hn::Le(hn::Abs(x), TrigLimit(d)));
  if (HWY_LIKELY(hn::AllFalse(d, beyond))) return cosine;
  return ReplaceLanes(
      d, beyond, cosine, [](T v) { return std::cos(v); }, x);
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
