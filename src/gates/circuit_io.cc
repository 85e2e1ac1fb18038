// Which format a circuit's file has.
#include "ingot/circuit_io.h"

#include <nlohmann/json.hpp>

#include "gates/circuit_files.h"
#include "ingot/error.h"
#include "ingot/io.h"

namespace ingot::gates {
namespace {

using Json = nlohmann::json;

// The formats are a few levels deep; a file of brackets is none of ours.
Json parsed(const io::Source& source, std::string_view text) {
  constexpr int kDeepest = 12;
  const auto watch = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepest) source.fail("its JSON is nested deeper than any circuit's");
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& e) {
    source.fail("no valid JSON at byte " + std::to_string(e.byte) + " — is the file whole?");
  } catch (const Json::exception&) {  // numbers beyond any type
    source.fail("its JSON has a number that no circuit has");
  }
}

Circuit read(io::Source& source, std::string_view bytes) {
  Circuit circuit;
  if (is_binary(bytes)) {
    circuit = read_binary(source, bytes);
  } else {
    const size_t start = bytes.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos || bytes[start] != '{')
      source.fail("this is no circuit — give JSON or .igc, as `ingot circuit export` writes them");
    const Json file = parsed(source, bytes);
    circuit = file.contains("perception") ? read_port(source, file) : read_json(source, file);
  }
  try {
    check(circuit);
  } catch (const Error& e) {
    constexpr std::string_view kStart = "circuit: ";
    source.fail(std::string(e.what()).substr(kStart.size()));
  }
  return circuit;
}

Circuit parse(std::string_view bytes, const std::string& name) {
  io::MemorySource source("circuit", std::as_bytes(std::span(bytes)), name);
  return read(source, bytes);
}

}  // namespace

const Json& member(const io::Source& source, const Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) source.fail(where + " is no object");
  const auto found = object.find(key);
  if (found == object.end()) source.fail(where + " has no \"" + key + "\"");
  return *found;
}

const Json& array(const io::Source& source, const Json& value, const std::string& where) {
  if (!value.is_array()) source.fail(where + " is no list");
  return value;
}

uint64_t whole_number(const io::Source& source, const Json& value, uint64_t most, const std::string& where) {
  if (!value.is_number_unsigned()) source.fail(where + " is no whole number, or negative");
  const auto number = value.get<uint64_t>();
  if (number > most) source.fail(where + " is " + std::to_string(number) + " — at most " + std::to_string(most));
  return number;
}

Circuit load_circuit(const std::string& path) { return parse(io::read_file(path), path); }

Circuit parse_circuit(std::span<const std::byte> bytes) {
  return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "memory");
}

void save_circuit(const std::string& path, const Circuit& circuit) {
  const bool binary = path.ends_with(".igc");
  if (!binary && !path.ends_with(".json"))
    throw Error("save_circuit: " + path + " ends in neither .json nor .igc — one of them says which form to write");
  io::write_file(path, binary ? to_binary(circuit) : to_json(circuit));
}

}  // namespace ingot::gates
