#include "graph/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace ingot::graph {
namespace {

constexpr size_t kAlignment = 64;
size_t round_up(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

// Places lifetimes one by one, each into the smallest gap that fits between those that are alive with it.
class Placement {
 public:
  explicit Placement(const std::vector<Lifetime>& all) : all_(all), offsets_(all.size(), 0) {}

  size_t place(const std::vector<int>& order) {
    placed_.clear();
    size_t arena = 0;
    for (const int i : order) {
      const Lifetime& l = all_[static_cast<size_t>(i)];
      const size_t need = round_up(l.bytes);
      if (need == 0) continue;
      size_t end = 0, best = SIZE_MAX, best_gap = SIZE_MAX;
      for (const int k : placed_) {  // by ascending offset
        const Lifetime& other = all_[static_cast<size_t>(k)];
        if (other.last < l.first || l.last < other.first) continue;
        const size_t at = offsets_[static_cast<size_t>(k)];
        if (at >= end + need && at - end < best_gap) best = end, best_gap = at - end;
        end = std::max(end, at + round_up(other.bytes));
      }
      const size_t chosen = best == SIZE_MAX ? end : best;
      offsets_[static_cast<size_t>(i)] = chosen;
      arena = std::max(arena, chosen + need);
      const auto spot = std::upper_bound(placed_.begin(), placed_.end(), chosen, [&](size_t offset, int k) {
        return offset < offsets_[static_cast<size_t>(k)];
      });
      placed_.insert(spot, i);
    }
    return arena;
  }

  const std::vector<size_t>& offsets() const { return offsets_; }

 private:
  const std::vector<Lifetime>& all_;
  std::vector<size_t> offsets_;
  std::vector<int> placed_;
};

size_t peak_of(const std::vector<Lifetime>& all, std::vector<size_t>& at_step) {
  int steps = 0;
  for (const Lifetime& l : all) steps = std::max(steps, l.last + 1);
  std::vector<int64_t> change(static_cast<size_t>(steps) + 1, 0);
  for (const Lifetime& l : all) {
    change[static_cast<size_t>(l.first)] += static_cast<int64_t>(round_up(l.bytes));
    change[static_cast<size_t>(l.last) + 1] -= static_cast<int64_t>(round_up(l.bytes));
  }
  int64_t now = 0, most = 0;
  for (int s = 0; s < steps; s++) {
    now += change[static_cast<size_t>(s)];
    at_step.push_back(static_cast<size_t>(now));
    most = std::max(most, now);
  }
  return static_cast<size_t>(most);
}

// What sticks out of the live peak was placed too late: it is moved towards the front of the order, again and again,
// for as long as that is worth its time. The steps are pseudo-random, the same for the same lifetimes.
void improve(const std::vector<Lifetime>& all, Placement& placement, std::vector<int> order, MemoryPlan& plan) {
  constexpr size_t kMostWork = 8'000'000, kMostTries = 400;  // comparisons: some 10 ms
  const size_t pairs = all.size() * all.size() + 1;
  const size_t enough = plan.live_peak + plan.live_peak / 100;
  uint64_t state = 1;
  for (size_t tries = std::min(kMostTries, kMostWork / pairs); tries > 0 && plan.bytes > enough; tries--) {
    std::vector<size_t> late;  // positions in the order of those that reach the top
    for (size_t i = 0; i < order.size(); i++) {
      const size_t k = static_cast<size_t>(order[i]);
      if (all[k].bytes > 0 && plan.offsets[k] + round_up(all[k].bytes) == plan.bytes) late.push_back(i);
    }
    if (late.empty() || late.back() == 0) return;
    state = state * 6364136223846793005u + 1442695040888963407u;
    const size_t from = late[(state >> 40) % late.size()];
    if (from == 0) continue;
    const size_t to = tries % 2 == 0 ? 0 : (state >> 20) % from;
    std::vector<int> next = order;
    std::rotate(next.begin() + static_cast<long>(to), next.begin() + static_cast<long>(from),
                next.begin() + static_cast<long>(from) + 1);
    if (tries % 4 == 1) {  // and two others change places
      const size_t a = (state >> 33) % next.size(), b = (state >> 13) % next.size();
      std::swap(next[a], next[b]);
    }
    if (const size_t bytes = placement.place(next); bytes <= plan.bytes) {
      plan.bytes = bytes;
      plan.offsets = placement.offsets();
      order = std::move(next);
    }
  }
}

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& all) {
  MemoryPlan plan;
  std::vector<size_t> at_step;
  plan.live_peak = peak_of(all, at_step);
  std::vector<int> order(all.size());
  const auto of = [&](int i) -> const Lifetime& { return all[static_cast<size_t>(i)]; };
  // The fullest step that a lifetime touches: those that make the peak are placed first.
  std::vector<size_t> crowd(all.size(), 0);
  for (size_t i = 0; i < all.size(); i++)
    for (int s = all[i].first; s <= all[i].last; s++) crowd[i] = std::max(crowd[i], at_step[static_cast<size_t>(s)]);
  const auto span = [&](int i) { return of(i).last - of(i).first; };
  Placement placement(all);
  std::vector<int> best;
  plan.bytes = SIZE_MAX;
  for (int way = 0; way < 4 && plan.bytes > plan.live_peak; way++) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const size_t x = static_cast<size_t>(a), y = static_cast<size_t>(b);
      switch (way) {
        case 0: return of(a).bytes > of(b).bytes;  // large first
        case 1: return of(a).first < of(b).first;  // as time goes
        case 2: return crowd[x] != crowd[y] ? crowd[x] > crowd[y] : of(a).bytes > of(b).bytes;
        default: return span(a) != span(b) ? span(a) > span(b) : of(a).bytes > of(b).bytes;  // long first
      }
    });
    if (const size_t bytes = placement.place(order); bytes < plan.bytes) {
      plan.bytes = bytes;
      plan.offsets = placement.offsets();
      best = order;
    }
  }
  improve(all, placement, best, plan);
  if (all.empty()) plan.bytes = 0;
  return plan;
}

}  // namespace ingot::graph
