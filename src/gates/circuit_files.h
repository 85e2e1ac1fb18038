// The readers of circuit files, one per format.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "ingot/gates/circuit.h"
#include "ingot/io/source.h"

namespace ingot::gates {

// More than anybody has, and little enough to take memory for.
inline constexpr uint64_t kMostInputs = uint64_t{1} << 24, kMostGates = 100'000'000;

// JSON comes without its gates and outputs: in `file`, every list "gates" is [first, count] of `gates`.
Circuit read_json(const io::Source& source, const nlohmann::json& file, std::vector<Gate> gates,
                  std::vector<uint32_t> outputs);
Circuit read_port(const io::Source& source, const nlohmann::json& file, std::span<const Gate> gates);
/// An element of such a list, which is the `index`th there; a port's gate reads wires, not signals.
Gate read_gate(const io::Source& source, const nlohmann::json& gate, size_t index);
Gate read_port_gate(const io::Source& source, const nlohmann::json& gate, size_t index);
Circuit read_binary(io::Source& source, std::string_view bytes);
/// Does a file begin as the compact form does?
bool is_binary(std::string_view bytes);

// What the two JSON formats share: a value of the type that is asked for, or a sentence about `where`.
const nlohmann::json& member(const io::Source& source, const nlohmann::json& object, const char* key,
                             const std::string& where);
const nlohmann::json& array(const io::Source& source, const nlohmann::json& value, const std::string& where);
uint64_t whole_number(const io::Source& source, const nlohmann::json& value, uint64_t most, const std::string& where);

}  // namespace ingot::gates
