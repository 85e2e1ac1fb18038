#include "base/os/thread.h"

#include <unistd.h>
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

namespace ingot::os {

SignalsOff::SignalsOff() {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGBUS, SIGFPE, SIGILL, SIGSEGV}) sigdelset(&all, fault);  // of the thread's own making
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsOff::~SignalsOff() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void after_fork_in_child(void (*handler)()) { pthread_atfork(nullptr, nullptr, handler); }

#if defined(__linux__)

void name_this_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

int current_core() { return sched_getcpu(); }

CoreSet CoreSet::allowed() {
  CoreSet cores;
  if (sched_getaffinity(0, sizeof cores.set_, &cores.set_) != 0) CPU_ZERO(&cores.set_);
  return cores;
}

int CoreSet::count() const { return CPU_COUNT(&set_); }

void CoreSet::leave(int core) const {
  cpu_set_t others = set_;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) > 0) sched_setaffinity(0, sizeof others, &others);
}

void sleep_while(const std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake_one(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

#else  // what POSIX offers

void name_this_thread(const char*) {}
int current_core() { return -1; }
CoreSet CoreSet::allowed() { return {}; }
int CoreSet::count() const { return 0; }
void CoreSet::leave(int) const {}
void sleep_while(const std::atomic<uint32_t>&, uint32_t) { sched_yield(); }
void wake_one(const std::atomic<uint32_t>&) {}

#endif

}  // namespace ingot::os
