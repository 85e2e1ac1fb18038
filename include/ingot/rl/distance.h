// Exact distances of every state of a puzzle with a table's worth of states: the oracle that learned values and solvers
// are judged by.
#pragma once
#include <vector>

#include "ingot/rl/puzzle.h"

namespace ingot::rl {

/// The number of moves that each state is away from solved, by its code; kUnreached where no moves lead.
constexpr uint8_t kUnreached = 255;

/// Breadth-first: from what was reached last while that is little, from what is left when that is less.
template <CountedPuzzle P>
std::vector<uint8_t> all_distances(const P& puzzle) {
  const auto count = static_cast<size_t>(puzzle.state_count());
  const int moves = puzzle.move_count();
  using Code = CodeOf<P>;
  std::vector<uint8_t> distance(count, kUnreached);
  std::vector<Code> last = {puzzle.code(puzzle.solved())}, next;
  distance[last[0]] = 0;
  size_t reached = 1;
  for (uint8_t d = 1; d < kUnreached && !last.empty(); d++) {
    next.clear();
    if (last.size() * 2 < count - reached) {
      for (const Code code : last) {
        const typename P::State s = puzzle.state(code);
        for (int move = 0; move < moves; move++) {
          const Code to = puzzle.code(puzzle.apply(s, move));
          if (distance[to] == kUnreached) distance[to] = d, next.push_back(to);
        }
      }
    } else {  // most states are known: the others look for a neighbour at distance d - 1
      for (size_t code = 0; code < count; code++) {
        if (distance[code] != kUnreached) continue;
        const typename P::State s = puzzle.state(static_cast<Code>(code));
        for (int move = 0; move < moves; move++)
          if (distance[puzzle.code(puzzle.apply(s, move))] == d - 1) {
            distance[code] = d, next.push_back(static_cast<Code>(code));
            break;
          }
      }
    }
    reached += next.size();
    std::swap(last, next);
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
