// How much memory facts may take.
#pragma once
#include <atomic>
#include <cstdint>
#include <limits>

namespace ingot::logic {

/// Counts bytes of all workers.
class Meter {
 public:
  explicit Meter(uint64_t limit = std::numeric_limits<uint64_t>::max()) : limit_(limit) {}
  /// Before the memory is taken. Throws an Error of kind kMemory if that would be too much.
  void take(uint64_t bytes) {
    const uint64_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (used > limit_) refuse();
    uint64_t peak = peak_.load(std::memory_order_relaxed);
    while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
    }
  }
  /// Refuses if so much more would be too much; for memory that is counted when it is there.
  void check(uint64_t bytes) {
    if (used() + bytes > limit_) refuse();
  }
  void give_back(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  [[noreturn]] void refuse();
  uint64_t limit_;
  std::atomic<uint64_t> used_{0}, peak_{0};
};

/// Memory that is taken for a while.
class Held {
 public:
  explicit Held(Meter& meter, uint64_t bytes = 0) : meter_(meter) { grow_to(bytes); }
  ~Held() { meter_.give_back(bytes_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  void grow_to(uint64_t bytes) {
    if (bytes <= bytes_) return;
    meter_.take(bytes - bytes_);
    bytes_ = bytes;
  }

 private:
  Meter& meter_;
  uint64_t bytes_ = 0;
};

}  // namespace ingot::logic
