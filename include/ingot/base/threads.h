// The worker pool: how many threads Ingot uses, and the SPMD team that kernels run in.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include "ingot/base/export.h"

namespace ingot {

/// Number of threads an op may use; at first INGOT_THREADS, else `usable_cores()`.
INGOT_API int threads();

/// Sets the number of threads, 1 to 256. Waits for running work; never changes any result's bits.
/// Workers start with the first team that needs them, are named ingot-1, ingot-2, … and take no signals; they spin for
/// 0.2 ms after each piece of work, then sleep. They end at exit; a forked child starts its own.
INGOT_API void set_threads(int n);

/// Cores this process may run on: its affinity mask, capped by its control group's CPU quota. At least 1.
INGOT_API int usable_cores();

/// One member of a team of workers that run the same function at the same time (SPMD). Kernels take a Team, do the
/// share that `rank` names and meet at `barrier()` where data crosses workers. A team of one does everything and never
/// waits.
class INGOT_API Team {
 public:
  Team() = default;  // the caller alone
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// This member's half-open share of [0, n), in multiples of `grain` (the last share takes the rest).
  std::pair<int64_t, int64_t> share(int64_t n, int64_t grain = 1) const {
    const int64_t blocks = (n + grain - 1) / grain;
    const int64_t first = blocks * rank_ / size_ * grain;
    const int64_t last = blocks * (rank_ + 1) / size_ * grain;
    return {first, last < n ? last : n};
  }

  /// Waits until every member of the team has arrived; what they wrote before is visible after.
  void barrier() const {
    if (size_ > 1) wait_at_barrier();
  }

 private:
  friend class Crew;
  struct INGOT_PRIVATE Barrier;
  Team(int rank, int size, Barrier* barrier) : rank_(rank), size_(size), barrier_(barrier) {}
  void wait_at_barrier() const;
  int rank_ = 0, size_ = 1;
  Barrier* barrier_ = nullptr;
};

/// Runs `fn(context, team)` on every member of a team of up to `threads()` workers (the caller is one of them) and
/// returns when all are done; with `most`, of no more than that. Allocates nothing. Called from inside a team, or while
/// another user thread holds the pool, it runs with a team of one: results never depend on the team's size. `fn` must
/// not throw.
INGOT_API void run_team(void (*fn)(void* context, const Team& team), void* context, int most = 1 << 30);

/// The same for any callable `body(const Team&)`; `wide == false` runs it at once on the calling thread.
template <class Body>
void parallel(bool wide, Body&& body) {
  if (!wide) return body(Team());
  run_team([](void* context, const Team& team) { (*static_cast<std::remove_reference_t<Body>*>(context))(team); },
           &body);
}

}  // namespace ingot
