// Written by tools/opgen.py from the blocks in src/gates: change those and run `./dev generate`.
// Every op has two forms: the first returns a new tensor; `_into` writes to a destination of exactly the result's shape
// and type and allocates nothing.
// clang-format off
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/options.h"
#include "ingot/ops/op.h"

namespace ingot::gates {

/// All ops of this library, for add_ops().
INGOT_API std::span<const Op* const> ops();

// soft ops ------------------------------------------------------------------------------------------------------------

/// Soft logic gates: x [batch, in] are the first signals, gate g reads signals wires[g, 0] and wires[g, 1] before its own, in + g, and gives w0 + w1·a + w2·b + w3·ab with row wires[g, 2] of the coefficients [rows, 4]; one whose row is -1 - r adds w1·a + w2·b of row r to the result of the gate before it, which nobody else reads; to the last `outputs` gates' results, [batch, outputs].
INGOT_API Tensor gate_network(const Tensor& x, const Tensor& coefficients, const Tensor& wires, int64_t outputs);
INGOT_API void gate_network_into(const Tensor& dst, const Tensor& x, const Tensor& coefficients, const Tensor& wires, int64_t outputs);

/// A cellular automaton whose rule is a gate_network: its inputs are the 3×3 neighbourhood of every channel of state [batch, channels, height, width] (input 9·channel + 3·row + column), its outputs the next channels; fire (bool [steps, batch, height, width]) names the cells that take their next state, all if there is none; beyond the border the grid goes on at its other side (`wrap`) or is zero; to all states [steps + 1, batch, channels, height, width].
INGOT_API Tensor gate_automaton(const Tensor& state, const Tensor& coefficients, const Tensor& wires, const Tensor& fire = {}, int64_t steps = 1, bool wrap = true);
INGOT_API void gate_automaton_into(const Tensor& states, const Tensor& state, const Tensor& coefficients, const Tensor& wires, const Tensor& fire = {}, int64_t steps = 1, bool wrap = true);

}  // namespace ingot::gates
