#include "ingot/rl/dqn.h"

#include <cmath>
#include <string>

#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/nn/loss.h"
#include "ingot/nn/optim.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::rl {
namespace {

void check(const DqnOptions& o) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw Error(std::string("dqn: ") + what);
  };
  require(o.batch >= 1 && o.environments >= 1 && o.total_steps >= 1, "batch, environments, total_steps are 1 or more");
  require(o.tau >= 0 && o.tau <= 1, "tau is a share, from 0 to 1");
  require(o.copy_every >= 0, "copy_every is 0 (the target follows by tau) or a number of updates");
  require(o.epsilon_start >= 0 && o.epsilon_start <= 1 && o.epsilon_end >= 0 && o.epsilon_end <= 1,
          "epsilon is a chance, from 0 to 1");
  require(o.exploration > 0 && o.exploration <= 1, "exploration is a share of all steps, more than 0, up to 1");
  require(o.updates_per_step > 0 && o.learning_starts >= 0, "updates_per_step is more than 0");
  require(std::isfinite(o.shaping) && o.bonus >= 0, "shaping is a number, bonus is 0 or more");
  require(o.hold >= 1, "hold is 1 (one random action at a time) or more");
  require(o.capacity >= o.batch, "the replay's capacity is at least a batch");
  require(!o.all_actions || o.n_step == 1, "all_actions looks one step ahead: n_step is 1 with it");
}

std::unique_ptr<QNet> make_net(const NetInput& input, int64_t actions, const DqnOptions& o) {
  check(o);
  const nn::SeedScope seed(static_cast<int64_t>(o.seed));
  auto net = std::make_unique<QNet>(input, actions, o.net);
  if (o.dtype != kF32) net->to(o.dtype);
  return net;
}

}  // namespace

DqnUpdate::DqnUpdate(const NetInput& input, int64_t actions, const DqnOptions& o)
    : options_(o),
      online_(make_net(input, actions, o)),
      target_(std::make_unique<QNet>(nn::clone(*online_))),
      parameters_(std::make_unique<ParameterSlab>(online_->trainable_parameters())),
      target_parameters_(std::make_unique<ParameterSlab>(target_->trainable_parameters())),
      lr_(full({}, o.lr)),
      step_(zeros({}, kI64)) {
  const optim::Adam adam{.lr = o.lr, .clip_norm = o.clip_norm};
  adam_ = make_state(adam, *parameters_);
  const int64_t n = o.batch, each_state = o.all_actions ? actions : 1, m = n * each_state;
  batch_ = {Tensor::empty(input.shape(n), input.dtype()),
            Tensor::empty(input.shape(m), input.dtype()),
            zeros({n, each_state}, kI64),
            zeros({m}),
            zeros({m}),
            ones({n})};

  const auto real = [&](const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : to(x, dtype); };
  const auto update = [&](std::span<const Tensor> in) {
    const Tensor &state = in[0], &next = in[1], &action = in[2];
    const Tensor reward = real(in[3], o.dtype), discount = real(in[4], o.dtype), weight = real(in[5], o.dtype);

    // What the next state is worth: the best action of the target network, or its value of the online one's choice.
    const Tensor values = (*target_)(next);
    const Tensor worth =
        o.double_q ? reshape(gather(values, argmax((*online_)(next), {1}, true), 1), {m}) : max(values, {1});
    const Tensor target = stop_gradient(reward + discount * worth);

    // A transition of importance weight 0 has no gradient.
    const Tensor value = reshape(gather((*online_)(state), action, 1), {m});
    const auto of_state = [&](const Tensor& x) { return o.all_actions ? mean(reshape(x, {n, actions}), {1}) : x; };
    const Tensor each = of_state(o.huber ? nn::huber_loss(value, target, 1, nn::Reduction::kNone)
                                         : nn::mse_loss(value, target, nn::Reduction::kNone));
    const Tensor loss = mean(weight * each);

    const std::vector<Tensor> g = gradients(loss, parameters_->named());
    for (size_t i = 0; i < parameters_->size(); i++) copy_into(parameters_->gradient(i), g[i]);
    const Tensor off = target - value, error = real(o.all_actions ? of_state(abs(off)) : off, kF32),
                 mean_value = real(mean(value), kF32);
    record_update(adam, *parameters_, adam_, lr_, step_);
    if (o.copy_every == 0) {
      const Tensor &follows = target_parameters_->values(), &leads = parameters_->values();
      copy_into(follows, follows + (leads - follows) * o.tau);
    }
    return std::vector<NamedTensor>{
        {"loss", real(loss, kF32)}, {"td_error", error}, {"value", mean_value}, {"target", real(target, kF32)}};
  };
  const std::vector<InputSpec> inputs = {InputSpec(input.shape(n), input.dtype(), "state"),
                                         InputSpec(input.shape(m), input.dtype(), "next"),
                                         InputSpec({n, each_state}, kI64, "action"),
                                         InputSpec(Dims{m}, kF32, "reward"),
                                         InputSpec(Dims{m}, kF32, "discount"),
                                         InputSpec(Dims{n}, kF32, "weight")};
  plan_ = compile_function(update, inputs,
                           {.name = "dqn update",
                            .roles = {{parameters_->values(), Role::kParameter},
                                      {parameters_->gradients(), Role::kGradient},
                                      {target_parameters_->values(), Role::kParameter},
                                      {adam_, Role::kState}},
                            .names = {}});
}

float DqnUpdate::run() {
  *step_.data<int64_t>() = ++updates_;
  const Tensor* inputs[] = {&batch_.state,  &batch_.next,     &batch_.action,
                            &batch_.reward, &batch_.discount, &batch_.weight};
  const float loss = plan_.run(inputs)[0].item<float>();
  if (options_.copy_every > 0 && updates_ % options_.copy_every == 0) copy_to_target();
  return loss;
}

void DqnUpdate::copy_to_target() { copy_into(target_parameters_->values(), parameters_->values()); }

std::span<const float> DqnUpdate::td_errors() const {
  return {plan_.output("td_error").data<float>(), static_cast<size_t>(options_.batch)};
}

void DqnUpdate::save(nn::TrainingState& state) const {
  state.tensors.push_back({"online", parameters_->values()});
  state.tensors.push_back({"target", target_parameters_->values()});
  state.tensors.push_back({"adam", adam_});
  save_number(state, "updates", updates_);
}

void DqnUpdate::load(const nn::TrainingState& state) {
  for (const auto& [name, tensor] :
       {NamedTensor{"online", parameters_->values()}, {"target", target_parameters_->values()}, {"adam", adam_}})
    copy_into(tensor, saved_tensor(state, name, tensor));
  updates_ = saved_count(state, "updates");
}

}  // namespace ingot::rl
