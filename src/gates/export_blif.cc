// Circuits as BLIF, the Berkeley Logic Interchange Format.
#include "gates/netlist.h"
#include "ingot/gates/circuit_io.h"

namespace ingot::gates {

std::string to_blif(const Circuit& circuit) {
  const Netlist list = netlist_of(circuit);
  const auto signal = [&](uint32_t s) -> std::string {
    if (s < list.inputs) return input_name(circuit, s);
    return "s" + std::to_string(s - list.inputs);
  };
  std::string out = "# " + headline(circuit, list) + ". Written by Ingot.\n.model " + identifier(circuit) + "\n.inputs";
  for (uint32_t k = 0; k < circuit.inputs; k++)
    if (!is_own(circuit, k)) out += " \\\n  " + input_name(circuit, k);
  out += "\n.outputs";
  for (size_t i = 0; i < list.outputs.size(); i++) out += " \\\n  " + output_name(circuit, i);
  out += "\n";
  for (size_t c = 0; circuit.cell && c < list.outputs.size(); c++)
    out += ".latch " + output_name(circuit, c) + " " + input_name(circuit, static_cast<uint32_t>(9 * c + 4)) + " 0\n";
  for (size_t i = 0; i < list.gates.size(); i++) {
    const Gate& g = list.gates[i];
    const bool two = reads_b(g.function);
    out += ".names " + signal(g.a) + (two ? " " + signal(g.b) : "") + " s" + std::to_string(i) + "\n";
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        if (value(g.function, a, b) && (two || !b))
          out += std::string(a ? "1" : "0") + (two ? b ? "1" : "0" : "") + " 1\n";
  }
  for (size_t i = 0; i < list.outputs.size(); i++) {
    const uint32_t s = list.outputs[i];
    out += ".names " + (is_constant(s) ? "" : signal(s) + " ") + output_name(circuit, i) + "\n" +
           (s == kFalseSignal  ? ""
            : s == kTrueSignal ? "1\n"
                               : "1 1\n");
  }
  return out + ".end\n";
}

}  // namespace ingot::gates
