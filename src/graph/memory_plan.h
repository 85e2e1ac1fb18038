// Where temporaries go: each has a size and a time in which it is alive; offsets in one arena such that no two that are
// alive together overlap. Knows nothing of tensors or kernels.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::graph {

inline constexpr size_t kAlignment = 64;  // of all offsets

struct Lifetime {
  size_t bytes = 0;
  int first = 0, last = 0;  // steps, both included
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // multiples of kAlignment
  size_t bytes = 0;             // of the arena
  size_t live_peak = 0;         // the largest sum of sizes alive at once: no plan can do with less
};

/// Offsets for all lifetimes. Tries several orders and keeps the smallest arena.
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes);

}  // namespace ingot::graph
