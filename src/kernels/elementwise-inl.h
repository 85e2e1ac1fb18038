// Loops over one contiguous tile, for element-wise functors. A functor F says what happens to one element:
//   F::kInputs, kTypes, kToBool   number of inputs, element types, is the result a bool (inherit from Elementwise)
//   F::run(d, v…[, params])       on Highway vectors of f32 or f64 (absent: `plain` is used for these too)
//   F::plain(t…[, params])        on one element; the reference (in double), and the kernel of integer types
// Every element takes the same path, tail or not, so its bits do not depend on where it stands.
#include <cstring>

#include "ingot/base/dtype.h"
#include "ingot/base/tile.h"

#if defined(INGOT_KERNELS_ELEMENTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_ELEMENTWISE_INL_H_
#undef INGOT_KERNELS_ELEMENTWISE_INL_H_
#else
#define INGOT_KERNELS_ELEMENTWISE_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class F, class D, class P, class... V>
HWY_INLINE hn::Vec<D> apply_simd(D d, const P* params, V... v) {
  if constexpr (requires { F::run(d, v..., params); })
    return F::run(d, v..., params);
  else
    return F::run(d, v...);
}

template <class F, class... T>
HWY_INLINE auto apply_plain(const double* params, T... t) {
  if constexpr (requires { F::plain(t..., params); })
    return F::plain(t..., params);
  else
    return F::plain(t...);
}

// A tile operand: consecutive elements, or one element repeated.
template <bool kScalar, class T>
struct Operand {
  const T* HWY_RESTRICT p;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, int64_t i) const {
    if constexpr (kScalar)
      return hn::Set(d, *p);
    else
      return hn::LoadU(d, p + i);
  }
  HWY_INLINE T operator[](int64_t i) const { return p[kScalar ? 0 : i]; }
};

// The tail's elements, padded with the last one so that no lane computes on garbage.
template <class D, class O, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_tail(D d, const O& operand, int64_t i, int64_t left) {
  HWY_ALIGN T buffer[hn::MaxLanes(d)];
  for (int64_t k = 0; k < static_cast<int64_t>(hn::Lanes(d)); k++) buffer[k] = operand[i + (k < left ? k : left - 1)];
  return hn::Load(d, buffer);
}

template <class F, class T, class... O>
HWY_INLINE void simd_loop(T* out, int64_t n, const double* params, O... operand) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto y0 = apply_simd<F>(d, params, operand.load(d, i)...);
    const auto y1 = apply_simd<F>(d, params, operand.load(d, i + lanes)...);
    hn::StoreU(y0, d, out + i);
    hn::StoreU(y1, d, out + i + lanes);
  }
  for (; i + lanes <= n; i += lanes) hn::StoreU(apply_simd<F>(d, params, operand.load(d, i)...), d, out + i);
  if (i < n) {
    HWY_ALIGN T buffer[hn::MaxLanes(d)];
    hn::Store(apply_simd<F>(d, params, load_tail(d, operand, i, n - i)...), d, buffer);
    for (int64_t k = 0; i + k < n; k++) out[i + k] = buffer[k];
  }
}

template <class F, class R, class... O>
HWY_INLINE void plain_loop(R* out, int64_t n, const double* params, O... operand) {
  for (int64_t i = 0; i < n; i++) out[i] = static_cast<R>(apply_plain<F>(params, operand[i]...));
}

// Does F have a vector form for T?
template <class F, class T>
constexpr bool has_simd() {
  if constexpr (std::is_floating_point_v<T>) {
    using D = hn::ScalableTag<T>;
    using V = hn::Vec<D>;
    if constexpr (F::kInputs == 1) return requires(D d, V v, const double* p) {
        F::run(d, v, p);
      }
    || requires(D d, V v) { F::run(d, v); };
    else if constexpr (F::kInputs == 2) return requires(D d, V v, const double* p) {
      F::run(d, v, v, p);
    }
    || requires(D d, V v) { F::run(d, v, v); };
    else return requires(D d, V v, const double* p) {
      F::run(d, v, v, v, p);
    }
    || requires(D d, V v) { F::run(d, v, v, v); };
  }
  return false;
}

template <class F, class T, class R, class... O>
HWY_INLINE void tile_loop(void* out, int64_t n, const double* params, O... operand) {
  if constexpr (has_simd<F, T>())
    simd_loop<F>(static_cast<T*>(out), n, params, operand...);
  else
    plain_loop<F>(static_cast<R*>(out), n, params, operand...);
}

// One instantiation per pattern of repeated operands. (All repeated does not occur: the driver computes one element.)
template <class F, class T, class R>
void tile(void* out, const void* const* in, unsigned scalars, int64_t n, const double* params) {
  const auto at = [&](int i) { return static_cast<const T*>(in[i]); };
  if constexpr (F::kInputs == 1) {
    tile_loop<F, T, R>(out, n, params, Operand<false, T>{at(0)});
  } else if constexpr (F::kInputs == 2) {
    if (scalars == 1)
      tile_loop<F, T, R>(out, n, params, Operand<true, T>{at(0)}, Operand<false, T>{at(1)});
    else if (scalars == 2)
      tile_loop<F, T, R>(out, n, params, Operand<false, T>{at(0)}, Operand<true, T>{at(1)});
    else
      tile_loop<F, T, R>(out, n, params, Operand<false, T>{at(0)}, Operand<false, T>{at(1)});
  } else {  // a mask and two values
    const Operand<false, uint8_t> mask{static_cast<const uint8_t*>(in[0])};
    if (scalars == 2)
      tile_loop<F, T, R>(out, n, params, mask, Operand<true, T>{at(1)}, Operand<false, T>{at(2)});
    else if (scalars == 4)
      tile_loop<F, T, R>(out, n, params, mask, Operand<false, T>{at(1)}, Operand<true, T>{at(2)});
    else if (scalars == 6)
      tile_loop<F, T, R>(out, n, params, mask, Operand<true, T>{at(1)}, Operand<true, T>{at(2)});
    else
      tile_loop<F, T, R>(out, n, params, mask, Operand<false, T>{at(1)}, Operand<false, T>{at(2)});
  }
}

// The tile kernel of F for inputs of type `t`, or null.
template <class F>
TileFn tile_of(DType t) {
  constexpr bool kToBool = F::kToBool;
  switch (t) {
    case DType::kF32: return &tile<F, float, std::conditional_t<kToBool, uint8_t, float>>;
    case DType::kF64: return &tile<F, double, std::conditional_t<kToBool, uint8_t, double>>;
    default: break;
  }
  if constexpr (F::kTypes != Types::kFloats) {
    if (t == DType::kI32) return &tile<F, int32_t, std::conditional_t<kToBool, uint8_t, int32_t>>;
    if (t == DType::kI64) return &tile<F, int64_t, std::conditional_t<kToBool, uint8_t, int64_t>>;
  }
  if constexpr (F::kTypes == Types::kAll) {
    if (t == DType::kU8 || t == DType::kBool) return &tile<F, uint8_t, uint8_t>;
  }
  return nullptr;
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
