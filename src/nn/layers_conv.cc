// Convolutions and pooling.
#include <cmath>

#include "ingot/nn/draw.h"
#include "ingot/nn/layers.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "nn/checks.h"

namespace ingot::nn {

Convolution::Convolution(const char* kind, int spatial, bool transposed, int64_t in, int64_t out, Dims kernel,
                         const ConvOptions& options, bool with_bias)
    : options_(options) {
  require_positive(kind, {in, out, options.groups});
  if (kernel.size() == 1) kernel = Dims::filled(spatial, kernel[0]);
  if (kernel.size() != spatial)
    throw Error(std::string(kind) + ": a kernel of " + to_string(kernel) + " — give one size, or one per spatial axis");
  for (const int64_t k : kernel) require_positive(kind, {k});
  if (in % options.groups != 0 || out % options.groups != 0)
    throw Error(std::string(kind) + ": " + std::to_string(in) + " and " + std::to_string(out) +
                " channels do not divide into " + std::to_string(options.groups) + " groups");
  Dims shape = transposed ? Dims{in, out / options.groups} : Dims{out, in / options.groups};
  for (const int64_t k : kernel) shape.push_back(k);
  const int64_t fan_in = element_count(shape) / shape[0];
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  weight = draw_uniform(shape, bound);
  if (with_bias) bias = draw_uniform({out}, bound);
}

Tensor Conv1d::forward(const Tensor& x) { return conv1d(x, weight, bias, options_); }
Tensor Conv2d::forward(const Tensor& x) { return conv2d(x, weight, bias, options_); }
Tensor ConvTranspose1d::forward(const Tensor& x) {
  return conv_transpose1d(x, weight, bias, options_, output_padding_);
}
Tensor ConvTranspose2d::forward(const Tensor& x) {
  return conv_transpose2d(x, weight, bias, options_, output_padding_);
}

namespace {

// One number stands for every spatial axis.
Dims per_axis(const Dims& size, int spatial) { return size.size() == 1 ? Dims::filled(spatial, size[0]) : size; }

}  // namespace

Tensor MaxPool1d::forward(const Tensor& x) { return max_pool1d(x, options_)[0]; }
Tensor MaxPool2d::forward(const Tensor& x) { return max_pool2d(x, options_)[0]; }
Tensor AvgPool1d::forward(const Tensor& x) { return avg_pool1d(x, options_); }
Tensor AvgPool2d::forward(const Tensor& x) { return avg_pool2d(x, options_); }
Tensor AdaptiveAvgPool1d::forward(const Tensor& x) { return adaptive_avg_pool1d(x, size_); }
Tensor AdaptiveAvgPool2d::forward(const Tensor& x) { return adaptive_avg_pool2d(x, per_axis(size_, 2)); }
Tensor AdaptiveMaxPool1d::forward(const Tensor& x) { return adaptive_max_pool1d(x, size_)[0]; }
Tensor AdaptiveMaxPool2d::forward(const Tensor& x) { return adaptive_max_pool2d(x, per_axis(size_, 2))[0]; }
Tensor GlobalAvgPool::forward(const Tensor& x) { return global_avg_pool(x); }
Tensor GlobalMaxPool::forward(const Tensor& x) { return global_max_pool(x); }

}  // namespace ingot::nn
