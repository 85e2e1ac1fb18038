// What an agent acts in: one struct of the user's, with Gymnasium's meaning of reset and step.
//
//   struct Corridor {                                  // walk right; `examples/own_environment.cc` is a whole one
//     using Code = int32_t;
//     int32_t at = 0;
//     int64_t observation_size() const { return 8; }
//     int64_t action_count() const { return 2; }
//     void reset(uint64_t) { at = 0; }
//     rl::StepResult step(int64_t action);
//     Code code() const { return at; }
//     void observe(const Code& code, std::span<float> out) const;
//   };
#pragma once
#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "ingot/base/export.h"

namespace ingot::rl {

/// What a step led to. `terminated`: the task is over, nothing comes after it, so its value is the reward alone.
/// `truncated`: somebody stopped looking (a time limit), so a learner adds the value of the state that was reached.
struct StepResult {
  float reward = 0;
  bool terminated = false, truncated = false;
  bool ended() const { return terminated || truncated; }
  bool operator==(const StepResult&) const = default;
};

/// An environment. Copies are independent of each other. `Code` is all of a state that an observation needs, in few
/// bytes: it is what replay keeps. The same seed and the same actions give the same episode. Actions are the numbers
/// from 0 to action_count() - 1. After a step that ended the episode, reset comes next.
template <class E>
concept Environment = std::copyable<E> && std::is_trivially_copyable_v<typename E::Code> &&
    requires(E e, const E c, uint64_t seed, int64_t action, std::span<float> out, const typename E::Code& code) {
  { c.observation_size() } -> std::convertible_to<int64_t>;  // floats of an observation
  { c.action_count() } -> std::convertible_to<int64_t>;
  e.reset(seed);  // begins an episode
  { e.step(action) } -> std::same_as<StepResult>;
  { c.code() } -> std::same_as<typename E::Code>;  // the state now
  c.observe(code, out);                            // a state as floats; writes all of `out`
};

/// An environment that steps many copies faster than one by one: result[i] is what envs[i].step(actions[i]) returns, to
/// the bit. Actions are in range.
template <class E>
concept StepsMany = Environment<E> && requires(std::span<E> envs, const int64_t* actions, StepResult* results) {
  E::step_many(envs, actions, results);
};

/// What a checkpoint keeps of an environment: all of it, if it is plain data. Three hooks change that, each optional:
///
///   Kept kept() const;              // plain data that the rest of the episode depends on: for an environment that is not
///                                   // plain data, or that looks at tables by an address
///   void restore(const Kept& kept); // takes it over; settings, and tables, stay this environment's own
///   bool valid(const Code&) const;  // false for what is no state of it. A file may hold anything: without this hook,
///                                   // observe and step are given whatever it holds
template <class E>
auto kept_of(const E& env) {
  if constexpr (requires { env.kept(); })
    return env.kept();
  else
    return env;
}
template <class E>
using KeptOf = decltype(kept_of(std::declval<const E&>()));

/// An environment that a checkpoint can keep.
template <class E>
concept KeptEnvironment = Environment<E> && std::is_trivially_copyable_v<KeptOf<E>>;

template <KeptEnvironment E>
void restore_env(E& env, const KeptOf<E>& kept) {
  if constexpr (requires { env.restore(kept); })
    env.restore(kept);
  else
    env = kept;
}

/// False if the environment says that this is no state of it.
template <Environment E>
bool valid_code(const E& env, const typename E::Code& code) {
  if constexpr (requires { env.valid(code); })
    return env.valid(code);
  else
    return true;
}

/// An environment may show symmetric states as one of them: a network then has fewer to learn. Actions have other numbers in
/// that view than in the state itself; two hooks say which. Agents ask them wherever a network's action becomes one that
/// is played, and back.
///
///   int64_t action_in_view(const Code&, int64_t action) const;  // the number of a state's action in what observe shows
///   int64_t action_of_view(const Code&, int64_t seen) const;    // and back
template <Environment E>
int64_t action_in_view(const E& env, const typename E::Code& code, int64_t action) {
  if constexpr (requires { env.action_in_view(code, action); })
    return env.action_in_view(code, action);
  else
    return action;
}
template <Environment E>
int64_t action_of_view(const E& env, const typename E::Code& code, int64_t seen) {
  if constexpr (requires { env.action_of_view(code, seen); })
    return env.action_of_view(code, seen);
  else
    return seen;
}

/// What an action would lead to.
template <class Code>
struct Outcome {
  Code next;
  float reward = 0;
  bool terminated = false;
};
/// A hook of environments whose rules are known, `Outcome<Code> outcome(const Code&, int64_t action) const`: what the action
/// would lead to from there, without taking it; what `step` does, but for the time limit.
template <class E>
concept ForeseenEnvironment = Environment<E> && requires(const E c, const typename E::Code& code, int64_t action) {
  { c.outcome(code, action) } -> std::same_as<Outcome<typename E::Code>>;
};

/// An Error if an action is outside of [0, count): for `step` of environments of one's own.
INGOT_API void refuse_action(int64_t action, int64_t count);
inline void check_action(int64_t action, int64_t count) {
  if (static_cast<uint64_t>(action) >= static_cast<uint64_t>(count)) refuse_action(action, count);
}

/// The seed of environment `index`'s episode number `episode`: the same for the same three numbers, independent
/// otherwise.
INGOT_API uint64_t episode_seed(uint64_t seed, int64_t index, int64_t episode);

/// Four numbers in [0, 1) for the beginning of an episode: the same for the same seed and stream.
INGOT_API std::array<double, 4> uniform_four(uint64_t seed, uint64_t stream = 0);

}  // namespace ingot::rl
