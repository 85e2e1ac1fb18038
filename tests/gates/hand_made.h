// Circuits that somebody wrote down, for tests of what runs, draws and examines circuits.
#pragma once
#include "ingot/gates/circuit.h"

namespace ingot::gates {

/// The Game of Life by adding up the neighbours.
inline Circuit hand_made_life() {
  Circuit c{.inputs = 9, .gates = {}, .outputs = {}, .cell = CellRule{}, .name = "life"};
  const auto gate = [&](Function f, uint32_t a, uint32_t b) {
    c.gates.push_back({f, a, b});
    return c.signals() - 1;
  };
  // Bits 0 and 1 of the sum so far, and whether it ever was 4 or more.
  uint32_t low = gate(Function::kFalse, 0, 0), high = low, many = low;
  for (const uint32_t neighbour : {0U, 1U, 2U, 3U, 5U, 6U, 7U, 8U}) {
    const uint32_t carry = gate(Function::kAnd, low, neighbour);
    low = gate(Function::kXor, low, neighbour);
    many = gate(Function::kOr, many, gate(Function::kAnd, high, carry));
    high = gate(Function::kXor, high, carry);
  }
  const uint32_t two_or_three = gate(Function::kAndNot, high, many);
  c.outputs = {gate(Function::kAnd, two_or_three, gate(Function::kOr, low, 4))};
  c.cell->height = c.cell->width = 3, c.cell->steps = 1;
  return c;
}

/// A checkerboard by counting from the border: two channels count columns from the left, two rows from the top, modulo
/// 4; outside, all is 0. Whatever the start, it is right once the counts have come through.
inline Circuit hand_made_checkerboard() {
  Circuit c{.inputs = 45, .gates = {}, .outputs = {}, .cell = CellRule{}, .name = "checkerboard"};
  const auto gate = [&](Function f, uint32_t a, uint32_t b) {
    c.gates.push_back({f, a, b});
    return c.signals() - 1;
  };
  const auto left = [](uint32_t channel) { return 9 * channel + 3; };
  const auto above = [](uint32_t channel) { return 9 * channel + 1; };
  const auto own = [](uint32_t channel) { return 9 * channel + 4; };
  const uint32_t column = gate(Function::kXor, own(1), own(2)), row = gate(Function::kXor, own(3), own(4));
  c.outputs = {gate(Function::kXor, column, row), gate(Function::kNotA, left(1), 0),
               gate(Function::kXor, left(1), left(2)), gate(Function::kNotA, above(3), 0),
               gate(Function::kXor, above(3), above(4))};
  c.cell->channels = 5, c.cell->border = Border::kZero;
  c.cell->height = c.cell->width = 16, c.cell->steps = 20;
  return c;
}

}  // namespace ingot::gates
