// Circuits as AIGER 1.0: AND gates of two literals; literal 2·v is variable v, 2·v + 1 its negation, 0 is false.
#include <unordered_map>

#include "gates/netlist.h"
#include "gates/varint.h"
#include "ingot/gates/circuit_io.h"

namespace ingot::gates {
namespace {

struct Aig {
  std::vector<uint32_t> inputs, latches;                 // the circuit's inputs that are each
  std::vector<std::pair<uint32_t, uint32_t>> ands = {};  // literals, the greater first
  std::vector<uint32_t> outputs = {};                    // literals
  std::unordered_map<uint64_t, uint32_t> known = {};

  uint32_t first_and() const { return static_cast<uint32_t>(inputs.size() + latches.size()) + 1; }

  uint32_t both(uint32_t a, uint32_t b) {
    if (a < b) std::swap(a, b);
    if (b == 0 || a == (b ^ 1)) return 0;
    if (b == 1 || a == b) return a;
    const auto [at, fresh] = known.emplace(uint64_t{a} << 32 | b, 0);
    if (fresh) {
      at->second = 2 * (first_and() + static_cast<uint32_t>(ands.size()));
      ands.emplace_back(a, b);
    }
    return at->second;
  }

  uint32_t gate(Function f, uint32_t a, uint32_t b) {
    const int table = static_cast<int>(f);
    if (f == Function::kNotA) return a ^ 1;
    if (f == Function::kXor || f == Function::kXnor)
      return both(both(a, b) ^ 1, both(a ^ 1, b ^ 1) ^ 1) ^ (f == Function::kXnor);
    // One assignment stands alone: an AND of a and b as they are there, or the negation of it.
    const int ones = (table & 1) + (table >> 1 & 1) + (table >> 2 & 1) + (table >> 3 & 1);
    const bool rare = ones == 1;
    for (const bool x : {false, true})
      for (const bool y : {false, true})
        if (value(f, x, y) == rare) return both(a ^ !x, b ^ !y) ^ !rare;
    return 0;
  }
};

Aig aig_of(const Circuit& circuit) {
  const Netlist list = netlist_of(circuit);
  Aig aig{};
  for (uint32_t k = 0; k < circuit.inputs; k++) (is_own(circuit, k) ? aig.latches : aig.inputs).push_back(k);
  std::vector<uint32_t> literal(list.inputs + list.gates.size());
  for (size_t i = 0; i < aig.inputs.size(); i++) literal[aig.inputs[i]] = 2 * static_cast<uint32_t>(i + 1);
  for (size_t i = 0; i < aig.latches.size(); i++)
    literal[aig.latches[i]] = 2 * static_cast<uint32_t>(aig.inputs.size() + i + 1);
  for (size_t i = 0; i < list.gates.size(); i++) {
    const Gate& g = list.gates[i];
    literal[list.inputs + i] = aig.gate(g.function, literal[g.a], literal[g.b]);
  }
  for (const uint32_t o : list.outputs) aig.outputs.push_back(is_constant(o) ? o == kTrueSignal : literal[o]);
  return aig;
}

std::string header(const char* format, const Aig& aig) {
  std::string out = format;
  for (const size_t n : {aig.first_and() - 1 + aig.ands.size(), aig.inputs.size(), aig.latches.size(),
                         aig.outputs.size(), aig.ands.size()})
    out += " " + std::to_string(n);
  return out + "\n";
}

// Outputs, and behind the gates the names of everything.
std::string outputs(const Aig& aig) {
  std::string out;
  for (const uint32_t literal : aig.outputs) out += std::to_string(literal) + "\n";
  return out;
}

std::string symbols(const Circuit& circuit, const Aig& aig) {
  std::string out;
  for (size_t i = 0; i < aig.inputs.size(); i++)
    out += "i" + std::to_string(i) + " " + input_name(circuit, aig.inputs[i]) + "\n";
  for (size_t i = 0; i < aig.latches.size(); i++)
    out += "l" + std::to_string(i) + " " + input_name(circuit, aig.latches[i]) + "\n";
  for (size_t i = 0; i < aig.outputs.size(); i++) out += "o" + std::to_string(i) + " " + output_name(circuit, i) + "\n";
  return out + "c\n" + identifier(circuit) + ", written by Ingot\n";
}

}  // namespace

std::string to_aag(const Circuit& circuit) {
  const Aig aig = aig_of(circuit);
  std::string out = header("aag", aig);
  uint32_t literal = 0;
  for (size_t i = 0; i < aig.inputs.size(); i++) out += std::to_string(literal += 2) + "\n";
  for (size_t i = 0; i < aig.latches.size(); i++)
    out += std::to_string(literal += 2) + " " + std::to_string(aig.outputs[i]) + "\n";
  out += outputs(aig);
  for (const auto& [a, b] : aig.ands)
    out += std::to_string(literal += 2) + " " + std::to_string(a) + " " + std::to_string(b) + "\n";
  return out + symbols(circuit, aig);
}

std::string to_aig(const Circuit& circuit) {
  const Aig aig = aig_of(circuit);
  std::string out = header("aig", aig);
  for (size_t i = 0; i < aig.latches.size(); i++) out += std::to_string(aig.outputs[i]) + "\n";
  out += outputs(aig);
  uint32_t literal = 2 * aig.first_and();
  for (const auto& [a, b] : aig.ands) {
    put_varint(out, literal - a);
    put_varint(out, a - b);
    literal += 2;
  }
  return out + symbols(circuit, aig);
}

}  // namespace ingot::gates
