#include <zlib.h>

#include <cstring>

#include "fuzz.h"

INGOT_FUZZ(ingot::io::parse_png(b, kFuzzLimits))

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Half of the inputs get correct checksums after a change: otherwise libpng would refuse nearly all of them at the
// door.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 2 != 0) return size;
  for (size_t at = 8; at + 12 <= size;) {
    uint32_t length = 0;
    std::memcpy(&length, data + at, 4);
    length = __builtin_bswap32(length);
    if (length > size - at - 12) break;
    const uint32_t crc = __builtin_bswap32(static_cast<uint32_t>(crc32(0, data + at + 4, length + 4)));
    std::memcpy(data + at + 8 + length, &crc, 4);
    at += 12 + length;
  }
  return size;
}
