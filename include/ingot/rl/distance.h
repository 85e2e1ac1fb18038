// Exact distances of every state of a puzzle with a table's worth of states: the oracle that learned values and solvers
// are judged by.
#pragma once
#include <vector>

#include "ingot/rl/puzzle.h"

namespace ingot::rl {

/// The number of moves that each state is away from solved, by its code; kUnreached where no moves lead.
constexpr uint8_t kUnreached = 255;

/// Breadth-first: from what was reached last while that is little, from what is left when that is less. Either way in the
/// order of codes, whose neighbours lie near each other, too.
template <CountedPuzzle P>
std::vector<uint8_t> all_distances(const P& puzzle) {
  using Code = CodeOf<P>;
  const auto count = static_cast<size_t>(puzzle.state_count());
  const int moves = puzzle.move_count();
  std::vector<uint8_t> distance(count, kUnreached);
  std::vector<uint64_t> last((count + 63) / 64), next(last.size());  // a bit for each state
  const auto reach = [&](size_t code, uint8_t d) { distance[code] = d, next[code / 64] |= uint64_t{1} << code % 64; };
  const auto after = [&](const typename P::State& s, int move) -> size_t { return puzzle.code(puzzle.apply(s, move)); };
  reach(puzzle.code(puzzle.solved()), 0);
  size_t reached = 1, left = count - 1;
  for (uint8_t d = 1; d < kUnreached && reached > 0; d++) {
    std::swap(last, next);
    std::fill(next.begin(), next.end(), 0);
    const bool forward = 2 * reached < left;
    reached = 0;
    if (forward) {
      for (size_t word = 0; word < last.size(); word++)
        for (uint64_t bits = last[word]; bits != 0; bits &= bits - 1) {
          const typename P::State s =
              puzzle.state(static_cast<Code>(64 * word + static_cast<size_t>(std::countr_zero(bits))));
          for (int move = 0; move < moves; move++)
            if (const size_t to = after(s, move); distance[to] == kUnreached) reach(to, d), reached++;
        }
    } else {
      for (size_t code = 0; code < count; code++) {
        if (distance[code] != kUnreached) continue;
        const typename P::State s = puzzle.state(static_cast<Code>(code));
        for (int move = 0; move < moves; move++)
          if (distance[after(s, move)] == d - 1) {
            reach(code, d), reached++;
            break;
          }
      }
    }
    left -= reached;
  }
  return distance;
}

/// How many states there are at each distance.
inline std::vector<int64_t> count_by_distance(std::span<const uint8_t> distances) {
  std::vector<int64_t> counts;
  for (const uint8_t d : distances) {
    if (d == kUnreached) continue;
    if (d >= counts.size()) counts.resize(d + size_t{1});
    counts[d]++;
  }
  return counts;
}

/// Is the move one that leads nearer to solved?
template <CountedPuzzle P>
bool is_optimal(const P& puzzle, std::span<const uint8_t> distances, const typename P::State& s, int move) {
  return distances[puzzle.code(puzzle.apply(s, move))] < distances[puzzle.code(s)];
}

}  // namespace ingot::rl
