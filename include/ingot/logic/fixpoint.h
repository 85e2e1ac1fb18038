// Rules that use their own conclusions, on tensors: a fixpoint over an algebra, as one step of a plan.
//
//   Tensor path = logic::fixpoint([&](const Tensor& p) { return logic::contract({p, edges}, "xy,yz->xz", "max-product"); },
//                                 edges, "max-product");
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/graph/loop.h"
#include "ingot/ops/options.h"

namespace ingot::logic {

struct FixpointOptions {
  /// Through the fixpoint itself, or through `most` rounds that the plan keeps: see LoopOptions. For max-min, where what is
  /// best may have been best in a circle, only rounds tell where a value came from.
  LoopOptions::Gradient gradient = LoopOptions::Gradient::kAdjoint;
  double epsilon = 1e-6;  // of an algebra whose ⊕ is not idempotent: it ends when no number changes by more
  int64_t most = 1000;    // rounds; more are an Error
  std::string name = "fixpoint";
};

/// The least x = facts ⊕ rules(x), all relations of a recursion at once. Where ⊕ is idempotent it ends when a round changes
/// nothing, else when hardly anything changes; an algebra without a ⊕ of two (p-mean) is refused. In a capture it is one
/// step of the plan, whose bytes are known before the first run.
INGOT_API std::vector<Tensor> fixpoint(const LoopBody& rules, Tensors facts, std::string_view algebra,
                                       const FixpointOptions& options = {});
/// The same for one relation.
INGOT_API Tensor fixpoint(const std::function<Tensor(const Tensor&)>& rules, const Tensor& facts,
                          std::string_view algebra, const FixpointOptions& options = {});

}  // namespace ingot::logic
