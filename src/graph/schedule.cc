// How records are shared out, and where the team waits. Two members may be in different records as long as neither
// writes what the other touches; where they would, a barrier comes first.
#include "graph/schedule.h"

#include <algorithm>

#include "kernels/cost.h"

namespace ingot::graph {
namespace {

constexpr int kMostRanks = 8;  // for larger teams only one way to share a record out is looked at
constexpr size_t kMostLatest = 64;

}  // namespace

std::atomic<bool> share_every_step{false};

Touched touched_by(const Kernel& kernel, int threads) {
  Touched all(static_cast<size_t>(threads));
  const bool wide = kernel.record().wide;
  for (int rank = 0; rank < threads; rank++) {
    if (wide) kernel.footprints(rank, threads, all[static_cast<size_t>(rank)]);
    if (!wide && rank == 0) kernel.footprints(0, 1, all[0]);
  }
  return all;
}

bool Window::conflicts(const Touched& next) const {
  for (size_t i = 0; i < members_.size(); i++)
    for (size_t j = 0; j < next.size(); j++) {
      if (i == j) continue;
      for (const Footprint& b : next[j]) {
        if (members_[i].older.conflicts(b)) return true;
        for (const Footprint& a : members_[i].latest)
          if ((a.write || b.write) && meet(a, b)) return true;
      }
    }
  return false;
}

void Window::add(const Touched& next) {
  for (size_t i = 0; i < members_.size(); i++) {
    Member& m = members_[i];
    m.latest.insert(m.latest.end(), next[i].begin(), next[i].end());
    if (m.latest.size() <= kMostLatest) continue;
    for (const Footprint& f : m.latest) m.older.add(f);
    m.latest.clear();
  }
}

void schedule(Program& program, const std::vector<std::unique_ptr<Kernel>>& kernels, int threads) {
  program.barriers = 0;
  program.threads = 1;
  for (const auto& kernel : kernels) kernel->share_out(threads);
  for (Record& r : program.records) r.wide = r.barrier = false;
  double total = 0;
  for (const Record& r : program.records) total += r.cost_ns >= cost::kRecordWorthSharing ? r.cost_ns : 0;
  const bool every = share_every_step;
  if (threads <= 1 || (total < cost::kPlanWorthWaking && !every)) {
    for (const auto& kernel : kernels) kernel->share_out(1);
    return;
  }
  program.threads = threads;
  Window window(threads);
  for (size_t i = 0; i < program.records.size(); i++) {
    Record& r = program.records[i];
    const Kernel& kernel = *kernels[i];
    r.wide =
        (every || r.cost_ns >= cost::kRecordWorthSharing) && r.kind != Record::Kind::kCheck && kernel.worth_sharing();
    // Of the ways to share it out, the first that needs no barrier; else the first of all.
    std::vector<Split> ways = r.wide ? kernel.splits() : std::vector<Split>();
    if (!ways.empty()) r.split = ways[0];
    if (threads > kMostRanks) ways.resize(std::min<size_t>(ways.size(), 1));
    Touched touched = touched_by(kernel, threads);
    r.barrier = window.conflicts(touched);
    for (size_t w = 1; w < ways.size() && r.barrier; w++) {
      r.split = ways[w];
      Touched other = touched_by(kernel, threads);
      r.barrier = window.conflicts(other);
      if (r.barrier)
        r.split = ways[0];
      else
        touched = std::move(other);
    }
    if (r.barrier) {
      program.barriers++;
      window.clear();
    }
    window.add(touched);
  }
}

}  // namespace ingot::graph
