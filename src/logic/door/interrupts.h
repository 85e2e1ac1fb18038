// Ctrl-C while something is computed.
#pragma once
#include <atomic>
#include <csignal>

namespace ingot::logic::door {

inline std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

/// While it lives, Ctrl-C stops what is computed, not the program.
class Interrupts {
 public:
  Interrupts() : before_(std::signal(SIGINT, [](int) { interrupted = true; })) {}
  ~Interrupts() { std::signal(SIGINT, before_); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  void (*before_)(int);
};

}  // namespace ingot::logic::door
