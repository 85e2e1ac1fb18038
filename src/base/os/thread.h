// Threads as the system has them: starting and naming them, the cores they run on, sleeping until a word changes.
#pragma once
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <atomic>
#include <cstdint>

namespace ingot::os {

/// While it lives, the calling thread takes no signals, and neither do threads that it starts, for all their lives:
/// signals are for the user's threads, never for ours.
class SignalsOff {
 public:
  SignalsOff();
  ~SignalsOff();
  SignalsOff(const SignalsOff&) = delete;
  SignalsOff& operator=(const SignalsOff&) = delete;

 private:
  sigset_t before_;
};

/// A thread that nobody has to join: a forked child has the object, but not the thread.
class Thread {
 public:
  /// False if the system gives no more threads.
  bool start(void* (*work)(void*), void* context) { return pthread_create(&handle_, nullptr, work, context) == 0; }
  void join() { pthread_join(handle_, nullptr); }

 private:
  pthread_t handle_{};
};

/// What debuggers and `top` call the calling thread; at most 15 letters.
void name_this_thread(const char* name);

/// Calls `handler` in every forked child, once it runs.
void after_fork_in_child(void (*handler)());

/// The core that the calling thread runs on, or -1 where the system does not say.
int current_core();

/// The cores that a thread may run on.
class CoreSet {
 public:
  /// Of the calling thread, and so of the threads that it starts.
  static CoreSet allowed();
  /// How many; 0 where the system does not say.
  int count() const;
  /// Moves the calling thread to the other cores, if there are any.
  void leave(int core) const;

 private:
#if defined(__linux__)
  cpu_set_t set_{};
#endif
};

/// Tells the core that this is a loop that waits.
inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Lets another thread have this core, if one wants it.
inline void yield_core() { sched_yield(); }

/// Sleeps while `word` is `value`, until woken; may return sooner.
void sleep_while(const std::atomic<uint32_t>& word, uint32_t value);
/// Wakes a thread that sleeps on `word`.
void wake_one(const std::atomic<uint32_t>& word);

}  // namespace ingot::os
