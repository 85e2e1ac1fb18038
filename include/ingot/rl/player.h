// Environments and a network that plays in them: ε-greedily to learn, greedily to be judged.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/random.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"
#include "ingot/rl/environment.h"
#include "ingot/rl/net.h"
#include "ingot/rl/replay.h"
#include "ingot/rl/saved.h"
#include "ingot/rl/vector_env.h"

namespace ingot::rl {

/// An environment whose observations are one at few places and zero elsewhere: it writes which. A network's first layer
/// then adds rows instead of multiplying by zeros.
template <class E>
concept HotEnvironment = Environment<E> && requires(const E c, const typename E::Code& code, std::span<int32_t> out) {
  { c.hot_count() } -> std::convertible_to<int64_t>;
  c.hot(code, out);  // as many indices, from 0 to observation_size() - 1
};

/// What a network for this environment sees.
template <Environment E>
NetInput input_of(const E& env) {
  if constexpr (HotEnvironment<E>) return {env.observation_size(), env.hot_count()};
  return {env.observation_size(), 0};
}

/// Writes a state as row `row` of a network's input.
template <Environment E>
void observe_row(const E& env, const typename E::Code& code, const Tensor& input, int64_t row) {
  const auto width = static_cast<size_t>(input.size(1));
  if constexpr (HotEnvironment<E>)
    env.hot(code, {input.data<int32_t>() + static_cast<size_t>(row) * width, width});
  else
    env.observe(code, {input.data<float>() + static_cast<size_t>(row) * width, width});
}

/// False for a transition that this environment cannot have made: of those that come from a file.
template <Environment E>
bool valid_transition(const E& env, const Transition<typename E::Code>& t) {
  const auto is_bool = [](const bool& b) { return *reinterpret_cast<const unsigned char*>(&b) <= 1; };
  return is_bool(t.terminated) && is_bool(t.truncated) && std::isfinite(t.reward) && t.action >= 0 &&
         t.action < env.action_count() && valid_code(env, t.state) && valid_code(env, t.next);
}

/// The mean of the last episodes that ended.
struct EpisodeMeans {
  int64_t episodes = 0;  // that have ended in all
  double total = 0, length = 0;
};

/// n copies of an environment, and the actions of a network in them. It allocates nothing after its constructor.
template <Environment E>
class Player {
 public:
  using Code = typename E::Code;

  Player(const E& env, int64_t n, QNet& net, uint64_t seed)
      : env_(env), envs_(env, n, seed), seed_(seed), input_(Tensor::empty(net.input().shape(n), net.input().dtype())) {
    if (env.action_count() > std::numeric_limits<int16_t>::max())
      throw Error("Player: " + std::to_string(env.action_count()) + " actions — a transition has room for " +
                  std::to_string(std::numeric_limits<int16_t>::max()));
    const auto count = static_cast<size_t>(n);
    actions_.resize(count), results_.resize(count), chances_.resize(count), transitions_.resize(count);
    last_.resize(kMean), held_.resize(count);
    plan_ = compile([&net](const Tensor& x) { return argmax(net(x), {1}); },
                    {InputSpec(input_.shape(), input_.dtype(), "observation")}, {.name = "act"});
  }

  int64_t size() const { return envs_.size(); }
  /// Steps of all environments together.
  int64_t steps() const { return vector_steps_ * size(); }
  VectorEnv<E>& environments() { return envs_; }

  /// Every environment takes a step: with chance `epsilon` a random one, else the one that the network values most. A
  /// random action is held for 1 to `hold` steps (Dabney et al. 2021): what takes many equal steps is then found, too.
  void step(double epsilon, int64_t hold = 1) {
    const int64_t n = size();
    fill_uniform(chances_.data(), n, vector_steps_ * n, 0.0, 1.0, {seed_, kExploreStream});
    const int64_t* best = nullptr;
    if (epsilon < 1) {
      for (int64_t i = 0; i < n; i++) observe_row(env_, envs_.codes()[static_cast<size_t>(i)], input_, i);
      best = plan_.run(input_)[0].template data<int64_t>();
    }
    const auto count = static_cast<double>(env_.action_count());
    for (size_t i = 0; i < actions_.size(); i++) {  // below ε, the number says which action as well
      if (held_[i].left > 0) {
        held_[i].left--, actions_[i] = held_[i].action;
      } else if (chances_[i] < epsilon) {
        const double drawn = chances_[i] / epsilon * count;
        const int64_t action = std::min(static_cast<int64_t>(drawn), env_.action_count() - 1);
        held_[i] = {static_cast<int64_t>((drawn - static_cast<double>(action)) * static_cast<double>(hold)), action};
        actions_[i] = action;
      } else {
        actions_[i] = action_of_view(env_, envs_.codes()[i], best[i]);
      }
      transitions_[i].state = envs_.codes()[i];
      transitions_[i].action = static_cast<int16_t>(actions_[i]);
    }
    envs_.step(actions_, results_);
    vector_steps_++;
    for (size_t i = 0; i < actions_.size(); i++) take(i);
  }
  /// What the last step did in each environment.
  std::span<const Transition<Code>> transitions() const { return transitions_; }

  /// Of the last 100 episodes.
  EpisodeMeans means() const {
    EpisodeMeans m{.episodes = episodes_};
    const int64_t n = std::min(episodes_, kMean);
    for (int64_t i = 0; i < n; i++) {
      m.total += last_[static_cast<size_t>(i)].total / static_cast<double>(n);
      m.length += static_cast<double>(last_[static_cast<size_t>(i)].length) / static_cast<double>(n);
    }
    return m;
  }

  /// An Error if a checkpoint cannot keep such an environment (see KeptEnvironment).
  void save(nn::TrainingState& state, const std::string& name) {
    saved_.resize(envs_.saved_bytes());
    if constexpr (KeptEnvironment<E>)
      envs_.save(saved_);
    else
      refuse_to_keep();
    save_memory(state, name + ".environments", saved_);
    save_memory(state, name + ".last_episodes", std::as_bytes(std::span(last_)));
    save_memory(state, name + ".held", std::as_bytes(std::span(held_)));
    save_number(state, name + ".vector_steps", vector_steps_);
    save_number(state, name + ".episodes", episodes_);
  }
  void load(const nn::TrainingState& state, const std::string& name) {
    saved_.resize(envs_.saved_bytes());
    load_memory(state, name + ".environments", saved_);
    if constexpr (KeptEnvironment<E>)
      envs_.load(saved_);
    else
      refuse_to_keep();
    load_memory(state, name + ".last_episodes", std::as_writable_bytes(std::span(last_)));
    for (const Episode& e : last_)
      if (!std::isfinite(e.total) || e.length < 0) {
        std::fill(last_.begin(), last_.end(), Episode{});
        refuse_saved("\"" + name + ".last_episodes\" has a return that is no number");
      }
    load_memory(state, name + ".held", std::as_writable_bytes(std::span(held_)));
    for (const Held& h : held_)
      if (h.left < 0 || h.action < 0 || h.action >= env_.action_count()) {
        std::fill(held_.begin(), held_.end(), Held{});
        refuse_saved("\"" + name + ".held\" has no such action");
      }
    vector_steps_ = saved_count(state, name + ".vector_steps");
    episodes_ = saved_count(state, name + ".episodes");
  }

 private:
  static constexpr uint64_t kExploreStream = 0x6578706C6F7265;  // "explore"
  static constexpr int64_t kMean = 100;
  [[noreturn]] static void refuse_to_keep() {
    throw Error("Player: this environment cannot be saved — it is not plain data; give it kept() and restore()");
  }
  struct Held {
    int64_t left = 0, action = 0;  // steps that a random action goes on for
  };

  void take(size_t i) {
    const StepResult& r = results_[i];
    Transition<Code>& t = transitions_[i];
    t.next = envs_.reached()[i], t.reward = r.reward, t.terminated = r.terminated, t.truncated = r.truncated;
    if (r.ended()) held_[i].left = 0;
    if (r.ended()) last_[static_cast<size_t>(episodes_++ % kMean)] = envs_.finished(static_cast<int64_t>(i));
  }

  E env_;
  VectorEnv<E> envs_;
  uint64_t seed_;
  Tensor input_;
  Plan plan_;
  std::vector<int64_t> actions_;
  std::vector<StepResult> results_;
  std::vector<double> chances_;
  std::vector<Transition<Code>> transitions_;
  std::vector<Episode> last_;
  std::vector<Held> held_;
  std::vector<std::byte> saved_;
  int64_t vector_steps_ = 0, episodes_ = 0;
};

/// One greedy episode in each of `episodes` environments: what they returned and how long they were, on average.
template <Environment E>
EpisodeMeans evaluate_greedily(const E& env, QNet& net, int64_t episodes, uint64_t seed) {
  Player<E> player(env, episodes, net, seed);
  std::vector<bool> done(static_cast<size_t>(episodes), false);
  EpisodeMeans m;
  while (m.episodes < episodes) {
    player.step(0);
    for (size_t i = 0; i < done.size(); i++) {
      const Transition<typename E::Code>& t = player.transitions()[i];
      if (done[i] || !(t.terminated || t.truncated)) continue;
      done[i] = true, m.episodes++;
      const Episode& e = player.environments().finished(static_cast<int64_t>(i));
      m.total += e.total / static_cast<double>(episodes);
      m.length += static_cast<double>(e.length) / static_cast<double>(episodes);
    }
  }
  return m;
}

}  // namespace ingot::rl
