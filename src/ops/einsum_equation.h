// What einsum keeps of its equation.
#pragma once
#include "ingot/ops/contraction_order.h"
#include "ingot/ops/equation.h"

namespace ingot {

/// An equation without sizes, as small as it is kept: the names of every operand's axes one after another, then the result's.
struct Names {
  static constexpr int kMost = 250;
  uint8_t count = 0, of[kMost];
};

/// What einsum's kernel keeps of a call: names, the order of contraction and the names that are sliced.
struct EinsumParams {
  Names names;
  ContractionSteps steps;
  Labels sliced;
};

/// What is kept of an equation.
Names names_of(const Call& call, const Equation& e);
/// The equation of a prepared call.
Equation equation_of(const Call& call);

}  // namespace ingot
