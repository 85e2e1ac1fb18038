// Supervised learning before playing: a network of actions' values is fitted to labels of a puzzle's states.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/base/export.h"
#include "ingot/graph/plan.h"
#include "ingot/nn/slab.h"
#include "ingot/rl/distance.h"
#include "ingot/rl/dqn.h"
#include "ingot/rl/puzzle.h"

namespace ingot::rl {

/// Where labels come from. kWalks: a scramble of k moves is solved by taking it back; its last move's inverse leaves
/// k − 1, any other move k + 1. kExact: every state's distance, of puzzles with a table.
enum class LabelSource : uint8_t { kWalks, kExact };

struct PretrainOptions {
  int64_t updates = 0;  // before the first step; 0: none
  LabelSource labels = LabelSource::kWalks;
  int64_t depth = 4;  // scrambles are of 1 to so many moves, equally many of each
};

/// Labelled states of a puzzle: the value of every move, under the rewards of the environment.
template <Puzzle P>
class PuzzleLabels {
 public:
  /// shaping is that of the agent: values are lower by the potential.
  PuzzleLabels(const PuzzleEnv<P>& env, const PretrainOptions& options, double discount, double shaping)
      : env_(env), options_(options), shaping_(shaping) {
    if (options.labels == LabelSource::kExact && !CountedPuzzle<P>)
      throw Error("pretraining: exact labels need a puzzle with few enough states for a table — use those of walks");
    if (options.updates < 0 || options.depth < 1 || options.depth > kMost)
      throw Error("pretraining: updates are 0 or more, depth is from 1 to " + std::to_string(kMost));
    own_.resize(static_cast<size_t>(env.puzzle.move_count()));
    returns_.assign(kMost + 3, 0.0F);  // solved in m moves: m − 1 of them cost, the last one is paid
    double share = 1, cost = 0;
    for (size_t m = 1; m < returns_.size(); m++) {
      returns_[m] = static_cast<float>(cost + share * env.solved_reward);
      cost += share * env.move_reward, share *= discount;
    }
  }

  /// Writes states from number `first` on, and the value of each of their moves [n, moves].
  void fill(int64_t first, RandomKey key, const Tensor& states, const Tensor& labels) {
    if constexpr (CountedPuzzle<P>)
      if (options_.labels == LabelSource::kExact && distances_.empty()) distances_ = all_distances(env_.puzzle);
    const int64_t moves = env_.puzzle.move_count();
    for (int64_t i = 0; i < states.size(0); i++) {
      const auto k = static_cast<int>(1 + (first + i) % options_.depth);
      MoveSource source(key, static_cast<int>(moves), first + i);
      typename P::State state = env_.puzzle.solved();
      int last = -1;
      for (int step = 0; step < k; step++)
        last = source.next_after(env_.puzzle, last), state = env_.puzzle.apply(state, last);
      observe_row(env_, state, states, i);
      label(state, k, last, own_);
      for (int64_t move = 0; move < moves; move++)
        labels.data<float>()[i * moves + action_in_view(env_, state, move)] = own_[static_cast<size_t>(move)];
    }
  }

  /// The value of every move in a state that k moves led to, the last of them `last`.
  void label(const typename P::State& state, int k, int last, std::span<float> out) const {
    double potential = 0;
    if constexpr (ShapedEnvironment<PuzzleEnv<P>>) potential = shaping_ * env_.potential(state);
    for (int move = 0; move < env_.puzzle.move_count(); move++) {
      const typename P::State next = env_.puzzle.apply(state, move);
      int left = move == env_.puzzle.inverse(last) ? k - 1 : k + 1;
      if constexpr (CountedPuzzle<P>)
        if (!distances_.empty()) left = distances_[env_.puzzle.code(next)];
      if (env_.puzzle.is_solved(next)) left = 0;
      out[static_cast<size_t>(move)] = static_cast<float>(returns_[static_cast<size_t>(left) + 1] - potential);
    }
  }

 private:
  static constexpr int64_t kMost = kUnreached;
  PuzzleEnv<P> env_;
  PretrainOptions options_;
  double shaping_;
  std::vector<float> own_;          // labels of a state's moves, before they are those of what is shown
  std::vector<float> returns_;      // by the number of moves
  std::vector<uint8_t> distances_;  // of exact labels
};

/// Regression of all actions' values on labels, as one plan.
class INGOT_API LabelUpdate {
 public:
  LabelUpdate(DqnUpdate& learner, const DqnOptions& options);
  const Tensor& state() const { return state_; }
  const Tensor& labels() const { return labels_; }
  /// One update; the loss before it.
  float run();
  int64_t updates() const { return updates_; }
  void save(nn::TrainingState& state, const std::string& name) const;
  void load(const nn::TrainingState& state, const std::string& name);

 private:
  Tensor adam_, lr_, step_, state_, labels_;
  Plan plan_;
  int64_t updates_ = 0;
};

}  // namespace ingot::rl
