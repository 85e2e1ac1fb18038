// What a fuzz target is: any bytes, and an Error or a value as the answer. Memory beyond what a few KiB of input and the
// limits below justify is a failure like a crash.
#pragma once
#include <cstdint>
#include <cstdlib>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/io/io.h"

inline constexpr ingot::io::UnpackLimits kFuzzLimits{.bytes = 1 << 20, .ratio = 100};

template <class Read>
int fuzz(const uint8_t* data, size_t size, Read read) {
  try {
    read(std::as_bytes(std::span(data, size)));
  } catch (const ingot::Error&) {
  }
  if (ingot::memory_stats().peak_bytes > (size_t{16} << 20)) std::abort();
  return 0;
}

#define INGOT_FUZZ(expression)                                                 \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {    \
    return fuzz(data, size, [](std::span<const std::byte> b) { expression; }); \
  }
