// One crew of workers for the whole process. Every wait in here is a Signal: one word that one thread posts and one
// other thread waits for, spinning first and sleeping after.
#include "ingot/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <thread>

#include "base/alone.h"
#include "base/clock.h"
#include "ingot/error.h"

namespace ingot {
namespace {

constexpr int kMaxThreads = 256;
constexpr int kBarrierRounds = 8;     // 2^8 = kMaxThreads
constexpr int64_t kSpinNs = 200'000;  // a training loop's pauses between ops are shorter than this
constexpr int kYields = 8;            // with more workers than cores: measured 5 times faster than sleeping at once

inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A counter that one thread posts and one other waits for. Bit 0 of the word says that the waiter sleeps, so a post
// costs a system call only then.
class Signal {
 public:
  void post(uint32_t turn) {
    if (word_.exchange(turn << 1, std::memory_order_acq_rel) & 1) wake();
  }

  // Waits until `turn` (or a later one: the poster may be one turn ahead) is posted. In a crowd, with more workers than
  // cores, whoever waits gives its core away soon, since the one it waits for may need it.
  void wait(uint32_t turn, bool crowd) {
    // Some 30 µs: members of a team are seldom further apart. Yielding sooner would hand the core to any other process
    // that wants it, for milliseconds.
    if (spin(turn, crowd ? 16 : 1500)) return;
    if (crowd) {
      for (int i = 0; i < kYields; ++i) {
        sched_yield();
        if (posted(turn)) return;
      }
    } else {
      // The scheduler may have put both on one core; a yield every few microseconds lets the other one get there.
      for (const int64_t deadline = now_ns() + kSpinNs; now_ns() < deadline; sched_yield())
        if (spin(turn, 64)) return;
    }
    sleep(turn);
  }

 private:
  static bool reached(uint32_t word, uint32_t turn) { return static_cast<int32_t>(word - (turn << 1)) >= 0; }
  bool posted(uint32_t turn) const { return reached(word_.load(std::memory_order_acquire), turn); }

  bool spin(uint32_t turn, int times) const {
    for (int i = 0; i < times; ++i) {
      if (posted(turn)) return true;
      pause_core();
    }
    return false;
  }

  void sleep(uint32_t turn) {
    for (;;) {
      uint32_t word = word_.load(std::memory_order_acquire);
      if (reached(word, turn)) return;
      if (!(word & 1) && !word_.compare_exchange_weak(word, word | 1, std::memory_order_acq_rel)) continue;
#if defined(__linux__)
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, word | 1, nullptr, nullptr, 0);
#else
      std::this_thread::yield();
#endif
    }
  }

  void wake() {
#if defined(__linux__)
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
#endif
  }

  std::atomic<uint32_t> word_{0};
};

}  // namespace

// One rank's side of a dissemination barrier: in round r each member signals the one 2^r places on and waits for the
// one 2^r places back. Two members exchange one cache line each way, which is the least there is.
struct Team::Barrier {
  alignas(128) uint32_t turn = 0;  // read and written by this rank only
  bool crowd = false;
  alignas(64) Signal round[kBarrierRounds];
};

void Team::wait_at_barrier() const {
  Barrier& mine = barrier_[rank_];
  const uint32_t turn = ++mine.turn;
  for (int r = 0, step = 1; step < size_; ++r, step *= 2) {
    const int partner = rank_ + step < size_ ? rank_ + step : rank_ + step - size_;
    barrier_[partner].round[r].post(turn);
    mine.round[r].wait(turn, mine.crowd);
  }
}

namespace {
thread_local bool inside_team = false;  // this thread is running a team's function
}

// The workers, and the caller's side of them.
class Crew {
 public:
  // A crew of `size` including the caller, or of fewer when the system gives no more threads; null without memory.
  static Crew* hire(int size);
  ~Crew();

  // The workers do not exist in a forked child: there is nobody to dismiss.
  void forget_workers() { size_ = 1; }

  // A team of `most` members, or of the whole crew if it is smaller.
  void run(void (*fn)(void*, const Team&), void* context, int most) noexcept;

 private:
  // What one worker and the caller share: a line that the caller writes and a line that the worker writes.
  struct Seat {
    alignas(64) Signal start;
    void (*fn)(void*, const Team&) = nullptr;  // null: go home
    void* context = nullptr;
    int team = 1;       // its size
    uint32_t turn = 0;  // how often it was called; the worker counts along
    alignas(64) Signal done;
    Crew* crew = nullptr;
    int rank = 0;
    pthread_t thread{};
  };

  Crew() = default;
  static void* work(void* seat);
  void leave_callers_core() const;

#if defined(__linux__)
  cpu_set_t allowed_;     // what the caller may use, and so the workers
  int caller_core_ = -1;  // where the caller was when it called; written before the start signal
#endif
  int size_ = 1, last_team_ = 0;
  bool crowd_ = false;
  Seat seats_[kMaxThreads];
  Team::Barrier barriers_[kMaxThreads];
};

Crew* Crew::hire(int size) {
  Crew* crew = new (std::nothrow) Crew;
  if (crew == nullptr) return nullptr;
  crew->crowd_ = size > usable_cores();
#if defined(__linux__)
  if (sched_getaffinity(0, sizeof crew->allowed_, &crew->allowed_) != 0) CPU_ZERO(&crew->allowed_);
#endif
  sigset_t all, before;  // signals go to the user's threads, never to ours
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int hired = 1;
  for (; hired < size; ++hired) {
    Seat& seat = crew->seats_[hired];
    seat.crew = crew;
    seat.rank = hired;
    if (pthread_create(&seat.thread, nullptr, &Crew::work, &seat) != 0) break;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  crew->size_ = hired;  // workers read it only after their first start signal
  for (int rank = 0; rank < hired; ++rank) crew->barriers_[rank].crowd = crew->crowd_;
  return crew;
}

Crew::~Crew() {
  for (int rank = 1; rank < size_; ++rank) {
    seats_[rank].fn = nullptr;
    seats_[rank].start.post(++seats_[rank].turn);
  }
  for (int rank = 1; rank < size_; ++rank) pthread_join(seats_[rank].thread, nullptr);
}

// The scheduler likes to wake a worker on the core of whoever woke it, and may leave it there while another core is
// idle: the two would take turns. So a worker that finds itself on its caller's core goes elsewhere.
void Crew::leave_callers_core() const {
#if defined(__linux__)
  if (crowd_ || sched_getcpu() != caller_core_) return;
  cpu_set_t others = allowed_;
  CPU_CLR(caller_core_, &others);
  if (CPU_COUNT(&others) > 0) sched_setaffinity(0, sizeof others, &others);
#endif
}

void Crew::run(void (*fn)(void*, const Team&), void* context, int most) noexcept {
#if defined(__linux__)
  caller_core_ = sched_getcpu();
#endif
  const int team = most < size_ ? most : size_;
  if (team > last_team_) {  // members who sat out missed some turns: their signals must not look like later ones
    for (int rank = 0; rank < team; ++rank)
      for (Signal& s : barriers_[rank].round) s.post(barriers_[0].turn);
  }
  last_team_ = team;
  for (int rank = 1; rank < team; ++rank) {
    barriers_[rank].turn = barriers_[0].turn;
    seats_[rank].fn = fn;
    seats_[rank].context = context;
    seats_[rank].team = team;
    seats_[rank].start.post(++seats_[rank].turn);
  }
  fn(context, Team(0, team, barriers_));
  for (int rank = 1; rank < team; ++rank) seats_[rank].done.wait(seats_[rank].turn, crowd_);
}

void* Crew::work(void* argument) {
  Seat& seat = *static_cast<Seat*>(argument);
  Crew& crew = *seat.crew;
  inside_team = true;
#if defined(__linux__)
  char name[16];
  std::snprintf(name, sizeof name, "ingot-%d", seat.rank);
  pthread_setname_np(pthread_self(), name);
#endif
  for (uint32_t turn = 1;; ++turn) {
    seat.start.wait(turn, crew.crowd_);
    if (seat.fn == nullptr) return nullptr;
    crew.leave_callers_core();
    seat.fn(seat.context, Team(seat.rank, seat.team, crew.barriers_));
    seat.done.post(turn);
  }
}

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
    if (inside_team || wanted() == 1 || claims_.load(std::memory_order_relaxed) > 0) return false;
    if (held_.exchange(true, std::memory_order_acquire)) return false;
    if (crew_ == nullptr) start();
    const bool can = crew_ != nullptr;
    if (can) {
      inside_team = true;
      crew_->run(fn, context, most);
      inside_team = false;
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
  static const int handlers = pthread_atfork(nullptr, nullptr, [] { pool.start_again_in_child(); });
  static const Closer closer;
  (void)handlers;
  crew_ = Crew::hire(wanted());
}

// At exit: no new teams, wait a little for a running one, send the workers home. The claim is never given back, so
// static destructors that run later do their work alone. exit() from inside a team, or while a user thread is stuck in
// one, must not hang: then the workers end with the process.
void Pool::close() {
  claims_.fetch_add(1);
  if (inside_team) return;
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

int parse_threads(const char* text) {
  const char* end = text + std::strlen(text);
  int n = 0;
  const auto [stop, fault] = std::from_chars(text, end, n);
  return fault == std::errc() && stop == end && n >= 1 && n <= kMaxThreads ? n : 0;
}

int Pool::starting_threads() {
  const char* text = std::getenv("INGOT_THREADS");
  if (text == nullptr || *text == '\0') return std::min(usable_cores(), kMaxThreads);
  if (const int n = parse_threads(text)) return n;
  throw Error("INGOT_THREADS: \"" + std::string(text) + "\" is not a number of threads from 1 to " +
              std::to_string(kMaxThreads) + " — unset it to use every core (" + std::to_string(usable_cores()) +
              " here)");
}

// Cores that the control group's CPU quota pays for, rounded up; every ancestor's quota counts.
int cgroup_cores() {
  int cores = INT_MAX;
  std::ifstream self("/proc/self/cgroup");
  for (std::string line; std::getline(self, line);) {
    if (line.rfind("0::/", 0) != 0) continue;
    std::string path = line.substr(3);
    for (;;) {
      std::ifstream limit("/sys/fs/cgroup" + path + "/cpu.max");
      int64_t quota = 0, period = 0;  // an unlimited group says "max" for the quota, which does not parse
      if (limit >> quota >> period && quota > 0 && period > 0)
        cores = static_cast<int>(std::min<int64_t>(cores, (quota + period - 1) / period));
      if (path.empty()) break;
      path.resize(path.rfind('/'));
    }
  }
  return cores;
}

}  // namespace

int usable_cores() {
  int cores = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) cores = CPU_COUNT(&set);
#endif
  return std::max(1, std::min(cores, cgroup_cores()));
}

int threads() { return pool.wanted(); }

void set_threads(int n) {
  if (n < 1 || n > kMaxThreads)
    throw Error("set_threads: " + std::to_string(n) + " is outside 1 to " + std::to_string(kMaxThreads) +
                " — use usable_cores() (" + std::to_string(usable_cores()) +
                " here) for every core, 1 for none but the caller");
  if (inside_team) throw Error("set_threads: called from inside running work — call it between ops");
  pool.resize(n);
}

void keep_off_the_pool() { inside_team = true; }

void run_team(void (*fn)(void* context, const Team& team), void* context, int most) {
  if (!pool.run(fn, context, most)) fn(context, Team());
}

}  // namespace ingot
