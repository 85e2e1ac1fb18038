// The micro-kernel of the matrix product: a tile of c, held in registers while it runs along k.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

#if defined(INGOT_KERNELS_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_GEMM_TILE_INL_H_
#undef INGOT_KERNELS_GEMM_TILE_INL_H_
#else
#define INGOT_KERNELS_GEMM_TILE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of a tile that is two vectors wide: the sums fill the registers but for b, one element of a and a spare.
#if HWY_TARGET == HWY_NEON || HWY_TARGET <= HWY_AVX3
constexpr int kTileRows = 8;
#else
constexpr int kTileRows = 6;
#endif
template <class T>
constexpr int64_t kLanes = HWY_LANES(T);
template <class T>
constexpr int64_t kPanel = 2 * kLanes<T>;

// What a tile does with its sums: c = relu(alpha · sums [+ c] [+ biases]).
template <class T>
struct Output {
  T* c;
  int64_t c_row;
  T alpha;
  bool add = false;
  const T* column_bias = nullptr;
  const T* row_bias = nullptr;
  bool relu = false;
};

template <int kRows, int kVectors, class T>
HWY_INLINE void finish_tile(hn::Vec<hn::ScalableTag<T>> (&sum)[kRows][kVectors], const Output<T>& out) {
  const hn::ScalableTag<T> d;
  T* HWY_RESTRICT c = out.c;
  const auto alpha = hn::Set(d, out.alpha);
  if (out.add) {
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v)
      sum[i][v] = hn::MulAdd(sum[i][v], alpha, hn::LoadU(d, c + i * out.c_row + v * kLanes<T>));
  } else if (out.alpha != T(1)) {
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Mul(sum[i][v], alpha);
  }
  if (out.column_bias != nullptr) {
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Add(sum[i][v], hn::LoadU(d, out.column_bias + v * kLanes<T>));
  }
  if (out.row_bias != nullptr) {
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Add(sum[i][v], hn::Set(d, out.row_bias[i]));
  }
  if (out.relu) {
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Max(hn::Zero(d), sum[i][v]);  // in this order NaN stays NaN
  }
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[i][v], d, c + i * out.c_row + v * kLanes<T>);
}

// kRows rows of a times kVectors vectors of columns of b. `a_stride` goes from row to row when a is row-major, else
// from k to k. Each element is one chain of MulAdd along k, so its bits do not depend on the tile it falls into. With
// kKeepB the rows of b are also left in `panel`, one behind the other: packing that costs next to nothing.
template <int kRows, int kVectors, bool kRowMajorA, bool kKeepB, class T>
void tile(int64_t k, const T* HWY_RESTRICT a, int64_t a_stride, const T* HWY_RESTRICT b, int64_t b_stride,
          T* HWY_RESTRICT panel, const Output<T>& out) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  V sum[kRows][kVectors];
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    hwy::Prefetch(out.c + i * out.c_row);
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(d);
  }
  HWY_UNROLL(4)
  for (int64_t p = 0; p < k; ++p) {
    V right[kVectors];
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      right[v] = hn::LoadU(d, b + v * kLanes<T>);
      if constexpr (kKeepB) hn::Store(right[v], d, panel + v * kLanes<T>);
    }
    if constexpr (kKeepB) panel += kVectors * kLanes<T>;
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      const V left = hn::Set(d, kRowMajorA ? a[i * a_stride] : a[i]);
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(left, right[v], sum[i][v]);
    }
    a += kRowMajorA ? 1 : a_stride;
    b += b_stride;
  }
  finish_tile<kRows, kVectors, T>(sum, out);
}

template <class T>
using TileFn = void (*)(int64_t, const T*, int64_t, const T*, int64_t, T*, const Output<T>&);

// tile<rows, kVectors, kRowMajorA> for rows from 1 to kMost.
template <class T, int kVectors, bool kRowMajorA, bool kKeepB, int kMost>
TileFn<T> choose_tile(int64_t rows) {
  if constexpr (kMost > 1) {
    if (rows != kMost) return choose_tile<T, kVectors, kRowMajorA, kKeepB, kMost - 1>(rows);
  }
  return &tile<kMost, kVectors, kRowMajorA, kKeepB, T>;
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
