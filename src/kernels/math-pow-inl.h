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
  const V r = Horner(d, z, 0.399999999999999745, 0.285714285714463168, 0.222222222172444223, 0.181818189060220708,
                     0.153845544431829517, 0.133364105171069197, 0.116729347384867066, 0.120046522457370575);
  const V tail = hn::Mul(hn::Mul(hn::Mul(z, z), s.high), r);

  const auto first = ExactSum(d, hn::Mul(parts.k, hn::Set(d, 0x1.62e42fefa38p-1)), hn::Add(s.high, s.high));
  const auto second = ExactSum(d, first.high, cubic.high);
  const V lows =
      hn::MulAdd(parts.k, hn::Set(d, 0x1.ef35793c7673p-45), hn::Add(tail, hn::MulAdd(s.low, hn::Set(d, 2), cubic.low)));
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
  const auto e = ReduceExp(d, hn::Min(hn::Max(p.high, ExpLow(d)), ExpHigh(d)), 2 * kExponentBias<D>);
  const auto s = SplitScale(d, e.bits);
  const V m = hn::Add(hn::Set(d, 1), hn::Add(e.expm1_r, hn::MulAdd(low, e.expm1_r, low)));
  return hn::Mul(hn::Mul(m, s.first), s.second);
}

/// |x|^y for f32 lanes, in f64: log and exp there leave more digits than f32 shows.
template <class DHalf, class V = hn::Vec<DHalf>>
HWY_INLINE V PowHalf(DHalf dh, V a, V y) {
  const hn::Rebind<double, DHalf> dd;
  return hn::DemoteTo(dh, Exp(dd, hn::Mul(hn::PromoteTo(dd, y), Log(dd, hn::PromoteTo(dd, a)))));
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

/// x^y. f32 1 ULP, f64 1 ULP. f64 lanes with a zero, infinite or NaN operand go to libm.
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
