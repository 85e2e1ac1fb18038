#include "ingot/nn/layers.h"

#include <cmath>

#include "ingot/graph/grad.h"
#include "ingot/nn/draw.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "nn/checks.h"

namespace ingot::nn {

Linear::Linear(int64_t in, int64_t out, bool with_bias) {
  require_positive("Linear", {in, out});
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  weight = draw_uniform({out, in}, bound);
  if (with_bias) bias = draw_uniform({out}, bound);
}
Tensor Linear::forward(const Tensor& x) { return linear(x, weight, bias); }

Embedding::Embedding(int64_t count, int64_t width, int64_t padding) : padding_(padding) {
  require_positive("Embedding", {count, width});
  if (padding < -1 || padding >= count)
    throw Error(std::string("Embedding: padding = ") + std::to_string(padding) + " — it is an index below " +
                std::to_string(count) + ", or -1 for none");
  weight = draw_normal({count, width});
  if (padding >= 0) fill(slice(weight, 0, padding, padding + 1), 0);
}
Tensor Embedding::forward(const Tensor& indices) {
  Tensor rows = embedding(weight, indices);
  if (padding_ < 0) return rows;
  return where(unsqueeze(equal(indices, static_cast<double>(padding_)), -1), stop_gradient(rows), rows);
}

Dropout::Dropout(double p) : p_(p) {
  if (!(p >= 0 && p <= 1))
    throw Error(std::string("Dropout: p = ") + std::to_string(p) + " — a probability lies in 0 … 1");
}
Tensor Dropout::forward(const Tensor& x) {
  if (!training() || p_ == 0) return x;
  const RandomSource source = next_random();
  return dropout(x, p_, source.seed, source.stream);
}

Tensor ReLU::forward(const Tensor& x) { return relu(x); }
Tensor ReLU6::forward(const Tensor& x) { return relu6(x); }
Tensor LeakyReLU::forward(const Tensor& x) { return leaky_relu(x, slope_); }
Tensor ELU::forward(const Tensor& x) { return elu(x, alpha_); }
Tensor SELU::forward(const Tensor& x) { return selu(x); }
Tensor Softplus::forward(const Tensor& x) { return softplus(x); }
Tensor SiLU::forward(const Tensor& x) { return silu(x); }
Tensor GELU::forward(const Tensor& x) { return tanh_form_ ? gelu(x) : gelu_erf(x); }
Tensor Sigmoid::forward(const Tensor& x) { return sigmoid(x); }
Tensor Tanh::forward(const Tensor& x) { return tanh(x); }
Tensor HardSigmoid::forward(const Tensor& x) { return hard_sigmoid(x); }
Tensor Softmax::forward(const Tensor& x) { return softmax(x, axis_); }
Tensor LogSoftmax::forward(const Tensor& x) { return log_softmax(x, axis_); }
Tensor Identity::forward(const Tensor& x) { return x; }

}  // namespace ingot::nn
