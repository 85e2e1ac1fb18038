#include "ingot/rl/pqn.h"

#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/nn/loss.h"
#include "ingot/nn/optim.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::rl {
namespace {

int64_t batch_of(const PqnOptions& o) {
  if (o.environments < 1 || o.rollout < 1 || o.epochs < 1 || o.minibatches < 1 || o.total_steps < 1)
    throw Error("pqn: environments, rollout, epochs, minibatches and total_steps are 1 or more");
  if (o.environments * o.rollout % o.minibatches != 0)
    throw Error("pqn: " + std::to_string(o.environments) + " environments · " + std::to_string(o.rollout) +
                " steps are not " + std::to_string(o.minibatches) + " minibatches of one size");
  if (!(o.lambda >= 0 && o.lambda <= 1 && o.discount >= 0 && o.discount <= 1))
    throw Error("pqn: lambda and discount are from 0 to 1");
  if (!(o.exploration > 0 && o.exploration <= 1)) throw Error("pqn: exploration is a share of all steps");
  return o.environments * o.rollout / o.minibatches;
}

std::unique_ptr<QNet> make_net(const NetInput& input, int64_t actions, const PqnOptions& o) {
  const nn::SeedScope seed(static_cast<int64_t>(o.seed));
  return std::make_unique<QNet>(input, actions, o.net);
}

}  // namespace

PqnUpdate::PqnUpdate(const NetInput& input, int64_t actions, const PqnOptions& o)
    : net_(make_net(input, actions, o)),
      parameters_(std::make_unique<ParameterSlab>(net_->trainable_parameters())),
      lr_(full({}, o.lr)),
      step_(zeros({}, kI64)),
      state_(zeros(input.shape(batch_of(o)), input.dtype())),
      action_(zeros({batch_of(o), 1}, kI64)),
      target_(zeros({batch_of(o)})) {
  const optim::Adam adam{.lr = o.lr, .clip_norm = o.clip_norm};
  adam_ = make_state(adam, *parameters_);
  const int64_t n = batch();
  plan_ = compile(
      [&](const Tensor& state, const Tensor& action, const Tensor& target) {
        const Tensor value = reshape(gather((*net_)(state), action, 1), {n});
        const Tensor loss = nn::mse_loss(value, target), mean_value = mean(value);
        const std::vector<Tensor> g = gradients(loss, parameters_->named());
        for (size_t i = 0; i < parameters_->size(); i++) copy_into(parameters_->gradient(i), g[i]);
        record_update(adam, *parameters_, adam_, lr_, step_);
        return std::vector<NamedTensor>{{"loss", loss}, {"value", mean_value}};
      },
      {InputSpec(state_.shape(), state_.dtype(), "state"), InputSpec({n, 1}, kI64, "action"),
       InputSpec(Dims{n}, kF32, "target")},
      {.name = "pqn update"});
}

float PqnUpdate::run() {
  *step_.data<int64_t>() = ++updates_;
  return plan_.run(state_, action_, target_)[0].item<float>();
}

void PqnUpdate::save(nn::TrainingState& state) const {
  state.tensors.push_back({"online", parameters_->values()});
  state.tensors.push_back({"adam", adam_});
  save_number(state, "updates", updates_);
}

void PqnUpdate::load(const nn::TrainingState& state) {
  copy_into(parameters_->values(), saved_tensor(state, "online", parameters_->values()));
  copy_into(adam_, saved_tensor(state, "adam", adam_));
  updates_ = saved_count(state, "updates");
}

}  // namespace ingot::rl
