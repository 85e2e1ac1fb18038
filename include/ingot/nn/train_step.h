// The whole training step as one plan: forward, loss, backward and update.
//
//   nn::Sequential net{nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)};
//   auto step = nn::train_step(net, nn::cross_entropy, optim::Adam{.lr = 1e-3f}, {{64, 784}, {64}});
//   float loss = step(x, labels);                                  // zero allocations
//
// And without modules:
//
//   Tensor w = …, b = …;
//   ParameterSlab slab({{"w", &w}, {"b", &b}});                    // w and b now look into one block
//   TrainStep step([&](const Tensor& x, const Tensor& y) { return mean(square(linear(x, w, b) - y)); },
//                  slab, optim::Adam{.lr = 1e-3f}, {{32, 8}, {32, 1}});
#pragma once
#include <concepts>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/graph/plan.h"
#include "ingot/nn/loss.h"
#include "ingot/nn/module.h"
#include "ingot/nn/optim.h"
#include "ingot/nn/slab.h"

namespace ingot {
namespace nn {
class StepModes;
}

struct UpdateOptions {
  int64_t accumulate = 1;  // batches whose mean gradient makes one update
  double ema = 0;          // decay of averaged parameters, 0.999 for example; 0: none. Early on they follow faster.
  int64_t seed = 0;        // of random layers
};

/// An optimiser at work on a slab: its state, learning rate and counters. Training steps for several batch shapes share
/// one. The slab must outlive it.
class INGOT_API Updates {
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

/// A training step as one plan. It is made of a function of the inputs that uses a slab's parameters and returns the
/// loss, a scalar; or a list of results that begins with it: the others can be read as outputs of the plan.
class INGOT_API TrainStep {
 public:
  template <class F>
  TrainStep(F&& loss, const ParameterSlab& slab, const Optimizer& optimizer, const std::vector<InputSpec>& inputs,
            const PlanOptions& options = {})
      : own_(std::make_unique<Updates>(slab, optimizer)), updates_{own_.get()} {
    compile_for(as_function(std::forward<F>(loss), inputs), inputs, options);
  }
  /// With updates of its own, which have options.
  template <class F>
  TrainStep(F&& loss, Updates&& updates, const std::vector<InputSpec>& inputs, const PlanOptions& options = {})
      : own_(std::make_unique<Updates>(std::move(updates))), updates_{own_.get()} {
    compile_for(as_function(std::forward<F>(loss), inputs), inputs, options);
  }
  /// With updates that other steps share; they must outlive the step.
  template <class F>
  TrainStep(F&& loss, Updates& updates, const std::vector<InputSpec>& inputs, const PlanOptions& options = {})
      : updates_{&updates} {
    compile_for(as_function(std::forward<F>(loss), inputs), inputs, options);
  }
  /// Several slabs, each with an optimiser of its own (actor and critic, generator and discriminator): the function's
  /// results begin with one loss for each of them, and each slab follows the gradient of its own loss only. All losses
  /// are those before any update. Random layers draw from the first one's seed.
  template <class F>
  TrainStep(F&& losses, std::vector<Updates*> updates, const std::vector<InputSpec>& inputs,
            const PlanOptions& options = {})
      : updates_(std::move(updates)) {
    compile_for(as_function(std::forward<F>(losses), inputs), inputs, options);
  }
  /// With a slab that belongs to the step: what nn::train_step() makes.
  template <class F>
  TrainStep(F&& loss, std::unique_ptr<ParameterSlab> slab, const Optimizer& optimizer,
            const std::vector<InputSpec>& inputs, const PlanOptions& options = {})
      : slab_(std::move(slab)), own_(std::make_unique<Updates>(*slab_, optimizer)), updates_{own_.get()} {
    compile_for(as_function(std::forward<F>(loss), inputs), inputs, options);
  }

  /// Also notices modes of a model (train, eval, freeze) that the function uses without calling it as a layer.
  void watch(nn::Module& model);

  /// One step; the (first) loss before the update. An Error if modes of modules that it calls have changed since it was
  /// made.
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
  /// Of the first slab, if there are several.
  Updates& updates() { return first(); }
  const ParameterSlab& slab() const { return first().slab(); }
  /// Updates so far, and the learning rate of the next one.
  int64_t steps() const { return first().steps(); }
  void set_steps(int64_t steps) { first().set_steps(steps); }
  float lr() const { return first().lr(); }
  void set_lr(float lr) { first().set_lr(lr); }
  /// The optimiser's state, as make_state() lays it out; undefined if it has none.
  const Tensor& state() const { return first().state(); }

 private:
  template <class F>
  static PlanFunction as_function(F&& fn, const std::vector<InputSpec>& inputs) {
    return detail::as_plan_function<std::decay_t<F>>(std::forward<F>(fn), inputs.size());
  }
  void compile_for(const PlanFunction& losses, const std::vector<InputSpec>& inputs, const PlanOptions& options);
  std::vector<NamedTensor> called(const PlanFunction& losses, std::span<const Tensor> inputs);
  Updates& first() const;
  std::unique_ptr<ParameterSlab> slab_;
  std::unique_ptr<Updates> own_;
  std::vector<Updates*> updates_;
  std::shared_ptr<nn::StepModes> modes_;
  Plan plan_;
};

namespace nn {

/// Compiles forward, loss, backward and update of a model for a batch `inputs[0]` and targets `inputs[1]`, whose type
/// is the loss's if the spec gives none; a third input, if there is one, holds a weight per sample. The step owns the
/// slab that the model's parameters now look into; they have moved there even if an Error says that no step can be made.
INGOT_API TrainStep train_step(Layer& model, const Loss& loss, const Optimizer& optimizer,
                               std::vector<InputSpec> inputs, const PlanOptions& options = {});
/// The same for a function of any inputs that calls the model and returns the loss.
template <class F>
requires(!std::convertible_to<F, const Loss&>) TrainStep
    train_step(Module& model, F&& loss, const Optimizer& optimizer, const std::vector<InputSpec>& inputs,
               const PlanOptions& options = {}) {
  TrainStep step(std::forward<F>(loss), std::make_unique<ParameterSlab>(model.trainable_parameters()), optimizer,
                 inputs, options);
  step.watch(model);
  return step;
}

}  // namespace nn
}  // namespace ingot
