// Puzzles: states, moves that can be undone, one solved state. What value learning and search work on; the cubes are
// such, and a user's own is one struct (examples/own_puzzle.cc).
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "ingot/base/error.h"
#include "ingot/base/random.h"
#include "ingot/rl/environment.h"

namespace ingot::rl {

/// A puzzle. It is cheap to copy (its tables are elsewhere). `code` is one-to-one on the states that can be reached; it
/// is what states are told apart by.
template <class P>
concept Puzzle = std::copyable<P> && std::is_trivially_copyable_v<typename P::State> &&
    std::equality_comparable<typename P::State> &&
    requires(const P p, const typename P::State s, int move, std::span<float> out) {
  { p.solved() } -> std::same_as<typename P::State>;
  { p.is_solved(s) } -> std::same_as<bool>;
  { p.move_count() } -> std::convertible_to<int>;
  { p.apply(s, move) } -> std::same_as<typename P::State>;
  { p.inverse(move) } -> std::convertible_to<int>;  // the move that takes it back
  { p.move_name(move) } -> std::convertible_to<std::string_view>;
  { p.code(s) } -> std::equality_comparable;  // an integer, or plain data without padding
  { p.observation_size() } -> std::convertible_to<int64_t>;
  p.observe(s, out);  // writes all of `out`
};

/// A hook that a puzzle may have, `bool valid(const State&) const`: false for what is no state. States that come from a
/// file are asked; without it, `apply` and `observe` are given whatever the file holds. Another, `double potential(const
/// State&) const`: how promising a state looks, for shaping (rl/rewards.h).

template <class P>
using CodeOf = std::remove_cvref_t<decltype(std::declval<const P&>().code(std::declval<const typename P::State&>()))>;

/// Its observations are zeros and a fixed number of ones: `hot` says which, so that a first layer can add rows of its
/// weights instead of multiplying.
template <class P>
concept HotPuzzle = Puzzle<P> && requires(const P p, const typename P::State s, std::span<int32_t> out) {
  { p.hot_count() } -> std::convertible_to<int64_t>;
  p.hot(s, out);
};

/// Its codes are the numbers from 0 to state_count() - 1, and there are few enough for a table.
template <class P>
concept CountedPuzzle = Puzzle<P> && std::unsigned_integral<CodeOf<P>> && requires(const P p, CodeOf<P> code) {
  { p.state_count() } -> std::convertible_to<int64_t>;
  { p.state(code) } -> std::same_as<typename P::State>;
};

/// States that look alike: symmetric(s, k) is as far from solved as s, for k from 0 (s itself) to symmetry_count() - 1.
template <class P>
concept SymmetricPuzzle = Puzzle<P> && requires(const P p, const typename P::State s, int k) {
  { p.symmetry_count() } -> std::convertible_to<int>;
  { p.symmetric(s, k) } -> std::same_as<typename P::State>;
};

/// Symmetries that permute the moves: what `move` does to s, symmetric_move(move, k) does to symmetric(s, k), for k from 0
/// to turn_count() - 1. (An inverse is a symmetry of distances that permutes no moves.) A network that values moves may then
/// be shown one state of each kind: `view(s)` says which k leads there, or 0 if s is shown as it is.
template <class P>
concept TurnedPuzzle = SymmetricPuzzle<P> && requires(const P p, const typename P::State s, int move, int k) {
  { p.turn_count() } -> std::convertible_to<int>;
  { p.symmetric_move(move, k) } -> std::convertible_to<int>;
  { p.view(s) } -> std::convertible_to<int>;
};

/// A code as 64 well mixed bits.
template <class Code>
uint64_t hash_of(const Code& code) {
  static_assert(std::has_unique_object_representations_v<Code>);
  uint64_t hash = 0;
  for (size_t at = 0; at < sizeof(Code); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(&code) + at, std::min(sizeof word, sizeof(Code) - at));
    hash = (std::rotl(hash, 23) ^ word) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  return hash;
}

/// Random moves: draws from a sequence of its own, some moves from each 32 bits.
class MoveSource {
 public:
  MoveSource(RandomKey key, int moves, int64_t sequence = 0)
      : key_(key), sequence_(static_cast<uint64_t>(sequence)), moves_(static_cast<uint32_t>(moves)) {}
  /// In [0, n) with n ≤ the number of moves.
  int below(uint32_t n) {
    if (left_ == 0) refill();
    left_--;
    const uint64_t product = uint64_t{bits_} * n;  // the high half is the number, the low half the rest of the bits
    bits_ = static_cast<uint32_t>(product);
    return static_cast<int>(product >> 32);
  }
  int next() { return below(moves_); }
  /// Any move but the one that takes `last` back (−1: none has been made).
  template <Puzzle P>
  int next_after(const P& puzzle, int last) {
    if (last < 0) return next();
    const int move = below(moves_ - 1);
    return move < puzzle.inverse(last) ? move : move + 1;
  }

 private:
  void refill() {
    if (word_ == 4) {
      const auto high = static_cast<uint32_t>(sequence_ >> 32) ^ static_cast<uint32_t>(key_.stream >> 32);
      block_ = philox({position_, static_cast<uint32_t>(key_.stream), static_cast<uint32_t>(sequence_), high},
                      {static_cast<uint32_t>(key_.seed), static_cast<uint32_t>(key_.seed >> 32)});
      position_++, word_ = 0;
    }
    bits_ = block_[word_++];
    left_ = moves_ <= 8 ? 6 : moves_ <= 16 ? 4 : 2;  // the last of them still has 16 bits or more to choose by
  }

  RandomKey key_;
  uint64_t sequence_;
  uint32_t moves_, bits_ = 0, word_ = 4, position_ = 0;
  int left_ = 0;
  std::array<uint32_t, 4> block_{};
};

/// The state after so many random moves, none of which takes back the one before it.
template <Puzzle P>
typename P::State scrambled(const P& puzzle, int moves, RandomKey key) {
  MoveSource source(key, puzzle.move_count());
  typename P::State state = puzzle.solved();
  for (int i = 0, last = -1; i < moves; i++) {
    last = source.next_after(puzzle, last);
    state = puzzle.apply(state, last);
  }
  return state;
}

/// Fills `states` with walks of `length` states each, one after another: walk w begins at the solved state, never steps
/// straight back, and its k-th state (k from 0) is k + 1 moves away from the start. Walk numbers begin with `first`, so
/// that shares of a batch can be made by different workers.
template <Puzzle P>
void random_walks(const P& puzzle, std::span<typename P::State> states, int length, RandomKey key, int64_t first = 0) {
  if (length < 1 || states.size() % static_cast<size_t>(length) != 0)
    throw Error("random_walks: " + std::to_string(states.size()) + " states are not a number of walks of " +
                std::to_string(length));
  for (size_t at = 0; at < states.size(); first++) {
    MoveSource source(key, puzzle.move_count(), first);
    typename P::State state = puzzle.solved();
    for (int i = 0, last = -1; i < length; i++) {
      last = source.next_after(puzzle, last);
      states[at++] = state = puzzle.apply(state, last);
    }
  }
}

/// A puzzle as an environment: an episode begins `depth` random moves from solved, an action is a move, and it ends
/// when the puzzle is solved, or is cut off after `limit` moves. With a fraction, depth is drawn: 3.4 is 4 in 40 % of
/// the episodes and 3 else. `mixed` of the episodes begin nearer, at a depth drawn evenly from 1 to `depth`.
template <Puzzle P>
struct PuzzleEnv {
  using Code = typename P::State;
  P puzzle{};
  float depth = 4, mixed = 0;
  int32_t limit = 50;
  float move_reward = -1, solved_reward = 0;
  Code state{};
  int32_t steps = 0;

  int64_t observation_size() const {
    if constexpr (requires { puzzle.hides_symmetry(); })
      if (puzzle.hides_symmetry())
        throw Error(
            "PuzzleEnv: symmetric states look the same in this encoding, and need different moves — use another");
    return puzzle.observation_size();
  }
  int64_t action_count() const { return puzzle.move_count(); }
  void reset(uint64_t seed) {
    const std::array<double, 4> drawn = uniform_four(seed, 1);
    auto moves = static_cast<int>(depth + drawn[0]);
    if (drawn[1] < mixed) moves = 1 + static_cast<int>(drawn[2] * moves);
    for (uint64_t stream = 2;; stream++) {  // a walk may end where it began: that is no puzzle
      state = scrambled(puzzle, std::max(moves, 1), {seed, stream});
      if (!puzzle.is_solved(state)) break;
    }
    steps = 0;
  }
  StepResult step(int64_t action) {
    check_action(action, puzzle.move_count());
    state = puzzle.apply(state, static_cast<int>(action));
    const bool done = puzzle.is_solved(state);
    steps++;
    return {.reward = done ? solved_reward : move_reward,
            .terminated = done,
            .truncated = static_cast<bool>(static_cast<int>(steps >= limit) & static_cast<int>(!done))};
  }
  Outcome<Code> outcome(const Code& code, int64_t action) const {
    const Code next = puzzle.apply(code, static_cast<int>(action));
    const bool done = puzzle.is_solved(next);
    return {next, done ? solved_reward : move_reward, done};
  }
  Code code() const { return state; }
  void observe(const Code& code, std::span<float> out) const { puzzle.observe(code, out); }
  int64_t hot_count() const requires HotPuzzle<P> { return puzzle.hot_count(); }
  void hot(const Code& code, std::span<int32_t> out) const requires HotPuzzle<P> { puzzle.hot(code, out); }
  int64_t action_in_view(const Code& code, int64_t action) const requires TurnedPuzzle<P> {
    return puzzle.symmetric_move(static_cast<int>(action), puzzle.view(code));
  }
  int64_t action_of_view(const Code& code, int64_t seen) const requires TurnedPuzzle<P> {
    const int k = puzzle.view(code);
    int64_t action = 0;
    while (puzzle.symmetric_move(static_cast<int>(action), k) != seen) action++;
    return action;
  }
  double potential(const Code& code) const requires requires(const P p, const Code c) { p.potential(c); }
  { return puzzle.potential(code); }
  /// A checkpoint keeps the episode. The puzzle and how deep episodes begin are whoever's who goes on.
  struct Kept {
    Code state;
    int32_t steps;
  };
  Kept kept() const { return {state, steps}; }
  void restore(const Kept& kept) { state = kept.state, steps = std::clamp(kept.steps, 0, limit); }
  bool valid(const Code& code) const {
    if constexpr (requires { puzzle.valid(code); })
      return puzzle.valid(code);
    else
      return true;
  }
};

}  // namespace ingot::rl
