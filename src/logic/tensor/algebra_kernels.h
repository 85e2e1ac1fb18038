// Products of matrices over an algebra: loops over raw, contiguous memory.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ingot/base/threads.h"

namespace ingot::logic {

/// The algebras of real numbers that are not + and ·, for which there is GEMM.
enum class RealAlgebra : uint8_t {
  kMaxMin,
  kMaxProduct,
  kLukasiewicz,
  kMinPlus,
  kLogSumExp,
  kNoisyOr,
  kPMean,
};

/// Does ⊕ choose one of its operands?
constexpr bool selects(RealAlgebra algebra) {
  return algebra >= RealAlgebra::kMaxMin && algebra <= RealAlgebra::kMinPlus;
}
/// Does ⊗ add?
constexpr bool adds(RealAlgebra algebra) {
  return algebra == RealAlgebra::kMinPlus || algebra == RealAlgebra::kLogSumExp;
}
/// The ⊕ of nothing.
double zero_of(RealAlgebra algebra);

/// Sizes of c = a ⊗ b summed by ⊕: a [batch, m, k], b [batch, k, n], c [batch, m, n].
struct MatrixSizes {
  int64_t batch, m, n, k;
};

template <class T>
struct AlgebraMatmul {
  RealAlgebra algebra;
  double p;  // of p-means
  MatrixSizes sizes;
  const T *a, *b;  // b null: the ⊕ of a alone, and n is 1
  T* c;
};

template <class T>
void algebra_matmul(const AlgebraMatmul<T>& x, const Team& team);

/// The gradients of c by a and b (no db where there is no b). Selecting algebras send all of it to the first of the best.
template <class T>
struct AlgebraMatmulGrad {
  RealAlgebra algebra;
  double p;
  MatrixSizes sizes;
  const T *dc, *a, *b, *c;
  T *da, *db;
};

size_t algebra_matmul_grad_scratch(const MatrixSizes& sizes, size_t element_size);
template <class T>
void algebra_matmul_grad(const AlgebraMatmulGrad<T>& x, void* scratch, const Team& team);

/// Over ∨ and ∧ of bytes 0 and 1. Scratch for packed bits.
size_t boolean_matmul_scratch(const MatrixSizes& sizes);
void boolean_matmul(const MatrixSizes& sizes, const uint8_t* a, const uint8_t* b, uint8_t* c, void* scratch,
                    const Team& team);

/// Over + and · of whole numbers, which wrap.
void counting_matmul(const MatrixSizes& sizes, const int64_t* a, const int64_t* b, int64_t* c, const Team& team);

}  // namespace ingot::logic
