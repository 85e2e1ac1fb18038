#include "ingot/gates/circuit.h"

#include <algorithm>

#include "ingot/base/error.h"

namespace ingot::gates {

const char* name(Function f) {
  static constexpr const char* kNames[kFunctions] = {"false", "and",    "and_not", "a",    "not_and", "b",
                                                     "xor",   "or",     "nor",     "xnor", "not_b",   "or_not",
                                                     "not_a", "not_or", "nand",    "true"};
  return kNames[static_cast<int>(f) & 15];
}

void check(const Circuit& c) {
  const auto fail = [](const std::string& what, const std::string& hint) {
    throw Error("circuit: " + what + " — " + hint);
  };
  constexpr uint64_t kMostSignals = uint64_t{1} << 31;  // twice a signal, plus one, fits 32 bits
  if (c.inputs + uint64_t{c.gates.size()} >= kMostSignals)
    fail(std::to_string(c.inputs) + " inputs and " + std::to_string(c.gates.size()) + " gates",
         "together they are fewer than 2^31");
  for (size_t i = 0; i < c.gates.size(); i++) {
    const uint64_t own = c.inputs + i;
    for (const uint32_t signal : {c.gates[i].a, c.gates[i].b})
      if (signal >= own)
        fail("gate " + std::to_string(i) + " reads signal " + std::to_string(signal) + ", and its own is " +
                 std::to_string(own),
             "a gate reads inputs and gates before it; cycles are not allowed");
    if (static_cast<int>(c.gates[i].function) >= kFunctions)
      fail("gate " + std::to_string(i) + " has no function", "functions are 0 to 15");
  }
  for (const uint32_t output : c.outputs)
    if (output >= c.signals())
      fail("an output is signal " + std::to_string(output) + " of " + std::to_string(c.signals()),
           "outputs are inputs or gates");
  if (!c.cell) return;
  const CellRule& rule = *c.cell;
  if (rule.channels < 1 || c.inputs != 9U * static_cast<uint32_t>(rule.channels) ||
      c.outputs.size() != static_cast<size_t>(rule.channels))
    fail("a cell of " + std::to_string(rule.channels) + " channels with " + std::to_string(c.inputs) + " inputs and " +
             std::to_string(c.outputs.size()) + " outputs",
         "it has nine inputs and one output per channel");
  if (rule.visible < 1 || rule.visible > rule.channels)
    fail(std::to_string(rule.visible) + " visible channels of " + std::to_string(rule.channels), "show at least one");
  if (!(rule.fire_rate > 0 && rule.fire_rate <= 1))
    fail("the fire rate is no probability", "give one above 0, up to 1");
}

int64_t active_gates(const Circuit& circuit) {
  return std::count_if(circuit.gates.begin(), circuit.gates.end(),
                       [](const Gate& g) { return reads_a(g.function) && reads_b(g.function); });
}

std::vector<int64_t> function_counts(const Circuit& circuit) {
  std::vector<int64_t> counts(kFunctions);
  for (const Gate& g : circuit.gates) counts[static_cast<size_t>(g.function)]++;
  return counts;
}

std::vector<bool> evaluate(const Circuit& circuit, const std::vector<bool>& inputs) {
  if (inputs.size() != circuit.inputs)
    throw Error("evaluate: " + std::to_string(inputs.size()) + " values for " + std::to_string(circuit.inputs) +
                " inputs — give one per input");
  std::vector<bool> signal = inputs;
  signal.reserve(circuit.signals());
  for (const Gate& g : circuit.gates) signal.push_back(value(g.function, signal[g.a], signal[g.b]));
  std::vector<bool> result;
  for (const uint32_t output : circuit.outputs) result.push_back(signal[output]);
  return result;
}

}  // namespace ingot::gates
