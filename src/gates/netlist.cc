#include "gates/netlist.h"

#include <algorithm>

#include "gates/network.h"

namespace ingot::gates {

Netlist netlist_of(const Circuit& circuit) {
  check(circuit);
  const Circuit folded = to_circuit(to_network(circuit, false), circuit);  // constants are left at outputs only
  Netlist list{.inputs = folded.inputs};
  std::vector<uint32_t> number(folded.gates.size());
  const auto moved = [&](uint32_t s) { return s < folded.inputs ? s : number[s - folded.inputs]; };
  for (size_t i = 0; i < folded.gates.size(); i++) {
    const Gate& g = folded.gates[i];
    if (g.function == Function::kFalse || g.function == Function::kTrue) {
      number[i] = g.function == Function::kTrue ? kTrueSignal : kFalseSignal;
      continue;
    }
    number[i] = list.inputs + static_cast<uint32_t>(list.gates.size());
    list.gates.push_back({g.function, moved(g.a), moved(g.b)});
  }
  for (const uint32_t o : folded.outputs) list.outputs.push_back(moved(o));
  return list;
}

std::vector<uint32_t> Netlist::used_inputs() const {
  std::vector<bool> used(inputs);
  const auto use = [&](uint32_t s) {
    if (s < inputs) used[s] = true;
  };
  for (const Gate& g : gates) use(g.a), use(g.b);
  for (const uint32_t o : outputs) use(o);
  std::vector<uint32_t> list;
  for (uint32_t k = 0; k < inputs; k++)
    if (used[k]) list.push_back(k);
  return list;
}

std::string expression(Function f, const std::string& a, const std::string& b) {
  switch (f) {
    case Function::kFalse: return "0";
    case Function::kAnd: return a + " & " + b;
    case Function::kAndNot: return a + " & ~" + b;
    case Function::kA: return a;
    case Function::kNotAnd: return "~" + a + " & " + b;
    case Function::kB: return b;
    case Function::kXor: return a + " ^ " + b;
    case Function::kOr: return a + " | " + b;
    case Function::kNor: return "~(" + a + " | " + b + ")";
    case Function::kXnor: return "~(" + a + " ^ " + b + ")";
    case Function::kNotB: return "~" + b;
    case Function::kOrNot: return a + " | ~" + b;
    case Function::kNotA: return "~" + a;
    case Function::kNotOr: return "~" + a + " | " + b;
    case Function::kNand: return "~(" + a + " & " + b + ")";
    case Function::kTrue: return "~0";
  }
  return "";
}

std::string identifier(const Circuit& circuit) {
  constexpr size_t kLongest = 60;
  std::string out;
  for (const char c : circuit.name.substr(0, kLongest)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (out.empty() && digit) out = "c";
    out += letter || digit ? c : '_';
  }
  const bool plain = std::any_of(out.begin(), out.end(), [](char c) { return c != '_'; });
  return plain && out[0] != '_' ? out : "circuit" + out;
}

std::string input_name(const Circuit& circuit, uint32_t input) {
  static constexpr const char* kPlaces[9] = {"nw", "n", "ne", "w", "own", "e", "sw", "s", "se"};
  if (!circuit.cell) return "x" + std::to_string(input);
  return "c" + std::to_string(input / 9) + "_" + kPlaces[input % 9];
}

std::string output_name(const Circuit& circuit, size_t output) {
  return (circuit.cell ? "next" : "y") + std::to_string(output);
}

std::string headline(const Circuit& circuit, const Netlist& list) {
  const auto count = [](size_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); };
  const std::string gates = count(list.gates.size(), "gate");
  if (!circuit.cell)
    return identifier(circuit) + ": " + count(circuit.inputs, "input") + ", " +
           count(circuit.outputs.size(), "output") + ", " + gates;
  return identifier(circuit) + ": the rule of a cell with " + count(circuit.outputs.size(), "channel") + ", " + gates;
}

}  // namespace ingot::gates
