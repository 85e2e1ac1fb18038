// Circuits as JSON: {"format": "ingot circuit", "version": 1, "name", "inputs", "cell": {…}, "gates": [["xor", 0, 1],
// …], "outputs": [signal, …]}.
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "gates/circuit_files.h"
#include "ingot/base/text.h"
#include "ingot/gates/circuit_io.h"

namespace ingot::gates {
namespace {

using Json = nlohmann::json;
constexpr const char* kFormat = "ingot circuit";

const std::string& text(const ByteSource& source, const Json& value, const std::string& where) {
  if (!value.is_string()) source.fail(where + " is no text");
  return value.get_ref<const std::string&>();
}

Function function_named(const ByteSource& source, const std::string& text, const std::string& where) {
  static const auto kByName = [] {
    std::unordered_map<std::string, Function> map;
    for (int f = 0; f < kFunctions; f++) map.emplace(name(static_cast<Function>(f)), static_cast<Function>(f));
    return map;
  }();
  const auto found = kByName.find(text);
  if (found == kByName.end())
    source.fail(
        where + " has the function " + in_quotes(text) +
        " — there are false, and, and_not, a, not_and, b, xor, or, nor, xnor, not_b, or_not, not_a, not_or, nand, "
        "true");
  return found->second;
}

void refuse_others(const ByteSource& source, const Json& object, std::initializer_list<std::string_view> known,
                   const std::string& where) {
  for (const auto& [key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      source.fail(where + " has a key " + in_quotes(key) + " that the format does not know");
}

CellRule read_cell(const ByteSource& source, const Json& cell) {
  const std::string where = "its cell rule";
  const auto count = [&](const char* key, bool required) -> int32_t {
    if (!required && !cell.contains(key)) return 0;
    return static_cast<int32_t>(whole_number(source, member(source, cell, key, where), INT32_MAX,
                                             std::string("\"") + key + "\" of the cell rule"));
  };
  CellRule rule{.channels = count("channels", true)};
  refuse_others(source, cell, {"channels", "border", "fire_rate", "visible", "height", "width", "steps"}, where);
  const std::string& border = text(source, member(source, cell, "border", where), "the border");
  if (border != "wrap" && border != "zero")
    source.fail("the border is " + in_quotes(border) + " — it is \"wrap\" or \"zero\"");
  rule.border = border == "wrap" ? Border::kWrap : Border::kZero;
  if (const auto rate = cell.find("fire_rate"); rate != cell.end()) {
    if (!rate->is_number()) source.fail("the fire rate is no number");
    rule.fire_rate = rate->get<double>();
  }
  if (cell.contains("visible")) rule.visible = count("visible", true);
  rule.height = count("height", false);
  rule.width = count("width", false);
  rule.steps = count("steps", false);
  return rule;
}

}  // namespace

Gate read_gate(const ByteSource& source, const Json& gate, size_t index) {
  const std::string where = "gate " + std::to_string(index);
  if (!gate.is_array() || gate.size() != 3) source.fail(where + " is no list of three: [\"xor\", 0, 1]");
  return {function_named(source, text(source, gate[0], where + "'s function"), where),
          static_cast<uint32_t>(whole_number(source, gate[1], UINT32_MAX, where + "'s first signal")),
          static_cast<uint32_t>(whole_number(source, gate[2], UINT32_MAX, where + "'s second signal"))};
}

Circuit read_json(const ByteSource& source, const Json& file, std::vector<Gate> gates, std::vector<uint32_t> outputs) {
  const std::string where = "the file";
  const Json* format = file.contains("format") ? &file["format"] : nullptr;
  if (format == nullptr || *format != kFormat)
    source.fail("its \"format\" is not \"" + std::string(kFormat) + "\" — this is no circuit");
  const uint64_t version = whole_number(source, member(source, file, "version", where), UINT32_MAX, "the version");
  if (version != 1)
    source.fail("the file has version " + std::to_string(version) +
                " of the format, this program knows 1 — use a newer one");
  refuse_others(source, file, {"format", "version", "name", "inputs", "cell", "gates", "outputs"}, where);

  Circuit circuit;
  if (file.contains("name")) circuit.name = text(source, file["name"], "the name");
  circuit.inputs = static_cast<uint32_t>(
      whole_number(source, member(source, file, "inputs", where), kMostInputs, "the number of inputs"));
  if (file.contains("cell")) circuit.cell = read_cell(source, file["cell"]);
  const Json& list = array(source, member(source, file, "gates", where), "\"gates\"");
  array(source, member(source, file, "outputs", where), "\"outputs\"");
  const auto first = gates.begin() + list[0].get<int64_t>();  // the key may be there twice: the last counts
  gates.erase(first + list[1].get<int64_t>(), gates.end());
  gates.erase(gates.begin(), first);
  circuit.gates = std::move(gates);
  circuit.outputs = std::move(outputs);
  return circuit;
}

std::string to_json(const Circuit& circuit) {
  check(circuit);
  std::string out = "{\n  \"format\": \"" + std::string(kFormat) + "\",\n  \"version\": 1,\n  \"name\": \"" +
                    json_escaped(circuit.name) + "\",\n  \"inputs\": " + std::to_string(circuit.inputs) + ",\n";
  if (circuit.cell) {
    const CellRule& r = *circuit.cell;
    out += formatted(
        "  \"cell\": {\"channels\": %d, \"border\": \"%s\", \"fire_rate\": %.17g, \"visible\": %d, \"height\": %d, "
        "\"width\": %d, \"steps\": %d},\n",
        r.channels, r.border == Border::kWrap ? "wrap" : "zero", r.fire_rate, r.visible, r.height, r.width, r.steps);
  }
  out += "  \"gates\": [";
  for (size_t i = 0; i < circuit.gates.size(); i++) {
    const Gate& g = circuit.gates[i];
    out += formatted("%s\n    [\"%s\", %u, %u]", i == 0 ? "" : ",", name(g.function), g.a, g.b);
  }
  out += circuit.gates.empty() ? "],\n  \"outputs\": [" : "\n  ],\n  \"outputs\": [";
  for (size_t i = 0; i < circuit.outputs.size(); i++) out += (i == 0 ? "" : ", ") + std::to_string(circuit.outputs[i]);
  return out + "]\n}\n";
}

}  // namespace ingot::gates
