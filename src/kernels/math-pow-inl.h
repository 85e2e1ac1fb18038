// pow with all of C's special cases. tests/kernels/math_test.cc checks the bounds, in units in the last place (ULP).
#if defined(INGOT_KERNELS_MATH_POW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_MATH_POW_INL_H_
#undef INGOT_KERNELS_MATH_POW_INL_H_
#else
#define INGOT_KERNELS_MATH_POW_INL_H_
#endif

#include <cmath>

#include "kernels/math-log-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {

/// A number as the sum of two, the second below the last place of the first.
template <class D>
struct Double {
  hn::Vec<D> high, low;
};

/// a + b exactly, for |a| ≥ |b| or a = 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE Double<D> ExactSum(D, V a, V b) {
  const V high = hn::Add(a, b);
  return {high, hn::Sub(b, hn::Sub(high, a))};
}

/// a · b exactly, short of overflow.
template <class D, class V = hn::Vec<D>>
HWY_INLINE Double<D> ExactProduct(D d, V a, V b) {
  const V high = hn::Mul(a, b);
#if HWY_NATIVE_FMA
  (void)d;
  return {high, hn::MulSub(a, b, high)};
#else
  const V split = hn::Set(d, 0x1p27 + 1);  // Dekker's halves of 26 bits
  const V a_split = hn::Mul(a, split), b_split = hn::Mul(b, split);
  const V a1 = hn::Sub(a_split, hn::Sub(a_split, a)), b1 = hn::Sub(b_split, hn::Sub(b_split, b));
  const V a2 = hn::Sub(a, a1), b2 = hn::Sub(b, b1);
  const V crossed = hn::Add(hn::Add(hn::Sub(hn::Mul(a1, b1), high), hn::Mul(a1, b2)), hn::Mul(a2, b1));
  return {high, hn::Add(crossed, hn::Mul(a2, b2))};
#endif
}

template <class D>
HWY_INLINE Double<D> Product(D d, Double<D> a, Double<D> b) {
  const auto p = ExactProduct(d, a.high, b.high);
  return {p.high, hn::Add(p.low, hn::MulAdd(a.high, b.low, hn::Mul(a.low, b.high)))};
}

/// log x in f64 to about 2^−64, for positive finite x: 2s + 2/3 s³ + s⁵ R(s²), s = f / (2 + f), the first two terms in
/// pairs.
template <class D, class V = hn::Vec<D>>
HWY_INLINE Double<D> LogPair(D d, V x) {
  const auto parts = ReduceLog(d, x);
  const auto below = ExactSum(d, hn::Set(d, 2), parts.f);
  const V s_high = hn::Div(parts.f, below.high);
  const auto back = ExactProduct(d, s_high, below.high);
  const V rest = hn::NegMulAdd(s_high, below.low, hn::Sub(hn::Sub(parts.f, back.high), back.low));
  const Double<D> s{s_high, hn::Div(rest, below.high)};
  const auto square = Product(d, s, s);
  const auto cubic =
      Product(d, Product(d, square, s), {hn::Set(d, 0x1.5555555555555p-1), hn::Set(d, 0x1.5555555555555p-55)});
  const V z = square.high;
  const V r = Estrin(d, z, 0.399999999999999745, 0.285714285714463168, 0.222222222172444223, 0.181818189060220708,
                     0.153845544431829517, 0.133364105171069197, 0.116729347384867066, 0.120046522457370575);
  const V tail = hn::Mul(hn::Mul(hn::Mul(z, z), s.high), r);

  const auto first = ExactSum(d, hn::Mul(parts.k, Ln2High(d)), hn::Add(s.high, s.high));
  const auto second = ExactSum(d, first.high, cubic.high);
  const V lows = hn::MulAdd(parts.k, Ln2Low(d), hn::Add(tail, hn::MulAdd(s.low, hn::Set(d, 2), cubic.low)));
  return ExactSum(d, second.high, hn::Add(hn::Add(first.low, second.low), lows));
}

/// a^y in f64 for positive finite a and |y| up to kPowLargest.
inline constexpr double kPowLargest = 0x1p900;
template <class D, class V = hn::Vec<D>>
HWY_INLINE V PowPositive(D d, V a, V y) {
  const auto log = LogPair(d, a);
  const auto p = ExactProduct(d, y, log.high);
  const auto inside = hn::Lt(hn::Abs(p.high), hn::Set(d, 1000));
  const V low = hn::IfThenElseZero(inside, hn::MulAdd(y, log.low, p.low));
  const V high = hn::Min(hn::Max(p.high, hn::Set(d, -746)), hn::Set(d, 710));  // from there to there it is not 0 or ∞
  const auto e = ReduceExp(d, high, 2 * kExponentBias<D>);
  const V m = hn::Add(e.expm1_r, hn::MulAdd(low, e.expm1_r, low));
  // 2^n in two factors reaches the subnormals; the second product is the only one that rounds.
  const auto half = hn::ShiftRight<1>(e.bits);
  const V first = PowerOfTwo(d, half);
  return hn::Mul(hn::MulAdd(first, m, first), PowerOfTwo(d, hn::Sub(e.bits, half)));
}

/// a^y for f32 lanes, a ≥ 0, computed in f64. Polynomials of 2^−44 for the logarithm (y log a stays below 2^8 where it
/// matters) and 2^−39 for the exponential leave f32 its 24 bits.
template <class DHalf, class V = hn::Vec<DHalf>>
HWY_INLINE V PowHalf(DHalf dh, V a, V y) {
  const hn::Rebind<double, DHalf> d;
  using V64 = hn::Vec<decltype(d)>;
  const V64 x = hn::PromoteTo(d, a);
  const auto parts = ReduceLog(d, x);
  const V64 s = hn::Div(parts.f, hn::Add(parts.f, hn::Set(d, 2)));
  const V64 z = hn::Mul(s, s);
  const V64 series = Estrin(d, z, 2.0, 0.666666666762744886, 0.399999954409862302, 0.285721302099156915,
                            0.221752375030068338, 0.195987897011277973);
  const V64 log = LogAtEdges(d, x, hn::MulAdd(parts.k, hn::Set(d, 0x1.62e42fefa39efp-1), hn::Mul(s, series)));

  // The clamps lie outside f32's range, so that the conversion makes the zero or the infinity.
  const V64 p = AtMost(d, AtLeast(d, hn::Mul(hn::PromoteTo(d, y), log), hn::Set(d, -200)), hn::Set(d, 200));
  const V64 shift = RoundingShift(d, kExponentBias<decltype(d)>);
  const V64 sum = hn::MulAdd(p, Log2E(d), shift);
  const V64 r = hn::NegMulAdd(hn::Sub(sum, shift), hn::Set(d, 0x1.62e42fefa39efp-1), p);
  const V64 e =
      Estrin(d, r, 1.0, 1.0, 0.500000000046231241, 0.166666667916467615, 0.0416666642659132419, 0.0083332797237298268,
             0.00138892095954665814, 0.000199102961105443406, 0.0000247064506587284543);
  const hn::RebindToUnsigned<decltype(d)> du;
  return hn::DemoteTo(dh, hn::Mul(e, PowerOfTwo(d, hn::BitCast(du, sum))));
}

/// The sign of x where y is an odd integer, NaN where x < 0 is finite and y is no integer.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V PowSign(D d, V x, V y, V power) {
  using T = hn::TFromD<D>;
  const V half = hn::Mul(y, hn::Set(d, 0.5));
  const auto integer = hn::Eq(hn::Trunc(y), y);
  const auto even = hn::Eq(hn::Trunc(half), half);
  const V flip = hn::IfThenElseZero(hn::AndNot(even, integer), hn::And(x, hn::SignBit(d)));
  const auto finite_negative =
      hn::And(hn::Lt(x, hn::Zero(d)), hn::Gt(x, hn::Set(d, -std::numeric_limits<T>::infinity())));
  const V nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  return hn::IfThenElse(hn::AndNot(integer, finite_negative), nan, hn::Xor(power, flip));
}

/// x^y. f32 0.51 ULP, f64 1.7 ULP. f64 lanes with a zero, infinite or NaN operand go to libm.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Pow(D d, V x, V y) {
  using T = hn::TFromD<D>;
  const V a = hn::Abs(x);
  const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  if constexpr (kIsF32<D>) {
    const hn::Half<D> dh;
    const V power = hn::Combine(d, PowHalf(dh, hn::UpperHalf(dh, a), hn::UpperHalf(dh, y)),
                                PowHalf(dh, hn::LowerHalf(dh, a), hn::LowerHalf(dh, y)));
    const V one = hn::Set(d, 1);
    const auto always_one =
        hn::Or(hn::Or(hn::Eq(y, hn::Zero(d)), hn::Eq(x, one)), hn::And(hn::Eq(a, one), hn::Eq(hn::Abs(y), infinity)));
    return hn::IfThenElse(always_one, one, PowSign(d, x, y, power));
  } else {
    const V power = PowSign(d, x, y, PowPositive(d, a, y));
    const auto plain =
        hn::And(hn::And(hn::Gt(a, hn::Zero(d)), hn::Lt(a, infinity)), hn::Le(hn::Abs(y), hn::Set(d, kPowLargest)));
    if (HWY_LIKELY(hn::AllTrue(d, plain))) return power;
    return ReplaceLanes(
        d, hn::Not(plain), power, [](T base, T exponent) { return std::pow(base, exponent); }, x, y);
  }
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
