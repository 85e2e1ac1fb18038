// Replay: the last transitions that environments made, packed, to be drawn again. States are codes of the environment's
// own, and become observations when they are drawn. A draw is a window of up to n steps of one environment.
//
//   rl::Replay<Code> replay({.capacity = 50'000, .environments = 8, .n_step = 3, .prioritised = true});
//   replay.push(row);                                           // a transition of each environment
//   replay.sample(beta, slots, weights);                        // which ones, and their importance weights
//   const rl::Window<Code> w = replay.window(slots[i]);         // n-step return, and what it goes on from
//   replay.set_priorities(slots, td_errors);
#pragma once
#include <algorithm>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/nn/trainer.h"
#include "ingot/rl/saved.h"
#include "ingot/rl/sum_tree.h"

namespace ingot::rl {

struct ReplayOptions {
  int64_t capacity = 50'000;     // transitions; rounded up to as many of every environment
  int64_t environments = 1;      // that push a transition each, at once
  int64_t n_step = 1;            // the longest window
  double discount = 0.99;        // of a reward that comes a step later
  bool prioritised = false;      // draw by priority, not uniformly
  double alpha = 0.6;            // what power of it: 0 is uniform
  double least_priority = 1e-2;  // added to every |TD error|, so that all are drawn some day
  uint64_t seed = 0;
};

/// Which transitions are there, and which are drawn next: all of a Replay that does not depend on what a state is.
class INGOT_API ReplayOrder {
 public:
  explicit ReplayOrder(const ReplayOptions& options);
  const ReplayOptions& options() const { return options_; }
  /// Transitions that are there, and that fit.
  int64_t size() const { return rows_ * options_.environments; }
  int64_t capacity() const { return all_rows_ * options_.environments; }

  /// Draws as many slots as `slots` has room for, with replacement, and the weights that make up for their chances:
  /// (size · chance)^-beta, divided by the largest of the draw. Prioritised draws are stratified: one from each of
  /// equal shares of all priority. An Error if there is nothing to draw from.
  void sample(double beta, std::span<int64_t> slots, std::span<float> weights);
  /// New priorities (|TD error| + least_priority)^alpha of slots that were drawn; nothing if draws are uniform.
  void set_priorities(std::span<const int64_t> slots, std::span<const float> td_errors);
  /// The chance of a slot at the next draw.
  double chance(int64_t slot) const;

 protected:
  /// Makes room for a row of transitions, one per environment, and returns the first one's slot.
  int64_t add_row();
  /// The slot of the transition that the same environment made next; -1 if it made none since.
  int64_t after(int64_t slot) const;
  void forget() { rows_ = next_row_ = 0; }
  [[noreturn]] void refuse_memory() const;
  void save(nn::TrainingState& state, const std::string& name);
  void load(const nn::TrainingState& state, const std::string& name);

 private:
  void take_memory();
  ReplayOptions options_;
  int64_t all_rows_, rows_ = 0, next_row_ = 0;  // a row is a transition of every environment
  uint64_t draws_ = 0;
  double largest_ = 1;  // priority so far, which new transitions get
  SumTree priorities_;
  std::vector<double> uniform_;  // room for numbers of a draw
};

/// What an environment did: from `state`, by `action`, to `next`. Terminated: the task has ended there. Truncated: the
/// episode has, but the task would have gone on.
template <class Code>
struct Transition {
  Code state, next;
  float reward;
  int16_t action;
  bool terminated, truncated;
};

/// Up to n steps seen as one: what they returned, and the share of the value of `next` that is to be added.
template <class Code>
struct Window {
  Code state, next;
  float reward;    // Σ discountᵏ · rewardₖ
  float discount;  // discountᵐ after m steps; 0 after a terminated one
  int64_t action;
  int64_t steps;
};

template <class Code>
class Replay : public ReplayOrder {
  static_assert(std::is_trivially_copyable_v<Code>, "replay: the code of a state is copied as bytes");

 public:
  explicit Replay(const ReplayOptions& options) : ReplayOrder(options) {}

  /// Takes a transition of every environment; the oldest ones make room. The first push takes the memory for all: who
  /// only looks at what was learned needs none of it.
  void push(std::span<const Transition<Code>> row) {
    take_memory();
    const int64_t first = add_row();
    std::copy(row.begin(), row.end(), transitions_.begin() + first);
  }
  /// Draws as ReplayOrder does, and sends for the windows that were drawn: they lie far apart in memory.
  void sample(double beta, std::span<int64_t> slots, std::span<float> weights) {
    ReplayOrder::sample(beta, slots, weights);
    for (const int64_t slot : slots)
      for (int64_t i = 0, at = slot; i < options().n_step && at < capacity(); i++, at += options().environments)
        __builtin_prefetch(&(*this)[at]);
  }
  const Transition<Code>& operator[](int64_t slot) const { return transitions_[static_cast<size_t>(slot)]; }

  /// The steps from this transition on: n of them, or fewer where the episode ends or nothing newer is there.
  Window<Code> window(int64_t slot) const {
    return window(slot, [](const Transition<Code>& t) { return t.reward; });
  }
  /// The same with other rewards: reward_of(transition).
  template <class Reward>
  Window<Code> window(int64_t slot, const Reward& reward_of) const {
    const Transition<Code>* t = &(*this)[slot];
    Window<Code> w{t->state, t->next, 0, 0, t->action, 0};
    for (double share = 1;; t = &(*this)[slot]) {
      w.reward += static_cast<float>(share * reward_of(*t));
      share *= options().discount;
      w.next = t->next;
      w.discount = t->terminated ? 0 : static_cast<float>(share);
      w.steps++;
      if (t->terminated || t->truncated || w.steps == options().n_step) return w;
      slot = after(slot);
      if (slot < 0) return w;
    }
  }

  /// All of it as bytes under `name`, and back; an Error if it does not fit.
  void save(nn::TrainingState& state, const std::string& name) {
    take_memory();
    ReplayOrder::save(state, name);
    save_memory(state, name + ".transitions", std::as_bytes(std::span(transitions_)));
  }
  /// valid(transition) says if one that a file holds can be one; an Error leaves nothing in the replay.
  template <class Valid = bool (*)(const Transition<Code>&)>
  void load(
      const nn::TrainingState& state, const std::string& name,
      const Valid& valid = [](const Transition<Code>&) { return true; }) {
    take_memory();
    ReplayOrder::load(state, name);
    load_memory(state, name + ".transitions", std::as_writable_bytes(std::span(transitions_)));
    if (std::all_of(transitions_.begin(), transitions_.begin() + size(), valid)) return;
    forget();
    refuse_saved("\"" + name + "\" holds a transition that cannot be one");
  }

 private:
  void take_memory() {
    if (!transitions_.empty()) return;
    try {
      transitions_.resize(static_cast<size_t>(capacity()));
    } catch (const std::exception&) {  // std::bad_alloc, std::length_error
      refuse_memory();
    }
  }
  std::vector<Transition<Code>> transitions_;
};

}  // namespace ingot::rl
