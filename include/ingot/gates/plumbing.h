// Written by tools/opgen.py from the blocks in src/gates: change those and run `./dev generate`.
// What gradients and fused forms are made of. Plans put these in; nobody needs to call them.
// clang-format off
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/options.h"

namespace ingot::gates {

// soft ops ------------------------------------------------------------------------------------------------------------

/// Gradients of gate_network by x and by the coefficients.
INGOT_API std::array<Tensor, 2> gate_network_grad(const Tensor& dy, const Tensor& x, const Tensor& coefficients, const Tensor& wires);
INGOT_API void gate_network_grad_into(const Tensor& dx, const Tensor& dcoefficients, const Tensor& dy, const Tensor& x, const Tensor& coefficients, const Tensor& wires);

/// Gradients of gate_automaton by the first state and by the coefficients, from all states and their gradients.
INGOT_API std::array<Tensor, 2> gate_automaton_grad(const Tensor& dstates, const Tensor& states, const Tensor& coefficients, const Tensor& wires, const Tensor& fire = {}, bool wrap = true);
INGOT_API void gate_automaton_grad_into(const Tensor& dstate, const Tensor& dcoefficients, const Tensor& dstates, const Tensor& states, const Tensor& coefficients, const Tensor& wires, const Tensor& fire = {}, bool wrap = true);

}  // namespace ingot::gates
