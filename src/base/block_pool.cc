#include "base/block_pool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>

#include "base/os/machine.h"
#include "base/os/pages.h"
#include "ingot/base/numbers.h"

namespace ingot {
namespace {

constexpr size_t kMapped = size_t{4} << 20;  // blocks from here on are mappings of their own
constexpr uint64_t kDefaultLimit = uint64_t{256} << 20;

}  // namespace

size_t BlockPool::capacity_for(size_t bytes) { return round_up(bytes, std::bit_floor(bytes) / 8); }

void* BlockPool::make_block(size_t capacity) {
  return capacity >= kMapped ? os::map_pages(capacity) : std::aligned_alloc(64, capacity);
}

void BlockPool::free_block(void* block, size_t capacity) noexcept {
  capacity >= kMapped ? os::unmap_pages(block, capacity) : std::free(block);
}

void BlockPool::erase(int at) noexcept {
  bytes_.store(bytes() - entries_[at].capacity, std::memory_order_relaxed);
  std::copy(entries_ + at + 1, entries_ + count_, entries_ + at);
  --count_;
}

void* BlockPool::take(size_t capacity) {
  const std::lock_guard guard(lock_);
  for (int i = count_ - 1; i >= 0; --i) {
    if (entries_[i].capacity != capacity) continue;
    void* block = entries_[i].block;
    erase(i);
    return block;
  }
  return nullptr;
}

bool BlockPool::take_oldest(uint64_t above, Entry& oldest) noexcept {
  const std::lock_guard guard(lock_);
  if (count_ == 0 || bytes() <= above) return false;
  oldest = entries_[0];
  erase(0);
  return true;
}

void BlockPool::put(void* block, size_t capacity) noexcept {
  const uint64_t most = limit();
  if (capacity > most) return free_block(block, capacity);
  Entry oldest{nullptr, 0};
  {
    const std::lock_guard guard(lock_);
    if (count_ == kMostBlocks) {
      oldest = entries_[0];
      erase(0);
    }
    entries_[count_++] = {block, capacity};
    bytes_.store(bytes() + capacity, std::memory_order_relaxed);
  }
  if (oldest.block != nullptr) free_block(oldest.block, oldest.capacity);
  trim(most);
}

// The system takes its time with large blocks: not while others wait for the lock.
void BlockPool::trim(uint64_t most) noexcept {
  for (Entry oldest{}; take_oldest(most, oldest);) free_block(oldest.block, oldest.capacity);
}

uint64_t BlockPool::limit() {
  const uint64_t set = limit_.load(std::memory_order_relaxed);
  if (set != kUnset) return set;
  const uint64_t first = kAddressSanitizer ? 0 : std::min(kDefaultLimit, os::ram_bytes() / 8);
  uint64_t expected = kUnset;
  return limit_.compare_exchange_strong(expected, first) ? first : expected;
}

void BlockPool::set_limit(uint64_t bytes) {
  limit_.store(std::min(bytes, kUnset - 1));
  trim(bytes);
}

void BlockPool::start_again() {
  if (!lock_.held()) return;
  lock_.unlock();
  count_ = 0;
  bytes_.store(0);
}

}  // namespace ingot
