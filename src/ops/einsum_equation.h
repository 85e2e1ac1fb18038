// The equation of an einsum: "ij,jk->ik" read into names of axes.
#pragma once
#include <algorithm>
#include <string>

#include "ingot/ops/contraction_order.h"
#include "ingot/ops/op.h"

namespace ingot {

inline constexpr int kLetters = 52, kLabels = kLetters + kMaxRank;  // letters, then the axes behind an ellipsis

/// Axis names of one operand, in order.
struct Labels {
  int count = 0;
  uint8_t of[2 * kMaxRank];  // a pair of operands has up to sixteen
  void add(int label) { of[count++] = static_cast<uint8_t>(label); }
  bool has(int label) const { return std::find(of, of + count, label) != of + count; }
};

/// A parsed equation: names of every operand's and the result's axes, and the size behind each name.
struct Equation {
  Labels in[kMaxInputs], out;
  int64_t size[kLabels];
  int times[kLabels] = {};  // how often a name occurs among the operands
};

/// The same without sizes, as small as it is kept: the names of every operand's axes one after another, then the result's.
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

/// The letter of a name.
inline char letter_of(int label) { return static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26); }

/// An Error about the text of the equation.
[[noreturn]] void fail_equation(const Call& call, const std::string& what);
/// Reads the equation of a call with attributes.
Equation parse_equation(const Call& call);
/// The same without the sizes.
Names names_of(const Call& call, const Equation& e);
/// The equation of a prepared call.
Equation equation_of(const Call& call);

}  // namespace ingot
