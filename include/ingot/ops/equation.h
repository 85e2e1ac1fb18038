// Equations between tensors with named axes, as einsum and its relatives over other algebras read them: "ij,jk->ik".
#pragma once
#include <algorithm>
#include <string>

#include "ingot/base/export.h"
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

/// The letter of a name.
inline char letter_of(int label) { return static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26); }

/// An Error about the text of the equation.
[[noreturn]] INGOT_API void fail_equation(const Call& call, const std::string& what);
/// Reads the attribute `equation` of a call and compares it with the operands' shapes. Axes of size 1 broadcast.
INGOT_API Equation parse_equation(const Call& call);

}  // namespace ingot
