// How one thread waits for another: spinning first, sleeping after.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/os/thread.h"
#include "ingot/base/clock.h"

namespace ingot {

/// An event count: turns that one thread posts and one other waits for. Bit 0 of the word says that the waiter sleeps,
/// so a post costs a system call only then.
class EventCount {
 public:
  void post(uint32_t turn) {
    if (word_.exchange(turn << 1, std::memory_order_acq_rel) & 1) os::wake_one(word_);
  }

  /// Waits until `turn` (or a later one: the poster may be one turn ahead) is posted. In a crowd, with more workers
  /// than cores, whoever waits gives its core away soon, since the one it waits for may need it.
  void wait(uint32_t turn, bool crowd) {
    // Some 30 µs: members of a team are seldom further apart. Yielding sooner would hand the core to any other process
    // that wants it, for milliseconds.
    if (spin(turn, crowd ? 16 : 1500)) return;
    if (crowd) {
      for (int i = 0; i < kYields; ++i) {
        os::yield_core();
        if (posted(turn)) return;
      }
    } else {
      // The scheduler may have put both on one core; a yield every few microseconds lets the other one get there.
      for (const int64_t deadline = now_ns() + kSpinNs; now_ns() < deadline; os::yield_core())
        if (spin(turn, 64)) return;
    }
    sleep(turn);
  }

 private:
  static constexpr int64_t kSpinNs = 200'000;  // a training loop's pauses between ops are shorter than this
  static constexpr int kYields = 8;  // with more workers than cores: measured 5 times faster than sleeping at once

  static bool reached(uint32_t word, uint32_t turn) { return static_cast<int32_t>(word - (turn << 1)) >= 0; }
  bool posted(uint32_t turn) const { return reached(word_.load(std::memory_order_acquire), turn); }

  bool spin(uint32_t turn, int times) const {
    for (int i = 0; i < times; ++i) {
      if (posted(turn)) return true;
      os::pause_core();
    }
    return false;
  }

  void sleep(uint32_t turn) {
    for (;;) {
      uint32_t word = word_.load(std::memory_order_acquire);
      if (reached(word, turn)) return;
      if (!(word & 1) && !word_.compare_exchange_weak(word, word | 1, std::memory_order_acq_rel)) continue;
      os::sleep_while(word_, word | 1);
    }
  }

  std::atomic<uint32_t> word_{0};
};

}  // namespace ingot
