// Integers of variable length: seven bits a byte, the least significant first, the highest bit says that more follow.
#pragma once
#include <cstdint>
#include <string>

namespace ingot::gates {

inline void put_varint(std::string& out, uint64_t number) {
  for (; number >= 128; number >>= 7) out += static_cast<char>(number | 128);
  out += static_cast<char>(number);
}

}  // namespace ingot::gates
