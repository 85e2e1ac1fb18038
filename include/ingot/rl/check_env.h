// Is an environment one? What learning would stumble over, said before it does.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/random.h"
#include "ingot/rl/environment.h"

namespace ingot::rl {

struct CheckEnvOptions {
  int64_t steps = 1000;
  uint64_t seed = 1;
};

/// Every action has a number of its own in what is shown, and that number leads back.
template <Environment E>
bool has_view_of_actions(const E& env, const typename E::Code& code) {
  std::vector<bool> seen(static_cast<size_t>(env.action_count()));
  for (int64_t a = 0; a < env.action_count(); a++) {
    const int64_t shown = action_in_view(env, code, a);
    if (shown < 0 || shown >= env.action_count() || seen[static_cast<size_t>(shown)]) return false;
    if (action_of_view(env, code, shown) != a) return false;
    seen[static_cast<size_t>(shown)] = true;
  }
  return true;
}

/// What is wrong with an environment, a sentence each; nothing, if nothing was found. It plays random actions, twice, and
/// looks at sizes, numbers that are none, memory outside of observations, and whether the same seed gives the same
/// episode, a copy one of its own, and a code the same observation later.
template <Environment E>
std::vector<std::string> check_env(const E& env, const CheckEnvOptions& options = {}) {
  std::vector<std::string> problems;
  const auto say = [&](const std::string& problem) {
    if (std::find(problems.begin(), problems.end(), problem) == problems.end()) problems.push_back(problem);
  };
  const int64_t size = env.observation_size(), actions = env.action_count();
  if (size < 1) say("observation_size: " + std::to_string(size) + " — an observation has one float at least");
  if (actions < 1) say("action_count: " + std::to_string(actions) + " — there must be an action");
  if (!problems.empty()) return problems;

  // Observes into the middle of memory that says if something else was written, and what was not.
  constexpr float kOutside = 12345.5F;
  constexpr size_t kGuard = 16;
  const auto wide = static_cast<size_t>(size);
  const auto observe = [&](const E& e, const typename E::Code& code) {
    std::vector<float> memory(wide + 2 * kGuard, kOutside);
    const std::span<float> out(memory.data() + kGuard, wide);
    std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
    e.observe(code, out);
    for (size_t i = 0; i < kGuard; i++)
      if (memory[i] != kOutside || memory[kGuard + wide + i] != kOutside)
        say("observe: writes outside of its " + std::to_string(size) + " floats");
    for (const float x : out)
      if (!std::isfinite(x))
        say("observe: leaves NaN or infinity in the observation (a float it does not write is one)");
    return std::vector<float>(out.begin(), out.end());
  };

  E first = env, second = env;
  int64_t episode = 0;
  const auto begin = [&] {
    const uint64_t seed = episode_seed(options.seed, 0, episode++);
    first.reset(seed), second.reset(seed);
    if (observe(first, first.code()) != observe(second, second.code()))
      say("reset: the same seed does not begin the same episode");
  };
  begin();
  typename E::Code kept = first.code();
  std::vector<float> kept_view = observe(first, kept);
  for (int64_t step = 0; step < options.steps; step++) {
    int64_t action = 0;
    fill_integers(&action, 1, step, 0, actions, {.seed = options.seed, .stream = 7});
    const E before = first;
    const std::vector<float> before_view = observe(before, before.code());
    const StepResult r = first.step(action);
    if (observe(before, before.code()) != before_view) say("step: changes a copy that was made before");
    if (!(r == second.step(action)) && !std::isnan(r.reward))
      say("step: the same seed and actions give other rewards or another end");
    if (!std::isfinite(r.reward)) say("step: a reward is NaN or infinite");
    if (observe(first, first.code()) != observe(second, second.code()))
      say("step: the same seed and actions lead to another observation");
    if (observe(first, kept) != kept_view) say("observe: a code does not give the same observation later");
    if constexpr (ForeseenEnvironment<E>) {
      const Outcome<typename E::Code> told = before.outcome(before.code(), action);
      if (told.reward != r.reward || told.terminated != r.terminated ||
          observe(before, told.next) != observe(first, first.code()))
        say("outcome: foretells something else than what step does");
    }
    if (!has_view_of_actions(before, before.code()))
      say("action_in_view: not one-to-one, or action_of_view does not lead back");
    if (r.ended()) begin();
    if (step % 50 == 0) kept = first.code(), kept_view = observe(first, kept);
  }
  if (episode == 1 && options.steps >= 1000)
    say("step: no episode ended in " + std::to_string(options.steps) + " random steps — is there no limit?");
  return problems;
}

}  // namespace ingot::rl
