// How much memory facts may take.
#pragma once
#include <cstdint>
#include <limits>

namespace ingot::logic {

class Meter {
 public:
  explicit Meter(uint64_t limit = std::numeric_limits<uint64_t>::max()) : limit_(limit) {}
  /// Before the memory is taken. Throws an Error of kind kMemory if that would be too much.
  void take(uint64_t bytes) {
    used_ += bytes;
    if (used_ > limit_) refuse();
    if (used_ > peak_) peak_ = used_;
  }
  void give_back(uint64_t bytes) { used_ -= bytes; }
  uint64_t used() const { return used_; }
  uint64_t peak() const { return peak_; }

 private:
  [[noreturn]] void refuse();
  uint64_t limit_, used_ = 0, peak_ = 0;
};

}  // namespace ingot::logic
