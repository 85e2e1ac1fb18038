// `ingot cube`: cubes scrambled, solved and looked at.
#pragma once
#include <string>

#include "ingot/recipe/command.h"
#include "ingot/rl/cube3.h"
#include "ingot/rl/notation.h"

namespace ingot::rl::door {

recipe::Command cube_command();
recipe::Command cube_view_command();

/// Do these letters name stickers, as opposed to moves? Then of which cube: 2, 3, or 0.
int size_of_facelets(std::string_view text);

/// A cube as it was typed: stickers, or the moves that lead to it.
template <class Cube>
typename Cube::State parse_cube(const Cube& cube, std::string_view text) {
  if (size_of_facelets(text) > 0) return cube.parse_facelets(text);
  return after(cube, cube.solved(), parse_moves(cube, text));
}

/// Calls f with the cube of that size, which stickers know by themselves.
template <class F>
auto with_cube(int64_t size, std::string_view text, F&& f) {
  if (const int known = size_of_facelets(text); known > 0) size = known;
  return size == 3 ? f(Cube3()) : f(Cube2());
}

}  // namespace ingot::rl::door
