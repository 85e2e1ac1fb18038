#include "ingot/rl/value_learning.h"

#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/nn/loss.h"
#include "ingot/nn/optim.h"
#include "ingot/ops/ops.h"

namespace ingot::rl {
namespace {

constexpr int64_t kAskedRows = 4096;

std::unique_ptr<QNet> make_net(const NetInput& input, const ValueOptions& o) {
  if (o.walk_length < 1 || o.walks < 1 || o.walk_updates < 0 || o.iteration_updates < 0 || o.iteration_states < 1 ||
      o.target_every < 1)
    throw Error("value learning: walks, their length, states and target_every are 1 or more, updates 0 or more");
  if (o.sweep && o.iteration_updates == 0)
    throw Error("value learning: sweeps belong to value iteration — ask for iteration_updates, too");
  const nn::SeedScope seed(static_cast<int64_t>(o.seed));
  NetOptions net = o.net;
  net.dueling = false;
  return std::make_unique<QNet>(input, 1, net);
}

}  // namespace

ValueUpdate::ValueUpdate(const NetInput& input, int64_t moves, const ValueOptions& o)
    : options_(o),
      net_(make_net(input, o)),
      parameters_(std::make_unique<ParameterSlab>(net_->trainable_parameters())),
      adam_(make_state(optim::Adam{}, *parameters_)),
      lr_(full({}, o.lr)),
      step_(zeros({}, kI64)) {
  const auto named = [&](const char* name) { return PlanOptions{.name = name}; };
  const int64_t n = o.walks * o.walk_length, m = o.iteration_states;
  walk_states_ = zeros(input.shape(n), input.dtype()), walk_labels_ = zeros({n});
  walk_plan_ =
      compile([&](const Tensor& x, const Tensor& label) { return learn(reshape((*net_)(x), {n}), label); },
              {InputSpec(input.shape(n), input.dtype(), "states"), InputSpec(Dims{n}, kF32, "labels")}, named("walks"));
  if (o.iteration_updates == 0) return;

  target_ = std::make_unique<QNet>(nn::clone(*net_));
  target_parameters_ = std::make_unique<ParameterSlab>(target_->trainable_parameters());
  if (o.sweep) {
    asked_ = zeros(input.shape(kAskedRows), input.dtype());
    target_plan_ = compile([&](const Tensor& x) { return relu(reshape((*target_)(x), {kAskedRows})); },
                           {InputSpec(asked_.shape(), asked_.dtype(), "states")}, named("target values"));
    return;
  }
  states_ = zeros(input.shape(m), input.dtype());
  neighbours_ = zeros(input.shape(m * moves), input.dtype());
  unsolved_ = zeros({m, moves});
  iteration_plan_ = compile(
      [&](const Tensor& x, const Tensor& next, const Tensor& unsolved) {
        const Tensor far = relu(reshape((*target_)(next), {m, moves})) * unsolved;
        return learn(reshape((*net_)(x), {m}), stop_gradient(min(far, {1}) + 1.0));
      },
      {InputSpec(input.shape(m), input.dtype(), "states"),
       InputSpec(input.shape(m * moves), input.dtype(), "neighbours"), InputSpec({m, moves}, kF32, "unsolved")},
      named("value iteration"));
}

std::vector<NamedTensor> ValueUpdate::learn(const Tensor& value, const Tensor& target) {
  const Tensor loss = nn::mse_loss(value, target);
  const std::vector<Tensor> g = gradients(loss, parameters_->named());
  for (size_t i = 0; i < parameters_->size(); i++) copy_into(parameters_->gradient(i), g[i]);
  record_update(optim::Adam{}, *parameters_, adam_, lr_, step_);
  return {{"loss", loss}};
}

void ValueUpdate::count() {
  const auto all = static_cast<double>(options_.walk_updates + options_.iteration_updates);
  const double share = std::min(static_cast<double>(updates_) / all, 1.0);
  *lr_.data<float>() = static_cast<float>(options_.lr + (options_.lr_end - options_.lr) * share);
  *step_.data<int64_t>() = ++updates_;
}

float ValueUpdate::learn_walks() {
  count();
  return walk_plan_.run(walk_states_, walk_labels_)[0].item<float>();
}

bool ValueUpdate::renew_target() {
  if ((updates_ - options_.walk_updates) % options_.target_every != 0) return false;
  copy_into(target_parameters_->values(), parameters_->values());
  return true;
}

std::span<const float> ValueUpdate::ask() {
  const Tensor& values = target_plan_.run(asked_)[0];
  return {values.data<float>(), static_cast<size_t>(values.numel())};
}

float ValueUpdate::learn_iteration() {
  renew_target();
  count();
  return iteration_plan_.run(states_, neighbours_, unsolved_)[0].item<float>();
}

void ValueUpdate::save(nn::TrainingState& state) const {
  state.tensors.push_back({"online", parameters_->values()});
  state.tensors.push_back({"adam", adam_});
  if (target_parameters_ != nullptr) state.tensors.push_back({"target", target_parameters_->values()});
  save_number(state, "updates", updates_);
}

void ValueUpdate::load(const nn::TrainingState& state) {
  const auto load = [&](const char* name, const Tensor& to) { copy_into(to, saved_tensor(state, name, to)); };
  load("online", parameters_->values()), load("adam", adam_);
  if (target_parameters_ != nullptr) load("target", target_parameters_->values());
  updates_ = saved_count(state, "updates");
}

}  // namespace ingot::rl
