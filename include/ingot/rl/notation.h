// Moves as people write them: "R U2 F'".
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/rl/puzzle.h"

namespace ingot::rl {

/// Words with blanks between them as numbers of `names`; "X2" is X twice unless it has a name of its own. ’ and ′ are
/// read as '. An Error names the word that is no move.
INGOT_API std::vector<int> parse_moves(std::span<const std::string_view> names, std::string_view text);

template <Puzzle P>
std::vector<int> parse_moves(const P& puzzle, std::string_view text) {
  std::vector<std::string_view> names;
  names.reserve(static_cast<size_t>(puzzle.move_count()));
  for (int move = 0; move < puzzle.move_count(); move++) names.push_back(puzzle.move_name(move));
  return parse_moves(names, text);
}

/// "R U F'"
template <Puzzle P>
std::string moves_text(const P& puzzle, std::span<const int> moves) {
  std::string out;
  for (const int move : moves) (out += out.empty() ? "" : " ") += puzzle.move_name(move);
  return out;
}

template <Puzzle P>
typename P::State after(const P& puzzle, typename P::State state, std::span<const int> moves) {
  for (const int move : moves) state = puzzle.apply(state, move);
  return state;
}

}  // namespace ingot::rl
