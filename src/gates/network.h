// A circuit as the simplifier sees it: gates with f(0,0) = 0, negation on the outputs only, no copies, no constants, no
// gate twice.
#pragma once
#include <cstdint>
#include <vector>

#include "ingot/gates/circuit.h"

namespace ingot::gates {

/// Twice a node, plus one if negated. Node 0 is the constant false, then come the inputs, then the gates.
using Literal = uint32_t;
constexpr Literal literal(uint32_t node, bool negated = false) { return 2 * node + (negated ? 1 : 0); }
constexpr uint32_t node_of(Literal l) { return l / 2; }
constexpr bool negated(Literal l) { return (l & 1) != 0; }

/// f with its first, or its second, input negated; with its inputs swapped; with its output negated.
constexpr Function negate_a(Function f) {
  const int t = static_cast<int>(f);
  return static_cast<Function>((t & 3) << 2 | t >> 2);
}
constexpr Function negate_b(Function f) {
  const int t = static_cast<int>(f);
  return static_cast<Function>((t & 5) << 1 | (t >> 1 & 5));
}
constexpr Function swapped(Function f) {
  const int t = static_cast<int>(f);
  return static_cast<Function>((t & 9) | (t & 2) << 1 | (t & 4) >> 1);
}
constexpr Function negate(Function f) { return static_cast<Function>(static_cast<int>(f) ^ 15); }

/// f of 64 assignments at once.
constexpr uint64_t apply(Function f, uint64_t a, uint64_t b) {
  const auto bit = [t = static_cast<uint64_t>(f)](int i) { return -(t >> i & 1); };
  return (~a & ~b & bit(3)) | (~a & b & bit(2)) | (a & ~b & bit(1)) | (a & b & bit(0));
}

/// Word `word` of input `index` when all assignments are counted up, the first input fastest.
constexpr uint64_t counted(size_t index, uint64_t word) {
  constexpr uint64_t kLow[] = {0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0,
                               0xFF00FF00FF00FF00, 0xFFFF0000FFFF0000, 0xFFFFFFFF00000000};
  return index < 6 ? kLow[index] : -(word >> (index - 6) & 1);
}

struct Network {
  uint32_t inputs = 0;
  std::vector<Gate> gates = {};  // of node 1 + inputs + i; a and b are nodes
  std::vector<Literal> outputs = {};
  uint32_t first_gate() const { return 1 + inputs; }
  uint32_t nodes() const { return first_gate() + static_cast<uint32_t>(gates.size()); }
  const Gate& gate(uint32_t node) const { return gates[node - first_gate()]; }
};

/// Adds gates one by one; constants and copies come back as literals, and with `share` what is there already.
class Builder {
 public:
  Builder(uint32_t inputs, bool share);
  Literal add(Function f, Literal a, Literal b);
  Network take(std::vector<Literal> outputs);

 private:
  Literal find_or_add(const Gate& gate);
  void grow();
  Network network_;
  bool share_;
  std::vector<uint32_t> table_;  // open addressing: index of a gate + 1
};

/// A gate of a network that is to be computed in another way: by new gates, numbered from nodes() on.
struct Edit {
  uint32_t node = 0;
  std::vector<Gate> added = {};  // any function; a and b are nodes, or new gates before
  Literal root = 0;
};

/// The circuit's gates that its outputs need, without copies and constants; with `share`, equal gates once.
Network to_network(const Circuit& circuit, bool share);
/// The network after an edit (null: none), without gates that no output needs; with `share`, equal gates once.
Network rebuilt(const Network& network, const Edit* edit, bool share = true);
/// The network as a circuit: negations go into the gates; a gate more for an output that is constant, a negated input,
/// or needed negated as well. Name and cell rule are those of `like`.
Circuit to_circuit(const Network& network, const Circuit& like);

}  // namespace ingot::gates
