// Solving puzzles by search over a value that was learned: greedily, with a beam, by weighted A*, by a tree of Monte Carlo's
// kind; and from both ends without any value, the honest baseline.
//
//   rl::BeamSearch<rl::Cube2> search(cube, value, {.width = 64});
//   const rl::Solution& s = search.solve(state);                 // s.solved, s.moves, s.nodes
//
// A value function estimates how many moves states are away from solved, many at a time (a plan, say). A searcher keeps its
// memory from solve to solve, and plays every solution before it calls it one. For the same values it finds the same, as
// long as it is not the time that ends it.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "ingot/base/clock.h"
#include "ingot/base/error.h"
#include "ingot/rl/code_table.h"

namespace ingot::rl {

template <Puzzle P>
using ValuesOf = std::function<void(std::span<const typename P::State>, std::span<float>)>;

/// When to give up.
struct SearchLimits {
  int64_t nodes = 1'000'000;  // states that are looked at
  double seconds = 60;
  int moves = 200;  // of a solution
};

/// Why a search ended: with a solution; at one of its limits; or with nothing left to look at.
enum class SearchEnd : uint8_t { kSolved, kNodes, kSeconds, kMoves, kStuck };

struct Solution {
  bool solved = false;
  std::vector<int> moves;
  int64_t nodes = 0;  // states that were looked at, each once
  double seconds = 0;
  SearchEnd end = SearchEnd::kStuck;
};

/// What all searchers share: the limits, the value, how a solution is put together and proved.
template <Puzzle P>
class Searcher {
 public:
  using State = typename P::State;
  const P& puzzle() const { return puzzle_; }

 protected:
  /// A state that was reached by a move from another.
  struct Step {
    int32_t parent = -1;
    int16_t move = -1;
  };

  Searcher(const P& puzzle, ValuesOf<P> value) : puzzle_(puzzle), value_(std::move(value)) {}

  /// True if there is nothing to search for.
  bool begin(const State& start, const SearchLimits& limits) {
    start_ = start, limits_ = limits, began_ = now_ns(), calls_ = 0;
    solution_.solved = false, solution_.moves.clear(), solution_.nodes = 0;
    steps_.clear();
    if (!puzzle_.is_solved(start)) return false;
    prove();
    return true;
  }

  /// True once a limit is reached; the solution says which.
  bool at_limit() {
    if (solution_.nodes >= limits_.nodes) return give_up(SearchEnd::kNodes);
    if (elapsed() >= limits_.seconds) return give_up(SearchEnd::kSeconds);
    return false;
  }
  /// The same for inner loops: it looks at nodes at every call, at the clock at every 256th.
  bool at_limit_within() {
    if (solution_.nodes >= limits_.nodes) return give_up(SearchEnd::kNodes);
    return ++calls_ % 256 == 0 && at_limit();
  }
  bool give_up(SearchEnd why) {
    solution_.end = why, solution_.seconds = elapsed();
    return true;
  }

  double elapsed() const { return static_cast<double>(now_ns() - began_) * 1e-9; }

  int32_t add_step(int32_t parent, int move) {
    steps_.push_back({parent, static_cast<int16_t>(move)});
    return static_cast<int32_t>(steps_.size()) - 1;
  }

  /// The moves that led to a step, one after another.
  void trace(int32_t step) {
    for (; step >= 0 && steps_[static_cast<size_t>(step)].move >= 0; step = steps_[static_cast<size_t>(step)].parent)
      solution_.moves.push_back(steps_[static_cast<size_t>(step)].move);
    std::reverse(solution_.moves.begin(), solution_.moves.end());
  }

  /// Plays the moves: only what solves the puzzle is a solution.
  void prove() {
    State state = start_;
    for (const int move : solution_.moves) state = puzzle_.apply(state, move);
    if (!puzzle_.is_solved(state))
      throw Error(ErrorKind::kInternal, "search: " + std::to_string(solution_.moves.size()) +
                                            " moves do not solve the puzzle — do its code, its inverse moves and its "
                                            "apply fit together?");
    solution_.solved = true;
    give_up(SearchEnd::kSolved);
  }

  /// Estimates of all states. What is no number is as far away as can be. When time is up it leaves the rest: at_limit
  /// says so next.
  void evaluate(std::span<const State> states, std::vector<float>& values) {
    values.resize(states.size());
    if (states.empty()) return;
    constexpr size_t kBatch = 4096;
    for (size_t first = 0; first < states.size() && (first == 0 || elapsed() < limits_.seconds); first += kBatch) {
      const size_t n = std::min(kBatch, states.size() - first);
      value_(states.subspan(first, n), std::span(values).subspan(first, n));
    }
    for (float& v : values)
      if (!std::isfinite(v)) v = std::numeric_limits<float>::max();
  }

  P puzzle_;
  ValuesOf<P> value_;
  SearchLimits limits_;
  State start_{};
  int64_t began_ = 0, calls_ = 0;
  Solution solution_;
  std::vector<Step> steps_;
};

/// Always the move to the neighbour with the least value. It gives up where it has been before.
template <Puzzle P>
class GreedySearch : public Searcher<P> {
 public:
  using State = typename P::State;
  GreedySearch(const P& puzzle, ValuesOf<P> value) : Searcher<P>(puzzle, std::move(value)) {}

  const Solution& solve(State state, const SearchLimits& limits = {}) {
    if (this->begin(state, limits)) return this->solution_;
    seen_.clear();
    while (!this->at_limit()) {
      if (!seen_.insert(this->puzzle_.code(state), 0).second) {
        this->give_up(SearchEnd::kStuck);
        break;
      }
      if (static_cast<int>(this->solution_.moves.size()) >= this->limits_.moves) {
        this->give_up(SearchEnd::kMoves);
        break;
      }
      const int move = best_move(state);
      this->solution_.moves.push_back(move);
      state = this->puzzle_.apply(state, move);
      if (this->puzzle_.is_solved(state)) {
        this->prove();
        return this->solution_;
      }
    }
    this->solution_.moves.clear();
    return this->solution_;
  }

 private:
  int best_move(const State& state) {
    children_.clear();
    for (int move = 0; move < this->puzzle_.move_count(); move++) {
      children_.push_back(this->puzzle_.apply(state, move));
      if (this->puzzle_.is_solved(children_.back())) return move;
    }
    this->evaluate(children_, values_);
    this->solution_.nodes += static_cast<int64_t>(children_.size());
    return static_cast<int>(std::min_element(values_.begin(), values_.end()) - values_.begin());
  }

  CodeTable<CodeOf<P>> seen_;
  std::vector<State> children_;
  std::vector<float> values_;
};

struct BeamOptions {
  int64_t width = 64;
};

/// Move by move, the `width` states with the least values among all neighbours that were not seen before.
template <Puzzle P>
class BeamSearch : public Searcher<P> {
 public:
  using State = typename P::State;
  BeamSearch(const P& puzzle, ValuesOf<P> value, const BeamOptions& options = {})
      : Searcher<P>(puzzle, std::move(value)), options_(options) {
    if (options.width < 1) throw Error("BeamSearch: a beam of width " + std::to_string(options.width));
  }

  const Solution& solve(const State& start, const SearchLimits& limits = {}) {
    if (this->begin(start, limits)) return this->solution_;
    seen_.clear();
    seen_.insert(this->puzzle_.code(start), 0);
    beam_.assign(1, {start, this->add_step(-1, -1)});
    for (int depth = 0; !this->at_limit(); depth++) {
      if (depth >= this->limits_.moves) {
        this->give_up(SearchEnd::kMoves);
        break;
      }
      if (const int32_t last = expand(); last >= 0) {
        this->trace(last);
        this->prove();
        break;
      }
      if (stopped_) break;
      if (children_.empty()) {
        this->give_up(SearchEnd::kStuck);
        break;
      }
      choose();
    }
    return this->solution_;
  }

 private:
  struct Place {
    State state;
    int32_t step;
  };

  // All new neighbours of the beam; the step that solves it, or -1.
  int32_t expand() {
    children_.clear(), from_.clear();
    stopped_ = false;
    for (const Place& place : beam_) {
      stopped_ = this->at_limit_within();
      if (stopped_) return -1;
      const int last = this->steps_[static_cast<size_t>(place.step)].move;
      for (int move = 0; move < this->puzzle_.move_count(); move++) {
        if (last >= 0 && move == this->puzzle_.inverse(last)) continue;
        const State child = this->puzzle_.apply(place.state, move);
        if (!seen_.insert(this->puzzle_.code(child), 0).second) continue;
        this->solution_.nodes++;
        if (this->puzzle_.is_solved(child)) return this->add_step(place.step, move);
        children_.push_back(child);
        from_.push_back({place.step, static_cast<int16_t>(move)});
      }
    }
    return -1;
  }

  void choose() {
    const size_t width = std::min(children_.size(), static_cast<size_t>(options_.width));
    this->evaluate(children_, values_);
    order_.resize(children_.size());
    std::iota(order_.begin(), order_.end(), 0);
    if (width < order_.size())
      std::nth_element(order_.begin(), order_.begin() + static_cast<int64_t>(width), order_.end(),
                       [&](int32_t a, int32_t b) {
                         const float x = values_[static_cast<size_t>(a)], y = values_[static_cast<size_t>(b)];
                         return x != y ? x < y : a < b;
                       });
    std::sort(order_.begin(), order_.begin() + static_cast<int64_t>(width));  // the library's order decides nothing
    beam_.clear();
    for (size_t i = 0; i < width; i++) {
      const auto at = static_cast<size_t>(order_[i]);
      beam_.push_back({children_[at], this->add_step(from_[at].parent, from_[at].move)});
    }
  }

  BeamOptions options_;
  CodeTable<CodeOf<P>> seen_;
  std::vector<Place> beam_;
  std::vector<State> children_;
  std::vector<typename Searcher<P>::Step> from_;
  std::vector<float> values_;
  std::vector<int32_t> order_;
  bool stopped_ = false;
};

/// Breadth-first from both ends at once, always on the side with fewer states: a shortest solution, without a value.
template <Puzzle P>
class BidirectionalSearch : public Searcher<P> {
 public:
  using State = typename P::State;
  explicit BidirectionalSearch(const P& puzzle) : Searcher<P>(puzzle, {}) {}

  const Solution& solve(const State& start, const SearchLimits& limits = {}) {
    if (this->begin(start, limits)) return this->solution_;
    const State solved = this->puzzle_.solved();
    for (Side& side : sides_) side.seen.clear(), side.border.clear();
    for (size_t i = 0; i < 2; i++) {
      const State& root = i == 0 ? start : solved;
      const int32_t step = this->add_step(-1, -1);
      sides_[i].border.push_back({root, step});
      sides_[i].seen.insert(this->puzzle_.code(root), step);
    }
    // Nothing was missed before: the first place where both sides meet is on a shortest way.
    for (int depth = 0; !this->at_limit(); depth++) {
      if (depth >= this->limits_.moves) {
        this->give_up(SearchEnd::kMoves);
        break;
      }
      const size_t side = sides_[0].border.size() <= sides_[1].border.size() ? 0 : 1;
      if (sides_[side].border.empty()) {
        this->give_up(SearchEnd::kStuck);
        break;
      }
      if (expand(side)) {
        this->prove();
        break;
      }
      if (stopped_) break;
    }
    return this->solution_;
  }

 private:
  struct Place {
    State state;
    int32_t step;
  };
  struct Side {
    CodeTable<CodeOf<P>> seen;  // the step that led there
    std::vector<Place> border, next;
  };

  bool expand(size_t which) {
    Side &side = sides_[which], &other = sides_[1 - which];
    side.next.clear();
    stopped_ = false;
    for (const Place& place : side.border) {
      stopped_ = this->at_limit_within();
      if (stopped_) return false;
      for (int move = 0; move < this->puzzle_.move_count(); move++) {
        const State child = this->puzzle_.apply(place.state, move);
        const auto code = this->puzzle_.code(child);
        if (!side.seen.insert(code, static_cast<int32_t>(this->steps_.size())).second) continue;
        const int32_t step = this->add_step(place.step, move);
        this->solution_.nodes++;
        if (const int32_t* meeting = other.seen.find(code)) {
          join(which == 0 ? step : *meeting, which == 0 ? *meeting : step);
          return true;
        }
        side.next.push_back({child, step});
      }
    }
    std::swap(side.border, side.next);
    return false;
  }

  // From the start to the meeting, and from there back along the moves that led there from the solved state.
  void join(int32_t forward, int32_t backward) {
    this->trace(forward);
    for (; this->steps_[static_cast<size_t>(backward)].move >= 0;
         backward = this->steps_[static_cast<size_t>(backward)].parent)
      this->solution_.moves.push_back(this->puzzle_.inverse(this->steps_[static_cast<size_t>(backward)].move));
  }

  std::array<Side, 2> sides_;
  bool stopped_ = false;
};

}  // namespace ingot::rl
