#include "ingot/nn/train_step.h"

#include <string>

#include "graph/capture.h"
#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "nn/called_modules.h"

namespace ingot {
namespace {

void check_losses(const std::vector<NamedTensor>& results, size_t count) {
  if (results.size() < count)
    throw Error("train step: the function returns " + std::to_string(results.size()) +
                " results — it must return the loss" +
                (count == 1 ? std::string() : "es of all " + std::to_string(count) + " slabs") + " first");
  for (size_t i = 0; i < count; i++) {
    const Tensor& loss = results[i].tensor;
    if (!loss.defined() || !is_float(loss.dtype()) || loss.numel() != 1)
      throw Error(ErrorKind::kShape,
                  "train step: the loss is " +
                      (loss.defined() ? std::string(name(loss.dtype())) + " " + to_string(loss.shape()) : "undefined") +
                      " — it must be one floating-point number; reduce it with mean() or sum()");
  }
}

nn::Slabs slabs_of(const std::vector<Updates*>& updates) {
  nn::Slabs slabs;
  for (const Updates* u : updates) slabs.push_back(&u->slab());
  return slabs;
}

}  // namespace

void TrainStep::compile_for(const PlanFunction& losses, const std::vector<InputSpec>& inputs,
                            const PlanOptions& options) {
  if (updates_.empty()) throw Error("train step: no updates — give those of at least one slab");
  PlanOptions with_roles = options;
  for (const Updates* u : updates_) {
    if (u == nullptr) throw Error("train step: one of the updates is null");
    const ParameterSlab& slab = u->slab();
    for (const auto& role : u->roles()) with_roles.roles.push_back(role);
    for (size_t i = 0; i < slab.size(); i++) {
      with_roles.names.push_back(slab.named()[i]);
      with_roles.names.push_back({slab.name(i) + " gradient", slab.gradient(i)});
    }
    with_roles.names.push_back({"lr", u->lr_tensor_});
    with_roles.names.push_back({"step", u->step_tensor_});
  }
  with_roles.names.push_back({"seed", first().seed_tensor_});
  // All gradients are recorded before the first update: they see the parameters as they were.
  const auto step = [&](std::span<const Tensor> in) {
    const nn::RandomScope random(first().seed_tensor_);
    std::vector<NamedTensor> results = called(losses, in);
    for (size_t i = 0; i < updates_.size(); i++)
      updates_[i]->record_gradients(gradients(results[i].tensor, updates_[i]->slab().named()));
    for (const Updates* u : updates_)
      if (u->options().accumulate == 1) u->record();
    if (updates_.size() == 1) results[0].name = "loss";
    return results;
  };
  plan_ = compile_function(step, inputs, with_roles);
}

Updates& TrainStep::first() const {
  if (updates_.empty()) throw Error("train step: empty — it was moved from");
  return *updates_[0];
}

// Calls the function, and sees which modules it calls.
std::vector<NamedTensor> TrainStep::called(const PlanFunction& losses, std::span<const Tensor> inputs) {
  nn::CalledModules modules(slabs_of(updates_));
  modes_ = modules.modes();
  std::vector<NamedTensor> results = losses(inputs);
  check_losses(results, updates_.size());
  graph::Capture& capture = graph::current_capture("train step");
  std::vector<graph::ValueId> values;
  for (size_t i = 0; i < updates_.size(); i++) values.push_back(capture.value_of(results[i].tensor));
  modules.check_all_learn(capture.graph(), values);
  return results;
}

void TrainStep::watch(nn::Module& model) {
  first();
  for (nn::Module* m : model.modules())
    modes_->add(*m, m->name().empty() ? "the " + m->kind() : "\"" + m->name() + "\" (" + m->kind() + ")",
                slabs_of(updates_));
}

float TrainStep::run(std::span<const Tensor* const> inputs) {
  first();
  modes_->check();
  for (Updates* u : updates_) u->before_batch();
  const std::span<const Tensor> results = plan_.run(inputs);
  for (Updates* u : updates_) u->after_batch();
  return results[0].item<float>();
}

Profile TrainStep::profile(int runs, std::span<const Tensor* const> inputs) {
  first();
  modes_->check();
  for (Updates* u : updates_) u->before_batch();
  return plan_.profile(runs, inputs);
}

namespace nn {
namespace {

std::vector<InputSpec> with_targets(std::vector<InputSpec> inputs, const Loss& loss) {
  if (inputs.size() != 2 && inputs.size() != 3)
    throw Error(std::string("train_step: ") + std::to_string(inputs.size()) +
                " input specs — give the batch's and the targets', and if samples have weights, theirs");
  if (!inputs[1].typed) inputs[1].dtype = loss.target;
  constexpr const char* kNames[] = {"x", "target", "weight"};
  for (size_t i = 0; i < inputs.size(); i++)
    if (inputs[i].name.empty()) inputs[i].name = kNames[i];
  return inputs;
}

}  // namespace

TrainStep train_step(Layer& model, const Loss& loss, const Optimizer& optimizer, std::vector<InputSpec> inputs,
                     const PlanOptions& options) {
  const auto function = [&](std::span<const Tensor> in) {
    const Tensor result = model(in[0]);
    const Scope scope(loss.name);
    return in.size() == 2 ? loss(result, in[1]) : loss(result, in[1], in[2]);
  };
  const std::vector<InputSpec> specs = with_targets(std::move(inputs), loss);
  return TrainStep(function, std::make_unique<ParameterSlab>(model.trainable_parameters()), optimizer, specs, options);
}

}  // namespace nn
}  // namespace ingot
