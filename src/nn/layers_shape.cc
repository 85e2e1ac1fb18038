// Layers that move elements, and layers made of layers.
#include "ingot/base/error.h"
#include "ingot/nn/layers.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::nn {

Tensor Flatten::forward(const Tensor& x) { return flatten(contiguous(x), first_, last_); }

Tensor Unflatten::forward(const Tensor& x) {
  Dims shape = x.shape();
  int at = normalize_axis("axis", axis_, x.rank());
  shape.erase(at);
  for (const int64_t n : shape_) shape.insert(at++, n);
  return reshape(contiguous(x), shape);
}

Tensor Reshape::forward(const Tensor& x) {
  if (x.rank() == 0) throw Error(ErrorKind::kShape, "the input is a scalar — it must be a batch, [n, …]");
  Dims shape = shape_;
  shape.insert(0, x.size(0));
  return reshape(contiguous(x), shape);
}

Tensor Squeeze::forward(const Tensor& x) { return squeeze(x, {axis_}); }
Tensor Unsqueeze::forward(const Tensor& x) { return unsqueeze(x, axis_); }
Tensor Permute::forward(const Tensor& x) { return permute(x, axes_); }

Pad::Pad(const Dims& before, const Dims& after, double value) : before_(before), after_(after), value_(value) {
  if (before.size() != after.size())
    throw Error("Pad: before " + to_string(before) + " and after " + to_string(after) +
                " — give one number per axis to both");
}
Tensor Pad::forward(const Tensor& x) {
  if (before_.size() > x.rank())
    throw Error(ErrorKind::kShape, "the input is " + to_string(x.shape()) + " — it must have " +
                                       std::to_string(before_.size()) + " axes or more");
  Dims before = Dims::filled(x.rank(), 0), after = before;
  for (int i = 0, axis = x.rank() - before_.size(); i < before_.size(); i++, axis++)
    before[axis] = before_[i], after[axis] = after_[i];
  return pad(x, before, after, value_);
}

Tensor Concat::forward(const Tensor& x) {
  if (size() == 0) throw Error("no branches — add at least one");
  std::vector<Tensor> results;
  for (size_t i = 0; i < size(); i++) results.push_back((*this)[i](x));
  return concat(results, axis_);
}

Tensor Residual::forward(const Tensor& x) {
  const Tensor y = inner()(x);
  if (!(y.shape() == x.shape()))
    throw Error(ErrorKind::kShape,
                "inner makes " + to_string(y.shape()) + " of " + to_string(x.shape()) + " — it must keep the shape");
  return add(x, y);
}

}  // namespace ingot::nn
