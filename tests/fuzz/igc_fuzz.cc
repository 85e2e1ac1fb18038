#include "fuzz.h"
#include "ingot/gates/circuit_io.h"
#include "ingot/io/crc.h"

namespace {

// No fuzzer guesses a checksum: it gets one.
std::string sealed(std::span<const std::byte> body) {
  std::string text("IGC\1", 4);
  text.append(reinterpret_cast<const char*>(body.data()), body.size());
  const uint32_t crc = ingot::io::crc32c(text);
  return text.append(reinterpret_cast<const char*>(&crc), sizeof crc);
}

void read(const std::string& text) {
  const ingot::gates::Circuit c = ingot::gates::parse_circuit(std::as_bytes(std::span(text)));
  const std::string again = ingot::gates::to_binary(c);
  if (ingot::gates::parse_circuit(std::as_bytes(std::span(again))) != c) std::abort();
}

}  // namespace

INGOT_FUZZ(read(sealed(b)))
