// Matrix product with any strides, batches and a fused epilogue; f32 and f64.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ingot/base/threads.h"
#include "kernels/activation.h"

namespace ingot::kernels {

/// How a team shares a product out: by what takes least time for it alone, or as its neighbours in a plan want it. The
/// bits of the result are the same.
enum class GemmSplit : uint8_t { kAuto, kRows, kColumns };

/// c = activation(alpha · a·b [+ c] [+ biases]) for `batch` pairs of an m×k and a k×n matrix. Strides count elements
/// and may be anything, also negative; a unit stride in either direction of a and b, and c_col == 1 or c_row == 1, are
/// fast. c must not overlap a or b.
template <class T>
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t a_row = 0, a_col = 1;  // element (i, p) is a[i * a_row + p * a_col]
  const T* b = nullptr;
  int64_t b_row = 0, b_col = 1;
  T* c = nullptr;
  int64_t c_row = 0, c_col = 1;
  T alpha = 1;
  bool accumulate = false;         // add to what c holds
  const T* column_bias = nullptr;  // n values, or null
  const T* row_bias = nullptr;     // m values, or null
  Activation activation = Activation::kNone;
  int64_t batch = 1, a_batch = 0, b_batch = 0, c_batch = 0;  // 0 shares the operand between the batches
  GemmSplit split = GemmSplit::kAuto;
  bool b_packed = false;  // b is what gemm_pack made; m and n are more than 1
};

/// The rows, columns and batches of c that one member of a team computes.
struct GemmPart {
  int64_t batch0, batch1, m0, m1, n0, n1;
};
template <class T>
GemmPart gemm_part(const Gemm<T>& g, int rank, int team_size);

/// Bytes of scratch (64-byte aligned) that gemm() needs with a team of at most `team_size`; strides do not change them.
template <class T>
size_t gemm_scratch(const Gemm<T>& g, int team_size);

/// A k×n matrix laid out as the kernel reads it, for products that meet it often: how many elements, and the work.
template <class T>
int64_t gemm_packed_size(int64_t k, int64_t n);
template <class T>
void gemm_pack(int64_t k, int64_t n, const T* b, int64_t b_row, int64_t b_col, T* packed);

/// Every member of the team calls it with the same arguments; no barrier inside, so the caller puts one before c is
/// read by another member. A result's bits depend on shapes and strides only, never on the team.
template <class T>
void gemm(const Gemm<T>& g, void* scratch, const Team& team);

/// Floating-point operations of the product, for the caller's choice between one thread and many.
template <class T>
double gemm_flops(const Gemm<T>& g) {
  return 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) *
         static_cast<double>(g.batch);
}

}  // namespace ingot::kernels
