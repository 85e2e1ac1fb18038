// What the machine can do at most, measured when first asked for and remembered until the process ends.
#pragma once
#include <cstddef>

namespace ingot::graph {

/// f32 multiply-adds, in 1e9 operations per second for all threads together.
double peak_gflops(int threads);
/// Reading again and again what each of `threads` workers has `bytes` of, in 1e9 bytes per second for all together: the
/// rate of the smallest cache that they fit in.
double peak_gbps(size_t bytes, int threads);

}  // namespace ingot::graph
