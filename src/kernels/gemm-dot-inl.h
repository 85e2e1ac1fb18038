// Products of a few rows with columns that lie along k: vectors run along k, so b needs no packing.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/gemm-finish-inl.h"
#include "kernels/gemm-pack-inl.h"
#include "kernels/gemm.h"

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
    sum_lanes(half, hn::Add(hn::LowerHalf(half, v0), hn::UpperHalf(half, v0)),
              hn::Add(hn::LowerHalf(half, v1), hn::UpperHalf(half, v1)),
              hn::Add(hn::LowerHalf(half, v2), hn::UpperHalf(half, v2)),
              hn::Add(hn::LowerHalf(half, v3), hn::UpperHalf(half, v3)), out);
  } else if constexpr (sizeof(T) == 4) {
    const hn::Repartition<double, D> wide;
    const auto s01 = hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1)));
    const auto s23 = hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3)));
    const auto low = hn::BitCast(d, hn::InterleaveLower(wide, s01, s23));
    const auto high = hn::BitCast(d, hn::InterleaveUpper(wide, s01, s23));
    hn::StoreU(hn::Add(low, high), d, out);
  } else {
    hn::StoreU(hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1)), d, out);
    hn::StoreU(hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3)), d, out + 2);
  }
}

template <int kRows, int kColumns, class V, class T>
HWY_INLINE void dot_step(const V (&left)[kRows], V right, V (&sum)[kRows][kColumns], int j) {
  HWY_UNROLL(4)
  for (int i = 0; i < kRows; ++i) sum[i][j] = hn::MulAdd(left[i], right, sum[i][j]);
}

// kRows rows of a times kColumns (a multiple of four) columns of b, both contiguous along k, to out. Columns from
// `columns` on repeat the last one.
template <int kRows, int kColumns, class T>
void dot_tile(int64_t k, const T* HWY_RESTRICT a, int64_t a_row, const T* HWY_RESTRICT b, int64_t b_col,
              int64_t columns, T* HWY_RESTRICT out, int64_t out_row) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const T* column[kColumns];
  HWY_UNROLL(8)
  for (int j = 0; j < kColumns; ++j) column[j] = b + std::min<int64_t>(j, columns - 1) * b_col;
  V sum[kRows][kColumns], left[kRows];
  HWY_UNROLL(4)
  for (int i = 0; i < kRows; ++i) HWY_UNROLL(8)
  for (int j = 0; j < kColumns; ++j) sum[i][j] = hn::Zero(d);
  int64_t p = 0;
  for (; p + kLanes<T> <= k; p += kLanes<T>) {
    HWY_UNROLL(4)
    for (int i = 0; i < kRows; ++i) left[i] = hn::LoadU(d, a + i * a_row + p);
    HWY_UNROLL(8)
    for (int j = 0; j < kColumns; ++j) dot_step<kRows, kColumns, V, T>(left, hn::LoadU(d, column[j] + p), sum, j);
  }
  if (p < k) {
    HWY_UNROLL(4)
    for (int i = 0; i < kRows; ++i) left[i] = load_few(d, a + i * a_row + p, k - p);
    HWY_UNROLL(8)
    for (int j = 0; j < kColumns; ++j) dot_step<kRows, kColumns, V, T>(left, load_few(d, column[j] + p, k - p), sum, j);
  }
  HWY_UNROLL(4)
  for (int i = 0; i < kRows; ++i) HWY_UNROLL(2)
  for (int j = 0; j < kColumns; j += 4)
    sum_lanes(d, sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3], out + i * out_row + j);
}

// Most columns whose sums wait in the buffer together, so that finishing them goes by whole vectors.
constexpr int64_t kDotColumns = 32;

// One to three rows of a (along k) times n columns, to the buffer. A single row takes eight columns at a time: MulAdd
// needs that many sums under way.
template <class T>
void dot_rows(const Gemm<T>& g, int64_t rows, int64_t n, const T* a, int64_t a_row, const T* b, T* buffer) {
  for (int64_t j = 0; j < n; j += rows == 1 ? 8 : 4) {
    const T* columns = b + j * g.b_col;
    switch (rows) {
      case 1: dot_tile<1, 8>(g.k, a, a_row, columns, g.b_col, n - j, buffer + j, kDotColumns); break;
      case 2: dot_tile<2, 4>(g.k, a, a_row, columns, g.b_col, n - j, buffer + j, kDotColumns); break;
      default: dot_tile<3, 4>(g.k, a, a_row, columns, g.b_col, n - j, buffer + j, kDotColumns); break;
    }
  }
}

// The whole product g (one of a batch), with b along k; `scratch` takes a's rows when they are not.
template <class T>
void run_dots(const Gemm<T>& g, T* scratch) {
  HWY_ALIGN T buffer[3 * kDotColumns];
  const T* a = g.a;
  int64_t a_row = g.a_row;
  if (g.a_col != 1) {
    pack_along_k(g.m, g.k, g.a, g.a_row, g.a_col, scratch);
    a = scratch;
    a_row = g.k;
  }
  for (int64_t j = 0; j < g.n; j += kDotColumns) {
    const int64_t n = std::min(kDotColumns, g.n - j);
    int64_t rows;
    for (int64_t i = 0; i < g.m; i += rows) {
      rows = g.m - i == 4 ? 2 : std::min<int64_t>(3, g.m - i);
      dot_rows(g, rows, n, a + i * a_row, a_row, g.b + j * g.b_col, buffer);
      const Output<T> out{.c = g.c + i * g.c_row + j * g.c_col,
                          .c_row = g.c_row,
                          .alpha = g.alpha,
                          .add = g.accumulate,
                          .column_bias = g.column_bias != nullptr ? g.column_bias + j : nullptr,
                          .row_bias = g.row_bias != nullptr ? g.row_bias + i : nullptr};
      finish_buffer(buffer, kDotColumns, rows, n, out, g.c_col, g.activation);
    }
  }
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
