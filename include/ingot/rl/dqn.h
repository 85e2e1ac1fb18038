// Deep Q-learning (Mnih et al. 2015) with the parts that were found since, each a switch.
//
//   rl::Dqn<rl::CartPole> agent({}, {.total_steps = 50'000});
//   while (agent.status().steps < 50'000) agent.step();              // allocates nothing
//   agent.evaluate(100, /*seed=*/7).total;                           // greedy
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/graph/plan.h"
#include "ingot/nn/module.h"
#include "ingot/nn/slab.h"
#include "ingot/rl/agent.h"
#include "ingot/rl/net.h"
#include "ingot/rl/player.h"
#include "ingot/rl/replay.h"
#include "ingot/rl/rewards.h"

namespace ingot::rl {

struct DqnOptions {
  NetOptions net = {};             // dueling heads, layer norm
  bool double_q = true;            // the online network chooses the next action, the target network values it
  bool huber = true;               // the loss of an error: Huber's, else its square
  bool all_actions = false;        // value every action of a drawn state, by what the environment foretells (`outcome`)
  int64_t n_step = 3;              // rewards that a target adds up before it trusts the network
  double discount = 0.99;          // of a reward a step later
  double shaping = 0;              // what the environment's potential is worth; 0: rewards are as they are
  double bonus = 0;                // a step to a state that was visited n times earns bonus / √n more
  bool prioritised = true;         // replay by TD error, with importance weights in the loss
  double alpha = 0.6, beta = 0.4;  // of that; beta grows to 1
  double tau = 0.005;              // share by which the target network follows at every update,
  int64_t copy_every = 0;          // or: it is a copy, made anew after so many updates (0: it follows)
  float lr = 1e-3f;                // Adam's, falling in a line to lr_end
  float lr_end = 1e-3f;
  double clip_norm = 10;  // of the gradient; 0: not limited
  int64_t environments = 8, batch = 64, capacity = 50'000;
  int64_t learning_starts = 1'000;  // steps before the first update
  double updates_per_step = 0.25;
  int64_t total_steps = 50'000;                                     // over which epsilon, beta and lr change
  double epsilon_start = 1, epsilon_end = 0.05, exploration = 0.3;  // falls in a line over that share of all steps
  int64_t hold = 1;                                                 // the most steps that a random action is held for
  uint64_t seed = 1;
  DType dtype = kF32;  // of the network; kF64 for comparisons
};

/// The update: a batch of transitions, seen through both networks, changes the online one. All of it is one plan:
/// forward passes, targets, loss, backward pass, Adam, the target network's step, and the TD errors for the replay.
class INGOT_API DqnUpdate {
 public:
  DqnUpdate(const NetInput& input, int64_t actions, const DqnOptions& options);

  /// What a batch is; the caller fills it. state [batch, …]; action [batch, k] i64, which k actions of a state are valued:
  /// one, or all; next [batch · k, …], reward and discount [batch · k] are of these; weight [batch].
  struct Batch {
    Tensor state, next, action, reward, discount, weight;
  };
  const Batch& batch() const { return batch_; }
  void set_lr(float lr) { *lr_.data<float>() = lr; }
  /// One update; the loss before it.
  float run();
  int64_t updates() const { return updates_; }
  /// Of the last update: target minus value of every transition (of all actions: how far off they are on average), the
  /// targets, and the mean value.
  std::span<const float> td_errors() const;
  const Tensor& targets() const { return plan_.output("target"); }
  float mean_value() const { return plan_.output("value").item<float>(); }

  QNet& online() { return *online_; }
  QNet& target() { return *target_; }
  ParameterSlab& parameters() { return *parameters_; }
  /// The target network becomes a copy of the online one.
  void copy_to_target();
  const Plan& plan() const { return plan_; }
  void save(nn::TrainingState& state) const;
  void load(const nn::TrainingState& state);

 private:
  DqnOptions options_;
  std::unique_ptr<QNet> online_, target_;
  std::unique_ptr<ParameterSlab> parameters_, target_parameters_;
  Tensor adam_, lr_, step_;
  Batch batch_;
  Plan plan_;
  int64_t updates_ = 0;
};

/// The loop: environments play, replay remembers, the update learns.
template <Environment E>
class Dqn final : public Agent {
 public:
  Dqn(const E& env, const DqnOptions& options)
      : options_(options),
        env_(env),
        update_(input_of(env), env.action_count(), options),
        player_(env, options.environments, update_.online(), options.seed),
        replay_({.capacity = options.capacity,
                 .environments = options.environments,
                 .n_step = options.n_step,
                 .discount = options.discount,
                 .prioritised = options.prioritised,
                 .alpha = options.alpha,
                 .seed = options.seed}),
        slots_(static_cast<size_t>(options.batch)) {
    if (options.shaping != 0 && !ShapedEnvironment<E>)
      throw Error("dqn: shaping needs an environment that has a potential — give it potential(code), or leave it at 0");
    if (options.bonus != 0 && !CountableEnvironment<E>)
      throw Error("dqn: a bonus needs states that can be counted — give the environment cell(code), or leave it at 0");
    if (options.all_actions && !ForeseenEnvironment<E>)
      throw Error(
          "dqn: all_actions asks what every action leads to — give the environment outcome(code, action), or do "
          "without");
  }

  void step() override {
    player_.step(epsilon(), options_.hold);
    count_visits();
    replay_.push(player_.transitions());
    while (update_.updates() < updates_due()) update();
  }

  AgentStatus status() const override {
    return {player_.steps(), update_.updates(), epsilon(), td_loss_, q_value_, player_.means()};
  }
  EpisodeMeans evaluate(int64_t episodes, uint64_t seed) override {
    return evaluate_greedily(env_, update_.online(), episodes, seed);
  }
  QNet& network() override { return update_.online(); }
  DqnUpdate& learner() { return update_; }
  const Replay<typename E::Code>& replay() const { return replay_; }
  VectorEnv<E>& environments() { return player_.environments(); }
  /// What the last step did in each environment.
  std::span<const Transition<typename E::Code>> transitions() const { return player_.transitions(); }

  nn::TrainingState state() override {
    nn::TrainingState state;
    update_.save(state), player_.save(state, "player"), replay_.save(state, "replay");
    if (options_.bonus != 0) visits_.save(state, "visits");
    save_number(state, "td_loss", td_loss_), save_number(state, "q_value", q_value_);
    return state;
  }
  void load_state(const nn::TrainingState& state) override {
    update_.load(state), player_.load(state, "player");
    replay_.load(state, "replay", [this](const auto& t) { return valid_transition(env_, t); });
    if (options_.bonus != 0) visits_.load(state, "visits");
    td_loss_ = saved_real(state, "td_loss"), q_value_ = saved_real(state, "q_value");
  }

 private:
  // From a to b in a line, over this share of all steps.
  double line(double a, double b, double share) const {
    const double at = static_cast<double>(player_.steps()) / (share * static_cast<double>(options_.total_steps));
    return at < 1 ? a + (b - a) * at : b;
  }
  double epsilon() const { return line(options_.epsilon_start, options_.epsilon_end, options_.exploration); }
  int64_t updates_due() const {
    const int64_t learned_from = player_.steps() - options_.learning_starts;
    return learned_from < 0 ? 0 : static_cast<int64_t>(static_cast<double>(learned_from) * options_.updates_per_step);
  }

  // Bonuses are those of now, whenever the step was made: what has become known is new no longer.
  void count_visits() {
    if constexpr (CountableEnvironment<E>)
      if (options_.bonus != 0)
        for (const auto& t : player_.transitions()) visits_.visit(cell_of(env_, t.next));
  }
  double reward_of(const Transition<typename E::Code>& t) const {
    if constexpr (CountableEnvironment<E>)
      if (options_.bonus != 0) return t.reward + options_.bonus * visits_.novelty(cell_of(env_, t.next));
    return t.reward;
  }
  float return_of(const Window<typename E::Code>& w) const {
    if constexpr (ShapedEnvironment<E>)
      if (options_.shaping != 0) return shaped_reward(env_, w, options_.shaping);
    return w.reward;
  }

  void update() {
    const DqnUpdate::Batch& b = update_.batch();
    replay_.sample(line(options_.beta, 1, 1), slots_, {b.weight.template data<float>(), slots_.size()});
    for (size_t i = 0; i < slots_.size(); i++) {
      const auto row = static_cast<int64_t>(i);
      const Window<typename E::Code> w = replay_.window(slots_[i], [this](const auto& t) { return reward_of(t); });
      observe_row(env_, w.state, b.state, row);
      if (!options_.all_actions) write(w, row);
      if constexpr (ForeseenEnvironment<E>)
        for (int64_t a = 0, n = env_.action_count(); options_.all_actions && a < n; a++)
          write(foreseen(w.state, a), row * n + a);
    }
    update_.set_lr(static_cast<float>(line(options_.lr, options_.lr_end, 1)));
    td_loss_ = update_.run();
    q_value_ = update_.mean_value();
    replay_.set_priorities(slots_, update_.td_errors());
  }

  void write(const Window<typename E::Code>& w, int64_t row) {
    const DqnUpdate::Batch& b = update_.batch();
    observe_row(env_, w.next, b.next, row);
    b.action.template data<int64_t>()[row] = action_in_view(env_, w.state, w.action);
    b.reward.template data<float>()[row] = return_of(w);
    b.discount.template data<float>()[row] = w.discount;
  }
  // The step that this action would be.
  Window<typename E::Code> foreseen(const typename E::Code& state,
                                    int64_t action) const requires ForeseenEnvironment<E> {
    const auto [next, reward, over] = env_.outcome(state, action);
    const double paid = reward_of({state, next, reward, static_cast<int16_t>(action), over, false});
    const auto share = static_cast<float>(over ? 0 : options_.discount);
    return {state, next, static_cast<float>(paid), share, action, 1};
  }

  DqnOptions options_;
  E env_;
  DqnUpdate update_;
  Player<E> player_;
  Replay<typename E::Code> replay_;
  std::vector<int64_t> slots_;
  VisitCounts visits_;
  double td_loss_ = 0, q_value_ = 0;
};

}  // namespace ingot::rl
