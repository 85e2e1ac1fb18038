// How windows slide in the format's convolutions and poolings: kernel, strides, dilations, and padding that may differ at
// the two ends or follow from auto_pad.
#pragma once
#include <vector>

#include "exchange/onnx/use.h"

namespace ingot::onnx {

struct Window {
  Dims kernel, stride, dilation;
  Dims before, after;  // padding
  /// For x [n, c, spatial…].
  Window(Use& u, const Dims& spatial, const std::vector<int64_t>& kernel_shape);
  bool symmetric() const { return before == after; }
  /// Can Ingot's poolings do it? Their padding is the same at both ends, and at most half the kernel.
  bool suits_pooling() const;
};

/// The sizes behind batch and channels of input i.
Dims spatial_of(Use& u, int i = 0);
/// x [n, c, …] with the padding of a window around its spatial axes.
Tensor padded(const Tensor& x, const Window& w, double value);

}  // namespace ingot::onnx
