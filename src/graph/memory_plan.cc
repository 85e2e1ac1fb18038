#include "graph/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "ingot/base/numbers.h"

namespace ingot::graph {
namespace {

// How many pairs of lifetimes are looked at in one go: some milliseconds.
constexpr size_t kMostPairs = 8'000'000;

// The arena as time goes by: what is alive, and the gaps between.
class Arena {
 public:
  /// Into the smallest gap that fits, of equal ones the first; else behind all that is alive.
  size_t take(size_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) {
      end_ += bytes;
      return end_ - bytes;
    }
    const auto [size, offset] = *fit;
    close(gaps_.find(offset));
    if (size > bytes) open(offset + bytes, size - bytes);
    return offset;
  }
  void give_back(size_t offset, size_t bytes) {
    const auto next = gaps_.lower_bound(offset);
    const bool joins_next = next != gaps_.end() && next->first == offset + bytes;
    const auto previous = next == gaps_.begin() ? gaps_.end() : std::prev(next);
    if (previous != gaps_.end() && previous->first + previous->second == offset) {
      offset = previous->first;
      bytes += previous->second;
      close(previous);
    }
    if (joins_next) {
      bytes += next->second;
      close(next);
    }
    if (offset + bytes == end_)
      end_ = offset;
    else
      open(offset, bytes);
  }

 private:
  using Gaps = std::map<size_t, size_t>;
  void open(size_t offset, size_t bytes) {
    gaps_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void close(Gaps::iterator gap) {
    by_size_.erase({gap->second, gap->first});
    gaps_.erase(gap);
  }
  Gaps gaps_;  // bytes by offset
  std::set<std::pair<size_t, size_t>> by_size_;
  size_t end_ = 0;
};

// Places lifetimes one by one, each into the smallest gap that fits between those that are alive with it.
class Placement {
 public:
  explicit Placement(const std::vector<Lifetime>& all) : all_(all), offsets_(all.size(), 0) {}

  size_t place(const std::vector<int>& order) {
    placed_.clear();
    size_t arena = 0;
    for (const int i : order) {
      const Lifetime& l = all_[static_cast<size_t>(i)];
      const size_t need = round_up(l.bytes, kAlignment);
      if (need == 0) continue;
      size_t end = 0, best = SIZE_MAX, best_gap = SIZE_MAX;
      for (const int k : placed_) {  // by ascending offset
        const Lifetime& other = all_[static_cast<size_t>(k)];
        if (other.last < l.first || l.last < other.first) continue;
        const size_t at = offsets_[static_cast<size_t>(k)];
        if (at >= end + need && at - end < best_gap) best = end, best_gap = at - end;
        end = std::max(end, at + round_up(other.bytes, kAlignment));
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

  /// The same in the order of time, or from the last step to the first: then those alive with one are those that are
  /// alive when it begins, and n log n is enough.
  size_t sweep(bool forward) {
    const auto begin = [&](int i) { return forward ? of(i).first : -of(i).last; };
    const auto end = [&](int i) { return forward ? of(i).last : -of(i).first; };
    std::vector<int> starts, ends;
    for (size_t i = 0; i < all_.size(); i++)
      if (all_[i].bytes > 0) starts.push_back(static_cast<int>(i));
    ends = starts;
    std::stable_sort(starts.begin(), starts.end(), [&](int a, int b) { return begin(a) < begin(b); });
    std::stable_sort(ends.begin(), ends.end(), [&](int a, int b) { return end(a) < end(b); });
    Arena arena;
    size_t most = 0, ended = 0;
    for (const int i : starts) {
      for (; end(ends[ended]) < begin(i); ended++)
        arena.give_back(offsets_[static_cast<size_t>(ends[ended])], round_up(of(ends[ended]).bytes, kAlignment));
      const size_t at = arena.take(round_up(of(i).bytes, kAlignment));
      offsets_[static_cast<size_t>(i)] = at;
      most = std::max(most, at + round_up(of(i).bytes, kAlignment));
    }
    return most;
  }

  const std::vector<size_t>& offsets() const { return offsets_; }

 private:
  const Lifetime& of(int i) const { return all_[static_cast<size_t>(i)]; }

  const std::vector<Lifetime>& all_;
  std::vector<size_t> offsets_;
  std::vector<int> placed_;
};

size_t peak_of(const std::vector<Lifetime>& all, std::vector<size_t>& at_step) {
  int steps = 0;
  for (const Lifetime& l : all) steps = std::max(steps, l.last + 1);
  std::vector<int64_t> change(static_cast<size_t>(steps) + 1, 0);
  for (const Lifetime& l : all) {
    change[static_cast<size_t>(l.first)] += static_cast<int64_t>(round_up(l.bytes, kAlignment));
    change[static_cast<size_t>(l.last) + 1] -= static_cast<int64_t>(round_up(l.bytes, kAlignment));
  }
  int64_t now = 0, most = 0;
  for (int s = 0; s < steps; s++) {
    now += change[static_cast<size_t>(s)];
    at_step.push_back(static_cast<size_t>(now));
    most = std::max(most, now);
  }
  return static_cast<size_t>(most);
}

// By lifetime: how much is alive in the fullest step that it touches. Those that make the peak are placed first.
std::vector<size_t> crowds_of(const std::vector<Lifetime>& all, const std::vector<size_t>& at_step) {
  const size_t steps = at_step.size();
  std::vector<size_t> tree(2 * steps);  // the largest of two neighbours, and so on upwards
  std::copy(at_step.begin(), at_step.end(), tree.begin() + static_cast<long>(steps));
  for (size_t i = steps; i-- > 1;) tree[i] = std::max(tree[2 * i], tree[2 * i + 1]);
  std::vector<size_t> crowds;
  for (const Lifetime& l : all) {
    size_t most = 0;
    for (size_t a = static_cast<size_t>(l.first) + steps, b = static_cast<size_t>(l.last) + steps + 1; a < b;
         a /= 2, b /= 2) {
      if (a % 2 == 1) most = std::max(most, tree[a++]);
      if (b % 2 == 1) most = std::max(most, tree[--b]);
    }
    crowds.push_back(most);
  }
  return crowds;
}

// What sticks out of the live peak was placed too late: it is moved towards the front of the order, again and again,
// for as long as that is worth its time. The steps are pseudo-random, the same for the same lifetimes.
void improve(const std::vector<Lifetime>& all, Placement& placement, std::vector<int> order, MemoryPlan& plan) {
  constexpr size_t kMostTries = 400;
  const size_t pairs = 2 * (all.size() * all.size() + 1);
  const size_t enough = plan.live_peak + plan.live_peak / 20;
  uint64_t state = 1;
  for (size_t tries = std::min(kMostTries, kMostPairs / pairs); tries > 0 && plan.bytes > enough; tries--) {
    std::vector<size_t> late;  // positions in the order of those that reach the top
    for (size_t i = 0; i < order.size(); i++) {
      const size_t k = static_cast<size_t>(order[i]);
      if (all[k].bytes > 0 && plan.offsets[k] + round_up(all[k].bytes, kAlignment) == plan.bytes) late.push_back(i);
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
  if (all.empty()) return plan;
  Placement placement(all);
  plan.bytes = SIZE_MAX;
  const auto keep_if_better = [&](size_t bytes) {
    if (bytes >= plan.bytes) return false;
    plan.bytes = bytes;
    plan.offsets = placement.offsets();
    return true;
  };
  if (all.size() * all.size() > kMostPairs) {
    keep_if_better(placement.sweep(true));
    if (plan.bytes > plan.live_peak) keep_if_better(placement.sweep(false));
    return plan;
  }
  const auto of = [&](int i) -> const Lifetime& { return all[static_cast<size_t>(i)]; };
  const auto span = [&](int i) { return of(i).last - of(i).first; };
  std::vector<size_t> crowd;
  std::vector<int> order(all.size()), best;
  for (int way = 0; way < 4 && plan.bytes > plan.live_peak; way++) {
    if (way == 2) crowd = crowds_of(all, at_step);
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
    if (keep_if_better(way == 1 ? placement.sweep(true) : placement.place(order))) best = order;
  }
  improve(all, placement, best, plan);
  return plan;
}

}  // namespace ingot::graph
