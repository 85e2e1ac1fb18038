// A solution as a film: its states one after another, and as a section of a report.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "ingot/rl/best_first.h"
#include "ingot/rl/cube3.h"
#include "ingot/rl/notation.h"
#include "ingot/rl/value_learning.h"

namespace ingot::rl::door {

/// The stickers of a state and of all that the moves lead to.
template <class Cube>
std::vector<std::string> film_of(const Cube& cube, typename Cube::State state, std::span<const int> moves) {
  std::vector<std::string> film = {cube.facelets(state)};
  for (const int move : moves) film.push_back(cube.facelets(state = cube.apply(state, move)));
  return film;
}

/// The film as pictures with the move that made each, the last one unfolded, too, and as an animation.
std::string film_section(const std::vector<std::string>& film, const std::vector<std::string>& moves,
                         const std::string& note);

/// How a network solves one cube, with a beam of that width; what it says if it does not.
template <class Cube>
std::string film_section(const Cube& cube, QNet& network, const typename Cube::State& start, int64_t width,
                         double seconds) {
  LearnedValue<Cube> value(cube, network);
  BeamSearch<Cube> search(cube, [&](auto states, auto values) { value(states, values); }, {.width = width});
  const Solution& s = search.solve(start, {.seconds = seconds});
  std::vector<std::string> names;
  for (const int move : s.moves) names.emplace_back(cube.move_name(move));
  const std::string how = "beam " + std::to_string(width) + ", " + std::to_string(s.nodes) + " states looked at";
  return film_section(film_of(cube, start, s.moves), names,
                      s.solved ? std::to_string(s.moves.size()) + " turns found by " + how : "not solved by " + how);
}

}  // namespace ingot::rl::door
