// Written by tools/opgen.py from the blocks in src/logic: change those and run `./dev generate`.
// Every op has two forms: the first returns a new tensor; `_into` writes to a destination of exactly the result's shape
// and type and allocates nothing.
// clang-format off
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/options.h"
#include "ingot/ops/op.h"

namespace ingot::logic {

/// All ops of this library, for add_ops().
INGOT_API std::span<const Op* const> ops();

// algebra ops ---------------------------------------------------------------------------------------------------------

/// Matrix product over an algebra of real numbers (max-min, max-product, lukasiewicz, min-plus, log-sum-exp, noisy-or, p-mean): a [batch, m, k] and b [batch, k, n] to the ⊕ over k of a ⊗ b, [batch, m, n]. Where ⊕ selects, the gradient goes to the first of the best.
INGOT_API Tensor algebra_matmul(const Tensor& a, const Tensor& b, std::string_view algebra, double p = 2);
INGOT_API void algebra_matmul_into(const Tensor& dst, const Tensor& a, const Tensor& b, std::string_view algebra, double p = 2);

/// The ⊕ of every row of x [m, k] over an algebra of real numbers (as algebra_matmul's), to [m]; the gradient goes to the first of the best where ⊕ selects.
INGOT_API Tensor algebra_fold(const Tensor& x, std::string_view algebra, double p = 2);
INGOT_API void algebra_fold_into(const Tensor& dst, const Tensor& x, std::string_view algebra, double p = 2);

/// Boolean matrix product: a [batch, m, k] and b [batch, k, n] of bool to the ∨ over k of a ∧ b, [batch, m, n]. Large ones are packed into bits.
INGOT_API Tensor boolean_matmul(const Tensor& a, const Tensor& b);
INGOT_API void boolean_matmul_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// Matrix product of whole numbers: a [batch, m, k] and b [batch, k, n] of i64 to [batch, m, n]; without b the sum of a's rows, [batch, m, 1]. It wraps, as sums of integers do.
INGOT_API Tensor counting_matmul(const Tensor& a, const Tensor& b);
INGOT_API void counting_matmul_into(const Tensor& dst, const Tensor& a, const Tensor& b);

// diagram ops ---------------------------------------------------------------------------------------------------------

/// How probable boolean functions of independent coins are: weights [batch, coins] are the probabilities of the coins, and where coin nodes[k, 0] falls, node k has the value of nodes[k, 2], else of nodes[k, 1] (i32 [n, 3]; 0 is false, 1 true, 2 + j the node j before it); to the values of the last `outputs` nodes, [batch, outputs].
INGOT_API Tensor decision_diagram(const Tensor& weights, const Tensor& nodes, int64_t outputs);
INGOT_API void decision_diagram_into(const Tensor& dst, const Tensor& weights, const Tensor& nodes, int64_t outputs);

}  // namespace ingot::logic
