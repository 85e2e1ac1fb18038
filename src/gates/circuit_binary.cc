// The compact form: "IGC", the version, name, counts, cell rule, gates and outputs as variable-length integers (seven
// bits a byte, the least significant first), and a CRC-32C of all of it. A gate is its function together with how far
// back its first signal lies, and how far its second.
#include <algorithm>

#include "gates/circuit_files.h"
#include "gates/varint.h"
#include "ingot/base/text.h"
#include "ingot/gates/circuit_io.h"
#include "ingot/io/crc.h"

namespace ingot::gates {
namespace {

constexpr std::string_view kMagic("IGC\1", 4);
constexpr size_t kMarkBytes = 3;  // of them, without the version

template <class T>
void put_raw(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

uint64_t take(io::Source& source, uint64_t most, const char* what) {
  uint64_t number = 0;
  for (int shift = 0; shift < 63; shift += 7) {
    const auto byte = source.read<uint8_t>();
    number |= uint64_t{byte & 127u} << shift;
    if (byte < 128) break;
  }
  if (number > most)
    source.fail(std::string(what) + ": " + std::to_string(number) + " — at most " + std::to_string(most) + " fit here");
  return number;
}

// A count of things of which each takes so many bytes at least: no more than the file can hold.
uint64_t take_count(io::Source& source, uint64_t bytes_each, const char* what) {
  return take(source, std::min(kMostGates, source.left() / bytes_each), what);
}

CellRule take_cell(io::Source& source) {
  const auto number = [&](const char* what) { return static_cast<int32_t>(take(source, INT32_MAX, what)); };
  CellRule rule{.channels = number("channels of the cell")};
  rule.border = take(source, 1, "the kind of border") == 0 ? Border::kZero : Border::kWrap;
  rule.fire_rate = source.read<double>();
  rule.visible = number("visible channels");
  rule.height = number("the height");
  rule.width = number("the width");
  rule.steps = number("the steps");
  return rule;
}

}  // namespace

bool is_binary(std::string_view bytes) { return bytes.starts_with(kMagic.substr(0, kMarkBytes)); }

Circuit read_binary(io::Source& source, std::string_view bytes) {
  char magic[4];
  source.read(magic, sizeof magic);
  if (magic[kMarkBytes] != kMagic[kMarkBytes])
    source.fail("version " + std::to_string(static_cast<int>(magic[kMarkBytes])) +
                " of the format, this program knows 1 — use a newer one");
  uint32_t crc = 0;
  if (source.left() < sizeof crc) source.fail("it ends too early: the file is cut off");
  const std::string_view body = bytes.substr(0, bytes.size() - sizeof crc);
  std::memcpy(&crc, bytes.data() + body.size(), sizeof crc);
  if (crc != io::crc32c(body)) source.fail("its checksum is wrong: the file is damaged or cut off");

  Circuit circuit;
  circuit.name.resize(take_count(source, 1, "the length of the name"));
  source.read(circuit.name.data(), circuit.name.size());
  if (valid_utf8(circuit.name) != circuit.name) source.fail("its name is no UTF-8");
  circuit.inputs = static_cast<uint32_t>(take(source, kMostInputs, "the number of inputs"));
  circuit.gates.resize(take_count(source, 2, "the number of gates"));
  circuit.outputs.resize(take_count(source, 1, "the number of outputs"));
  if (take(source, 1, "whether it is a cell rule") == 1) circuit.cell = take_cell(source);
  uint64_t own = circuit.inputs;
  for (Gate& g : circuit.gates) {
    const uint64_t first = take(source, UINT64_MAX, "a gate");
    const uint64_t a = first >> 4, b = take(source, UINT32_MAX, "a gate's second signal");
    if (a >= own || b >= own) source.fail("gate " + std::to_string(own - circuit.inputs) + " reads what is no signal");
    g = {static_cast<Function>(first & 15), static_cast<uint32_t>(own - 1 - a), static_cast<uint32_t>(own - 1 - b)};
    own++;
  }
  for (uint32_t& output : circuit.outputs) output = static_cast<uint32_t>(take(source, UINT32_MAX, "an output"));
  if (source.left() != sizeof crc) source.fail("bytes are left over behind its outputs");
  return circuit;
}

std::string to_binary(const Circuit& circuit) {
  check(circuit);
  std::string out(kMagic);
  put_varint(out, circuit.name.size());
  out += circuit.name;
  put_varint(out, circuit.inputs);
  put_varint(out, circuit.gates.size());
  put_varint(out, circuit.outputs.size());
  put_varint(out, circuit.cell ? 1 : 0);
  if (circuit.cell) {
    const CellRule& r = *circuit.cell;
    put_varint(out, static_cast<uint64_t>(r.channels));
    put_varint(out, r.border == Border::kWrap ? 1 : 0);
    put_raw(out, r.fire_rate);
    for (const int32_t number : {r.visible, r.height, r.width, r.steps}) put_varint(out, static_cast<uint32_t>(number));
  }
  uint64_t own = circuit.inputs;
  for (const Gate& g : circuit.gates) {
    put_varint(out, (own - 1 - g.a) << 4 | static_cast<uint64_t>(g.function));
    put_varint(out, own - 1 - g.b);
    own++;
  }
  for (const uint32_t output : circuit.outputs) put_varint(out, output);
  put_raw(out, io::crc32c(out));
  return out;
}

}  // namespace ingot::gates
