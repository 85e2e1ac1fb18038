// Circuit files: what is written is read again, other people's files are understood, hostile ones get a sentence.
#include "ingot/gates/circuit_io.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "ingot/io/crc.h"
#include "ingot/io/io.h"
#include "tests/error_of.h"
#include "tests/gates/export_samples.h"

namespace ingot::gates {
namespace {

Circuit parse(const std::string& text) { return parse_circuit(std::as_bytes(std::span(text))); }

std::vector<Circuit> samples() {
  std::vector<Circuit> all = {life_rule(),
                              random_circuit(5, 300, 7, 1),
                              random_circuit(1000, 40, 3, 2),
                              random_rule(8, 500, Border::kZero, 0.6, 3),
                              Circuit{.inputs = 1, .outputs = {0}},
                              Circuit{}};
  all[0].cell->height = all[0].cell->width = 3;
  all[1].name = "quotes \" and \\ and \n and ü";
  all[3].cell->visible = 3;
  all[3].cell->steps = 20;
  return all;
}

TEST(CircuitFiles, BothFormsComeBackAsTheyWere) {
  for (const Circuit& c : samples()) {
    EXPECT_EQ(parse(to_json(c)), c) << to_json(c).substr(0, 300);
    EXPECT_EQ(parse(to_binary(c)), c) << c.name;
  }
  EXPECT_LT(to_binary(samples()[3]).size(), 4u * 500);
}

TEST(CircuitFiles, ExtensionSaysWhichFormToWriteContentsWhichToRead) {
  const std::string folder = ::testing::TempDir() + "circuit_files_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  for (const char* name : {"/life.json", "/life.igc"}) {
    save_circuit(folder + name, life_rule());
    EXPECT_EQ(load_circuit(folder + name), life_rule());
  }
  EXPECT_EQ(io::read_file(folder + "/life.igc").substr(0, 3), "IGC");
  std::filesystem::rename(folder + "/life.igc", folder + "/other.json");
  EXPECT_EQ(load_circuit(folder + "/other.json"), life_rule());
  EXPECT_REFUSED(save_circuit(folder + "/life.txt", life_rule()), ".json nor .igc");
  EXPECT_REFUSED(load_circuit(folder + "/none.json"), "none.json");
}

TEST(CircuitFiles, JsonReadsAsWrittenDown) {
  const Circuit c = parse(R"({"format": "ingot circuit", "version": 1, "inputs": 9, "outputs": [10],
      "cell": {"channels": 1, "border": "zero", "fire_rate": 0.5},
      "gates": [["and_not", 0, 4], ["xor", 9, 8]]})");
  EXPECT_EQ(c, (Circuit{.inputs = 9,
                        .gates = {{Function::kAndNot, 0, 4}, {Function::kXor, 9, 8}},
                        .outputs = {10},
                        .cell = CellRule{.border = Border::kZero, .fire_rate = 0.5}}));
}

TEST(CircuitFiles, HostileJsonGetsASentence) {
  const auto with = [](const std::string& rest) {
    return R"({"format": "ingot circuit", "version": 1, )" + rest + "}";
  };
  const auto gates = [&](const std::string& g) { return with(R"("inputs": 2, "outputs": [0], "gates": [)" + g + "]"); };
  EXPECT_REFUSED(parse(gates(R"(["xor", 2, 1])")), "memory: gate 0 reads signal 2");
  EXPECT_REFUSED(parse(gates(R"(["xor", 0, 1], ["or", 3, 1], ["or", 3, 1])")), "cycles");
  EXPECT_REFUSED(parse(gates(R"(["xor", 4000000000, 1])")), "gate 0 reads signal 4000000000");
  EXPECT_REFUSED(parse(gates(R"(["xor", 40000000000, 1])")), "first signal is 40000000000");
  EXPECT_REFUSED(parse(gates(R"(["xor", 99999999999999999999999, 1])")), "no whole number");
  EXPECT_REFUSED(parse(gates(R"(["xor", 1e999, 1])")), "no circuit has");
  EXPECT_REFUSED(parse(gates(R"(["xor", -1, 1])")), "negative");
  EXPECT_REFUSED(parse(gates(R"(["xor", 0.5, 1])")), "no whole number");
  EXPECT_REFUSED(parse(gates(R"(["xor", 0])")), "no list of three");
  EXPECT_REFUSED(parse(gates(R"({"a": 1})")), "no list of three");
  EXPECT_REFUSED(parse(gates(R"(["maybe", 0, 1])")), "\"maybe\"");
  EXPECT_REFUSED(parse(gates(R"([6, 0, 1])")), "no text");
  EXPECT_REFUSED(parse(with(R"("inputs": 2, "gates": [], "outputs": [2])")), "an output is signal 2");
  EXPECT_REFUSED(parse(with(R"("inputs": 2, "gates": [], "outputs": 0)")), "no list");
  EXPECT_REFUSED(parse(with(R"("inputs": 1000000000, "gates": [], "outputs": [])")), "number of inputs is 1000000000");
  EXPECT_REFUSED(parse(with(R"("inputs": 2, "gates": {}, "outputs": [])")), "no list");
  EXPECT_REFUSED(parse(with(R"("inputs": 2, "outputs": [])")), "no \"gates\"");
  EXPECT_REFUSED(parse(with(R"("inputs": 2, "gates": [], "outputs": [], "gate": 3)")), "\"gate\"");
  EXPECT_REFUSED(parse(with(R"("inputs": 9, "gates": [], "outputs": [4], "cell": 3)")), "no object");
  EXPECT_REFUSED(parse(with(R"("inputs": 9, "gates": [], "outputs": [4], "cell": {"channels": 2, "border": "wrap"})")),
                 "nine inputs");
  EXPECT_REFUSED(parse(with(R"("inputs": 9, "gates": [], "outputs": [4], "cell": {"channels": 1, "border": "torus"})")),
                 "\"torus\"");
  EXPECT_REFUSED(parse(R"({"format": "ingot circuit", "version": 2})"), "version 2");
  EXPECT_REFUSED(parse(R"({"format": "other"})"), "no circuit");
  EXPECT_REFUSED(parse(R"({"format": 3})"), "no circuit");
  EXPECT_REFUSED(parse("{}"), "no circuit");
  EXPECT_REFUSED(parse(""), "no circuit");
  EXPECT_REFUSED(parse("[1, 2]"), "no circuit");
  EXPECT_REFUSED(parse(R"({"gates": )" + std::string(1'000'000, '[')), "nested deeper");
  std::string many = "0";
  for (int i = 0; i < 100'000; i++) many += ",0";
  EXPECT_REFUSED(parse(gates("[" + many + "]")), "neither gates nor outputs");
  EXPECT_REFUSED(parse(with(R"("inputs": 2, "gates": [], "outputs": [], "more": [)" + many + "]")), "neither gates");
  EXPECT_EQ(parse(with(R"("inputs": 2, "gates": [], "outputs": [)" + many + "]")).outputs.size(), 100'001u);
  EXPECT_EQ(parse(gates(R"(["xor", 0, 1]], "gates": [["or", 0, 1])")).gates,
            (std::vector<Gate>{{Function::kOr, 0, 1}}));
  const std::string whole = to_json(life_rule());
  for (size_t n = 0; n + 2 < whole.size(); n += 7) EXPECT_REFUSED(parse(whole.substr(0, n)), "circuit: memory: ");
}

// A compact file with its checksum right, whatever it says.
std::string sealed(std::string body) {
  body.insert(0, std::string("IGC\1", 4));
  const uint32_t crc = io::crc32c(body);
  return body.append(reinterpret_cast<const char*>(&crc), sizeof crc);
}

TEST(CircuitFiles, HostileCompactFilesGetASentence) {
  const std::string whole = to_binary(life_rule());
  for (size_t n = 0; n < whole.size(); n++) EXPECT_REFUSED(parse(whole.substr(0, n)), "circuit: memory: ");
  for (size_t n = 0; n < whole.size(); n++) {
    std::string damaged = whole;
    damaged[n] = static_cast<char>(damaged[n] ^ 4);
    EXPECT_REFUSED(parse(damaged), "circuit: memory: ");
  }
  EXPECT_REFUSED(parse(std::string("IGC\2........", 12)), "version 2");
  const std::string billion = "\x80\x94\xeb\xdc\x03";  // 10^9
  EXPECT_REFUSED(parse(sealed(std::string("\0\2", 2) + billion + std::string(20, '\0'))),
                 "number of gates: 1000000000");
  EXPECT_REFUSED(parse(sealed(std::string("\0\2\0", 3) + billion + std::string(20, '\0'))), "number of outputs");
  EXPECT_REFUSED(parse(sealed(std::string("\0", 1) + billion + std::string(20, '\0'))), "number of inputs");
  EXPECT_REFUSED(parse(sealed(billion + std::string(20, '\0'))), "length of the name");
  EXPECT_EQ(parse(sealed(std::string("\2\xc3\xbc\2\0\0\0", 7))).name, "ü");
  EXPECT_REFUSED(parse(sealed(std::string("\2\xc3(\2\0\0\0", 7))), "its name is no UTF-8");
  const std::string start("\0\2\1\1\0", 5);  // no name, two inputs, a gate, an output, no cell
  EXPECT_EQ(parse(sealed(start + std::string("\x06\1\2", 3))).gates[0], (Gate{Function::kXor, 1, 0}));
  EXPECT_REFUSED(parse(sealed(start + std::string("\x26\1\2", 3))), "gate 0 reads what is no signal");
  EXPECT_REFUSED(parse(sealed(start + std::string("\x06\2\2", 3))), "gate 0 reads what is no signal");
  EXPECT_REFUSED(parse(sealed(start + std::string("\x06\1\3", 3))), "an output is signal 3");
  EXPECT_REFUSED(parse(sealed(start + std::string("\x06\1\2\2", 4))), "left over");
}

// The Rust port's layers, run as its description says: wires count within the layer before.
struct PortGate {
  int op, a, b;
};
using PortLayers = std::vector<std::vector<PortGate>>;

std::vector<bool> run(const PortLayers& layers, std::vector<bool> values) {
  for (const auto& layer : layers) {
    std::vector<bool> next;
    next.reserve(layer.size());
    for (const PortGate& g : layer)
      next.push_back(
          value(static_cast<Function>(g.op), values[static_cast<size_t>(g.a)], values[static_cast<size_t>(g.b)]));
    values = next;
  }
  return values;
}

std::string port_json(const PortLayers& layers) {
  std::string out = "\"layers\": [";
  for (size_t l = 0; l < layers.size(); l++) {
    out += l == 0 ? "{\"gates\": [" : ", {\"gates\": [";
    for (size_t i = 0; i < layers[l].size(); i++) {
      const PortGate& g = layers[l][i];
      out += std::string(i == 0 ? "" : ", ") + "{\"op\": " + std::to_string(g.op) +
             ", \"wire_a\": " + std::to_string(g.a) + ", \"wire_b\": " + std::to_string(g.b) + "}";
    }
    out += "]}";
  }
  return out + "]";
}

PortLayers random_layers(int in, const std::vector<int>& widths, std::mt19937& random) {
  PortLayers layers;
  for (const int width : widths) {
    auto& layer = layers.emplace_back();
    for (int i = 0; i < width; i++)
      layer.push_back({static_cast<int>(random() % 16), static_cast<int>(random() % static_cast<unsigned>(in)),
                       static_cast<int>(random() % static_cast<unsigned>(in))});
    in = width;
  }
  return layers;
}

TEST(CircuitFiles, TheRustPortsJsonIsTheSameRule) {
  std::mt19937 random(7);
  constexpr int kChannels = 2, kKernels = 3, kOutputs = 2;
  std::vector<PortLayers> kernels;
  std::string text = "{\n  \"perception\": {\"kernels\": [";
  for (int k = 0; k < kKernels; k++) {
    kernels.push_back(random_layers(9, {8, 4, kOutputs}, random));
    text += (k == 0 ? "{" : ", {") + port_json(kernels.back()) + ", \"input_size\": 9}";
  }
  const PortLayers update = random_layers(kChannels * (1 + kKernels * kOutputs), {16, 8, kChannels}, random);
  text += "], \"channels\": 2}, \"update\": {" + port_json(update) +
          ", \"input_size\": 14, \"output_size\": 2}, \"channels\": 2}";

  const Circuit c = parse(text);
  ASSERT_TRUE(c.cell);
  EXPECT_EQ(c.cell->border, Border::kZero);
  EXPECT_EQ(c.gates.size(), static_cast<size_t>(kChannels * kKernels * 14 + 26));
  for (int trial = 0; trial < 2000; trial++) {
    std::vector<bool> in(9 * kChannels);
    for (size_t i = 0; i < in.size(); i++) in[i] = (random() & 1) != 0;
    std::vector<bool> perceived = {in[4], in[13]};
    for (size_t channel = 0; channel < kChannels; channel++)
      for (size_t output = 0; output < kOutputs; output++)
        for (const PortLayers& kernel : kernels)
          perceived.push_back(run(kernel, {in.begin() + static_cast<int64_t>(9 * channel),
                                           in.begin() + static_cast<int64_t>(9 * channel + 9)})[output]);
    EXPECT_EQ(evaluate(c, in), run(update, perceived));
  }
}

TEST(CircuitFiles, HostilePortFilesGetASentence) {
  const auto file = [](const std::string& kernel, const std::string& update, const std::string& channels) {
    return R"({"perception": {"kernels": [{"layers": [)" + kernel + R"(]}]}, "update": {"layers": [)" + update +
           R"(]}, "channels": )" + channels + "}";
  };
  const std::string gate = R"({"gates": [{"op": 6, "wire_a": 0, "wire_b": 1}]})";
  EXPECT_EQ(parse(file(gate, gate, "1")).gates.size(), 2u);
  EXPECT_REFUSED(parse(file(gate, R"({"gates": [{"op": 6, "wire_a": 2, "wire_b": 1}]})", "1")), "reads wire 2 of 2");
  EXPECT_REFUSED(parse(file(R"({"gates": [{"op": 6, "wire_a": 9, "wire_b": 1}]})", gate, "1")), "reads wire 9 of 9");
  EXPECT_REFUSED(parse(file(R"({"gates": [{"op": 16, "wire_a": 0, "wire_b": 1}]})", gate, "1")), "\"op\"");
  EXPECT_REFUSED(parse(file(R"({"gates": [{"op": 1, "wire_a": 0}]})", gate, "1")), "wire_b");
  EXPECT_REFUSED(parse(file(R"({"gates": [3]})", gate, "1")), "no object");
  EXPECT_REFUSED(parse(file(gate, gate, "1000000000")), "\"channels\"");
  EXPECT_REFUSED(parse(file(gate, gate, "1000000")), "one gate for each of the 1000000 channels");
  EXPECT_REFUSED(parse(file(gate, "", "1")), "one gate for each");
  EXPECT_REFUSED(parse(file("", gate, "1")), "kernel 0");
  EXPECT_REFUSED(parse(R"({"perception": 3})"), "channels");
}

TEST(LifeLike, CountsNeighbours) {
  for (const auto& [rule, born, survives] : {std::array<std::string, 3>{"life", "3", "23"},
                                             {"B36/S23", "36", "23"},
                                             {"B/S", "", ""},
                                             {"B2/S", "2", ""},
                                             {"B012345678/S012345678", "012345678", "012345678"},
                                             {"B08/S8", "08", "8"}}) {
    const Circuit c = life_like(rule);
    check(c);
    for (uint32_t bits = 0; bits < 512; bits++) {
      std::vector<bool> in(9);
      char neighbours = '0';
      for (uint32_t i = 0; i < 9; i++) {
        in[i] = (bits >> i & 1) != 0;
        neighbours = static_cast<char>(neighbours + (in[i] && i != 4));
      }
      EXPECT_EQ(evaluate(c, in)[0], (in[4] ? survives : born).find(neighbours) != std::string::npos)
          << rule << " " << bits;
    }
  }
  for (const char* wrong : {"", "B3", "B3/S29", "S23/B3", "conway"}) EXPECT_REFUSED(life_like(wrong), "no rule");
}

}  // namespace
}  // namespace ingot::gates
