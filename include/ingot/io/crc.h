// CRC-32C (Castagnoli), a byte at a time.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace ingot::io {

inline constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; bit++) c = (c & 1) != 0 ? c >> 1 ^ 0x82f63b78u : c >> 1;
    table[i] = c;
  }
  return table;
}();

inline uint32_t crc32c(std::string_view data) {
  uint32_t crc = ~0u;
  for (const char byte : data) crc = crc >> 8 ^ kCrcTable[(crc ^ static_cast<uint8_t>(byte)) & 255];
  return ~crc;
}

}  // namespace ingot::io
