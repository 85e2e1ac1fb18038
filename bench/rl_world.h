// Worlds to learn in: steps of environments, distances of every state, random walks, search.
#pragma once
#include "harness.h"
#include "ingot/base/random.h"
#include "ingot/rl.h"

namespace ingot::bench {

// Environments that step together, with actions drawn beforehand; rewards, ends, states and autoreset included.
template <class E>
void step_env(Suite& suite, const std::string& label, const E& env, int64_t n) {
  if (!suite.wants(label)) return;
  constexpr int64_t kSteps = 100;
  rl::VectorEnv<E> envs(env, n, 1);
  std::vector<int64_t> actions(static_cast<size_t>(n * kSteps));
  fill_integers(actions.data(), n * kSteps, 0, 0, envs.action_count(), {.seed = 2});
  const Tensor rewards = Tensor::empty({n}), terminated = Tensor::empty({n}, kBool),
               truncated = Tensor::empty({n}, kBool);
  suite.compare(label,
                [&] {
                  for (int64_t step = 0; step < kSteps; step++)
                    envs.step(Tensor::wrap(actions.data() + step * n, {n}), rewards, terminated, truncated);
                },
                {}, {static_cast<double>(n * kSteps), "steps"});
}

inline void step_worlds(Suite& suite) {
  // One thread: as many as stay in the first cache; more: enough to share.
  const int64_t n = threads() == 1 ? 256 : 8192;
  step_env(suite, "cube2-step", rl::PuzzleEnv<rl::Cube2>{.depth = 20, .limit = 1000}, n);
  step_env(suite, "cube3-step", rl::PuzzleEnv<rl::Cube3>{.depth = 100, .limit = 1000}, n);
  step_env(suite, "cartpole-step", rl::CartPole{}, n);
}

inline void search_worlds(Suite& suite) {
  const rl::Cube2 cube;
  suite.compare("bfs-cube2", [&] { rl::all_distances(cube); }, {}, {static_cast<double>(rl::Cube2::kStates), "states"});
  // The search alone: values are read from the table of distances, made worse by up to six moves.
  const std::vector<uint8_t> distances = rl::all_distances(cube);
  const auto values = [&](std::span<const rl::Cube2::State> states, std::span<float> out) {
    for (size_t i = 0; i < states.size(); i++) {
      const uint32_t code = cube.code(states[i]);
      out[i] = static_cast<float>(distances[code]) + static_cast<float>(rl::hash_of(code) >> 40) * 0x6p-24F;
    }
  };
  rl::BeamSearch<rl::Cube2> beam(cube, values, {.width = 64});
  rl::BidirectionalSearch<rl::Cube2> both(cube);
  constexpr int64_t kSolves = 100;
  const auto solves = [](auto& search) {
    return [&search] {
      for (uint32_t i = 0; i < kSolves; i++) search.solve(search.puzzle().state(i * 36'000 + 5));
    };
  };
  suite.compare("beam-64 without a network", solves(beam), {}, {kSolves, "solves"});
  suite.compare("both ends", solves(both), {}, {kSolves, "solves"});
  std::vector<rl::Cube2::State> small(22 * 4096);
  std::vector<rl::Cube3::State> large(26 * 4096);
  suite.compare("random-walk-states cube2", [&] { rl::random_walks(cube, small, 22, {.seed = 3}); }, {},
                {static_cast<double>(small.size()), "states"});
  suite.compare("random-walk-states cube3", [&] { rl::random_walks(rl::Cube3(), large, 26, {.seed = 3}); }, {},
                {static_cast<double>(large.size()), "states"});
}

}  // namespace ingot::bench
