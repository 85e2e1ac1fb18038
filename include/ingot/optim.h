// Optimisers, and the whole training step as one plan: forward, loss, backward and update.
//
//   Tensor w = …, b = …;
//   ParameterSlab slab({{"w", &w}, {"b", &b}});                    // w and b now look into one block
//   TrainStep step([&](const Tensor& x, const Tensor& y) { return mean(square(linear(x, w, b) - y)); },
//                  slab, optim::Adam{.lr = 1e-3f}, {{32, 8}, {32, 1}});
//   float loss = step(x, y);                                       // zero allocations
#pragma once
#include <concepts>
#include <memory>
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

/// RMSProp (Tieleman and Hinton), as PyTorch defines it.
struct RmsProp {
  float lr = 1e-2f;
  double alpha = 0.99, eps = 1e-8, momentum = 0, weight_decay = 0;
  double clip_norm = 0, clip_value = 0;
};

/// Adagrad (Duchi, Hazan and Singer).
struct Adagrad {
  float lr = 1e-2f;
  double eps = 1e-10, weight_decay = 0;
  double clip_norm = 0, clip_value = 0;
};

/// Lion (Chen et al. 2023): the sign of a moving mean; weight decay is decoupled.
struct Lion {
  float lr = 1e-4f;
  double beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
  double clip_norm = 0, clip_value = 0;
};

}  // namespace optim

using Optimizer = std::variant<optim::Sgd, optim::Adam, optim::AdamW, optim::RmsProp, optim::Adagrad, optim::Lion>;

/// A parameter to train: its name, and where its tensor is kept.
struct Parameter {
  std::string name;
  Tensor* tensor;
};

/// Parameters and their gradients in two contiguous slabs of the same order, each parameter at a multiple of 64 bytes
/// (what lies between is zero). Making a slab moves the parameters' elements into it and lets their tensors look there.
/// Tensors that look at the same elements (shared weights) are one parameter, under the first one's name. Plans that
/// were compiled before, and other handles, still look at the old memory. While a slab lives, no second one can be made
/// of its parameters: what it was made for would train memory that nobody looks at any more.
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
  std::shared_ptr<const void> claim_;  // on the memory of values_
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

struct UpdateOptions {
  int64_t accumulate = 1;  // batches whose mean gradient makes one update
  double ema = 0;          // decay of averaged parameters, 0.999 for example; 0: none. Early on they follow faster.
  int64_t seed = 0;        // of random layers
};

/// An optimiser at work on a slab: its state, learning rate and counters. Training steps for several batch shapes share
/// one. The slab must outlive it.
class Updates {
 public:
  Updates(const ParameterSlab& slab, const Optimizer& optimizer, const UpdateOptions& options = {});
  Updates(const ParameterSlab&& slab, const Optimizer& optimizer, const UpdateOptions& options = {}) = delete;

  const ParameterSlab& slab() const { return *slab_; }
  const Optimizer& optimizer() const { return optimizer_; }
  const UpdateOptions& options() const { return options_; }
  /// Updates so far, and batches (more of them where gradients accumulate; random layers follow their number).
  int64_t steps() const { return steps_; }
  int64_t batches() const { return batches_; }
  void set_steps(int64_t steps) { set_counters(steps, steps * options_.accumulate); }
  void set_counters(int64_t steps, int64_t batches);
  /// The learning rate of the next update.
  float lr() const { return lr_; }
  void set_lr(float lr) { lr_ = lr; }
  /// The optimiser's state, as make_state() lays it out, and the averaged parameters; undefined if there are none.
  const Tensor& state() const { return state_; }
  const Tensor& averages() const { return averages_; }

 private:
  friend class TrainStep;
  void before_batch();  // sets the scalars that plans read
  void after_batch();
  void record_gradients(std::span<const Tensor> gradients) const;
  void record() const;  // the update itself
  std::vector<std::pair<Tensor, Role>> roles() const;

  const ParameterSlab* slab_;
  Optimizer optimizer_;
  UpdateOptions options_;
  Tensor state_, averages_;
  // Scalars that plans read where they are: the learning rate, the number of the update, the seed of random layers,
  // what share the averages take of the parameters, and of the gradients so far (0 at the first batch of an update).
  Tensor lr_tensor_, step_tensor_, seed_tensor_, average_share_, carry_;
  Plan update_;  // where gradients accumulate, the update is a plan of its own
  int64_t steps_ = 0, batches_ = 0;
  float lr_ = 0;
};

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
  /// The same with updates that other steps share; they must outlive the step.
  TrainStep(const PlanFunction& loss, Updates& updates, const std::vector<InputSpec>& inputs,
            const PlanOptions& options = {});

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
  Updates& updates() { return checked_updates(); }
  /// Updates so far, and the learning rate of the next one.
  int64_t steps() const { return checked_updates().steps(); }
  void set_steps(int64_t steps) { checked_updates().set_steps(steps); }
  float lr() const { return checked_updates().lr(); }
  void set_lr(float lr) { checked_updates().set_lr(lr); }
  /// The optimiser's state, as make_state() lays it out; undefined if it has none.
  const Tensor& state() const { return checked_updates().state(); }

 private:
  void compile_for(const PlanFunction& loss, const std::vector<InputSpec>& inputs, const PlanOptions& options);
  Updates& checked_updates() const;
  std::unique_ptr<Updates> own_;
  Updates* shared_ = nullptr;
  Plan plan_;
};

}  // namespace ingot
