#include "ingot/rl/pretrain.h"

#include "ingot/graph/grad.h"
#include "ingot/nn/loss.h"
#include "ingot/nn/optim.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::rl {

LabelUpdate::LabelUpdate(DqnUpdate& learner, const DqnOptions& o) : lr_(full({}, o.lr)), step_(zeros({}, kI64)) {
  QNet& net = learner.online();
  ParameterSlab& parameters = learner.parameters();
  const optim::Adam adam{.lr = o.lr, .clip_norm = o.clip_norm};
  adam_ = make_state(adam, parameters);
  const NetInput& input = net.input();
  state_ = zeros(input.shape(o.batch), input.dtype()), labels_ = zeros({o.batch, net.actions()});
  const auto update = [&](const Tensor& state, const Tensor& labels) {
    const Tensor loss = nn::mse_loss(net(state), o.dtype == kF32 ? labels : to(labels, o.dtype));
    const std::vector<Tensor> g = gradients(loss, parameters.named());
    for (size_t i = 0; i < parameters.size(); i++) copy_into(parameters.gradient(i), g[i]);
    record_update(adam, parameters, adam_, lr_, step_);
    return o.dtype == kF32 ? loss : to(loss, kF32);
  };
  plan_ =
      compile(update, {InputSpec(state_.shape(), state_.dtype(), "state"), InputSpec(labels_.shape(), kF32, "labels")},
              {.name = "pretraining",
               .roles = {{parameters.values(), Role::kParameter},
                         {parameters.gradients(), Role::kGradient},
                         {adam_, Role::kState}},
               .names = {}});
}

float LabelUpdate::run() {
  *step_.data<int64_t>() = ++updates_;
  return plan_.run(state_, labels_)[0].item<float>();
}

void LabelUpdate::save(nn::TrainingState& state, const std::string& name) const {
  state.tensors.push_back({name + ".adam", adam_});
  save_number(state, name + ".updates", updates_);
}

void LabelUpdate::load(const nn::TrainingState& state, const std::string& name) {
  copy_into(adam_, saved_tensor(state, name + ".adam", adam_));
  updates_ = saved_count(state, name + ".updates");
}

}  // namespace ingot::rl
