// Parameters in one block: what optimisers, checkpoints and averages each go over in one sweep.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/named_tensor.h"
#include "ingot/base/tensor.h"

namespace ingot {

/// A parameter to train: its name, and where its tensor is kept.
struct Parameter {
  std::string name;
  Tensor* tensor;
};

/// Parameters and their gradients in two contiguous slabs of the same order, each parameter at a multiple of 64 bytes
/// (what lies between is zero). Making a slab moves the parameters' elements into it and lets their tensors look there.
/// Tensors that look at the same elements (shared weights) are one parameter, under the first one's name. Other handles
/// still look at the old memory; a plan that does, because it was compiled before, says so when it is run. While a slab
/// lives, no second one can be made of its parameters: what it was made for would train memory that nobody looks at any
/// more.
class INGOT_API ParameterSlab {
 public:
  explicit ParameterSlab(std::vector<Parameter> parameters);
  /// All parameters, all gradients: vectors.
  const Tensor& values() const { return values_; }
  const Tensor& gradients() const { return gradients_; }
  size_t size() const { return parameters_.size(); }
  const std::string& name(size_t i) const { return parameters_[checked(i)].name; }
  /// Parameter i, and its gradient, as views of the slabs.
  const Tensor& value(size_t i) const { return parameters_[checked(i)].tensor; }
  const Tensor& gradient(size_t i) const { return parameter_gradients_[checked(i)]; }
  /// Elements of all parameters, without what lies between them.
  int64_t count() const { return count_; }
  std::span<const NamedTensor> named() const { return parameters_; }

 private:
  size_t checked(size_t i) const;
  std::vector<NamedTensor> parameters_;
  std::vector<Tensor> parameter_gradients_;
  Tensor values_, gradients_;
  int64_t count_ = 0;
  std::shared_ptr<const void> claim_;  // on the memory of values_
};

}  // namespace ingot
