// A lock for a few instructions at a time.
#pragma once
#include <atomic>

#include "base/os/thread.h"

namespace ingot {

/// Works with std::lock_guard. Unlike a mutex it can be set free in a forked child, where the thread that held it is
/// gone.
class SpinLock {
 public:
  void lock() {
    for (int tries = 0; held_.exchange(true, std::memory_order_acquire); ++tries)
      tries < 64 ? os::pause_core() : os::yield_core();
  }
  bool held() const { return held_.load(std::memory_order_relaxed); }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace ingot
