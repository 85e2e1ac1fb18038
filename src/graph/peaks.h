// What the machine can do at most, measured when first asked for and remembered until the process ends.
#pragma once

namespace ingot::graph {

/// f32 multiply-adds, in 1e9 operations per second for all threads together.
double peak_gflops(int threads);
/// The least time, in ns, in which `threads` workers can each go through `bytes` of their own: what fits in a cache at
/// the rate of that cache, the rest at the rate of the next.
double least_ns(double bytes, int threads);

}  // namespace ingot::graph
