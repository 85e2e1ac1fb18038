// Handlers of chains, made from an element-wise functor. A handler gets the step it belongs to, the block's place and
// the block's vectors; it computes, and calls the next step's handler as its last act, which compilers make a jump:
// vectors stay in the registers in which arguments are passed, and each jump is predicted by its own history.
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/chain.h"
#include "kernels/elementwise-inl.h"

#if defined(INGOT_KERNELS_CHAIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_CHAIN_INL_H_
#undef INGOT_KERNELS_CHAIN_INL_H_
#else
#define INGOT_KERNELS_CHAIN_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A step with its operand found.
template <class T>
struct Link {
  ChainHandler handler;
  const T* at;  // the operand's elements, or its one element
  T params[kMostChainParams];
};

inline constexpr float kLightest = 2;  // heavier formulas fill the registers themselves: they run tile by tile

template <class T, class... V>
HWY_INLINE void next(const Link<T>* s, int64_t place, V... v) {
  // The link's address first, then a jump through it: left alone, GCC copies both by way of other registers.
  asm("" : "+r"(s));
  reinterpret_cast<void (*)(const Link<T>*, int64_t, V...)>(s->handler)(s, place, v...);
}

template <class F, int kHeld, class D, class V, class T = hn::TFromD<D>>
HWY_INLINE V combine(D d, const T* params, V held, V other) {
  if constexpr (F::kInputs == 1)
    return apply_simd<F>(d, params, held);
  else if constexpr (kHeld == 0)
    return apply_simd<F>(d, params, held, other);
  else
    return apply_simd<F>(d, params, other, held);
}

// Keeps the compiler from working on `next` before `done` is done: on a whole block at once it runs out of registers.
template <class V>
HWY_INLINE void in_turn(V& done, V& next) {
#if HWY_ARCH_X86 && (HWY_COMPILER_GCC || HWY_COMPILER_CLANG) && HWY_TARGET < HWY_EMU128
  auto a = done.raw, b = next.raw;
  asm volatile("" : "+x"(a), "+x"(b));
  done.raw = a;
  next.raw = b;
#else
  (void)done, (void)next;
#endif
}

// The formula on the vectors of a block; its other input is `one`, or begins at p.
template <class F, int kHeld, bool kOne, class T, class V, class... Rest>
HWY_INLINE void link_each(const T* params, const T* p, V one, V& v, Rest&... rest) {
  const hn::ScalableTag<T> d;
  if constexpr (kOne)
    v = combine<F, kHeld>(d, params, v, one);
  else
    v = combine<F, kHeld>(d, params, v, hn::LoadU(d, p));
  if constexpr (sizeof...(Rest) > 0) {
    in_turn(v, std::get<0>(std::tie(rest...)));
    link_each<F, kHeld, kOne>(params, p + hn::Lanes(d), one, rest...);
  }
}

// The handler: one formula on the vectors of a block. kOne: the other input is one element for all.
template <class F, int kHeld, bool kOne, class T, class... V>
void link(const Link<T>* s, int64_t place, V... v) {
  const hn::ScalableTag<T> d;
  if constexpr (F::kInputs == 1)
    link_each<F, kHeld, true, T>(s->params, nullptr, hn::Zero(d), v...);
  else if constexpr (kOne)
    link_each<F, kHeld, true, T>(s->params, nullptr, hn::Set(d, *s->at), v...);
  else
    link_each<F, kHeld, false>(s->params, s->at + place, hn::Zero(d), v...);
  next(s + 1, place, v...);
}

template <class F, class T>
ChainForm chain_form() {
  using V = hn::Vec<hn::ScalableTag<T>>;
  ChainForm form;
  const auto add = [&]<int kHeld, bool kOne>(std::integral_constant<int, kHeld>, std::bool_constant<kOne>) {
    form.block[kHeld][kOne] = reinterpret_cast<ChainHandler>(&link<F, kHeld, kOne, T, V, V, V, V, V, V, V, V>);
    form.single[kHeld][kOne] = reinterpret_cast<ChainHandler>(&link<F, kHeld, kOne, T, V>);
  };
  using First = std::integral_constant<int, 0>;
  using Second = std::integral_constant<int, 1>;
  add(First(), std::false_type());
  if constexpr (F::kInputs == 2) {
    add(First(), std::true_type());
    add(Second(), std::false_type());
    add(Second(), std::true_type());
  }
  return form;
}

// Can F run in registers, and is it light enough to?
template <class F>
constexpr bool fits_chains() {
  return F::kInputs <= 2 && !F::kToBool && F::kWeight <= kLightest && has_simd<F, float>() && has_simd<F, double>();
}

// The forms of F, or null.
template <class F>
const ChainForms* chain_forms_of() {
  if constexpr (fits_chains<F>()) {
    static const ChainForms forms{chain_form<F, float>(), chain_form<F, double>()};
    return &forms;
  } else {
    return nullptr;
  }
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
