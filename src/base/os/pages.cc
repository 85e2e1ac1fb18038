#include "base/os/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "ingot/base/numbers.h"

namespace ingot::os {

// Maps more than needed and gives back both ends.
void* map_pages(size_t bytes) {
  bytes = round_up(bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  const size_t mapped = bytes + kHugePage;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* const start = static_cast<char*>(raw);
  const auto address = reinterpret_cast<uintptr_t>(start);
  const size_t head = round_up(address, uintptr_t{kHugePage}) - address;
  const size_t tail = mapped - head - bytes;
  if (head > 0) munmap(start, head);
  if (tail > 0) munmap(start + head + bytes, tail);
#if defined(MADV_HUGEPAGE)
  madvise(start + head, bytes, MADV_HUGEPAGE);  // a wish: without huge pages the block works as well
#endif
  return start + head;
}

// The system rounds up to pages, as the mapping did.
void unmap_pages(void* start, size_t bytes) noexcept { munmap(start, bytes); }

}  // namespace ingot::os
