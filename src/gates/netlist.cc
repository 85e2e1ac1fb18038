#include "gates/netlist.h"

#include <algorithm>

namespace ingot::gates {
namespace {

Function function_of_b(bool at_0, bool at_1) { return static_cast<Function>(10 * at_0 + 5 * at_1); }
Function function_of_a(bool at_0, bool at_1) { return static_cast<Function>(12 * at_0 + 3 * at_1); }

// A gate with what is known about its operands put into its function; a function of one signal reads it as a.
Gate reduced(Gate g) {
  if (is_constant(g.a))
    g.function =
        function_of_b(value(g.function, g.a == kTrueSignal, false), value(g.function, g.a == kTrueSignal, true));
  if (is_constant(g.b))
    g.function =
        function_of_a(value(g.function, false, g.b == kTrueSignal), value(g.function, true, g.b == kTrueSignal));
  if (g.a == g.b) g.function = function_of_a(value(g.function, false, false), value(g.function, true, true));
  if (!reads_a(g.function) && reads_b(g.function)) {
    g.a = g.b;
    g.function = g.function == Function::kB ? Function::kA : Function::kNotA;
  }
  if (!reads_b(g.function)) g.b = g.a;
  return g;
}

}  // namespace

Netlist netlist_of(const Circuit& circuit) {
  check(circuit);
  std::vector<uint32_t> same(circuit.signals());  // the signal, or constant, that stands for each
  std::vector<Gate> gates(circuit.gates.size());
  for (uint32_t s = 0; s < circuit.signals(); s++) {
    same[s] = s;
    if (s < circuit.inputs) continue;
    const Gate& old = circuit.gates[s - circuit.inputs];
    const Gate g = reduced({old.function, same[old.a], same[old.b]});
    if (g.function == Function::kFalse || g.function == Function::kTrue)
      same[s] = g.function == Function::kTrue ? kTrueSignal : kFalseSignal;
    else if (g.function == Function::kA)
      same[s] = g.a;
    else
      gates[s - circuit.inputs] = g;
  }
  std::vector<bool> live(circuit.signals());
  for (const uint32_t o : circuit.outputs)
    if (!is_constant(same[o])) live[same[o]] = true;
  for (size_t i = gates.size(); i-- > 0;)
    if (live[circuit.inputs + i]) live[gates[i].a] = live[gates[i].b] = true;

  Netlist list{.inputs = circuit.inputs};
  std::vector<uint32_t> number(circuit.signals());
  for (uint32_t s = 0; s < circuit.signals(); s++) {
    number[s] = s;
    if (s < circuit.inputs || !live[s]) continue;
    const Gate& g = gates[s - circuit.inputs];
    number[s] = circuit.inputs + static_cast<uint32_t>(list.gates.size());
    list.gates.push_back({g.function, number[g.a], number[g.b]});
  }
  for (const uint32_t o : circuit.outputs) list.outputs.push_back(is_constant(same[o]) ? same[o] : number[same[o]]);
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
