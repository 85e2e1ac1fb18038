// Modules: parameters plus a forward written with ops. Nobody writes a backward, nobody plans memory.
#pragma once
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/optim.h"
#include "ingot/tensor.h"

namespace ingot::nn {

/// Where the next parameters' initial values come from: modules made after the same seed, in the same order, are equal.
/// One sequence per thread; it begins with seed 0.
void set_seed(int64_t seed);

/// What a random layer (dropout) draws its next numbers from.
struct RandomSource {
  Tensor seed;  // i64, one number; inside a training step it is another one at every run
  int64_t stream;
};
/// The next source: inside a RandomScope (every TrainStep is one) its seed and the next stream; in eager code a stream
/// of set_seed()'s sequence. An Error in a capture without a RandomScope: its numbers would be the same at every run.
RandomSource next_random();

/// While it lives, random layers of this thread draw from `seed`, an i64 scalar: a plan's input, or a tensor that it
/// reads at every run.
class RandomScope {
 public:
  explicit RandomScope(const Tensor& seed);
  ~RandomScope();
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;

 private:
  RandomSource source_;
  RandomSource* outer_;
};

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

}  // namespace ingot::nn
