// Circuits of two-input gates: what a trained gate network becomes when every gate takes its likeliest function.
//
//   gates::Circuit life = gates::load_circuit("life.json");
//   gates::Circuit small = gates::simplify(life).circuit;
//   gates::prove_equal(life, small);                            // exhaustively, or by SAT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ingot/base/export.h"

namespace ingot::gates {

/// The sixteen functions of two bits. A function's number is its truth table, f(0,0) f(0,1) f(1,0) f(1,1) from the most
/// significant bit on.
enum class Function : uint8_t {
  kFalse,
  kAnd,
  kAndNot,  // a ∧ ¬b
  kA,
  kNotAnd,  // ¬a ∧ b
  kB,
  kXor,
  kOr,
  kNor,
  kXnor,
  kNotB,
  kOrNot,  // a ∨ ¬b
  kNotA,
  kNotOr,  // ¬a ∨ b
  kNand,
  kTrue,
};
inline constexpr int kFunctions = 16;

/// "xor", "and_not": how a function is written in files and tables.
INGOT_API const char* name(Function f);
/// f(a, b).
constexpr bool value(Function f, bool a, bool b) { return (static_cast<int>(f) >> (3 - 2 * a - b) & 1) != 0; }
/// Does f depend on its first input; on its second?
constexpr bool reads_a(Function f) { return (static_cast<int>(f) >> 2) != (static_cast<int>(f) & 3); }
constexpr bool reads_b(Function f) { return (static_cast<int>(f) >> 1 & 5) != (static_cast<int>(f) & 5); }

/// A gate reads two signals.
struct Gate {
  Function function = Function::kA;
  uint32_t a = 0, b = 0;
  bool operator==(const Gate&) const = default;
};

enum class Border : uint8_t { kZero, kWrap };

/// A circuit that is the rule of a cellular automaton. Its inputs are the 3×3 neighbourhood of every channel (input
/// 9·channel + 3·row + column; 9·channel + 4 is the cell itself), its outputs the cell's next channels.
struct CellRule {
  int32_t channels = 1;
  Border border = Border::kWrap;
  double fire_rate = 1;  // a cell takes its next state with this probability
  int32_t visible = 1;   // the first channels that people look at: what the automaton was trained to show
  int32_t height = 0, width = 0, steps = 0;  // what it was trained on; 0: unknown
  bool operator==(const CellRule&) const = default;
};

/// Gates without cycles. Signal k is input k, or for k ≥ inputs the gate k - inputs, which reads only signals before
/// its own.
struct Circuit {
  uint32_t inputs = 0;
  std::vector<Gate> gates = {};
  std::vector<uint32_t> outputs = {};  // signals
  std::optional<CellRule> cell = {};
  std::string name = {};

  uint32_t signals() const { return inputs + static_cast<uint32_t>(gates.size()); }
  bool operator==(const Circuit&) const = default;
};

/// An Error if a gate reads a signal at or behind its own, an output is none, a cell rule's counts do not fit, or there
/// are 2^31 signals or more.
INGOT_API void check(const Circuit& circuit);

/// Gates that are neither constant nor a copy of an input or its negation: what the papers call active.
INGOT_API int64_t active_gates(const Circuit& circuit);
/// How many gates have each function.
INGOT_API std::vector<int64_t> function_counts(const Circuit& circuit);

/// The outputs for one assignment of the inputs; slow, for tests and small questions. grid.h runs many at once.
INGOT_API std::vector<bool> evaluate(const Circuit& circuit, const std::vector<bool>& inputs);

}  // namespace ingot::gates
