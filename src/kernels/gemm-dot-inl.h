// Products of a few rows with columns that lie along k: vectors run along k, so nothing needs to be transposed.
#include <hwy/highway.h>

#include <cstdint>

#include "kernels/gemm-pack-inl.h"

#if defined(INGOT_KERNELS_GEMM_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_GEMM_DOT_INL_H_
#undef INGOT_KERNELS_GEMM_DOT_INL_H_
#else
#define INGOT_KERNELS_GEMM_DOT_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The sums of the lanes of four vectors, to out[0..3].
template <class D, class V = hn::Vec<D>, class T = hn::TFromD<D>>
HWY_INLINE void sum_lanes(D d, V v0, V v1, V v2, V v3, T* out) {
  if constexpr (hn::MaxLanes(D()) * sizeof(T) > 16) {
    const hn::Half<D> half;
    const auto fold = [half](V v) HWY_ATTR { return hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)); };
    sum_lanes(half, fold(v0), fold(v1), fold(v2), fold(v3), out);
  } else if constexpr (sizeof(T) == 4) {
    const hn::Repartition<double, D> wide;
    const auto s01 = hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1)));
    const auto s23 = hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3)));
    hn::StoreU(hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, s01, s23)), hn::BitCast(d, hn::InterleaveUpper(wide, s01, s23))),
               d, out);
  } else {
    hn::StoreU(hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1)), d, out);
    hn::StoreU(hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3)), d, out + 2);
  }
}

// kRows rows of a times kColumns (a multiple of four) columns of b, both contiguous along k, to out. Columns from `columns` on
// repeat the last one.
template <int kRows, int kColumns, class T>
void dot_tile(int64_t k, const T* HWY_RESTRICT a, int64_t a_row, const T* HWY_RESTRICT b, int64_t b_col, int64_t columns,
              T* HWY_RESTRICT out, int64_t out_row) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kWidth = kLanes<T>;
  const T* column[kColumns];
  HWY_UNROLL(8)
  for (int j = 0; j < kColumns; ++j) column[j] = b + HWY_MIN(j, columns - 1) * b_col;
  V sum[kRows][kColumns];
  HWY_UNROLL(4)
  for (int i = 0; i < kRows; ++i)
    HWY_UNROLL(8)
    for (int j = 0; j < kColumns; ++j) sum[i][j] = hn::Zero(d);
  int64_t p = 0;
  for (; p + kWidth <= k; p += kWidth) {
    V left[kRows];
    HWY_UNROLL(4)
    for (int i = 0; i < kRows; ++i) left[i] = hn::LoadU(d, a + i * a_row + p);
    HWY_UNROLL(8)
    for (int j = 0; j < kColumns; ++j) {
      const V right = hn::LoadU(d, column[j] + p);
      HWY_UNROLL(4)
      for (int i = 0; i < kRows; ++i) sum[i][j] = hn::MulAdd(left[i], right, sum[i][j]);
    }
  }
  if (p < k) {
    V left[kRows];
    HWY_UNROLL(4)
    for (int i = 0; i < kRows; ++i) left[i] = load_few(d, a + i * a_row + p, k - p);
    HWY_UNROLL(8)
    for (int j = 0; j < kColumns; ++j) {
      const V right = load_few(d, column[j] + p, k - p);
      HWY_UNROLL(4)
      for (int i = 0; i < kRows; ++i) sum[i][j] = hn::MulAdd(left[i], right, sum[i][j]);
    }
  }
  HWY_UNROLL(4)
  for (int i = 0; i < kRows; ++i)
    HWY_UNROLL(2)
    for (int j = 0; j < kColumns; j += 4)
      sum_lanes(d, sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3], out + i * out_row + j);
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
