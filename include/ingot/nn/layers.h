// Layers of one tensor to one tensor, with PyTorch's names, layouts and initial values. Recurrent ones are in
// recurrent.h, attention is in attention.h.
#pragma once
#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/nn/module.h"
#include "ingot/ops/options.h"

namespace ingot::nn {

/// x [..., in] to [..., out]: x·weightᵀ + bias. weight [out, in] and bias [out] begin uniform in ±1/√in.
class INGOT_API Linear : public Layer {
 public:
  Linear(int64_t in, int64_t out, bool with_bias = true);
  void parts(Parts& p) override { p("weight", weight), p("bias", bias); }
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;
};

/// Indices (i32 or i64) of any shape to rows of weight [count, width], which begins normally distributed: […, width].
/// The row of index `padding`, if there is one, begins at 0 and is not trained.
class INGOT_API Embedding : public Layer {
 public:
  Embedding(int64_t count, int64_t width, int64_t padding = -1);
  void parts(Parts& p) override { p("weight", weight); }
  Tensor forward(const Tensor& indices) override;
  Tensor weight;

 private:
  int64_t padding_;
};

/// While training, sets each element to 0 with probability p and scales the others by 1 / (1 - p); else nothing.
class INGOT_API Dropout : public Layer {
 public:
  explicit Dropout(double p = 0.5);
  Tensor forward(const Tensor& x) override;

 private:
  double p_;
};

// Convolutions --------------------------------------------------------------------------------------------------------

/// What convolutions have in common: weight and bias begin uniform in ±1/√(inputs of one output).
class INGOT_API Convolution : public Layer {
 public:
  void parts(Parts& p) override { p("weight", weight), p("bias", bias); }
  Tensor weight, bias;

 protected:
  Convolution(const char* kind, int spatial, bool transposed, int64_t in, int64_t out, Dims kernel,
              const ConvOptions& options, bool with_bias);
  ConvOptions options_;
};

/// x [n, in, l] to [n, out, l']; weight [out, in/groups, k].
class INGOT_API Conv1d : public Convolution {
 public:
  Conv1d(int64_t in, int64_t out, int64_t kernel, const ConvOptions& options = {}, bool with_bias = true)
      : Convolution("Conv1d", 1, false, in, out, {kernel}, options, with_bias) {}
  Tensor forward(const Tensor& x) override;
};

/// x [n, in, h, w] to [n, out, h', w']; weight [out, in/groups, kh, kw].
class INGOT_API Conv2d : public Convolution {
 public:
  Conv2d(int64_t in, int64_t out, int64_t kernel, const ConvOptions& options = {}, bool with_bias = true)
      : Conv2d(in, out, Dims{kernel}, options, with_bias) {}
  Conv2d(int64_t in, int64_t out, const Dims& kernel, const ConvOptions& options = {}, bool with_bias = true)
      : Convolution("Conv2d", 2, false, in, out, kernel, options, with_bias) {}
  Tensor forward(const Tensor& x) override;
};

/// x [n, in, l] to [n, out, l'], where Conv1d would go back; weight [in, out/groups, k]. `output_padding` is added to
/// the far end of the result.
class INGOT_API ConvTranspose1d : public Convolution {
 public:
  ConvTranspose1d(int64_t in, int64_t out, int64_t kernel, const ConvOptions& options = {},
                  const Dims& output_padding = {}, bool with_bias = true)
      : Convolution("ConvTranspose1d", 1, true, in, out, {kernel}, options, with_bias),
        output_padding_(output_padding) {}
  Tensor forward(const Tensor& x) override;

 private:
  Dims output_padding_;
};

/// x [n, in, h, w] to [n, out, h', w'], where Conv2d would go back; weight [in, out/groups, kh, kw].
class INGOT_API ConvTranspose2d : public Convolution {
 public:
  ConvTranspose2d(int64_t in, int64_t out, int64_t kernel, const ConvOptions& options = {},
                  const Dims& output_padding = {}, bool with_bias = true)
      : ConvTranspose2d(in, out, Dims{kernel}, options, output_padding, with_bias) {}
  ConvTranspose2d(int64_t in, int64_t out, const Dims& kernel, const ConvOptions& options = {},
                  const Dims& output_padding = {}, bool with_bias = true)
      : Convolution("ConvTranspose2d", 2, true, in, out, kernel, options, with_bias), output_padding_(output_padding) {}
  Tensor forward(const Tensor& x) override;

 private:
  Dims output_padding_;
};

// Pooling -------------------------------------------------------------------------------------------------------------

// A layer of windows: side by side if made of a size, or as the options say, MaxPool2d({.kernel = {3}, .stride = {2}}).
#define INGOT_POOL(Name)                                             \
  class INGOT_API Name : public Layer {                              \
   public:                                                           \
    explicit Name(int64_t kernel) : options_{.kernel = {kernel}} {}  \
    explicit Name(const PoolOptions& options) : options_(options) {} \
    Tensor forward(const Tensor& x) override;                        \
                                                                     \
   private:                                                          \
    PoolOptions options_;                                            \
  }
// A layer of bins: size entries along each spatial axis, or one number for all of them.
#define INGOT_ADAPTIVE_POOL(Name)                    \
  class INGOT_API Name : public Layer {              \
   public:                                           \
    explicit Name(const Dims& size) : size_(size) {} \
    explicit Name(int64_t size) : size_{size} {}     \
    Tensor forward(const Tensor& x) override;        \
                                                     \
   private:                                          \
    Dims size_;                                      \
  }
// A layer without parts or options.
#define INGOT_PLAIN_LAYER(Name)               \
  class INGOT_API Name : public Layer {       \
   public:                                    \
    Tensor forward(const Tensor& x) override; \
  }

/// Windows of x [n, c, l] or [n, c, h, w] to their largest element, or their mean.
INGOT_POOL(MaxPool1d);
INGOT_POOL(MaxPool2d);
INGOT_POOL(AvgPool1d);
INGOT_POOL(AvgPool2d);
/// As many bins as asked for, whatever the size of x.
INGOT_ADAPTIVE_POOL(AdaptiveAvgPool1d);
INGOT_ADAPTIVE_POOL(AdaptiveAvgPool2d);
INGOT_ADAPTIVE_POOL(AdaptiveMaxPool1d);
INGOT_ADAPTIVE_POOL(AdaptiveMaxPool2d);
/// The mean, or the largest element, of every channel of x [n, c, …], to [n, c].
INGOT_PLAIN_LAYER(GlobalAvgPool);
INGOT_PLAIN_LAYER(GlobalMaxPool);

// Normalisation -------------------------------------------------------------------------------------------------------

/// What BatchNorm1d and 2d have in common. While training, normalises every channel of x [n, channels, …] over the
/// batch and lets running_mean and running_var (unbiased) follow by `momentum`; in evaluation uses these. weight begins
/// at 1, bias at 0; without `affine` there are none.
class INGOT_API BatchNorm : public Layer {
 public:
  void parts(Parts& p) override;
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 protected:
  BatchNorm(int64_t channels, double eps, double momentum, bool affine);
  virtual void check_rank(const Tensor& x) const = 0;

 private:
  double eps_, momentum_;
};
/// Batch norm of x [n, channels] or [n, channels, l].
class INGOT_API BatchNorm1d : public BatchNorm {
 public:
  explicit BatchNorm1d(int64_t channels, double eps = 1e-5, double momentum = 0.1, bool affine = true)
      : BatchNorm(channels, eps, momentum, affine) {}

 protected:
  void check_rank(const Tensor& x) const override;
};
/// Batch norm of x [n, channels, h, w].
class INGOT_API BatchNorm2d : public BatchNorm {
 public:
  explicit BatchNorm2d(int64_t channels, double eps = 1e-5, double momentum = 0.1, bool affine = true)
      : BatchNorm(channels, eps, momentum, affine) {}

 protected:
  void check_rank(const Tensor& x) const override;
};

/// Layer norm over trailing axes of the given sizes; weight begins at 1, bias at 0.
class INGOT_API LayerNorm : public Layer {
 public:
  explicit LayerNorm(int64_t features, double eps = 1e-5, bool affine = true)
      : LayerNorm(Dims{features}, eps, affine) {}
  explicit LayerNorm(const Dims& shape, double eps = 1e-5, bool affine = true);
  void parts(Parts& p) override { p("weight", weight), p("bias", bias); }
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;

 private:
  Dims shape_;
  double eps_;
};

/// x / √(mean of x² + eps) · weight over trailing axes of the given sizes; weight begins at 1.
class INGOT_API RMSNorm : public Layer {
 public:
  explicit RMSNorm(int64_t features, double eps = 1.1920929e-7) : RMSNorm(Dims{features}, eps) {}
  explicit RMSNorm(const Dims& shape, double eps = 1.1920929e-7);
  void parts(Parts& p) override { p("weight", weight); }
  Tensor forward(const Tensor& x) override;
  Tensor weight;

 private:
  Dims shape_;
  double eps_;
};

/// Normalises x [n, channels, …] over each of `groups` groups of channels of a sample; weight begins at 1, bias at 0.
class INGOT_API GroupNorm : public Layer {
 public:
  GroupNorm(int64_t groups, int64_t channels, double eps = 1e-5, bool affine = true);
  void parts(Parts& p) override { p("weight", weight), p("bias", bias); }
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;

 private:
  int64_t groups_, channels_;
  double eps_;
};

/// Normalises every channel of every sample of x [n, channels, h, w]; with `affine`, weight begins at 1, bias at 0.
class INGOT_API InstanceNorm2d : public Layer {
 public:
  explicit InstanceNorm2d(int64_t channels, double eps = 1e-5, bool affine = false);
  void parts(Parts& p) override { p("weight", weight), p("bias", bias); }
  Tensor forward(const Tensor& x) override;
  Tensor weight, bias;

 private:
  int64_t channels_;
  double eps_;
};

// Activations ---------------------------------------------------------------------------------------------------------

INGOT_PLAIN_LAYER(ReLU);
INGOT_PLAIN_LAYER(ReLU6);
INGOT_PLAIN_LAYER(SELU);
INGOT_PLAIN_LAYER(Softplus);
INGOT_PLAIN_LAYER(SiLU);
INGOT_PLAIN_LAYER(Sigmoid);
INGOT_PLAIN_LAYER(Tanh);
INGOT_PLAIN_LAYER(HardSigmoid);
INGOT_PLAIN_LAYER(Identity);

/// x where positive, else slope · x.
class INGOT_API LeakyReLU : public Layer {
 public:
  explicit LeakyReLU(double slope = 0.01) : slope_(slope) {}
  Tensor forward(const Tensor& x) override;

 private:
  double slope_;
};
/// x where positive, else alpha · (eˣ - 1).
class INGOT_API ELU : public Layer {
 public:
  explicit ELU(double alpha = 1) : alpha_(alpha) {}
  Tensor forward(const Tensor& x) override;

 private:
  double alpha_;
};
/// x·Φ(x), or with `tanh_form` the approximation that many published weights use.
class INGOT_API GELU : public Layer {
 public:
  explicit GELU(bool tanh_form = false) : tanh_form_(tanh_form) {}
  Tensor forward(const Tensor& x) override;

 private:
  bool tanh_form_;
};
/// eˣ / Σ eˣ along an axis.
class INGOT_API Softmax : public Layer {
 public:
  explicit Softmax(int64_t axis = -1) : axis_(axis) {}
  Tensor forward(const Tensor& x) override;

 private:
  int64_t axis_;
};
/// x - log Σ eˣ along an axis.
class INGOT_API LogSoftmax : public Layer {
 public:
  explicit LogSoftmax(int64_t axis = -1) : axis_(axis) {}
  Tensor forward(const Tensor& x) override;

 private:
  int64_t axis_;
};

#undef INGOT_POOL
#undef INGOT_ADAPTIVE_POOL
#undef INGOT_PLAIN_LAYER

// Shapes --------------------------------------------------------------------------------------------------------------

/// Axes `first` to `last` made one: [n, …] to [n, all the rest].
class INGOT_API Flatten : public Layer {
 public:
  explicit Flatten(int64_t first = 1, int64_t last = -1) : first_(first), last_(last) {}
  Tensor forward(const Tensor& x) override;

 private:
  int64_t first_, last_;
};
/// One axis made several; one size may be -1.
class INGOT_API Unflatten : public Layer {
 public:
  Unflatten(int64_t axis, const Dims& shape) : axis_(axis), shape_(shape) {}
  Tensor forward(const Tensor& x) override;

 private:
  int64_t axis_;
  Dims shape_;
};
/// Every sample in another shape: [n, …] to [n, shape…]; one size may be -1.
class INGOT_API Reshape : public Layer {
 public:
  explicit Reshape(const Dims& shape) : shape_(shape) {}
  Tensor forward(const Tensor& x) override;

 private:
  Dims shape_;
};
/// Without an axis, which has size 1.
class INGOT_API Squeeze : public Layer {
 public:
  explicit Squeeze(int64_t axis) : axis_(axis) {}
  Tensor forward(const Tensor& x) override;

 private:
  int64_t axis_;
};
/// With a new axis of size 1 in front of the given one; -1 puts it last.
class INGOT_API Unsqueeze : public Layer {
 public:
  explicit Unsqueeze(int64_t axis) : axis_(axis) {}
  Tensor forward(const Tensor& x) override;

 private:
  int64_t axis_;
};
/// Axis i of the result is axis axes[i] of x.
class INGOT_API Permute : public Layer {
 public:
  explicit Permute(const Dims& axes) : axes_(axes) {}
  Tensor forward(const Tensor& x) override;

 private:
  Dims axes_;
};
/// before[i] entries of `value` in front of, and after[i] behind, each of the last axes.
class INGOT_API Pad : public Layer {
 public:
  Pad(const Dims& before, const Dims& after, double value = 0);
  Tensor forward(const Tensor& x) override;

 private:
  Dims before_, after_;
  double value_;
};

// Composition ---------------------------------------------------------------------------------------------------------

/// Layers side by side, named "0", "1", …: what each makes of x, joined along an axis.
class INGOT_API Concat : public LayerList {
 public:
  template <class... L>
  requires(std::derived_from<std::decay_t<L>, Layer>&&...) explicit Concat(int64_t axis, L&&... branches)
      : axis_(axis) {
    (append_moved(std::forward<L>(branches)), ...);
  }
  Concat& add(LayerPtr branch) {
    append(std::move(branch));
    return *this;
  }
  Tensor forward(const Tensor& x) override;

 private:
  int64_t axis_;
};

/// x + inner(x).
class INGOT_API Residual : public Layer {
 public:
  template <class L>
  requires(std::derived_from<L, Layer> && !std::same_as<L, Residual>)  // that is a move
      explicit Residual(L inner)
      : inner_(std::make_shared<L>(std::move(inner))) {}
  explicit Residual(LayerPtr inner) : inner_(std::move(inner)) {}
  void parts(Parts& p) override { p("inner", *inner_); }
  Tensor forward(const Tensor& x) override;
  Layer& inner() { return *inner_; }

 private:
  LayerPtr inner_;
};

}  // namespace ingot::nn
