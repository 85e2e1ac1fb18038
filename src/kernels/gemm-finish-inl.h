// What happens to sums that wait in a buffer instead of registers: narrow tiles, any strides of c, every activation.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/activation.h"
#include "kernels/gemm-pack-inl.h"
#include "kernels/gemm-tile-inl.h"
#include "kernels/math-exp-inl.h"

#if defined(INGOT_KERNELS_GEMM_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_GEMM_FINISH_INL_H_
#undef INGOT_KERNELS_GEMM_FINISH_INL_H_
#else
#define INGOT_KERNELS_GEMM_FINISH_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V activate(D d, V x, Activation activation) {
  switch (activation) {
    case Activation::kNone: return x;
    case Activation::kRelu: return hn::Max(hn::Zero(d), x);
    case Activation::kSigmoid: return Sigmoid(d, x);
    case Activation::kTanh: return Tanh(d, x);
    case Activation::kGelu: return GeluTanh(d, x);
    case Activation::kSilu: return Silu(d, x);
  }
  return x;
}

// Does with a vector of sums what finish_tile does, in the same order.
template <class D, class V = hn::Vec<D>, class T = hn::TFromD<D>>
HWY_INLINE V finish_vector(D d, V sum, V c, V column_bias, const T* row_bias, const Output<T>& out,
                           Activation activation) {
  const V alpha = hn::Set(d, out.alpha);
  V x = out.add ? hn::MulAdd(sum, alpha, c) : hn::Mul(sum, alpha);
  if (out.column_bias != nullptr) x = hn::Add(x, column_bias);
  if (row_bias != nullptr) x = hn::Add(x, hn::Set(d, *row_bias));
  return activate(d, x, activation);
}

// A buffer of rows × columns sums (rows of whole vectors, `buffer_row` apart) to c.
template <class T>
void finish_buffer(const T* HWY_RESTRICT buffer, int64_t buffer_row, int64_t rows, int64_t columns,
                   const Output<T>& out, int64_t c_col, Activation activation) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kWidth = kLanes<T>;
  HWY_ALIGN T lane[kLanes<T>] = {};
  for (int64_t i = 0; i < rows; ++i) {
    const T* row_bias = out.row_bias != nullptr ? out.row_bias + i : nullptr;
    for (int64_t j = 0; j < columns; j += kWidth) {
      const int64_t width = std::min(kWidth, columns - j);
      const auto sum = hn::LoadU(d, buffer + i * buffer_row + j);
      T* c = out.c + i * out.c_row + j * c_col;
      auto bias = hn::Zero(d), old = hn::Zero(d);
      if (out.column_bias != nullptr)
        bias = width == kWidth ? hn::LoadU(d, out.column_bias + j) : load_few(d, out.column_bias + j, width);
      if (width == kWidth && c_col == 1) {
        if (out.add) old = hn::LoadU(d, c);
        hn::StoreU(finish_vector(d, sum, old, bias, row_bias, out, activation), d, c);
        continue;
      }
      if (out.add) {
        for (int64_t q = 0; q < width; ++q) lane[q] = c[q * c_col];
        old = hn::Load(d, lane);
      }
      hn::Store(finish_vector(d, sum, old, bias, row_bias, out, activation), d, lane);
      if (c_col == 1) {
        copy_few(c, lane, width);
      } else {
        for (int64_t q = 0; q < width; ++q) c[q * c_col] = lane[q];
      }
    }
  }
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
