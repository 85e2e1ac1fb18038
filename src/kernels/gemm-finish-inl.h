// Results that pass through a buffer on their way to c, because c's rows are not whole vectors or lie scattered.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/gemm-pack-inl.h"
#include "kernels/gemm-tile-inl.h"

#if defined(INGOT_KERNELS_GEMM_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_GEMM_FINISH_INL_H_
#undef INGOT_KERNELS_GEMM_FINISH_INL_H_
#else
#define INGOT_KERNELS_GEMM_FINISH_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A part of c, and its place in a buffer whose rows are whole vectors.
template <class T>
struct Window {
  T* c;
  int64_t c_row, c_col, rows, columns;
  T* buffer;
  int64_t buffer_row;
};

template <class T>
void fetch(const Window<T>& w) {
  for (int64_t i = 0; i < w.rows; ++i) {
    const T* c = w.c + i * w.c_row;
    T* to = w.buffer + i * w.buffer_row;
    if (w.c_col == 1) {
      copy_few(to, c, w.columns);
    } else {
      for (int64_t j = 0; j < w.columns; ++j) to[j] = c[j * w.c_col];
    }
  }
}

template <class T>
void deliver(const Window<T>& w) {
  for (int64_t i = 0; i < w.rows; ++i) {
    T* c = w.c + i * w.c_row;
    const T* from = w.buffer + i * w.buffer_row;
    if (w.c_col == 1) {
      copy_few(c, from, w.columns);
    } else {
      for (int64_t j = 0; j < w.columns; ++j) c[j * w.c_col] = from[j];
    }
  }
}

// What finish_tile does in registers, from sums in rows `sums_row` apart to the buffer, which holds c when out.add.
// Sums and column biases are padded to whole vectors.
template <class T>
void finish_sums(const T* HWY_RESTRICT sums, int64_t sums_row, const Window<T>& w, const Output<T>& out) {
  const hn::ScalableTag<T> d;
  const auto alpha = hn::Set(d, out.alpha);
  for (int64_t i = 0; i < w.rows; ++i)
    for (int64_t j = 0; j < w.columns; j += kLanes<T>) {
      T* to = w.buffer + i * w.buffer_row + j;
      auto x = hn::LoadU(d, sums + i * sums_row + j);
      x = out.add ? hn::MulAdd(x, alpha, hn::LoadU(d, to)) : hn::Mul(x, alpha);
      if (out.column_bias != nullptr) x = hn::Add(x, hn::LoadU(d, out.column_bias + j));
      if (out.row_bias != nullptr) x = hn::Add(x, hn::Set(d, out.row_bias[i]));
      if (out.relu) x = hn::Max(hn::Zero(d), x);
      hn::StoreU(x, d, to);
    }
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
