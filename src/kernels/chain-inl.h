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
  const T* at;   // the operand's elements
  int64_t mask;  // -1; 0 if the operand is one element, of which `at` has a block
  const double* params;

  HWY_INLINE const T* operand(int64_t place) const { return at + (place & mask); }
};

inline constexpr float kLightest = 2;  // heavier formulas fill the registers themselves: they run tile by tile

template <class T, class... V>
HWY_INLINE void next(const Link<T>* s, int64_t place, V... v) {
  reinterpret_cast<void (*)(const Link<T>*, int64_t, V...)>(s->handler)(s, place, v...);
}

template <class F, int kHeld, class D, class V>
HWY_INLINE V combine(D d, const double* params, V held, V other) {
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

template <class F, class D, class V, class T>
HWY_INLINE V load_other(D d, const T* p, V held) {
  if constexpr (F::kInputs == 1)
    return held;
  else
    return hn::LoadU(d, p);
}

// The formula on the vectors of a block, whose other input begins at p.
template <class F, int kHeld, class T, class V, class... Rest>
HWY_INLINE void link_each(const double* params, const T* p, V& v, Rest&... rest) {
  const hn::ScalableTag<T> d;
  v = combine<F, kHeld>(d, params, v, load_other<F>(d, p, v));
  if constexpr (sizeof...(Rest) > 0) {
    in_turn(v, std::get<0>(std::tie(rest...)));
    link_each<F, kHeld>(params, p + hn::Lanes(d), rest...);
  }
}

// The handler: one formula on the vectors of a block.
template <class F, int kHeld, class T, class... V>
void link(const Link<T>* s, int64_t place, V... v) {
  link_each<F, kHeld>(s->params, s->operand(place), v...);
  next(s + 1, place, v...);
}

template <class F, class T>
ChainForm chain_form() {
  using V = hn::Vec<hn::ScalableTag<T>>;
  ChainForm form;
  const auto held = [&]<int k>(std::integral_constant<int, k>) {
    form.block[k] = reinterpret_cast<ChainHandler>(&link<F, k, T, V, V, V, V, V, V, V, V>);
    form.single[k] = reinterpret_cast<ChainHandler>(&link<F, k, T, V>);
  };
  held(std::integral_constant<int, 0>());
  if constexpr (F::kInputs == 2) held(std::integral_constant<int, 1>());
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
