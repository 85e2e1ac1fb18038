#include <algorithm>

#include "ingot/error.h"
#include "ingot/grad.h"
#include "ingot/ops.h"
#include "ingot/optim.h"

namespace ingot {
namespace {

float lr_of(const Optimizer& optimizer) {
  return std::visit([](const auto& o) { return o.lr; }, optimizer);
}

void check_loss(const std::vector<NamedTensor>& results) {
  if (results.empty()) throw Error("train step: the function returns nothing — it must return the loss");
  const Tensor& loss = results[0].tensor;
  if (!loss.defined() || !is_float(loss.dtype()) || loss.numel() != 1)
    throw Error("train step: the loss is " +
                (loss.defined() ? std::string(name(loss.dtype())) + " " + to_string(loss.shape()) : "undefined") +
                " — it must be one floating-point number; reduce it with mean() or sum()");
}

}  // namespace

TrainStep::TrainStep(const PlanFunction& loss, const ParameterSlab& slab, const Optimizer& optimizer,
                     const std::vector<InputSpec>& inputs, const PlanOptions& options)
    : state_(make_state(optimizer, slab)),
      lr_tensor_(zeros({})),
      step_tensor_(zeros({}, kI64)),
      inputs_(inputs.size() + 2),
      lr_(lr_of(optimizer)) {
  std::vector<InputSpec> all = inputs;
  all.emplace_back(Dims(), kF32, "lr");
  all.emplace_back(Dims(), kI64, "step");
  PlanOptions with_roles = options;
  with_roles.roles.emplace_back(slab.values(), Role::kParameter);
  with_roles.roles.emplace_back(slab.gradients(), Role::kGradient);
  if (state_.defined()) with_roles.roles.emplace_back(state_, Role::kState);
  for (size_t i = 0; i < slab.size(); i++) {
    with_roles.names.push_back(slab.named()[i]);
    with_roles.names.push_back({slab.name(i) + " gradient", slab.gradient(i)});
  }

  const auto step = [&](std::span<const Tensor> in) {
    std::vector<NamedTensor> results;
    const auto value = [&] {
      results = loss(in.first(inputs.size()));
      check_loss(results);
      return results[0].tensor;
    };
    const ValueAndGrad found = value_and_grad(value, slab.named());
    const Scope scope("update");
    for (size_t i = 0; i < slab.size(); i++) copy_into(slab.gradient(i), found.gradients[i]);
    record_update(optimizer, slab, state_, in[inputs.size()], in[inputs.size() + 1]);
    results[0] = {"loss", found.value};
    return results;
  };
  plan_ = compile_function(step, all, with_roles);
}

// The inputs of the plan: the user's, the learning rate and the number of the step.
std::span<const Tensor* const> TrainStep::with_counters(std::span<const Tensor* const> inputs) {
  if (inputs_.empty()) throw Error("train step: empty — it was moved from");
  if (inputs.size() + 2 != inputs_.size())
    throw Error("train step: " + std::to_string(inputs.size()) + " inputs given — it was made for " +
                std::to_string(inputs_.size() - 2));
  std::copy(inputs.begin(), inputs.end(), inputs_.begin());
  inputs_[inputs.size()] = &lr_tensor_;
  inputs_[inputs.size() + 1] = &step_tensor_;
  *lr_tensor_.data<float>() = lr_;
  *step_tensor_.data<int64_t>() = steps_ + 1;
  return inputs_;
}

float TrainStep::run(std::span<const Tensor* const> inputs) {
  const std::span<const Tensor> results = plan_.run(with_counters(inputs));
  steps_++;
  return results[0].item<float>();
}

Profile TrainStep::profile(int runs, std::span<const Tensor* const> inputs) {
  return plan_.profile(runs, with_counters(inputs));
}

}  // namespace ingot
