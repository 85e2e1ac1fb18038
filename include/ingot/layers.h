// Layers of one tensor to one tensor, with PyTorch's names, layouts and initial values.
#pragma once
#include "ingot/module.h"
#include "ingot/options.h"
#include "ingot/tensor.h"

namespace ingot::nn {

/// x [..., in] to [..., out]: x·weightᵀ + bias. weight [out, in] and bias [out] begin uniform in ±1/√in.
class Linear : public Layer {
 public:
  Linear(int64_t in, int64_t out, bool with_bias = true);
  void parts(Parts& p) override { p("weight", weight), p("bias", bias); }
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;
};

/// x [n, in, h, w] to [n, out, h', w']; weight [out, in/groups, k, k].
class Conv2d : public Layer {
 public:
  Conv2d(int64_t in, int64_t out, int64_t kernel, ConvOptions options = {}, bool with_bias = true);
  void parts(Parts& p) override { p("weight", weight), p("bias", bias); }
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;

 private:
  ConvOptions options_;
};

/// Layer norm over the last axis, of size `features`; weight begins at 1, bias at 0.
class LayerNorm : public Layer {
 public:
  explicit LayerNorm(int64_t features, double eps = 1e-5);
  void parts(Parts& p) override { p("weight", weight), p("bias", bias); }
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;

 private:
  double eps_;
};

/// Windows of kernel × kernel of x [n, c, h, w], side by side, to their largest element.
class MaxPool2d : public Layer {
 public:
  explicit MaxPool2d(int64_t kernel) : kernel_(kernel) {}
  Tensor forward(const Tensor& x) override;

 private:
  int64_t kernel_;
};

/// [n, …] to [n, all the rest].
class Flatten : public Layer {
 public:
  Tensor forward(const Tensor& x) override;
};

class ReLU : public Layer {
 public:
  Tensor forward(const Tensor& x) override;
};
class Tanh : public Layer {
 public:
  Tensor forward(const Tensor& x) override;
};
class GELU : public Layer {
 public:
  Tensor forward(const Tensor& x) override;
};

}  // namespace ingot::nn
