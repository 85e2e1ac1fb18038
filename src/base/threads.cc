// The one pool of workers: who may use it, and how many there are.
#include "ingot/base/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/alone.h"
#include "base/crew.h"
#include "base/os/machine.h"
#include "base/os/thread.h"
#include "ingot/base/clock.h"
#include "ingot/base/error.h"
#include "ingot/base/numbers.h"

namespace ingot {
namespace {

// Who may use the crew. It has no constructor or destructor to run, so static objects of any file may use it at any
// time.
class Pool {
 public:
  int wanted() {
    if (const int n = wanted_.load(std::memory_order_relaxed); n > 0) return n;
    int none = 0;
    wanted_.compare_exchange_strong(none, starting_threads());
    return wanted_.load(std::memory_order_relaxed);
  }

  void resize(int n) {
    claims_.fetch_add(1);
    while (held_.exchange(true, std::memory_order_acquire)) std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (wanted_.exchange(n) != n) dismiss();
    held_.store(false, std::memory_order_release);
    claims_.fetch_sub(1);
  }

  // False when the caller has to do the work alone.
  bool run(void (*fn)(void*, const Team&), void* context, int most) {
    if (Crew::inside_team || wanted() == 1 || claims_.load(std::memory_order_relaxed) > 0) return false;
    if (held_.exchange(true, std::memory_order_acquire)) return false;
    if (crew_ == nullptr) start();
    const bool can = crew_ != nullptr;
    if (can) {
      Crew::inside_team = true;
      crew_->run(fn, context, most);
      Crew::inside_team = false;
    }
    held_.store(false, std::memory_order_release);
    return can;
  }

 private:
  static int starting_threads();
  void start();
  void dismiss() {
    delete crew_;
    crew_ = nullptr;
  }
  void close();
  void start_again_in_child();

  std::atomic<int> wanted_{0};     // 0: not asked yet
  std::atomic<int> claims_{0};     // threads that wait to change the crew; new work stays off it meanwhile
  std::atomic<bool> held_{false};  // a user thread is running a team, or changing the crew
  Crew* crew_ = nullptr;           // guarded by held_
};

constinit Pool pool;

void Pool::start() {
  struct Closer {
    ~Closer() { pool.close(); }
  };
  [[maybe_unused]] static const bool handled = [] {
    os::after_fork_in_child([] { pool.start_again_in_child(); });
    return true;
  }();
  static const Closer closer;
  crew_ = Crew::hire(wanted());
}

// At exit: no new teams, wait a little for a running one, send the workers home. The claim is never given back, so
// static destructors that run later do their work alone. exit() from inside a team, or while a user thread is stuck in
// one, must not hang: then the workers end with the process.
void Pool::close() {
  claims_.fetch_add(1);
  if (Crew::inside_team) return;
  const int64_t deadline = now_ns() + 2'000'000'000;
  while (held_.exchange(true, std::memory_order_acquire)) {
    if (now_ns() > deadline) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  dismiss();
  held_.store(false, std::memory_order_release);
}

// Only the forking thread lives on in the child. Whoever held the pool is gone, and so are the workers; the old crew's
// memory is left alone, since a lost thread may have been half-way through changing it.
void Pool::start_again_in_child() {
  if (crew_ != nullptr && !held_.load()) {
    crew_->forget_workers();
    dismiss();
  }
  crew_ = nullptr;
  claims_.store(0);
  held_.store(false);
}

int Pool::starting_threads() {
  const char* text = std::getenv("INGOT_THREADS");
  if (text == nullptr || *text == '\0') return std::min(usable_cores(), kMaxThreads);
  if (int n = 0; parse_number(text, n) && n >= 1 && n <= kMaxThreads) return n;
  throw Error("INGOT_THREADS: \"" + std::string(text) + "\" is not a number of threads from 1 to " +
              std::to_string(kMaxThreads) + " — unset it to use every core (" + std::to_string(usable_cores()) +
              " here)");
}

}  // namespace

int usable_cores() {
  int cores = os::CoreSet::allowed().count();
  if (cores == 0) cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, std::min(cores, os::quota_cores()));
}

int threads() { return pool.wanted(); }

void set_threads(int n) {
  if (n < 1 || n > kMaxThreads)
    throw Error("set_threads: " + std::to_string(n) + " is outside 1 to " + std::to_string(kMaxThreads) + " — " +
                std::to_string(usable_cores()) + " are all cores here, 1 is none but the caller");
  if (Crew::inside_team) throw Error("set_threads: called from inside running work — call it between ops");
  pool.resize(n);
}

void keep_off_the_pool() { Crew::inside_team = true; }

void run_team(void (*fn)(void* context, const Team& team), void* context, int most) {
  if (!pool.run(fn, context, most)) fn(context, Team());
}

}  // namespace ingot
