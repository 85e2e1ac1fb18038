// Packing for the matrix product: panels of b as the micro-kernel reads them, blocks of a as tiles of rows.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/gemm-tile-inl.h"

#if defined(INGOT_KERNELS_GEMM_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_GEMM_PACK_INL_H_
#undef INGOT_KERNELS_GEMM_PACK_INL_H_
#else
#define INGOT_KERNELS_GEMM_PACK_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elements of a 128-bit block: what the transposition below takes from each row at a time.
template <class T>
constexpr int64_t kBlock = 16 / sizeof(T);

template <class T>
HWY_INLINE void copy_few(T* HWY_RESTRICT to, const T* HWY_RESTRICT from, int64_t n) {
  for (; n >= 4; n -= 4, to += 4, from += 4) std::memcpy(to, from, 4 * sizeof(T));
  if (n & 2) std::memcpy(to, from, 2 * sizeof(T)), to += 2, from += 2;
  if (n & 1) *to = *from;
}

// The first n (at least one, fewer than a vector) elements; the rest of the vector is zero.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET <= HWY_AVX3
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_few(D d, const T* from, int64_t n) {
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, from);
}
#else  // elsewhere a masked load may touch all of the vector's memory; out of line, because it is long and tails are rare
template <class D, class T = hn::TFromD<D>>
HWY_NOINLINE hn::Vec<D> load_few(D d, const T* from, int64_t n) {
  HWY_ALIGN T all[HWY_LANES(T)] = {};
  copy_few(all, from, n);
  return hn::Load(d, all);
}
#endif

// One block of each of the rows 0, kBlock, 2·kBlock, … (`stride` apart), side by side in a vector. Rows beyond the last
// of `rows` repeat the last one.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* from, int64_t stride, int64_t first, int64_t rows) {
  if constexpr (static_cast<int64_t>(hn::MaxLanes(D())) == kBlock<T>) {
    return hn::LoadU(d, from + std::min<int64_t>(first, rows - 1) * stride);
  } else {
    const hn::Half<D> half;
    constexpr int64_t kUpper = static_cast<int64_t>(hn::MaxLanes(D())) / 2;
    return hn::Combine(d, load_blocks(half, from, stride, first + kUpper, rows),
                       load_blocks(half, from, stride, first, rows));
  }
}

// Transposes `rows` (up to a vector) rows of one block each: out[p] holds element p of every row.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void transpose(D d, const T* from, int64_t stride, int64_t rows, hn::Vec<D> (&out)[kBlock<T>]) {
  if constexpr (sizeof(T) == 4) {
    const hn::Repartition<double, D> wide;
    const auto r0 = load_blocks(d, from, stride, 0, rows), r1 = load_blocks(d, from, stride, 1, rows);
    const auto r2 = load_blocks(d, from, stride, 2, rows), r3 = load_blocks(d, from, stride, 3, rows);
    const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, r0, r1)),
               high01 = hn::BitCast(wide, hn::InterleaveUpper(d, r0, r1));
    const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, r2, r3)),
               high23 = hn::BitCast(wide, hn::InterleaveUpper(d, r2, r3));
    out[0] = hn::BitCast(d, hn::InterleaveLower(wide, low01, low23));
    out[1] = hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23));
    out[2] = hn::BitCast(d, hn::InterleaveLower(wide, high01, high23));
    out[3] = hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23));
  } else {
    const auto r0 = load_blocks(d, from, stride, 0, rows), r1 = load_blocks(d, from, stride, 1, rows);
    out[0] = hn::InterleaveLower(d, r0, r1);
    out[1] = hn::InterleaveUpper(d, r0, r1);
  }
}

// k rows of `width` columns of b, to rows of a whole panel (or half of one, when that is enough); the columns beyond
// are junk that only junk results see.
template <class T>
void pack_panel(int64_t k, int64_t width, const T* HWY_RESTRICT b, int64_t b_row, int64_t b_col, T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kWidth = kLanes<T>;
  const int64_t vectors = width > kWidth ? 2 : 1, to_row = vectors * kWidth;
  if (b_col == 1) {
    const int64_t last = width - (vectors - 1) * kWidth;  // in the last vector
    for (int64_t p = 0; p < k; ++p, b += b_row, to += to_row) {
      if (vectors == 2) hn::Store(hn::LoadU(d, b), d, to);
      const T* from = b + to_row - kWidth;
      hn::Store(last == kWidth ? hn::LoadU(d, from) : load_few(d, from, last), d, to + to_row - kWidth);
    }
    return;
  }
  int64_t p = 0;
  if (b_row == 1) {
    for (; p + kBlock<T> <= k; p += kBlock<T>) {
      for (int64_t v = 0; v < vectors; ++v) {
        hn::Vec<decltype(d)> column[kBlock<T>];
        transpose(d, b + p + v * kWidth * b_col, b_col, std::min<int64_t>(kWidth, width - v * kWidth), column);
        for (int64_t q = 0; q < kBlock<T>; ++q) hn::Store(column[q], d, to + (p + q) * to_row + v * kWidth);
      }
    }
  }
  for (; p < k; ++p) {
    for (int64_t j = 0; j < to_row; ++j) to[p * to_row + j] = j < width ? b[p * b_row + j * b_col] : T(0);
  }
}

// `rows` rows of a and k columns, to k groups of `rows` elements; `rows_below` more rows follow in memory. Whole
// vectors are stored, each over the surplus of the one before; the last groups go one by one, so nothing lands behind
// the end.
template <class T>
void pack_rows(int64_t k, int64_t rows, int64_t rows_below, const T* HWY_RESTRICT a, int64_t a_row, int64_t a_col,
               T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kWidth = kLanes<T>;
  constexpr int64_t kGroups = (kTileRows + kWidth - 1) / kWidth;
  const int64_t groups = (rows + kWidth - 1) / kWidth, surplus = groups * kWidth - rows;
  const int64_t whole = k - (surplus + rows - 1) / rows;
  int64_t p = 0;
  if (a_row == 1 && rows_below >= surplus) {
    for (; p < whole; ++p)
      for (int64_t group = 0; group < groups; ++group)
        hn::StoreU(hn::LoadU(d, a + p * a_col + group * kWidth), d, to + p * rows + group * kWidth);
  } else if (a_col == 1) {
    for (; p + kBlock<T> <= whole; p += kBlock<T>) {
      hn::Vec<decltype(d)> column[kGroups][kBlock<T>];
      for (int64_t group = 0; group < groups; ++group)
        transpose(d, a + p + group * kWidth * a_row, a_row, rows - group * kWidth, column[group]);
      for (int64_t q = 0; q < kBlock<T>; ++q)
        for (int64_t group = 0; group < groups; ++group)
          hn::StoreU(column[group][q], d, to + (p + q) * rows + group * kWidth);
    }
  }
  for (; p < k; ++p)
    for (int64_t i = 0; i < rows; ++i) to[p * rows + i] = a[i * a_row + p * a_col];
}

// From row to row of what pack_along_k writes: never a power of two, which would crowd a few sets of the cache.
inline int64_t along_k_row(int64_t k) { return (k + 15) / 16 * 16 + 16; }

// m rows of a to rows that are contiguous along k.
template <class T>
void pack_along_k(int64_t m, int64_t k, const T* HWY_RESTRICT a, int64_t a_row, int64_t a_col, T* HWY_RESTRICT to,
                  int64_t to_row) {
  const hn::ScalableTag<T> d;
  const int64_t whole_m = a_row == 1 ? m / kBlock<T> * kBlock<T> : 0, whole_k = k / kLanes<T> * kLanes<T>;
  for (int64_t p = 0; p < whole_k; p += kLanes<T>) {
    for (int64_t i = 0; i < whole_m; i += kBlock<T>) {
      hn::Vec<decltype(d)> row[kBlock<T>];
      transpose(d, a + i + p * a_col, a_col, kLanes<T>, row);
      for (int64_t q = 0; q < kBlock<T>; ++q) hn::StoreU(row[q], d, to + (i + q) * to_row + p);
    }
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = i < whole_m ? whole_k : 0; p < k; ++p) to[i * to_row + p] = a[i * a_row + p * a_col];
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
