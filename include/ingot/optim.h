// Optimisers, and the whole training step as one plan: forward, loss, backward and update.
//
//   Tensor w = …, b = …;
//   ParameterSlab slab({{"w", &w}, {"b", &b}});                    // w and b now look into one block
//   TrainStep step([&](const Tensor& x, const Tensor& y) { return mean(square(linear(x, w, b) - y)); },
//                  slab, optim::Adam{.lr = 1e-3f}, {{32, 8}, {32, 1}});
//   float loss = step(x, y);                                       // zero allocations
#pragma once
#include <concepts>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ingot/plan.h"
#include "ingot/tensor.h"

namespace ingot {

namespace optim {

/// Stochastic gradient descent, as PyTorch defines it: weight decay is added to the gradient.
struct Sgd {
  float lr = 1e-2f;
  double momentum = 0, weight_decay = 0;
  bool nesterov = false;
  double clip_norm = 0, clip_value = 0;  // 0: no clipping
};

/// Adam (Kingma and Ba); weight decay is added to the gradient.
struct Adam {
  float lr = 1e-3f;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  double clip_norm = 0, clip_value = 0;
};

/// Adam with decoupled weight decay (Loshchilov and Hutter).
struct AdamW {
  float lr = 1e-3f;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2;
  double clip_norm = 0, clip_value = 0;
};

}  // namespace optim

using Optimizer = std::variant<optim::Sgd, optim::Adam, optim::AdamW>;

/// A parameter to train: its name, and where its tensor is kept.
struct Parameter {
  std::string name;
  Tensor* tensor;
};

/// Parameters and their gradients in two contiguous slabs of the same order, each parameter at a multiple of 64 bytes
/// (what lies between is zero). Making a slab moves the parameters' elements into it and lets their tensors look there.
class ParameterSlab {
 public:
  explicit ParameterSlab(std::vector<Parameter> parameters);
  /// All parameters, all gradients: vectors.
  const Tensor& values() const { return values_; }
  const Tensor& gradients() const { return gradients_; }
  size_t size() const { return parameters_.size(); }
  const std::string& name(size_t i) const { return parameters_[i].name; }
  /// Parameter i, and its gradient, as views of the slabs.
  const Tensor& value(size_t i) const { return parameters_[i].tensor; }
  const Tensor& gradient(size_t i) const { return parameter_gradients_[i]; }
  /// Elements of all parameters, without what lies between them.
  int64_t count() const { return count_; }
  std::span<const NamedTensor> named() const { return parameters_; }

 private:
  std::vector<NamedTensor> parameters_;
  std::vector<Tensor> parameter_gradients_;
  Tensor values_, gradients_;
  int64_t count_ = 0;
};

/// How many numbers an optimiser keeps per parameter.
int state_slots(const Optimizer& optimizer);
/// They, zero, for all parameters of a slab: [slots, slab.values().numel()]; undefined if there are none.
Tensor make_state(const Optimizer& optimizer, const ParameterSlab& slab);

/// Updates a slab from its gradients: one pass over values, gradients and state (and one more over the gradients to
/// clip their norm, as torch.nn.utils.clip_grad_norm_ does). `lr` and `step` (1 at the first update) are scalars, f32
/// and i64. In a capture the update is recorded.
void record_update(const Optimizer& optimizer, const ParameterSlab& slab, const Tensor& state, const Tensor& lr,
                   const Tensor& step);

/// A training step as one plan.
class TrainStep {
 public:
  /// `loss` is a function of the inputs that uses the slab's parameters and returns a scalar; or a list of results that
  /// begins with it: the others can be read as outputs of the plan.
  template <class F>
  requires(!std::same_as<std::decay_t<F>, PlanFunction>)
      TrainStep(F&& loss, const ParameterSlab& slab, const Optimizer& optimizer, const std::vector<InputSpec>& inputs,
                const PlanOptions& options = {})
      : TrainStep(detail::as_plan_function<std::decay_t<F>>(std::forward<F>(loss), inputs.size()), slab, optimizer,
                  inputs, options) {}
  TrainStep(const PlanFunction& loss, const ParameterSlab& slab, const Optimizer& optimizer,
            const std::vector<InputSpec>& inputs, const PlanOptions& options = {});

  /// One step; the loss before the update.
  template <class... T>
  requires(std::same_as<T, Tensor>&&...) float operator()(const T&... inputs) {
    const Tensor* list[sizeof...(T) + 1] = {&inputs..., nullptr};
    return run(std::span<const Tensor* const>(list, sizeof...(T)));
  }
  /// The same for a list. Inputs have exactly the shapes and types that the step was made for.
  float run(std::span<const Tensor* const> inputs);
  /// Plan::profile of the step on these inputs; parameters and state are put back afterwards.
  Profile profile(int runs, std::span<const Tensor* const> inputs);

  Plan& plan() { return plan_; }
  const Plan& plan() const { return plan_; }
  /// Updates so far, and the learning rate of the next one.
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }
  float lr() const { return lr_; }
  void set_lr(float lr) { lr_ = lr; }
  /// The optimiser's state, as make_state() lays it out; undefined if it has none.
  const Tensor& state() const { return state_; }

 private:
  std::span<const Tensor* const> with_counters(std::span<const Tensor* const> inputs);
  Plan plan_;
  Tensor state_, lr_tensor_, step_tensor_;
  std::vector<const Tensor*> inputs_;  // room for the inputs of a run, lr and step
  int64_t steps_ = 0;
  float lr_ = 0;
};

}  // namespace ingot
