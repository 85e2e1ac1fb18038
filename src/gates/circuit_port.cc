// The JSON of "logicars", a Rust port of Differentiable Logic CA: {"perception": {"kernels": [{"layers": [{"gates":
// [{"op", "wire_a", "wire_b"}, …]}, …], "input_size"}, …], "channels"}, "update": {"layers", "input_size",
// "output_size"}, "channels"}. Ops have our numbers, wires count within the layer before. Each kernel runs on the nine
// cells of every channel; the update network reads the cell's own channels, then (channel, output, kernel). Its grids
// have a zero border.
#include <nlohmann/json.hpp>

#include "gates/circuit_files.h"

namespace ingot::gates {
namespace {

using Json = nlohmann::json;
using Layer = std::span<const Gate>;

class PortReader {
 public:
  PortReader(const ByteSource& source, std::span<const Gate> gates) : source_(source), gates_(gates) {}

  Circuit read(const Json& file) {
    channels_ = whole_number(source_, member(source_, file, "channels", "the file"), kMostInputs / 9, "\"channels\"");
    const Json& update = member(source_, file, "update", "the file");
    const std::vector<Layer> update_layers = layers(update, "the update network");
    if (update_layers.empty() || update_layers.back().size() != channels_ || channels_ == 0)
      source_.fail("the update network does not end in one gate for each of the " + std::to_string(channels_) +
                   " channels");
    circuit_.inputs = static_cast<uint32_t>(9 * channels_);
    circuit_.cell = CellRule{.channels = static_cast<int32_t>(channels_), .border = Border::kZero};
    const Json& perception = member(source_, file, "perception", "the file");
    circuit_.outputs = append(update_layers, perceived(perception), "the update network");
    return std::move(circuit_);
  }

 private:
  std::vector<Layer> layers(const Json& network, const std::string& where) {
    std::vector<Layer> all;
    for (const Json& layer : array(source_, member(source_, network, "layers", where), "\"layers\" of " + where)) {
      const std::string here = "layer " + std::to_string(all.size()) + " of " + where;
      const Json& list = array(source_, member(source_, layer, "gates", here), "\"gates\" of " + here);
      all.push_back(gates_.subspan(list[0].get<size_t>(), list[1].get<size_t>()));
    }
    return all;
  }

  // Adds a network that reads these signals; what its last layer's are.
  std::vector<uint32_t> append(const std::vector<Layer>& network, std::vector<uint32_t> signals,
                               const std::string& where) {
    for (const Layer& layer : network) {
      if (circuit_.gates.size() + layer.size() > kMostGates)
        source_.fail("its kernels, repeated for every channel, are more than " + std::to_string(kMostGates) + " gates");
      std::vector<uint32_t> next;
      for (const Gate& g : layer) {
        if (std::max(g.a, g.b) >= signals.size())
          source_.fail("a gate of " + where + " reads wire " + std::to_string(std::max(g.a, g.b)) + " of " +
                       std::to_string(signals.size()) + " — wires count within the layer before");
        next.push_back(circuit_.signals());
        circuit_.gates.push_back({g.function, signals[g.a], signals[g.b]});
      }
      signals = std::move(next);
    }
    return signals;
  }

  // The cell's own channels, then what the kernels say, in the order (channel, output, kernel).
  std::vector<uint32_t> perceived(const Json& perception) {
    std::vector<std::vector<Layer>> kernels;
    for (const Json& kernel : array(source_, member(source_, perception, "kernels", "\"perception\""), "\"kernels\"")) {
      kernels.push_back(layers(kernel, "kernel " + std::to_string(kernels.size())));
      if (kernels.back().empty() || kernels.back().back().size() != kernels[0].back().size())
        source_.fail("kernel " + std::to_string(kernels.size() - 1) + " has another number of outputs than the first");
    }
    std::vector<uint32_t> signals;
    for (uint32_t c = 0; c < channels_; c++) signals.push_back(9 * c + 4);
    for (uint32_t c = 0; c < channels_; c++) {
      std::vector<uint32_t> cells(9);
      for (uint32_t i = 0; i < 9; i++) cells[i] = 9 * c + i;
      std::vector<std::vector<uint32_t>> said;
      for (size_t k = 0; k < kernels.size(); k++)
        said.push_back(append(kernels[k], cells, "kernel " + std::to_string(k)));
      for (size_t output = 0; output < (said.empty() ? 0 : said[0].size()); output++)
        for (const auto& kernel : said) signals.push_back(kernel[output]);
    }
    return signals;
  }

  const ByteSource& source_;
  std::span<const Gate> gates_;
  uint64_t channels_ = 0;
  Circuit circuit_ = {};
};

}  // namespace

Gate read_port_gate(const ByteSource& source, const Json& gate, size_t index) {
  const std::string where = "gate " + std::to_string(index) + " of a layer";
  const auto field = [&](const char* key, uint64_t most) {
    return static_cast<uint32_t>(
        whole_number(source, member(source, gate, key, where), most, std::string("\"") + key + "\" of " + where));
  };
  return {static_cast<Function>(field("op", 15)), field("wire_a", UINT32_MAX), field("wire_b", UINT32_MAX)};
}

Circuit read_port(const ByteSource& source, const Json& file, std::span<const Gate> gates) {
  return PortReader(source, gates).read(file);
}

}  // namespace ingot::gates
