// Time for measurements and spin limits.
#pragma once
#include <chrono>
#include <cstdint>

namespace ingot {

/// Nanoseconds of a clock that never goes back; only differences mean something.
inline int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace ingot
