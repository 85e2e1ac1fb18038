// What this machine offers: what it says of itself, and what it does when measured.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "ingot/base/export.h"

namespace ingot {

/// What the system says; a size it does not tell is 0.
struct MachineInfo {
  std::string cpu;         // the processor's name
  std::string simd;        // the instruction set in use
  int cores = 1;           // usable by this process
  uint64_t l1d_bytes = 0;  // per core
  uint64_t l2_bytes = 0;   // per core on most machines
  uint64_t l3_bytes = 0;   // shared
  uint64_t ram_bytes = 0;
  uint64_t free_bytes = 0;  // of RAM, to be had now
  std::string huge_pages;   // "always", "madvise" (large tensors get them), "never" or "unknown"
};

INGOT_API MachineInfo machine_info();

// Each measurement takes a second at most for buffers up to 128 MiB, uses `threads` (1 to 256) workers and leaves the
// pool at the size it had. Rates are the best of several runs.

/// Multiply-adds of f32 vectors held in registers, in 1e9 operations per second (two per multiply-add).
INGOT_API double measure_fma_gflops(int threads);

/// Reading `bytes` per thread over and over, in 1e9 bytes per second for all threads together.
INGOT_API double measure_read_gbps(size_t bytes, int threads);

/// a = b + 3 c over three arrays of `bytes` each, shared by the threads; counts the three arrays' bytes once per pass.
INGOT_API double measure_triad_gbps(size_t bytes, int threads);

/// Nanoseconds of one Team::barrier() between waiting workers: the median of many.
INGOT_API double measure_barrier_ns(int threads);

}  // namespace ingot
