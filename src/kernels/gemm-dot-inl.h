// Products of few rows, where b is read once and packing it would cost more than it saves: by vectors along k when its
// columns lie so, by whole rows when there is a single row of a.
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

// Rows times one chunk of columns, finished together so that it goes by whole vectors.
constexpr int64_t kMostDotRows = 3, kDotColumns = 32;

// One to three rows of a (along k) times n columns, to sums. A single row takes eight columns at a time: MulAdd needs
// that many sums under way.
template <class T>
void dot_rows(const Gemm<T>& g, int64_t rows, int64_t n, const T* a, int64_t a_row, const T* b, T* sums) {
  for (int64_t j = 0; j < n; j += rows == 1 ? 8 : 4) {
    const T* columns = b + j * g.b_col;
    switch (rows) {
      case 1: dot_tile<1, 8>(g.k, a, a_row, columns, g.b_col, n - j, sums + j, kDotColumns); break;
      case 2: dot_tile<2, 4>(g.k, a, a_row, columns, g.b_col, n - j, sums + j, kDotColumns); break;
      default: dot_tile<3, 4>(g.k, a, a_row, columns, g.b_col, n - j, sums + j, kDotColumns); break;
    }
  }
}

// The sums of rows i… and columns j… of the product g, to c.
template <class T>
void finish_rows(const Gemm<T>& g, int64_t i, int64_t j, int64_t rows, int64_t columns, const T* sums,
                 int64_t sums_row) {
  HWY_ALIGN T buffer[kMostDotRows * kDotColumns], bias[kDotColumns];
  for (int64_t j0 = 0; j0 < columns; j0 += kDotColumns) {
    const int64_t n = std::min(kDotColumns, columns - j0);
    const Window<T> window{g.c + i * g.c_row + (j + j0) * g.c_col, g.c_row, g.c_col, rows, n, buffer, kDotColumns};
    if (g.column_bias != nullptr) copy_few(bias, g.column_bias + j + j0, n);
    if (g.accumulate) fetch(window);
    const Output<T> out{.c = nullptr,
                        .c_row = 0,
                        .alpha = g.alpha,
                        .add = g.accumulate,
                        .column_bias = g.column_bias != nullptr ? bias : nullptr,
                        .row_bias = g.row_bias != nullptr ? g.row_bias + i : nullptr,
                        .relu = g.activation == Activation::kRelu};
    finish_sums(sums + j0, sums_row, window, out);
    deliver(window);
  }
}

// The whole product g (one of a batch), with b along k; `scratch` takes a's rows when they are not.
template <class T>
void run_dots(const Gemm<T>& g, T* scratch) {
  HWY_ALIGN T sums[kMostDotRows * kDotColumns];
  const T* a = g.a;
  int64_t a_row = g.a_row;
  if (g.a_col != 1) {
    a_row = along_k_row(g.k);
    pack_along_k(g.m, g.k, g.a, g.a_row, g.a_col, scratch, a_row);
    a = scratch;
  }
  for (int64_t j = 0; j < g.n; j += kDotColumns) {
    const int64_t n = std::min(kDotColumns, g.n - j);
    int64_t rows;
    for (int64_t i = 0; i < g.m; i += rows) {
      rows = g.m - i == 4 ? 2 : std::min(kMostDotRows, g.m - i);
      dot_rows(g, rows, n, a + i * a_row, a_row, g.b + j * g.b_col, sums);
      finish_rows(g, i, j, rows, n, sums, kDotColumns);
    }
  }
}

// kSteps steps of k of a single row: its elements times rows of b, added to n sums.
template <int kSteps, class T>
void add_rows(int64_t n, const T* a, int64_t a_col, const T* HWY_RESTRICT b, int64_t b_row, T* HWY_RESTRICT sums) {
  const hn::ScalableTag<T> d;
  hn::Vec<decltype(d)> left[kSteps];
  HWY_UNROLL(8)
  for (int q = 0; q < kSteps; ++q) left[q] = hn::Set(d, a[q * a_col]);
  int64_t j = 0;
  HWY_UNROLL(2)
  for (; j + kLanes<T> <= n; j += kLanes<T>) {
    auto sum = hn::Load(d, sums + j);
    HWY_UNROLL(8)
    for (int q = 0; q < kSteps; ++q) sum = hn::MulAdd(left[q], hn::LoadU(d, b + q * b_row + j), sum);
    hn::Store(sum, d, sums + j);
  }
  if (j < n) {
    auto sum = hn::Load(d, sums + j);
    HWY_UNROLL(8)
    for (int q = 0; q < kSteps; ++q) sum = hn::MulAdd(left[q], load_few(d, b + q * b_row + j, n - j), sum);
    hn::Store(sum, d, sums + j);
  }
}

// A single row times a row-major b: b is read as it lies, a few of its rows at a time, and the sums stay in the first
// cache.
template <class T>
void run_row(const Gemm<T>& g) {
  constexpr int64_t kColumns = 1024;
  HWY_ALIGN T sums[kColumns];
  for (int64_t j = 0; j < g.n; j += kColumns) {
    const int64_t n = std::min(kColumns, g.n - j);
    std::fill(sums, sums + n + std::min(kColumns - n, kLanes<T>), T(0));
    const T* b = g.b + j;
    int64_t p = 0;
    for (; p + 8 <= g.k; p += 8) add_rows<8>(n, g.a + p * g.a_col, g.a_col, b + p * g.b_row, g.b_row, sums);
    for (; p < g.k; ++p) add_rows<1>(n, g.a + p * g.a_col, g.a_col, b + p * g.b_row, g.b_row, sums);
    finish_rows(g, 0, j, 1, n, sums, kColumns);
  }
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
