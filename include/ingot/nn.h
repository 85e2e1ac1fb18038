// Neural networks: modules, losses and training them.
//
//   nn::Sequential net{nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)};
//   auto step = nn::train_step(net, nn::cross_entropy, optim::Adam{.lr = 1e-3f}, {{64, 784}, {64}});
//   float loss = step(x, labels);                         // zero allocations
#pragma once
#include <memory>
#include <vector>

#include "ingot/attention.h"  // IWYU pragma: export
#include "ingot/data.h"       // IWYU pragma: export
#include "ingot/init.h"       // IWYU pragma: export
#include "ingot/layers.h"     // IWYU pragma: export
#include "ingot/loss.h"       // IWYU pragma: export
#include "ingot/metrics.h"    // IWYU pragma: export
#include "ingot/module.h"     // IWYU pragma: export
#include "ingot/optim.h"      // IWYU pragma: export
#include "ingot/plan.h"
#include "ingot/recurrent.h"  // IWYU pragma: export
#include "ingot/schedule.h"   // IWYU pragma: export
#include "ingot/trainer.h"    // IWYU pragma: export

namespace ingot::nn {

/// A whole training step of a model; it owns the slab that the model's parameters now look into.
class Step {
 public:
  Step(Layer& model, const Loss& loss, const Optimizer& optimizer, std::vector<InputSpec> inputs,
       const PlanOptions& options);
  /// One step on a batch and its targets; the loss before the update.
  float operator()(const Tensor& x, const Tensor& target) { return step_(x, target); }
  Plan& plan() { return step_.plan(); }
  TrainStep& train_step() { return step_; }
  const ParameterSlab& slab() const { return *slab_; }

 private:
  std::unique_ptr<ParameterSlab> slab_;  // its address stays when the step moves
  TrainStep step_;
};

/// Compiles forward, loss, backward and update of a model for a batch `inputs[0]` and targets `inputs[1]`, whose type
/// is the loss's.
inline Step train_step(Layer& model, const Loss& loss, const Optimizer& optimizer, std::vector<InputSpec> inputs,
                       const PlanOptions& options = {}) {
  return Step(model, loss, optimizer, std::move(inputs), options);
}

}  // namespace ingot::nn
