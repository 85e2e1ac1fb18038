// erf and gelu (erf form). Bounds are in units in the last place (ULP); tests/kernels/math_test.cc checks them.
#if defined(INGOT_KERNELS_MATH_ERF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_MATH_ERF_INL_H_
#undef INGOT_KERNELS_MATH_ERF_INL_H_
#else
#define INGOT_KERNELS_MATH_ERF_INL_H_
#endif

#include "kernels/math-exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {

/// erf a for 0 ≤ a below kErfSplit, a + a P(a²).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ErfSmall(D d, V a) {
  const V z = hn::Mul(a, a);
  V p;
  if constexpr (kIsF32<D>) {
    p = Horner(d, z, 0.128379151f, -0.376125246f, 0.112821415f, -0.0267789159f, 0.00501196645f, -0.000609035604f);
  } else {
    p = Estrin(d, z, 0.128379167095512559, -0.376126389031835207, 0.112837916709441863, -0.0268661706431116559,
               0.0052239776061198083, -0.000854832592937205984, 0.000120552935784934399, -0.0000149247123309100319,
               1.6447131913282367e-6, -1.62063162991567439e-7, 1.37109911458459974e-8, -7.77948822456141606e-10);
  }
  return hn::MulAdd(a, p, a);
}

/// 1 − erf a from there on. f32: the logarithm is a polynomial; f64: e^−a² times a polynomial in 1 / (1 + 0.4 a).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ErfcLarge(D d, V a) {
  if constexpr (kIsF32<D>) {
    return ExpNonPositive(d, Horner(d, a, 0.000169205494f, -1.12948835f, -0.633400857f, -0.108220391f, 0.0250806212f,
                                    -0.00415625656f, 0.00043139403f, -2.08286656e-5f));
  } else {
    const V one = hn::Set(d, 1);
    const V t = hn::Div(one, hn::MulAdd(a, hn::Set(d, 0.4), one));
    const V p = Estrin(d, t, -6.41128057389958845e-7, 0.225667852203847441, 0.226019758890516287, 0.203596643528731164,
                       0.197690009543317807, 0.0107215671621051535, 0.39359337084919549, -0.666934521523457335,
                       1.00564893752750462, -1.06719098596366546, 0.659237399223043807, -0.21881213983424197,
                       0.0307628354979449341);
    return hn::Mul(p, ExpNonPositive(d, hn::Neg(hn::Mul(a, a))));
  }
}

/// erf x. f32 1.5 ULP, f64 1.5 ULP.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Erf(D d, V x) {
  const V a = AtMost(d, hn::Abs(x), Constant(d, 3.95f, 6.0));  // from here on the result rounds to 1
  const auto small = hn::Lt(a, Constant(d, 0.9f, 1.0));
  const V large = hn::Sub(hn::Set(d, 1), ErfcLarge(d, a));
  return hn::CopySign(hn::IfThenElse(small, ErfSmall(d, a), large), x);
}

/// x Φ(x), Φ the normal distribution, 0 at −∞. Φ(−|x|) = e^(−x²/2) T(1 / (1 + p|x|)) keeps its digits in the negative
/// tail: f32 7 ULP, f64 12 ULP, for x < 0 plus 3/4 x² ULP, 0 where the result is not normal.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluErf(D d, V x) {
  const V one = hn::Set(d, 1);
  const V bounded = AtLeast(d, x, Constant(d, -15.0f, -40.0));  // below, the result is −0 and −∞ · 0 is avoided
  const V a = hn::Abs(bounded);
  const V t = hn::Div(one, hn::MulAdd(a, Constant(d, 0.3f, 0.2), one));
  V p;
  if constexpr (kIsF32<D>) {
    p = Horner(d, t, 7.37266282e-6f, 0.119484201f, 0.121945314f, 0.0945856124f, 0.142765984f, -0.0768408775f,
               0.228953004f, -0.169308111f, 0.0384075381f);
  } else {
    p = Estrin(d, t, 6.86959586079192552e-12, 0.0797884556191766486, 0.0797884703826459984, 0.0765966452694148703,
               0.0702174212439155981, 0.0609877587479610156, 0.0500401619349097188, 0.0361457439386209944,
               0.0321223804397410065, -0.00828728878090034642, 0.074697165199245727, -0.156423868974091218,
               0.29320343829491774, -0.437576132712468258, 0.500673230896557353, -0.436946635841068021,
               0.270831343182542428, -0.104137756510623333, 0.0157815769230188196, 0.0047421923130895674,
               -0.00260730917910228415, 0.0003630076056263789);
  }
  const V tail = hn::Mul(p, ExpNonPositive(d, hn::Mul(hn::Mul(a, a), hn::Set(d, -0.5))));  // Φ(−a)
  return hn::Mul(bounded, hn::IfNegativeThenElse(bounded, tail, hn::Sub(one, tail)));
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
