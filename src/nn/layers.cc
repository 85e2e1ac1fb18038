#include "ingot/layers.h"

#include <cmath>
#include <string>

#include "ingot/error.h"
#include "ingot/functions.h"
#include "ingot/ops.h"
#include "nn/draw.h"

namespace ingot::nn {
namespace {

void require_positive(const char* layer, std::initializer_list<int64_t> sizes) {
  for (const int64_t n : sizes)
    if (n < 1) throw Error(std::string(layer) + ": size " + std::to_string(n) + " — sizes are 1 or more");
}

}  // namespace

Linear::Linear(int64_t in, int64_t out, bool with_bias) {
  require_positive("Linear", {in, out});
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  weight = draw_uniform({out, in}, bound);
  if (with_bias) bias = draw_uniform({out}, bound);
}
Tensor Linear::forward(const Tensor& x) { return linear(x, weight, bias); }

Conv2d::Conv2d(int64_t in, int64_t out, int64_t kernel, ConvOptions options, bool with_bias) : options_(options) {
  require_positive("Conv2d", {in, out, kernel, options.groups});
  if (in % options.groups != 0 || out % options.groups != 0)
    throw Error(std::string("Conv2d: ") + std::to_string(in) + " and " + std::to_string(out) +
                " channels do not divide into " + std::to_string(options.groups) + " groups");
  const int64_t fan_in = in / options.groups * kernel * kernel;
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  weight = draw_uniform({out, in / options.groups, kernel, kernel}, bound);
  if (with_bias) bias = draw_uniform({out}, bound);
}
Tensor Conv2d::forward(const Tensor& x) { return conv2d(x, weight, bias, options_); }

LayerNorm::LayerNorm(int64_t features, double eps) : eps_(eps) {
  require_positive("LayerNorm", {features});
  weight = ones({features});
  bias = zeros({features});
}
Tensor LayerNorm::forward(const Tensor& x) { return layer_norm(x, weight, bias, 1, eps_); }

Tensor MaxPool2d::forward(const Tensor& x) { return max_pool2d(x, {.kernel = {kernel_, kernel_}})[0]; }
Tensor Flatten::forward(const Tensor& x) { return flatten(x, 1); }
Tensor ReLU::forward(const Tensor& x) { return relu(x); }
Tensor Tanh::forward(const Tensor& x) { return tanh(x); }
Tensor GELU::forward(const Tensor& x) { return gelu(x); }

}  // namespace ingot::nn
