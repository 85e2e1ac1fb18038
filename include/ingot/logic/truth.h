// Truth between 0 and 1: connectives from t-norms, and quantifiers. All of it is composed of element-wise ops and
// reductions, which a plan fuses, and differentiates.
#pragma once
#include <string_view>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"

namespace ingot::logic {

/// What "and" means; "or" is its dual, 1 - T(1 - a, 1 - b).
enum class TNorm {
  kGodel,        // min(a, b)
  kProduct,      // a b
  kLukasiewicz,  // max(0, a + b - 1)
  kDrastic,      // the other one where one is 1, else 0
  kNilpotent,    // min(a, b) where a + b > 1, else 0
  kHamacher,     // a b / (a + b - a b)
};

/// What "a implies b" means.
enum class Implies {
  kResiduum,  // the largest z with T(a, z) ≤ b
  kStrong,    // (not a) or b
};

/// What "not a" means.
enum class Not {
  kStandard,  // 1 - a
  kResidual,  // a implies 0, by the residuum
};

/// What "for all" and "there is" mean.
enum class Quantify {
  kMinMax,     // the least; the greatest
  kProduct,    // the product; 1 - Π(1 - x), noisy-or
  kPMean,      // 1 - (mean of (1 - x)^p)^(1/p); (mean of x^p)^(1/p)
  kGeometric,  // the geometric mean, so that it does not vanish over many samples; noisy-or
};

/// One reading of logic. The defaults are those of Logic Tensor Networks, with their stable product.
struct Semantics {
  TNorm norm = TNorm::kProduct;
  Implies implies = Implies::kStrong;
  Not negation = Not::kStandard;
  Quantify quantify = Quantify::kPMean;
  double p_forall = 2, p_exists = 2;
  /// Keeps the product and the p-means away from 0 and 1, where their gradients vanish or explode; 0: exact.
  double stable = 1e-4;
};

/// By name: godel, product, lukasiewicz, drastic, nilpotent, hamacher (each with its residuum, least and greatest, the
/// product with products), ltn, or probability (the product, "not a or b", geometric means).
INGOT_API Semantics semantics(std::string_view name);

/// Connectives, element by element, with broadcasting; f32 and f64.
INGOT_API Tensor conjunction(const Tensor& a, const Tensor& b, const Semantics& s = {});
INGOT_API Tensor disjunction(const Tensor& a, const Tensor& b, const Semantics& s = {});
INGOT_API Tensor negation(const Tensor& a, const Semantics& s = {});
INGOT_API Tensor implication(const Tensor& a, const Tensor& b, const Semantics& s = {});
/// (a implies b) and (b implies a).
INGOT_API Tensor equivalence(const Tensor& a, const Tensor& b, const Semantics& s = {});

/// Quantifiers over `axes` (all if none are named). With a guard (bool, broadcast to x), only elements where it is true
/// count: of none of them everything is true, and nothing is there.
INGOT_API Tensor for_all(const Tensor& x, const Dims& axes = {}, const Semantics& s = {}, const Tensor& guard = {});
INGOT_API Tensor exists(const Tensor& x, const Dims& axes = {}, const Semantics& s = {}, const Tensor& guard = {});
/// There are `count` different ones: the "and" of the `count` truest elements, by any t-norm the best choice of witnesses.
INGOT_API Tensor at_least(int64_t count, const Tensor& x, const Dims& axes = {}, const Semantics& s = {},
                          const Tensor& guard = {});

}  // namespace ingot::logic
