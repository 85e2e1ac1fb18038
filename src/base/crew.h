// The workers, and the barrier at which the members of a team meet.
#pragma once
#include "base/event_count.h"
#include "ingot/base/threads.h"

namespace ingot {

inline constexpr int kMaxThreads = 256;

/// One rank's side of a dissemination barrier: in round r each member signals the one 2^r places on and waits for the
/// one 2^r places back. Two members exchange one cache line each way, which is the least there is.
struct Team::Barrier {
  static constexpr int kRounds = 8;
  static_assert(1 << kRounds == kMaxThreads);

  alignas(128) uint32_t turn = 0;  // read and written by this rank only
  bool crowd = false;
  alignas(64) EventCount round[kRounds];
};

/// Threads that wait for work, and the caller's side of them.
class Crew {
 public:
  /// A crew of `size` including the caller, or of fewer when the system gives no more threads; null without memory.
  static Crew* hire(int size);
  ~Crew();

  /// The workers do not exist in a forked child: there is nobody to dismiss.
  void forget_workers() { size_ = 1; }

  /// Runs `fn` on a team of `most` members, or of the whole crew if it is smaller.
  void run(void (*fn)(void*, const Team&), void* context, int most) noexcept;

  /// True for the thread that runs a team's function.
  static constinit thread_local bool inside_team;

 private:
  // What one worker and the caller share: a line that the caller writes and a line that the worker writes.
  struct Seat {
    alignas(64) EventCount start;
    void (*fn)(void*, const Team&) = nullptr;  // null: go home
    void* context = nullptr;
    int team = 1;       // its size
    uint32_t turn = 0;  // how often it was called; the worker counts along
    alignas(64) EventCount done;
    Crew* crew = nullptr;
    int rank = 0;
    os::Thread thread;
  };

  Crew() = default;
  static void* work(void* seat);
  void leave_callers_core() const;

  os::CoreSet allowed_;   // what the caller may use, and so the workers
  int caller_core_ = -1;  // where the caller was when it called; written before the start signal
  int size_ = 1, last_team_ = 0;
  bool crowd_ = false;  // more workers than cores
  Seat seats_[kMaxThreads];
  Team::Barrier barriers_[kMaxThreads];
};

}  // namespace ingot
