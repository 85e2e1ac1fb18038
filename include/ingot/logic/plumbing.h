// Written by tools/opgen.py from the blocks in src/logic: change those and run `./dev generate`.
// What gradients and fused forms are made of. Plans put these in; nobody needs to call them.
// clang-format off
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/options.h"

namespace ingot::logic {

// algebra ops ---------------------------------------------------------------------------------------------------------

/// Gradients of algebra_matmul by a and by b.
INGOT_API std::array<Tensor, 2> algebra_matmul_grad(const Tensor& dy, const Tensor& y, const Tensor& a, const Tensor& b, std::string_view algebra, double p = 2);
INGOT_API void algebra_matmul_grad_into(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& y, const Tensor& a, const Tensor& b, std::string_view algebra, double p = 2);

/// Gradient of algebra_fold.
INGOT_API Tensor algebra_fold_grad(const Tensor& dy, const Tensor& y, const Tensor& x, std::string_view algebra, double p = 2);
INGOT_API void algebra_fold_grad_into(const Tensor& dst, const Tensor& dy, const Tensor& y, const Tensor& x, std::string_view algebra, double p = 2);

// diagram ops ---------------------------------------------------------------------------------------------------------

/// Gradient of decision_diagram by the weights.
INGOT_API Tensor decision_diagram_grad(const Tensor& dy, const Tensor& weights, const Tensor& nodes);
INGOT_API void decision_diagram_grad_into(const Tensor& dst, const Tensor& dy, const Tensor& weights, const Tensor& nodes);

}  // namespace ingot::logic
