// Tiles: how element-wise work is handed to a kernel.
#pragma once
#include <cstdint>

namespace ingot {

/// One tile of an element-wise op: n contiguous elements; inputs whose bit of `scalars` is set are one element
/// repeated.
using TileFn = void (*)(void* out, const void* const* in, unsigned scalars, int64_t n, const double* params);

/// Which element types an op takes.
enum class Types : uint8_t { kFloats, kNumbers, kAll };

}  // namespace ingot
