// An automaton at work in the terminal.
#pragma once
#include <cstdint>
#include <string>

#include "ingot/gates/circuit.h"
#include "ingot/gates/grid.h"
#include "ingot/recipe/command.h"

namespace ingot::gates::door {

/// A part of a board, two cells per character: rows [top, top + rows) and columns [left, left + columns) of cells. The
/// block of `side` cells around the cursor is tinted, if side > 0. Without colours, blocks stand for what is set.
struct View {
  int64_t top = 0, left = 0, rows = 0, columns = 0;
  int64_t cursor_y = 0, cursor_x = 0, side = 0;
  bool colours = true;
};
std::string draw_board(const gates::Grid& grid, int64_t visible, const View& view);

/// `ingot ca view`.
recipe::Command ca_command();

}  // namespace ingot::gates::door
