// Values of puzzles' states: how many moves from solved. Learned first from random walks (a state's label is the number
// of its step, Chervov et al. 2025), then by value iteration over all moves (DeepCubeA: Agostinelli et al. 2019).
//
//   rl::ValueLearner<rl::Cube2> learner(rl::Cube2(), {.walk_updates = 4000});
//   while (learner.updates() < 4000) learner.step();                 // allocates nothing
//   rl::LearnedValue<rl::Cube2> value(puzzle, learner.network());    // what a search asks
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/base/export.h"
#include "ingot/graph/plan.h"
#include "ingot/nn/slab.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/rl/net.h"
#include "ingot/rl/puzzle.h"
#include "ingot/rl/saved.h"
#include "ingot/rl/share_out.h"

namespace ingot::rl {

struct ValueOptions {
  NetOptions net = {.hidden = {256, 128, 64}, .dueling = false};
  int64_t walk_length = 22;        // moves of a random walk; the mean distance of a random state and a few more
  int64_t walks = 64;              // in a batch of random walks: walks · walk_length states
  int64_t walk_updates = 4'000;    // updates that learn from them; then
  int64_t iteration_updates = 0;   // updates of value iteration, y(s) = 1 + min over moves of V(next)
  int64_t iteration_states = 512;  // in a batch of those
  bool sweep = false;          // V of every state is computed at once when it is renewed; batches are those of walks
  int64_t target_every = 500;  // updates of value iteration before V in y is renewed
  float lr = 1e-3f, lr_end = 1e-5f;  // Adam's, falling in a line over all updates
  uint64_t seed = 1;
};

/// What a puzzle's states look like to a network.
template <Puzzle P>
NetInput puzzle_input(const P& puzzle) {
  if constexpr (HotPuzzle<P>) return {puzzle.observation_size(), puzzle.hot_count()};
  return {puzzle.observation_size(), 0};
}

/// Writes states as rows of a network's input, from `row` on; workers share them.
template <Puzzle P>
void observe_states(const P& puzzle, std::span<const typename P::State> states, const Tensor& input, int64_t row = 0) {
  const auto width = static_cast<size_t>(input.size(1));
  share_out(states.size() >= 1024, static_cast<int64_t>(states.size()), 64, [&](size_t first, size_t last) {
    for (size_t i = first; i < last; i++) {
      const size_t at = (i + static_cast<size_t>(row)) * width;
      if constexpr (HotPuzzle<P>)
        puzzle.hot(states[i], {input.data<int32_t>() + at, width});
      else
        puzzle.observe(states[i], {input.data<float>() + at, width});
    }
  });
}

/// Both kinds of update, a plan each: forward, loss, backward, Adam; of value iteration the targets, too.
class INGOT_API ValueUpdate {
 public:
  ValueUpdate(const NetInput& input, int64_t moves, const ValueOptions& options);
  /// States and their labels [n], for walks; the caller fills them.
  const Tensor& walk_states() const { return walk_states_; }
  const Tensor& walk_labels() const { return walk_labels_; }
  float learn_walks();
  /// States [n], the states after every move [n · moves] and how far off these are to be taken: 1 where V is asked, 0
  /// where the state is solved.
  const Tensor& states() const { return states_; }
  const Tensor& neighbours() const { return neighbours_; }
  const Tensor& unsolved() const { return unsolved_; }
  float learn_iteration();
  /// Of sweeps: rows of states to ask for V of, and V of them.
  const Tensor& asked() const { return asked_; }
  std::span<const float> ask();
  /// Renews V in y when it is time to, and says whether it did.
  bool renew_target();

  QNet& network() { return *net_; }
  const Plan& walk_plan() const { return walk_plan_; }
  int64_t updates() const { return updates_; }
  void save(nn::TrainingState& state) const;
  void load(const nn::TrainingState& state);

 private:
  std::vector<NamedTensor> learn(const Tensor& value, const Tensor& target);
  void count();
  ValueOptions options_;
  std::unique_ptr<QNet> net_, target_;
  std::unique_ptr<ParameterSlab> parameters_, target_parameters_;
  Tensor adam_, lr_, step_, walk_states_, walk_labels_, states_, neighbours_, unsolved_, asked_;
  Plan walk_plan_, iteration_plan_, target_plan_;
  int64_t updates_ = 0;
};

template <Puzzle P>
class ValueLearner {
 public:
  using State = typename P::State;
  ValueLearner(const P& puzzle, const ValueOptions& options)
      : puzzle_(puzzle), options_(options), update_(puzzle_input(puzzle), puzzle.move_count(), options) {
    walk_.resize(static_cast<size_t>(std::max(options.walks, walks_per_iteration()) * options.walk_length));
    if (options.iteration_updates > 0 && !options.sweep)
      next_.resize(static_cast<size_t>(options.iteration_states * puzzle.move_count()));
    if (options.iteration_updates > 0 && options.sweep) make_table();
    float* label = update_.walk_labels().template data<float>();
    for (int64_t i = 0; i < options.walks * options.walk_length; i++)
      label[i] = static_cast<float>(i % options.walk_length + 1);
  }

  /// One update; an Error if all have been made.
  void step() {
    if (updates() >= total_updates())
      throw Error("ValueLearner::step: all " + std::to_string(total_updates()) +
                  " updates have been made — ask for more walk_updates or iteration_updates");
    if (update_.updates() < options_.walk_updates)
      loss_ = learn_walks();
    else
      loss_ = options_.sweep ? learn_sweep() : learn_iteration();
  }
  int64_t updates() const { return update_.updates(); }
  int64_t total_updates() const { return options_.walk_updates + options_.iteration_updates; }
  double loss() const { return loss_; }
  int64_t states_seen() const { return states_seen_; }
  QNet& network() { return update_.network(); }
  const P& puzzle() const { return puzzle_; }
  ValueUpdate& learner() { return update_; }

  nn::TrainingState state() {
    nn::TrainingState state;
    update_.save(state);
    save_number(state, "walks", walks_), save_number(state, "states_seen", states_seen_);
    save_number(state, "loss", loss_);
    return state;
  }
  void load_state(const nn::TrainingState& state) {
    update_.load(state);
    walks_ = saved_count(state, "walks"), states_seen_ = saved_count(state, "states_seen");
    loss_ = saved_real(state, "loss");
    swept_ = false;
  }

 private:
  int64_t walks_per_iteration() const {
    return options_.iteration_updates == 0 || options_.sweep
               ? 0
               : (options_.iteration_states + options_.walk_length - 1) / options_.walk_length;
  }

  std::span<const State> walk(int64_t walks) {
    const std::span<State> states(walk_.data(), static_cast<size_t>(walks * options_.walk_length));
    const int64_t first = walks_;
    share_out(states.size() >= 1024, walks, 1, [&](size_t from, size_t to) {
      const auto length = static_cast<size_t>(options_.walk_length);
      const std::span<State> mine = states.subspan(from * length, (to - from) * length);
      random_walks(puzzle_, mine, static_cast<int>(length), {options_.seed, kWalkStream},
                   first + static_cast<int64_t>(from));
    });
    walks_ += walks;
    return states;
  }

  float learn_walks() {
    observe_states(puzzle_, walk(options_.walks), update_.walk_states());
    states_seen_ += options_.walks * options_.walk_length;
    return update_.learn_walks();
  }

  float learn_iteration() {
    const auto states = walk(walks_per_iteration()).first(static_cast<size_t>(options_.iteration_states));
    const int moves = puzzle_.move_count();
    float* unsolved = update_.unsolved().template data<float>();
    for (size_t i = 0; i < states.size(); i++)
      for (int m = 0; m < moves; m++) {
        const size_t at = i * static_cast<size_t>(moves) + static_cast<size_t>(m);
        next_[at] = puzzle_.apply(states[i], m);
        unsolved[at] = puzzle_.is_solved(next_[at]) ? 0.0F : 1.0F;
      }
    observe_states(puzzle_, states, update_.states());
    observe_states(puzzle_, std::span<const State>(next_), update_.neighbours());
    states_seen_ += options_.iteration_states;
    return update_.learn_iteration();
  }

  void make_table() {
    if constexpr (CountedPuzzle<P>) {
      table_.resize(static_cast<size_t>(puzzle_.state_count()));
      walk_.resize(std::max(walk_.size(), static_cast<size_t>(update_.asked().size(0))));
      for (size_t code = 0; code < table_.size(); code++)
        if (is_asked(puzzle_.state(static_cast<CodeOf<P>>(code)))) asked_.push_back(static_cast<CodeOf<P>>(code));
    } else {
      throw Error("value learning: a sweep goes over all states, and this puzzle's cannot be counted");
    }
  }

  // Of symmetric states that look the same, one is asked.
  bool is_asked(const State& s) const {
    if constexpr (requires { puzzle_.canonical(s); })
      return !puzzle_.hides_symmetry() || puzzle_.canonical(s) == s;
    else
      return true;
  }
  float target(const State& s) const {
    if constexpr (requires { puzzle_.canonical(s); })
      return table_[puzzle_.code(puzzle_.hides_symmetry() ? puzzle_.canonical(s) : s)];
    else
      return table_[puzzle_.code(s)];
  }

  void sweep() {
    const auto rows = static_cast<size_t>(update_.asked().size(0));
    for (size_t first = 0; first < asked_.size(); first += rows) {
      const size_t n = std::min(rows, asked_.size() - first);
      for (size_t i = 0; i < n; i++) walk_[i] = puzzle_.state(asked_[first + i]);
      observe_states(puzzle_, std::span<const State>(walk_.data(), n), update_.asked());
      const std::span<const float> values = update_.ask();
      for (size_t i = 0; i < n; i++) table_[asked_[first + i]] = values[i];
    }
    table_[puzzle_.code(puzzle_.solved())] = 0;
    swept_ = true;
  }

  float learn_sweep() {
    if constexpr (CountedPuzzle<P>) {
      if (update_.renew_target() || !swept_) sweep();
      const std::span<const State> states = walk(options_.walks);
      float* label = update_.walk_labels().template data<float>();
      share_out(states.size() >= 1024, std::ssize(states), 64, [&](size_t first, size_t last) {
        for (size_t i = first; i < last; i++) {
          label[i] = std::numeric_limits<float>::infinity();
          for (int m = 0; m < puzzle_.move_count(); m++)
            label[i] = std::min(label[i], target(puzzle_.apply(states[i], m)) + 1);
        }
      });
      observe_states(puzzle_, states, update_.walk_states());
      states_seen_ += std::ssize(states);
    }
    return update_.learn_walks();
  }

  static constexpr uint64_t kWalkStream = 0x77616C6B;  // "walk"
  P puzzle_;
  ValueOptions options_;
  ValueUpdate update_;
  std::vector<State> walk_, next_;
  std::vector<float> table_;      // of sweeps: V of the states that are asked for
  std::vector<CodeOf<P>> asked_;  // which ones
  bool swept_ = false;            // is the table V of the target network?
  int64_t walks_ = 0, states_seen_ = 0;
  double loss_ = 0;
};

/// A network's values of states, asked for in any number: what a search asks; of a network that values actions, how little the best
/// one is worth. The network's weights are those of the moment it is made.
template <Puzzle P>
class LearnedValue {
 public:
  LearnedValue(const P& puzzle, QNet& net, int64_t rows = 1024)
      : puzzle_(puzzle), input_(zeros(net.input().shape(rows), net.input().dtype())) {
    const auto value = [&net](const Tensor& x) { return net.actions() == 1 ? net(x) : negative(max(net(x), {1})); };
    plan_ = compile(value, {InputSpec(input_.shape(), input_.dtype())}, {.name = "value", .frozen = true});
  }
  void operator()(std::span<const typename P::State> states, std::span<float> values) {
    const auto rows = static_cast<size_t>(input_.size(0));
    for (size_t first = 0; first < states.size(); first += rows) {
      const size_t n = std::min(rows, states.size() - first);
      observe_states(puzzle_, states.subspan(first, n), input_);
      const float* value = plan_.run(input_)[0].template data<float>();
      std::copy(value, value + n, values.begin() + static_cast<ptrdiff_t>(first));
    }
  }

 private:
  P puzzle_;
  Tensor input_;
  Plan plan_;
};

}  // namespace ingot::rl
