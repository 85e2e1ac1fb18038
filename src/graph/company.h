// Whether a plan's run is worth a team.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

namespace ingot::graph {

/// On a machine that has other work, members of a team wait at every barrier until each had its turn at the processor,
/// for milliseconds; one worker alone is then many times faster, and computes the same bits. So one early run is made
/// alone, to know what that takes, and when teams take clearly longer several times over, the next runs are made alone,
/// for longer each time that a team disappoints again.
class Company {
 public:
  bool alone() { return runs_++ == kProbe || alone_left_ > 0; }

  void took(bool alone, int64_t ns) {
    if (alone) {
      alone_ns_ = std::min(alone_ns_, ns);
      if (alone_left_ > 0) alone_left_--;
      return;
    }
    if (ns / 3 * 2 <= alone_ns_) {  // as it should be, or not much worse
      slow_ = std::max(slow_ - 1, 0);
      if (++good_ >= kGood) span_ = kSpan;
      return;
    }
    good_ = 0;
    if (++slow_ < kSlow) return;
    slow_ = 0;
    alone_left_ = span_;
    span_ = std::min(2 * span_, kLongest);
  }

 private:
  static constexpr int kProbe = 2, kSlow = 6, kGood = 64, kSpan = 32, kLongest = 1024;
  int64_t runs_ = 0, alone_ns_ = std::numeric_limits<int64_t>::max();
  int slow_ = 0, good_ = 0, alone_left_ = 0, span_ = kSpan;
};

}  // namespace ingot::graph
