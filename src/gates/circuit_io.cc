// Which format a circuit's file has.
#include "ingot/gates/circuit_io.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gates/circuit_files.h"
#include "ingot/base/error.h"
#include "ingot/io/io.h"

namespace ingot::gates {
namespace {

using Json = nlohmann::json;

// Takes gates and outputs out of the JSON as they come: as values of a parser they take twenty times the memory. What
// is left is small in every circuit, so that a file of millions of other things is none.
class JsonReader final : public Json::json_sax_t {
 public:
  JsonReader(const ByteSource& source, std::string_view text) : source_(source) {
    const auto commas = static_cast<uint64_t>(std::count(text.begin(), text.end(), ','));
    gates_.reserve(std::min(kMostGates, commas / 3 + 1));  // two in a gate, one behind it
    Json::sax_parse(text, this);
  }
  Circuit circuit() {
    return file_.contains("perception") ? read_port(source_, file_, gates_)
                                        : read_json(source_, file_, std::move(gates_), std::move(outputs_));
  }

  bool null() override { return scalar({}); }
  bool boolean(bool v) override { return scalar(v); }
  bool number_integer(int64_t v) override { return scalar(v); }
  bool number_unsigned(uint64_t v) override { return scalar(v); }
  bool number_float(double v, const std::string&) override { return scalar(v); }
  bool string(std::string& v) override { return scalar(std::move(v)); }
  bool binary(Json::binary_t&) override { return false; }  // JSON has none
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& v) override {
    levels_.back().key = std::move(v);
    return hold();
  }
  bool parse_error(size_t byte, const std::string&, const Json::exception& e) override {
    constexpr int kOutOfRange = 406;
    if (e.id == kOutOfRange) source_.fail("its JSON has a number that no circuit has");
    source_.fail("no valid JSON at byte " + std::to_string(byte) + " — is the file whole?");
  }

 private:
  enum class Kind : uint8_t { kOther, kGates, kOutputs };
  struct Level {
    Json value;
    Kind kind;
    int64_t held;          // before it
    size_t first;          // of a list of gates
    std::string key = {};  // of an object: what comes next
  };

  bool hold() {
    constexpr int64_t kMost = 100'000;
    if (++held_ > kMost)
      source_.fail("its JSON has more than " + std::to_string(kMost) +
                   " values that are neither gates nor outputs: this is no circuit");
    return true;
  }

  bool open(Json value) {
    constexpr size_t kDeepest = 12;  // a file of brackets is none of ours
    if (levels_.size() > kDeepest) source_.fail("its JSON is nested deeper than any circuit's");
    Kind kind = Kind::kOther;
    if (value.is_array() && !levels_.empty() && levels_.back().value.is_object()) {
      if (levels_.back().key == "gates") kind = Kind::kGates;
      if (levels_.back().key == "outputs" && levels_.size() == 1) kind = Kind::kOutputs;
    }
    if (kind == Kind::kOutputs) outputs_.clear();
    levels_.push_back({std::move(value), kind, held_, gates_.size()});
    return hold();
  }

  bool close() {
    Level done = std::move(levels_.back());
    levels_.pop_back();
    if (done.kind == Kind::kGates) done.value = Json::array({done.first, gates_.size() - done.first});
    return put(std::move(done.value), done.held);
  }

  bool scalar(Json value) {
    hold();
    return put(std::move(value), held_ - 1);
  }

  bool put(Json value, int64_t held_before) {
    if (levels_.empty()) {
      file_ = std::move(value);
      return true;
    }
    Level& to = levels_.back();
    if (to.kind == Kind::kGates) {
      if (gates_.size() == kMostGates) source_.fail("more than " + std::to_string(kMostGates) + " gates");
      gates_.push_back((levels_.size() == 2 ? read_gate : read_port_gate)(source_, value, gates_.size() - to.first));
    } else if (to.kind == Kind::kOutputs) {
      outputs_.push_back(static_cast<uint32_t>(whole_number(source_, value, UINT32_MAX, "an output")));
    } else if (to.value.is_array()) {
      to.value.push_back(std::move(value));
    } else {
      to.value[to.key] = std::move(value);
    }
    if (to.kind != Kind::kOther) held_ = held_before;
    return true;
  }

  const ByteSource& source_;
  std::vector<Gate> gates_;
  std::vector<uint32_t> outputs_;
  std::vector<Level> levels_;
  int64_t held_ = 0;
  Json file_;
};

Circuit read(ByteSource& source, std::string_view bytes) {
  Circuit circuit;
  if (is_binary(bytes)) {
    circuit = read_binary(source, bytes);
  } else {
    const size_t start = bytes.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos || bytes[start] != '{')
      source.fail("this is no circuit — give JSON or .igc, as `ingot circuit export` writes them");
    circuit = JsonReader(source, bytes).circuit();
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
  MemorySource source("circuit", std::as_bytes(std::span(bytes)), name);
  return read(source, bytes);
}

}  // namespace

const Json& member(const ByteSource& source, const Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) source.fail(where + " is no object");
  const auto found = object.find(key);
  if (found == object.end()) source.fail(where + " has no \"" + key + "\"");
  return *found;
}

const Json& array(const ByteSource& source, const Json& value, const std::string& where) {
  if (!value.is_array()) source.fail(where + " is no list");
  return value;
}

uint64_t whole_number(const ByteSource& source, const Json& value, uint64_t most, const std::string& where) {
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
