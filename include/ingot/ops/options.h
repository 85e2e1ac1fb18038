// Arguments and results that come in groups.
#pragma once
#include "ingot/base/tensor.h"
#include "ingot/ops/op.h"

namespace ingot {

/// A list of tensors passed to an op: braces, a vector or a span, without copying.
class Tensors {
 public:
  Tensors(std::initializer_list<Tensor> list) : data_(std::data(list)), size_(list.size()) {}
  Tensors(const std::vector<Tensor>& list) : data_(list.data()), size_(list.size()) {}
  Tensors(std::span<const Tensor> list) : data_(list.data()), size_(list.size()) {}
  size_t size() const { return size_; }
  const Tensor& operator[](size_t i) const { return data_[i]; }

 private:
  const Tensor* data_;
  size_t size_;
};

/// Result i of several that have names (ops.h); an Error if there are fewer.
INGOT_API const Tensor& result_at(std::initializer_list<const Tensor*> results, size_t i);

/// How a convolution slides. Lists have one number per spatial axis; empty means 1 (stride, dilation) or 0 (padding).
struct ConvOptions {
  Dims stride = {}, padding = {}, dilation = {};
  int64_t groups = 1;
  void put(Attrs& attrs) const {
    attrs.set("stride", stride).set("padding", padding).set("dilation", dilation).set("groups", groups);
  }
};

/// How a pooling window slides. An empty stride means the kernel's size.
struct PoolOptions {
  Dims kernel = {}, stride = {}, padding = {}, dilation = {};
  bool ceil_mode = false;         // a last window that sticks out counts
  bool count_include_pad = true;  // average pooling: padding counts as zeros
  void put(Attrs& attrs) const {
    attrs.set("kernel", kernel).set("stride", stride).set("padding", padding).set("dilation", dilation);
    attrs.set("ceil_mode", ceil_mode).set("count_include_pad", count_include_pad);
  }
};

}  // namespace ingot
