// How steps are shared out, and where the team waits. Two members may be in different steps as long as neither writes
// what the other touches; where they would, a barrier comes first.
#include <algorithm>

#include "graph/lower.h"

namespace ingot::graph {
namespace {

constexpr double kWorthSharing = 1500;  // ns of a step
constexpr double kWorthWaking = 15000;  // ns of a plan
constexpr int kMostRanks = 8;           // for larger teams only one way to share a step out is looked at

// What each member has touched since the last barrier.
class Window {
 public:
  explicit Window(int threads) : members_(static_cast<size_t>(threads)) {}

  static std::vector<std::vector<Footprint>> touched(const Step& step, bool wide, int threads) {
    std::vector<std::vector<Footprint>> all(static_cast<size_t>(threads));
    for (int rank = 0; rank < threads; rank++) {
      if (wide) step.footprints(rank, threads, all[static_cast<size_t>(rank)]);
      if (!wide && rank == 0) step.footprints(0, 1, all[0]);
    }
    return all;
  }

  bool conflicts(const std::vector<std::vector<Footprint>>& next) const {
    for (size_t i = 0; i < members_.size(); i++)
      for (size_t j = 0; j < next.size(); j++) {
        if (i == j) continue;
        for (const Footprint& a : members_[i])
          for (const Footprint& b : next[j])
            if ((a.write || b.write) && meet(a, b)) return true;
      }
    return false;
  }

  void add(const std::vector<std::vector<Footprint>>& next) {
    for (size_t i = 0; i < members_.size(); i++) members_[i].insert(members_[i].end(), next[i].begin(), next[i].end());
  }
  void clear() {
    for (auto& m : members_) m.clear();
  }

 private:
  std::vector<std::vector<Footprint>> members_;
};

}  // namespace

std::atomic<bool> share_every_step{false};

void schedule(Program& program, int threads) {
  program.barriers = 0;
  program.wide = false;
  if (threads <= 1) return;
  double total = 0;
  for (const auto& step : program.steps) total += step->cost_ns >= kWorthSharing ? step->cost_ns : 0;
  const bool every = share_every_step;
  if (total < kWorthWaking && !every) return;
  program.wide = true;
  Window window(threads);
  for (const auto& step : program.steps) {
    step->wide = (every || step->cost_ns >= kWorthSharing) && std::string_view(step->kind) != "check";
    // Of the ways to share it out, the first that needs no barrier; else the first of all.
    const std::vector<Split> ways = step->wide ? step->splits() : std::vector<Split>();
    std::vector<std::vector<Footprint>> touched;
    if (ways.empty() || threads > kMostRanks) {
      if (!ways.empty()) step->set_split(ways[0]);
      touched = Window::touched(*step, step->wide, threads);
      step->barrier = window.conflicts(touched);
    } else {
      step->barrier = true;
      for (const Split way : ways) {
        step->set_split(way);
        touched = Window::touched(*step, true, threads);
        if (!window.conflicts(touched)) {
          step->barrier = false;
          break;
        }
      }
      if (step->barrier) {
        step->set_split(ways[0]);
        touched = Window::touched(*step, true, threads);
      }
    }
    if (step->barrier) {
      program.barriers++;
      window.clear();
    }
    window.add(touched);
  }
}

}  // namespace ingot::graph
