// Memory for tensors: aligned, counted, refused with a sentence.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace ingot {

/// What the allocator has done since the program started. Bytes are rounded up to 64 per block.
struct MemoryStats {
  uint64_t allocations = 0, frees = 0;
  uint64_t bytes_in_use = 0, peak_bytes = 0;
};

/// Reads the counters of tensor storage and workspaces.
MemoryStats memory_stats();

/// `bytes` of uninitialised memory (at least 64), aligned to 64, from 4 MiB on to 2 MiB and on huge pages where the
/// system offers them. More than the machine has is an Error; Linux would promise it now and kill the program later.
void* allocate_bytes(size_t bytes);

/// Gives back what `allocate_bytes(bytes)` returned; null is fine.
void free_bytes(void* block, size_t bytes) noexcept;

/// Scratch of this thread, at least `bytes` long and 64-byte aligned, kept for the next call and freed at the thread's
/// end. It is valid until the same thread calls again, so a function that holds it calls nothing that takes it.
void* workspace(size_t bytes);

/// "64 B", "1.5 KiB", "12.3 MiB".
std::string format_bytes(uint64_t bytes);

}  // namespace ingot
