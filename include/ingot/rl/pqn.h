// Parallel Q-learning (PQN: Gallici et al. 2024): many environments, layer norm, λ-returns; no replay, no target network.
//
//   rl::Pqn<rl::CartPole> agent({}, {.environments = 32, .total_steps = 200'000});
//   while (agent.status().steps < 200'000) agent.step();             // allocates nothing
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/graph/plan.h"
#include "ingot/nn/slab.h"
#include "ingot/rl/agent.h"
#include "ingot/rl/net.h"
#include "ingot/rl/player.h"

namespace ingot::rl {

struct PqnOptions {
  NetOptions net = {.hidden = {64, 64}, .dueling = false};  // layer norm is what makes it work without a target network
  double discount = 0.99;                                   // of a reward a step later
  double lambda = 0.65;                                     // share of the return, against the value, of a next state
  int64_t environments = 32, rollout = 32;                  // steps of each between two phases of learning,
  int64_t epochs = 2, minibatches = 8;                      // which goes so often over all of them, in so many parts
  float lr = 5e-4f, lr_end = 0;                             // Adam's, falling in a line
  double clip_norm = 10;
  int64_t total_steps = 200'000;  // over which epsilon and lr change
  double epsilon_start = 1, epsilon_end = 0.05, exploration = 0.3;
  uint64_t seed = 1;
};

/// An update by regression on targets, as one plan.
class INGOT_API PqnUpdate {
 public:
  PqnUpdate(const NetInput& input, int64_t actions, const PqnOptions& options);
  int64_t batch() const { return target_.numel(); }
  /// The caller fills them: state [batch, …], action [batch, 1] i64, target [batch].
  const Tensor& state() const { return state_; }
  const Tensor& action() const { return action_; }
  const Tensor& target() const { return target_; }
  void set_lr(float lr) { *lr_.data<float>() = lr; }
  float run();
  int64_t updates() const { return updates_; }
  float mean_value() const { return plan_.output("value").item<float>(); }
  QNet& network() { return *net_; }
  void save(nn::TrainingState& state) const;
  void load(const nn::TrainingState& state);

 private:
  std::unique_ptr<QNet> net_;
  std::unique_ptr<ParameterSlab> parameters_;
  Tensor adam_, lr_, step_, state_, action_, target_;
  Plan plan_;
  int64_t updates_ = 0;
};

template <Environment E>
class Pqn final : public Agent {
 public:
  Pqn(const E& env, const PqnOptions& options)
      : options_(options),
        env_(env),
        update_(input_of(env), env.action_count(), options),
        player_(env, options.environments, update_.network(), options.seed),
        next_input_(
            Tensor::empty(update_.network().input().shape(options.environments), update_.network().input().dtype())) {
    const auto all = static_cast<size_t>(options.environments * options.rollout);
    rollout_.resize(all), targets_.resize(all), order_.resize(all);
    values_ = compile([this](const Tensor& x) { return max(update_.network()(x), {1}); },
                      {InputSpec(next_input_.shape(), next_input_.dtype())}, {.name = "values"});
  }

  void step() override {
    player_.step(epsilon());
    const auto n = static_cast<size_t>(player_.size());
    std::copy_n(player_.transitions().begin(), n, rollout_.begin() + static_cast<ptrdiff_t>(filled_ * n));
    if (++filled_ < static_cast<size_t>(options_.rollout)) return;
    filled_ = 0;
    make_targets();
    for (int64_t epoch = 0; epoch < options_.epochs; epoch++) learn();
  }

  AgentStatus status() const override {
    return {player_.steps(), update_.updates(), epsilon(), td_loss_, q_value_, player_.means()};
  }
  EpisodeMeans evaluate(int64_t episodes, uint64_t seed) override {
    return evaluate_greedily(env_, update_.network(), episodes, seed);
  }
  QNet& network() override { return update_.network(); }
  /// The return that was learned for row `step` of the last rollout, in environment i.
  float target(int64_t step, int64_t i) const { return targets_[static_cast<size_t>(step * player_.size() + i)]; }

  nn::TrainingState state() override {
    nn::TrainingState state;
    update_.save(state), player_.save(state, "player");
    save_memory(state, "rollout", std::as_bytes(std::span(rollout_)));
    save_number(state, "filled", static_cast<int64_t>(filled_)), save_number(state, "phases", phases_);
    save_number(state, "td_loss", td_loss_), save_number(state, "q_value", q_value_);
    return state;
  }
  void load_state(const nn::TrainingState& state) override {
    update_.load(state), player_.load(state, "player");
    load_memory(state, "rollout", std::as_writable_bytes(std::span(rollout_)));
    filled_ = static_cast<size_t>(std::min(saved_count(state, "filled"), options_.rollout - 1));
    const std::span filled(rollout_.data(), filled_ * static_cast<size_t>(player_.size()));
    if (!std::all_of(filled.begin(), filled.end(), [this](const auto& t) { return valid_transition(env_, t); })) {
      filled_ = 0;
      refuse_saved("\"rollout\" holds a transition that cannot be one");
    }
    phases_ = saved_count(state, "phases");
    td_loss_ = saved_real(state, "td_loss"), q_value_ = saved_real(state, "q_value");
  }

 private:
  double line(double a, double b, double share) const {
    const double at = static_cast<double>(player_.steps()) / (share * static_cast<double>(options_.total_steps));
    return at < 1 ? a + (b - a) * at : b;
  }
  double epsilon() const { return line(options_.epsilon_start, options_.epsilon_end, options_.exploration); }

  // Backwards: r + discount · (λ · the return from the next state + (1 - λ) · its value). Where the episode ended, or
  // nothing follows in this rollout, the value alone; after a terminated step, nothing.
  void make_targets() {
    const auto n = static_cast<size_t>(player_.size());
    for (size_t t = static_cast<size_t>(options_.rollout); t-- > 0;) {
      for (size_t i = 0; i < n; i++) observe_row(env_, rollout_[t * n + i].next, next_input_, static_cast<int64_t>(i));
      const float* value = values_.run(next_input_)[0].template data<float>();
      for (size_t i = 0; i < n; i++) {
        const Transition<typename E::Code>& r = rollout_[t * n + i];
        const bool last = t + 1 == static_cast<size_t>(options_.rollout) || r.truncated;
        const double after =
            last ? value[i] : options_.lambda * targets_[(t + 1) * n + i] + (1 - options_.lambda) * value[i];
        targets_[t * n + i] = static_cast<float>(r.reward + (r.terminated ? 0 : options_.discount * after));
      }
    }
  }

  void learn() {
    fill_permutation(order_.data(), static_cast<int64_t>(order_.size()),
                     {options_.seed, kOrderStream + static_cast<uint64_t>(phases_++)});
    update_.set_lr(static_cast<float>(line(options_.lr, options_.lr_end, 1)));
    const auto batch = static_cast<size_t>(update_.batch());
    for (size_t first = 0; first + batch <= order_.size(); first += batch) {
      for (size_t k = 0; k < batch; k++) {
        const auto from = static_cast<size_t>(order_[first + k]);
        observe_row(env_, rollout_[from].state, update_.state(), static_cast<int64_t>(k));
        update_.action().template data<int64_t>()[k] =
            action_in_view(env_, rollout_[from].state, rollout_[from].action);
        update_.target().template data<float>()[k] = targets_[from];
      }
      td_loss_ = update_.run();
      q_value_ = update_.mean_value();
    }
  }

  static constexpr uint64_t kOrderStream = 0x6F72646572000000;  // "order"
  PqnOptions options_;
  E env_;
  PqnUpdate update_;
  Player<E> player_;
  Tensor next_input_;
  Plan values_;
  std::vector<Transition<typename E::Code>> rollout_;
  std::vector<float> targets_;
  std::vector<int64_t> order_;
  size_t filled_ = 0;
  int64_t phases_ = 0;
  double td_loss_ = 0, q_value_ = 0;
};

}  // namespace ingot::rl
