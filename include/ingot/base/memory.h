// Memory for tensors: aligned, counted, reused, refused with a sentence.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ingot/base/export.h"
#include "ingot/base/text.h"  // format_bytes

namespace ingot {

/// What the allocator has done since the program started. Bytes are rounded up to 64 per block. A block that comes from
/// the pool of freed ones counts like any other: as allocated, and as in use.
struct MemoryStats {
  uint64_t allocations = 0, frees = 0;
  uint64_t bytes_in_use = 0;
  uint64_t peak_bytes = 0;    // exact with one thread, else to within 1 MiB per thread
  uint64_t pooled_bytes = 0;  // freed, and kept for the next block of the kind
};

/// Reads the counters of tensor storage and workspaces.
INGOT_API MemoryStats memory_stats();

/// `bytes` of uninitialised memory (at least 64), aligned to 64, from 4 MiB on to 2 MiB and on huge pages where the
/// system offers them. More than the machine has is an Error of kind kMemory; Linux would promise it now and kill the
/// program later.
INGOT_API void* allocate_bytes(size_t bytes);

/// Gives back what `allocate_bytes(bytes)` returned; null is fine.
INGOT_API void free_bytes(void* block, size_t bytes) noexcept;

/// An Error of kind kMemory that starts with `place`, if so many bytes more can never be had on this machine. For
/// memory that is taken elsewhere, by a vector or a library: ask before taking it.
INGOT_API void require_bytes(const char* place, uint64_t bytes);

/// Freed blocks of 128 KiB and more are kept for the next that fits, up to so many bytes in all: at first 256 MiB or an
/// eighth of the RAM, whichever is less. 0 keeps none.
INGOT_API void set_memory_pool_limit(uint64_t bytes);
INGOT_API uint64_t memory_pool_limit();
/// Gives all pooled blocks back to the system.
INGOT_API void trim_memory_pool();

/// Scratch of this thread, at least `bytes` long and 64-byte aligned, kept for the next call and freed at the thread's
/// end. It is valid until the same thread calls again, so a function that holds it calls nothing that takes it.
INGOT_API void* workspace(size_t bytes);

}  // namespace ingot
