// What a learner may add to an environment's rewards: potential-based shaping, which changes no best policy, and a bonus
// for what is new. Reported returns are without either.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/nn/trainer.h"
#include "ingot/rl/environment.h"
#include "ingot/rl/puzzle.h"
#include "ingot/rl/replay.h"

namespace ingot::rl {

/// A hook for shaping, `double potential(const Code&) const`: how promising a state is, by any rule of thumb.
template <class E>
concept ShapedEnvironment = Environment<E> && requires(const E c, const typename E::Code& code) {
  { c.potential(code) } -> std::convertible_to<double>;
};

/// The window's reward when every step earns scale · (discount · Φ(next) − Φ(state)) more, and Φ is 0 once the task is
/// over (Ng, Harada and Russell 1999): of the steps in between nothing is left. Values are then lower by scale · Φ(state)
/// whatever the action is, so that the best actions stay the best.
template <ShapedEnvironment E>
float shaped_reward(const E& env, const Window<typename E::Code>& w, double scale) {
  const double after = w.discount > 0 ? w.discount * static_cast<double>(env.potential(w.next)) : 0.0;
  return static_cast<float>(w.reward + scale * (after - static_cast<double>(env.potential(w.state))));
}

/// A hook for counting, `uint64_t cell(const Code&) const`: states of one cell are counted together. Without it, codes
/// are told apart, if their bytes do so; those of floats do not.
template <class E>
concept CellEnvironment = Environment<E> && requires(const E c, const typename E::Code& code) {
  { c.cell(code) } -> std::same_as<uint64_t>;
};
template <class E>
concept CountableEnvironment = CellEnvironment<E> ||
    (Environment<E>&& std::has_unique_object_representations_v<typename E::Code>);

template <CountableEnvironment E>
uint64_t cell_of(const E& env, const typename E::Code& code) {
  if constexpr (CellEnvironment<E>)
    return hash_of(env.cell(code));
  else
    return hash_of(code);
}

/// How often cells were visited. Two cells may share a counter: then both seem to be better known than they are.
class INGOT_API VisitCounts {
 public:
  static constexpr size_t kCounters = size_t{1} << 20;
  /// Takes memory at the first visit.
  void visit(uint64_t cell);
  int64_t visits(uint64_t cell) const { return counts_.empty() ? 0 : counts_[cell >> 44]; }
  /// 1/√visits; what was never visited is as new as what was visited once.
  double novelty(uint64_t cell) const { return 1 / std::sqrt(static_cast<double>(std::max<int64_t>(visits(cell), 1))); }
  void save(nn::TrainingState& state, const std::string& name);
  void load(const nn::TrainingState& state, const std::string& name);

 private:
  std::vector<uint32_t> counts_;
};

}  // namespace ingot::rl
