// A circuit as exports write it: gates that an output depends on, no copies, no constants inside.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ingot/gates/circuit.h"

namespace ingot::gates {

/// Signals that are no gate and no input.
inline constexpr uint32_t kFalseSignal = UINT32_MAX - 1, kTrueSignal = UINT32_MAX;
inline bool is_constant(uint32_t signal) { return signal >= kFalseSignal; }

struct Netlist {
  uint32_t inputs = 0;
  std::vector<Gate> gates = {};        // functions that read both signals, or kNotA; gate i is signal inputs + i
  std::vector<uint32_t> outputs = {};  // signals or constants

  /// The inputs that are read, in ascending order.
  std::vector<uint32_t> used_inputs() const;
};

/// The same outputs with what the header says.
Netlist netlist_of(const Circuit& circuit);

/// "a & ~b": the function of two operands in the language that C and Verilog share.
std::string expression(Function f, const std::string& a, const std::string& b);

/// The circuit's name as an identifier that any language takes with something appended; "circuit" if there is none.
std::string identifier(const Circuit& circuit);
/// "c0_nw" for the neighbour north-west of a cell in channel 0, "x3" for the input of a plain circuit.
std::string input_name(const Circuit& circuit, uint32_t input);
/// "next0", "y0".
std::string output_name(const Circuit& circuit, size_t output);
/// "life: rule of a cell with 1 channel, 30 gates": a line about the circuit for the head of a file, with nothing in it
/// that could end a comment.
std::string headline(const Circuit& circuit, const Netlist& list);

/// Is input k of a cell rule the cell itself?
inline bool is_own(const Circuit& circuit, uint32_t k) { return circuit.cell && k % 9 == 4; }

// The random numbers and the hash of a Trial, which the exported programs have in their own languages.
inline uint64_t next_random(uint64_t& x) {
  x ^= x << 13;
  x ^= x >> 7;
  return x ^= x << 17;
}
inline constexpr uint64_t kHashStart = 0xcbf29ce484222325, kHashFactor = 0x100000001b3;
inline uint64_t mixed(uint64_t hash, uint64_t word) { return (hash ^ word) * kHashFactor; }
/// Where the generator starts for a seed: never at zero.
inline uint64_t random_start(uint64_t seed) { return (2 * seed + 1) * 0x9e3779b97f4a7c15; }

}  // namespace ingot::gates
