// Gradients: graph to graph, inside a capture (see plan.h).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/options.h"

namespace ingot {

/// What to do about a tensor that the result does not depend on.
enum class Unused : uint8_t { kError, kZeros };

/// d sum(y) / d x for every x of `wrt`: inputs of the plan, bound parameters or values computed on the way. `y` is a
/// value of the capture under way. The results are values like any other: they can be used, and differentiated again.
/// An op without a gradient on the way from x to y is an Error that names it.
INGOT_API std::vector<Tensor> gradients(const Tensor& y, Tensors wrt, Unused unused = Unused::kError);
/// The same for named tensors: the Error about those that get no gradient lists their names.
INGOT_API std::vector<Tensor> gradients(const Tensor& y, std::span<const NamedTensor> wrt,
                                        Unused unused = Unused::kError);

struct ValueAndGrad {
  Tensor value;
  std::vector<Tensor> gradients;  // one per tensor of `wrt`, of its shape
};

/// The scalar fn() and its gradients. Inside a capture it records; outside one it compiles a plan, runs it once and
/// returns tensors with elements.
template <class F>
ValueAndGrad value_and_grad(F&& fn, Tensors wrt, Unused unused = Unused::kError);
template <class F>
ValueAndGrad value_and_grad(F&& fn, std::span<const NamedTensor> wrt, Unused unused = Unused::kError);

/// `x` as a constant for gradients().
INGOT_API Tensor stop_gradient(const Tensor& x);

/// fn(x…), whose inner values are not kept for the backward pass but computed again there: less memory, more time.
template <class F, class... X>
auto checkpoint(F&& fn, const X&... x);

// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

INGOT_API ValueAndGrad value_and_grad(const std::function<Tensor()>& fn, std::span<const NamedTensor> wrt,
                                      Unused unused);
INGOT_API std::vector<NamedTensor> unnamed(Tensors list);

/// Marks what is recorded while it lives as one region to compute again.
class INGOT_API Region {
 public:
  Region();
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
};

}  // namespace detail

template <class F>
ValueAndGrad value_and_grad(F&& fn, Tensors wrt, Unused unused) {
  return detail::value_and_grad(std::forward<F>(fn), detail::unnamed(wrt), unused);
}
template <class F>
ValueAndGrad value_and_grad(F&& fn, std::span<const NamedTensor> wrt, Unused unused) {
  return detail::value_and_grad(std::forward<F>(fn), wrt, unused);
}

template <class F, class... X>
auto checkpoint(F&& fn, const X&... x) {
  const detail::Region region;
  return std::forward<F>(fn)(x...);
}

}  // namespace ingot
