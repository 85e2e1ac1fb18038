// The vector loops behind the measurements of machine.h. Counts are in floats and multiples of kLoopFloats.
#pragma once
#include <cstdint>

namespace ingot {

constexpr int64_t kLoopFloats = 256;

/// Does `steps` rounds of multiply-adds and returns how many float operations that was; *sink keeps the result alive.
double fma_loop(int64_t steps, float* sink);

/// Reads data[0, n) `passes` times.
void read_loop(const float* data, int64_t n, int64_t passes, float* sink);

/// a[i] = b[i] + 3 c[i].
void triad_loop(float* a, const float* b, const float* c, int64_t n);

}  // namespace ingot
