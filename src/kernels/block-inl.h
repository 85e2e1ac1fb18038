// Small products held in registers, for kernels that do more with them than store them: whoever calls loads the sums,
// adds a product along k, and goes on with the sums.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

#include "kernels/gemm-pack-inl.h"

#if defined(INGOT_KERNELS_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_BLOCK_INL_H_
#undef INGOT_KERNELS_BLOCK_INL_H_
#else
#define INGOT_KERNELS_BLOCK_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The first n (at least one) elements, or a whole vector if there are as many.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_part(D d, const T* from, int64_t n) {
  return n >= kLanes<T> ? hn::LoadU(d, from) : load_few(d, from, n);
}
// Tails are rare and this is long: out of line, it is compiled once and not at every store.
template <class D, class T = hn::TFromD<D>>
HWY_NOINLINE void store_few(D d, hn::Vec<D> v, T* to, int64_t n) {
  HWY_ALIGN T all[HWY_LANES(T)];
  hn::Store(v, d, all);
  copy_few(to, all, n);
}
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_part(D d, hn::Vec<D> v, T* to, int64_t n) {
  n >= kLanes<T> ? hn::StoreU(v, d, to) : store_few(d, v, to, n);
}

/// sum += a·b for kRows rows of a, `a_row` apart and contiguous along k, and kVectors vectors of columns of b, whose
/// rows follow each other. Each element is one chain of MulAdd along k.
template <int kRows, int kVectors, class T>
HWY_INLINE void multiply_block(int64_t k, const T* HWY_RESTRICT a, int64_t a_row, const T* HWY_RESTRICT b,
                               hn::Vec<hn::ScalableTag<T>> (&sum)[kRows][kVectors]) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  HWY_UNROLL(4)
  for (int64_t p = 0; p < k; ++p) {
    if constexpr (kRows < kVectors) {  // the fewer operands stay in registers, the others pass through one
      V left[kRows];
      HWY_UNROLL(8)
      for (int i = 0; i < kRows; ++i) left[i] = hn::Set(d, a[i * a_row]);
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        const V right = hn::LoadU(d, b + v * kLanes<T>);
        HWY_UNROLL(8)
        for (int i = 0; i < kRows; ++i) sum[i][v] = hn::MulAdd(left[i], right, sum[i][v]);
      }
    } else {
      V right[kVectors];
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, b + v * kLanes<T>);
      HWY_UNROLL(8)
      for (int i = 0; i < kRows; ++i) {
        const V left = hn::Set(d, a[i * a_row]);
        HWY_UNROLL(8)
        for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(left, right[v], sum[i][v]);
      }
    }
    ++a;
    b += kVectors * kLanes<T>;
  }
}

/// Cuts [first, last) into tiles of at most kMost rows, as equal as can be (a tile of one row cannot keep the
/// multipliers busy), and calls tile(std::integral_constant<int, rows>, row).
template <int kMost, class F>
HWY_INLINE void for_each_row_tile(int64_t first, int64_t last, F tile) {
  const auto call = [&](auto self, auto rows, int64_t wanted, int64_t row) HWY_ATTR -> void {
    if (rows.value == wanted) return tile(rows, row);
    if constexpr (rows.value > 1) self(self, std::integral_constant<int, rows.value - 1>(), wanted, row);
  };
  const int64_t count = (last - first + kMost - 1) / kMost;
  for (int64_t t = 0, row = first; t < count; ++t) {
    const int64_t rows = (last - row + count - t - 1) / (count - t);
    call(call, std::integral_constant<int, kMost>(), rows, row);
    row += rows;
  }
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
