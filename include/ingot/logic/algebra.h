// Contractions over an algebra: "for all values of the indices that the result does not name, combine the operands by ⊗
// and their products by ⊕". The real numbers give einsum, ∨ and ∧ give a join and projection of relations, min and + give
// shortest paths. Which laws an algebra has decides what may be done with a contraction; nothing is hoped for.
#pragma once
#include <span>
#include <string_view>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/ops/options.h"

namespace ingot::logic {

/// A row of the table of algebras.
struct Algebra {
  const char* name;
  const char *sum, *product;  // ⊕ and ⊗, as people write them
  double zero, one;           // the ⊕ of nothing and the ⊗ of nothing
  DType dtype;                // of its elements; kF32 stands for f32 and f64
  bool commutative;           // ⊗ is (all ⊕ are)
  bool distributive;          // ⊗ over ⊕: contractions may be reordered, and summed early
  bool idempotent;            // x ⊕ x = x: a fixpoint may be computed from what is new
  bool absorptive;            // x ⊕ (x ⊗ y) = x, for elements between zero and one: proofs need no cycles
  const char* gradient;       // how it differentiates; null if it does not
};

/// All of them: boolean, counting, real, max-min, max-product, lukasiewicz, min-plus, log-sum-exp, noisy-or, p-mean.
INGOT_API std::span<const Algebra> algebras();
/// The one of that name; an Error that lists them if there is none.
INGOT_API const Algebra& algebra(std::string_view name);

struct ContractOptions {
  double p = 2;            // of the p-mean
  int64_t most_bytes = 0;  // intermediate results stay within so many bytes, slice by slice if need be; 0: no limit
};

/// xs contracted by an equation as einsum's, "ij,jk->ik", over an algebra. Where ⊗ distributes over ⊕ the operands are
/// taken in the order that costs least; elsewhere all of them are multiplied before anything is summed.
INGOT_API Tensor contract(Tensors xs, std::string_view equation, std::string_view algebra,
                          const ContractOptions& options = {});

/// a ⊗ b, element by element, with broadcasting.
INGOT_API Tensor times(const Tensor& a, const Tensor& b, std::string_view algebra);
/// a ⊕ b, element by element, with broadcasting; not for p-mean, which has no sum of two.
INGOT_API Tensor plus(const Tensor& a, const Tensor& b, std::string_view algebra);

}  // namespace ingot::logic
