#include "ingot/memory.h"

#include <sys/mman.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/sysinfo.h>
#endif

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "ingot/error.h"

namespace ingot {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMapped = size_t{4} << 20;  // blocks from here on are mappings of their own

constinit std::atomic<uint64_t> allocations{0}, frees{0}, in_use{0}, peak{0};

size_t round_up(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

size_t counted_size(size_t bytes) { return bytes == 0 ? kAlignment : round_up(bytes, kAlignment); }

// RAM and swap: what Linux could ever back with pages.
uint64_t machine_bytes() {
#if defined(__linux__)
  struct sysinfo info = {};
  if (sysinfo(&info) == 0) return (uint64_t{info.totalram} + info.totalswap) * info.mem_unit;
#endif
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

[[noreturn]] void refuse(size_t bytes) {
  throw Error("memory: cannot allocate " + format_bytes(bytes) + " (RAM and swap " + format_bytes(machine_bytes()) +
              ", in use by tensors " + format_bytes(in_use.load(std::memory_order_relaxed)) +
              ") — use a smaller shape or batch, or let go of tensors first");
}

// A mapping that starts on a huge page: map more than needed, give back both ends.
void* map_block(size_t bytes) {
  bytes = round_up(bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  const size_t mapped = bytes + kHugePage;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* const start = static_cast<char*>(raw);
  const size_t head = round_up(reinterpret_cast<uintptr_t>(start), kHugePage) - reinterpret_cast<uintptr_t>(start);
  const size_t tail = mapped - head - bytes;
  if (head > 0) munmap(start, head);
  if (tail > 0) munmap(start + head + bytes, tail);
#if defined(MADV_HUGEPAGE)
  madvise(start + head, bytes, MADV_HUGEPAGE);  // a wish: without huge pages the block works as well
#endif
  return start + head;
}

void count_in(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const uint64_t now = in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  uint64_t highest = peak.load(std::memory_order_relaxed);
  while (now > highest && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
  }
}

struct Workspace {
  void* block = nullptr;
  size_t bytes = 0;

  void drop() { free_bytes(std::exchange(block, nullptr), std::exchange(bytes, 0)); }
  ~Workspace() { drop(); }
};

}  // namespace

MemoryStats memory_stats() {
  MemoryStats stats;
  stats.allocations = allocations.load(std::memory_order_relaxed);
  stats.frees = frees.load(std::memory_order_relaxed);
  stats.bytes_in_use = in_use.load(std::memory_order_relaxed);
  stats.peak_bytes = peak.load(std::memory_order_relaxed);
  return stats;
}

void* allocate_bytes(size_t bytes) {
  if (bytes > PTRDIFF_MAX - 2 * kHugePage) refuse(bytes);
  const size_t size = counted_size(bytes);
  if (size >= kMapped && size + in_use.load(std::memory_order_relaxed) > machine_bytes()) refuse(bytes);
  void* block = size >= kMapped ? map_block(size) : std::aligned_alloc(kAlignment, size);
  if (block == nullptr) refuse(bytes);
  count_in(size);
  return block;
}

void free_bytes(void* block, size_t bytes) noexcept {
  if (block == nullptr) return;
  const size_t size = counted_size(bytes);
  if (size >= kMapped)
    munmap(block, size);  // rounds up to pages, as the mapping did
  else
    std::free(block);
  frees.fetch_add(1, std::memory_order_relaxed);
  in_use.fetch_sub(size, std::memory_order_relaxed);
}

void* workspace(size_t bytes) {
  thread_local Workspace mine;
  if (mine.block == nullptr || bytes > mine.bytes) {
    mine.drop();
    mine.block = allocate_bytes(bytes);
    mine.bytes = bytes;
  }
  return mine.block;
}

std::string format_bytes(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = -1;
  do {
    value /= 1024;
    ++unit;
  } while (value >= 1023.95 && unit < 5);  // 1023.95 would print as 1024.0
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, units[unit]);
  return text;
}

}  // namespace ingot
