// What the vector mathematics shares: polynomials, clamps that let NaN through, lanes handed to libm.
#if defined(INGOT_KERNELS_MATH_UTIL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_MATH_UTIL_INL_H_
#undef INGOT_KERNELS_MATH_UTIL_INL_H_
#else
#define INGOT_KERNELS_MATH_UTIL_INL_H_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
inline constexpr bool kIsF32 = std::is_same_v<hn::TFromD<D>, float>;

/// The constant for the lanes' type: each function lists its f32 and f64 constants side by side.
template <class D>
HWY_INLINE hn::Vec<D> Constant(D d, float f32, double f64) {
  if constexpr (kIsF32<D>) {
    (void)f64;
    return hn::Set(d, f32);
  } else {
    (void)f32;
    return hn::Set(d, f64);
  }
}

/// c0 + c1 x + c2 x² + …, the fewest operations.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Horner(D d, V /*x*/, hn::TFromD<D> c) {
  return hn::Set(d, c);
}
template <class D, class V = hn::Vec<D>, class... C>
HWY_INLINE V Horner(D d, V x, hn::TFromD<D> c, C... higher) {
  return hn::MulAdd(Horner(d, x, higher...), x, hn::Set(d, c));
}

// x, x², x⁴, x⁸, x¹⁶.
template <class D>
struct Powers {
  hn::Vec<D> power[5];
};

template <size_t kFirst, size_t kCount, class D, size_t kAll>
HWY_INLINE hn::Vec<D> EstrinPart(D d, const Powers<D>& x, const hn::TFromD<D> (&c)[kAll]) {
  if constexpr (kCount == 1) {
    return hn::Set(d, c[kFirst]);
  } else {
    constexpr size_t kLow = std::bit_floor(kCount - 1);
    return hn::MulAdd(EstrinPart<kFirst + kLow, kCount - kLow>(d, x, c), x.power[std::bit_width(kLow) - 1],
                      EstrinPart<kFirst, kLow>(d, x, c));
  }
}

/// The same polynomial as a tree (Estrin): a few products more, a third of the latency. The out-of-order window holds
/// only a handful of these functions at a time, so latency decides their speed.
template <class D, class V = hn::Vec<D>, class... C>
HWY_INLINE V Estrin(D d, V x, C... coefficient) {
  static_assert(sizeof...(C) <= 32);
  const hn::TFromD<D> c[] = {coefficient...};
  const V x2 = hn::Mul(x, x), x4 = hn::Mul(x2, x2), x8 = hn::Mul(x4, x4);
  return EstrinPart<0, sizeof...(C)>(d, Powers<D>{{x, x2, x4, x8, hn::Mul(x8, x8)}}, c);
}

/// min(x, limit) and max(x, limit), NaN where x is NaN. x86 returns the second operand then; Arm would drop the NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AtMost(D, V x, V limit) {
#if HWY_ARCH_X86
  return hn::Min(limit, x);
#else
  return hn::IfThenElse(hn::Gt(x, limit), limit, x);
#endif
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AtLeast(D, V x, V limit) {
#if HWY_ARCH_X86
  return hn::Max(limit, x);
#else
  return hn::IfThenElse(hn::Lt(x, limit), limit, x);
#endif
}

/// `result` with the lanes of `mask` replaced by `libm` of the arguments' lanes: right everywhere, slow, for rare
/// lanes.
template <class D, class V, class M, class Libm, class... Arg>
HWY_NOINLINE V ReplaceLanes(D d, M mask, V result, Libm libm, Arg... arg) {
  using T = hn::TFromD<D>;
  constexpr size_t kLanes = hn::MaxLanes(d);
  HWY_ALIGN T results[kLanes], marks[kLanes], args[sizeof...(Arg)][kLanes];
  size_t a = 0;
  (hn::Store(arg, d, args[a++]), ...);
  hn::Store(result, d, results);
  hn::Store(hn::IfThenElseZero(mask, hn::Set(d, T(1))), d, marks);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (marks[i] == 0) continue;
    if constexpr (sizeof...(Arg) == 1)
      results[i] = libm(args[0][i]);
    else
      results[i] = libm(args[0][i], args[1][i]);
  }
  return hn::Load(d, results);
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
