// How the records of a Program are shared out among workers.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "graph/cpu/kernel.h"

namespace ingot::graph {

/// Chooses how records are shared out among `threads` and where all must wait for each other. Too small a program is
/// left to one thread.
void schedule(Program& program, const std::vector<std::unique_ptr<Kernel>>& kernels, int threads);

/// For tests: shares every record out among the team, however small, so that small graphs meet every way to split.
extern std::atomic<bool> share_every_step;

/// By member: what it touches while it does its share of a record.
using Touched = std::vector<std::vector<Footprint>>;
Touched touched_by(const Kernel& kernel, int threads);

/// What each member has touched since the last barrier.
class Window {
 public:
  explicit Window(int threads) : members_(static_cast<size_t>(threads)) {}
  /// Would a member meet what another one writes, or write what another one touches?
  bool conflicts(const Touched& next) const;
  void add(const Touched& next);
  void clear() {
    for (Member& m : members_) m = {};
  }

 private:
  // Most windows are short: the latest footprints are looked at one by one, older ones are found by where they are.
  struct Member {
    std::vector<Footprint> latest;
    FootprintIndex older;
  };
  std::vector<Member> members_;
};

}  // namespace ingot::graph
