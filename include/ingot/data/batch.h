// A batch: tensors by name.
//
//   step(batch.x, batch.y);
//   const Tensor& reward = batch["reward"];
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/named_tensor.h"
#include "ingot/base/tensor.h"
#include "ingot/graph/plan.h"

namespace ingot::data {

/// Tensors of some samples, which are counted along the first axis of each. The two that most data has are members,
/// undefined if there are none; all others have names of their own. "weight" [n] is what nn::Trainer takes for the
/// weights of the samples in the loss.
struct INGOT_API Batch {
  Tensor x, y;
  std::vector<NamedTensor> more = {};

  /// Samples.
  int64_t size() const;
  /// The tensor of that name, "x" and "y" included; an Error that lists the names if there is none.
  const Tensor& operator[](std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const Tensor* find(std::string_view name) const;
  /// Puts a tensor in, or another one in its place.
  void set(std::string_view name, const Tensor& tensor);
  /// Calls f(name, tensor) for x, y and the others in their order.
  template <class F>
  void each(F f) const {
    if (x.defined()) f(std::string_view("x"), x);
    if (y.defined()) f(std::string_view("y"), y);
    for (const NamedTensor& t : more) f(std::string_view(t.name), t.tensor);
  }
};

}  // namespace ingot::data
