// log, log1p and softplus. Bounds are in units in the last place (ULP); tests/kernels/math_test.cc checks them.
#if defined(INGOT_KERNELS_MATH_LOG_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_MATH_LOG_INL_H_
#undef INGOT_KERNELS_MATH_LOG_INL_H_
#else
#define INGOT_KERNELS_MATH_LOG_INL_H_
#endif

#include "kernels/math-exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {

/// x = 2^k (1 + f) with 1 + f in [√½, √2).
template <class D>
struct LogReduction {
  hn::Vec<D> k, f;
};

/// For positive finite x, subnormal or not.
template <class D, class V = hn::Vec<D>>
HWY_INLINE LogReduction<D> ReduceLog(D d, V x) {
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> du;
  using U = hn::TFromD<decltype(du)>;
  constexpr int kBits = kMantissaBits<D>;
  constexpr U kOne = kIsF32<D> ? U(0x3f800000) : U(0x3ff0000000000000);
  constexpr U kSqrtHalf = kIsF32<D> ? U(0x3f3504f3) : U(0x3fe6a09e667f3bcd);
  constexpr U kIntegers = kIsF32<D> ? U(0x4b000000) : U(0x4330000000000000);  // the bits of 2^kBits

  const auto subnormal = hn::Lt(x, hn::Set(d, std::numeric_limits<T>::min()));
  x = hn::IfThenElse(subnormal, hn::Mul(x, Constant(d, 0x1p25f, 0x1p54)), x);
  const auto moved = hn::Add(hn::BitCast(du, x), hn::Set(du, kOne - kSqrtHalf));
  const V exponent = hn::BitCast(d, hn::Or(hn::ShiftRight<kBits>(moved), hn::Set(du, kIntegers)));
  const V bias = Constant(d, 0x1p23f + 127, 0x1p52 + 1023);
  const V k = hn::Sub(hn::Sub(exponent, bias), hn::IfThenElseZero(subnormal, Constant(d, 25.0f, 54.0)));
  const auto mantissa = hn::And(moved, hn::Set(du, (U(1) << kBits) - 1));
  const V m = hn::BitCast(d, hn::Add(mantissa, hn::Set(du, kSqrtHalf)));
  return {k, hn::Sub(m, hn::Set(d, 1))};
}

/// k ln2 + log(1 + f).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LogOfParts(D d, V k, V f) {
  const V half_square = hn::Mul(hn::Mul(f, f), hn::Set(d, 0.5));
  const V k_low = hn::Mul(k, Ln2Low(d));
  V rest;
  if constexpr (kIsF32<D>) {
    const V p = Estrin(d, f, 0.333333313f, -0.250008196f, 0.200012296f, -0.166233629f, 0.142017126f, -0.13160105f,
                       0.127618268f, -0.0763495564f);
    rest = hn::MulAdd(hn::Mul(hn::Mul(f, f), f), p, k_low);
  } else {
    // log(1 + f) = f − f²/2 + s (f²/2 + R(s²)) with s = f / (2 + f), as in fdlibm.
    const V s = hn::Div(f, hn::Add(f, hn::Set(d, 2)));
    const V z = hn::Mul(s, s);
    const V p = Estrin(d, z, 0.666666666666673957, 0.399999999993765676, 0.285714287516458054, 0.222221975494603236,
                       0.18183621085517146, 0.153125131797443109, 0.148121360065519875);
    rest = hn::MulAdd(s, hn::MulAdd(z, p, half_square), k_low);
  }
  const V log1p = hn::Add(f, hn::Sub(rest, half_square));
  return hn::MulAdd(k, Ln2High(d), log1p);
}

/// `log` where x is positive and finite; what C says elsewhere: −∞ at 0, NaN below, ∞ at ∞.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LogAtEdges(D d, V x, V log) {
  using T = hn::TFromD<D>;
  const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const V zero = hn::Zero(d);
  const V at_most_zero =
      hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::Set(d, std::numeric_limits<T>::quiet_NaN()));
  const V positive = hn::IfThenElse(hn::Lt(x, infinity), log, x);
  return hn::IfThenElse(hn::Le(x, zero), at_most_zero, positive);
}

/// log x. f32 1 ULP, f64 1 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Log(D d, V x) {
  const auto parts = ReduceLog(d, x);
  return LogAtEdges(d, x, LogOfParts(d, parts.k, parts.f));
}

/// log(1 + x). f32 1.6 ULP, f64 1.2 ULP, relative for tiny x too.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Log1p(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const V one = hn::Set(d, 1);
  const V u = hn::Add(one, x);
  const auto parts = ReduceLog(d, u);
  // What the sum lost, exactly, brought to the scale of f: at k = 0, f becomes x again.
  const V moved = hn::Sub(u, one);
  const V lost = hn::Add(hn::Sub(one, hn::Sub(u, moved)), hn::Sub(x, moved));
  const V sum = hn::Max(hn::Sub(RoundingShift(d, kExponentBias<D>), parts.k), RoundingShift(d, 0));
  const V f = hn::MulAdd(lost, PowerOfTwo(d, hn::BitCast(du, sum)), parts.f);
  return hn::CopySign(LogAtEdges(d, u, LogOfParts(d, parts.k, f)), x);  // the sign of −0
}

/// log(1 + e^x) = max(x, 0) + 2 atanh(e / (2 + e)), e = e^−|x|. f32 3 ULP, f64 3 ULP; 0 where e^x is.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Softplus(D d, V x) {
  const V e = ExpNonPositive(d, hn::Neg(hn::Abs(x)));
  const V s = hn::Div(e, hn::Add(e, hn::Set(d, 2)));
  const V z = hn::Mul(s, s);
  V p;
  if constexpr (kIsF32<D>) {
    p = Horner(d, z, 0.666664004f, 0.40022409f, 0.279863477f, 0.280925959f);
  } else {
    p = Estrin(d, z, 0.666666666666666852, 0.399999999999932965, 0.285714285726198558, 0.222222221167143325,
               0.18181823602331354, 0.153844407063991467, 0.133370068226503768, 0.117136524391430269,
               0.109888069281706038, 0.0692964468678210072, 0.165782485409235292);
  }
  const V log1p = hn::MulAdd(hn::Mul(z, s), p, hn::Add(s, s));
  return hn::Add(AtLeast(d, x, hn::Zero(d)), log1p);
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
