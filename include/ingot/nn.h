// Modules: parameters plus a forward written with ops. Nobody writes a backward, nobody plans memory.
//
//   nn::Sequential net{nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)};
//   auto step = nn::train_step(net, nn::cross_entropy, optim::Adam{.lr = 1e-3f}, {{64, 784}, {64}});
//   float loss = step(x, labels);                         // zero allocations
#pragma once
#include <concepts>
#include <memory>
#include <string>
#include <vector>

#include "ingot/optim.h"
#include "ingot/options.h"
#include "ingot/plan.h"
#include "ingot/tensor.h"

namespace ingot::nn {

/// Where the next parameters' initial values come from: modules made after the same seed, in the same order, are equal.
/// One sequence per thread; it begins with seed 0.
void set_seed(int64_t seed);

class Module;

/// What a module is made of, told by Module::parts to whoever asks.
class Parts {
 public:
  virtual ~Parts() = default;
  /// A parameter to train. Undefined tensors (a layer without bias) are no parts.
  void operator()(std::string_view name, Tensor& parameter) { add(name, parameter, true); }
  /// A tensor that belongs to the state but is not trained: running averages.
  void buffer(std::string_view name, Tensor& tensor) { add(name, tensor, false); }
  /// A module inside.
  void operator()(std::string_view name, Module& child);

 protected:
  virtual void tensor(const std::string& path, Tensor& t, bool trained) = 0;
  virtual void module(Module&) {}

 private:
  void add(std::string_view name, Tensor& t, bool trained);
  std::string prefix_;
};

/// A model or a part of one. A user's own module lists its parts and has whatever forward it likes:
///
///   struct Net : nn::Module {
///     nn::Linear hidden{8, 32}, out{32, 2};
///     void parts(nn::Parts& p) override { p("hidden", hidden); p("out", out); }
///     Tensor forward(const Tensor& a, const Tensor& b) { return out(relu(hidden(concat({a, b}, 1)))); }
///   };
///
/// Copies share their parameters, as copies of tensors do.
class Module {
 public:
  virtual ~Module() = default;
  virtual void parts(Parts&) {}

  /// Parameters, and other tensors of the state, by path: "0.weight", "encoder.fc1.bias"; PyTorch's names.
  std::vector<Parameter> named_parameters();
  std::vector<Parameter> named_buffers();
  int64_t parameter_count();

  /// Training mode, the initial one, or evaluation; of this module and all inside.
  void train(bool on = true);
  void eval() { train(false); }
  bool training() const { return training_; }

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;

 private:
  bool training_ = true;
};

/// A module of one tensor to one tensor.
class Layer : public Module {
 public:
  virtual Tensor forward(const Tensor& x) = 0;
  Tensor operator()(const Tensor& x) { return forward(x); }
};

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

/// Layers one after the other, named "0", "1", ….
class Sequential : public Layer {
 public:
  template <class... L>
  requires((std::derived_from<std::decay_t<L>, Layer> && ...) &&
           !(sizeof...(L) == 1 && (std::same_as<std::decay_t<L>, Sequential> && ...)))  // that is a copy
      explicit Sequential(L&&... layers) {
    (add(std::forward<L>(layers)), ...);
  }
  template <class L>
  requires std::derived_from<std::decay_t<L>, Layer> Sequential& add(L&& layer) {
    layers_.push_back(std::make_shared<std::decay_t<L>>(std::forward<L>(layer)));
    return *this;
  }
  void parts(Parts& p) override;
  Tensor forward(const Tensor& x) override;
  size_t size() const { return layers_.size(); }
  Layer& operator[](size_t i) { return *layers_[i]; }

 private:
  std::vector<std::shared_ptr<Layer>> layers_;
};

/// A loss: what it makes of a model's result and a target, and of which type targets are.
struct Loss {
  const char* name;
  Tensor (*function)(const Tensor& result, const Tensor& target);
  DType target;
};
Tensor cross_entropy_loss(const Tensor& logits, const Tensor& labels);
Tensor mse_loss(const Tensor& result, const Tensor& target);
/// Mean of -log softmax(logits)[label] over logits [n, classes] and labels [n], i64; negative labels count as 0.
inline constexpr Loss cross_entropy{"cross_entropy", cross_entropy_loss, kI64};
/// Mean of (result - target)².
inline constexpr Loss mse{"mse", mse_loss, kF32};

/// A whole training step of a model; it owns the slab that the model's parameters now look into.
class Step {
 public:
  Step(Layer& model, const Loss& loss, const Optimizer& optimizer, std::vector<InputSpec> inputs,
       const PlanOptions& options);
  /// One step on a batch and its targets; the loss before the update.
  float operator()(const Tensor& x, const Tensor& target) { return step_(x, target); }
  Plan& plan() { return step_.plan(); }
  TrainStep& train_step() { return step_; }
  const ParameterSlab& slab() const { return slab_; }

 private:
  ParameterSlab slab_;
  TrainStep step_;
};

/// Compiles forward, loss, backward and update of a model for a batch `inputs[0]` and targets `inputs[1]`, whose type
/// is the loss's.
inline Step train_step(Layer& model, const Loss& loss, const Optimizer& optimizer, std::vector<InputSpec> inputs,
                       const PlanOptions& options = {}) {
  return Step(model, loss, optimizer, std::move(inputs), options);
}

}  // namespace ingot::nn
