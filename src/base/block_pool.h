// Large blocks that were freed, kept for the next one that fits: a mapping that is given back and asked for again costs
// a page fault for every page.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/spin_lock.h"

namespace ingot {

/// With the address sanitizer no block is kept: it could not tell the use of a freed block from the use of the next.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kAddressSanitizer = false;
#endif

/// From here on blocks are worth keeping.
inline constexpr size_t kPooledBytes = size_t{128} << 10;

/// A bounded list of free blocks, the oldest first. It has no constructor or destructor to run: tensors of static
/// objects may be freed at any time.
class BlockPool {
 public:
  /// Room of a block for `bytes`: eight sizes per power of two, so that nearly equal blocks serve each other.
  static size_t capacity_for(size_t bytes);

  /// A block of this capacity, the one freed last; null if there is none.
  void* take(size_t capacity);
  /// Keeps the block, and gives the oldest back to the system where that goes beyond the limit.
  void put(void* block, size_t capacity) noexcept;
  /// Gives the oldest back until at most `bytes` are kept.
  void trim(uint64_t bytes) noexcept;

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t limit();
  void set_limit(uint64_t bytes);
  /// In a forked child: whoever held the lock is gone, and may have left the list half changed.
  void start_again();

  // Blocks as they come from the system and go back to it.
  static void* make_block(size_t capacity);
  static void free_block(void* block, size_t capacity) noexcept;

 private:
  struct Entry {
    void* block;
    size_t capacity;
  };
  static constexpr int kMostBlocks = 256;
  static constexpr uint64_t kUnset = UINT64_MAX;

  bool take_oldest(uint64_t above, Entry& oldest) noexcept;
  void erase(int at) noexcept;

  SpinLock lock_;
  Entry entries_[kMostBlocks] = {};
  int count_ = 0;
  std::atomic<uint64_t> bytes_{0}, limit_{kUnset};
};

}  // namespace ingot
