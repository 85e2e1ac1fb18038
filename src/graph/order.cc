#include "graph/order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <queue>
#include <utility>

namespace ingot::graph {
namespace {

// An order that saves less than a page, or less than this part of the peak, is not worth the change.
constexpr size_t kWorthBytes = 4096, kWorthPart = 32;

// List scheduling, from the first step to the last or from the last to the first; seen from either end, a value is alive
// from the first step that touches it to the last. Steps after which no more is alive than before come as soon as they
// can, those that need least first. Of the others comes the one that frees most for what it makes: between the least net
// growth, which looks one step ahead, and Liu's rule for trees (1987), by which what frees most comes first.
class Greedy {
 public:
  Greedy(const Steps& steps, const Lists& after, const Lists& touching)
      : steps_(steps), after_(after), touching_(touching) {}

  std::vector<int> run(bool forward) {
    const int count = steps_.count();
    const Lists& waits_for = forward ? steps_.before : after_;
    const Lists& releases = forward ? after_ : steps_.before;
    start(waits_for);
    for (int s = 0; s < count; s++)
      if (waits_[static_cast<size_t>(s)] == 0) push(s, forward);
    std::vector<int> order;
    order.reserve(static_cast<size_t>(count));
    while (!ready_.empty()) {
      const auto [priority, rank] = ready_.top();
      ready_.pop();
      const int s = forward ? -rank : rank;
      if (done_[static_cast<size_t>(s)] || priority != priority_of(s)) continue;
      done_[static_cast<size_t>(s)] = true;
      order.push_back(s);
      touch(s, forward);
      for (const int t : releases[s])
        if (--waits_[static_cast<size_t>(t)] == 0) push(t, forward);
    }
    if (!forward) std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  void start(const Lists& waits_for) {
    const size_t count = static_cast<size_t>(steps_.count());
    waits_.assign(count, 0);
    gain_.assign(count, 0);
    need_.assign(count, 0);
    done_.assign(count, false);
    alive_.assign(steps_.bytes.size(), false);
    left_.assign(steps_.bytes.size(), 0);
    for (size_t v = 0; v < left_.size(); v++) left_[v] = static_cast<int>(touching_[static_cast<int>(v)].size());
    for (int s = 0; s < steps_.count(); s++) {
      waits_[static_cast<size_t>(s)] = static_cast<int>(waits_for[s].size());
      need_[static_cast<size_t>(s)] = static_cast<int64_t>(steps_.scratch[static_cast<size_t>(s)]);
      for (const int v : steps_.touched[s]) {
        need_[static_cast<size_t>(s)] += bytes(v);
        if (left_[static_cast<size_t>(v)] > 1) gain_[static_cast<size_t>(s)] -= bytes(v);
      }
    }
  }

  int64_t bytes(int v) const { return static_cast<int64_t>(steps_.bytes[static_cast<size_t>(v)]); }

  int64_t priority_of(int s) const {
    constexpr int64_t kAtOnce = int64_t{1} << 60;
    const int64_t gain = gain_[static_cast<size_t>(s)], need = need_[static_cast<size_t>(s)];
    return gain >= 0 ? kAtOnce - need : 2 * gain + need;
  }

  void push(int s, bool forward) { ready_.emplace(priority_of(s), forward ? -s : s); }

  // A value that becomes alive costs its other steps nothing any more; the last of them will free it.
  void touch(int s, bool forward) {
    for (const int v : steps_.touched[s]) {
      const int left = --left_[static_cast<size_t>(v)];
      const bool begins = !alive_[static_cast<size_t>(v)];
      alive_[static_cast<size_t>(v)] = true;
      if (left == 0 || (!begins && left > 1)) continue;
      const int64_t more = (begins ? bytes(v) : 0) + (left == 1 ? bytes(v) : 0);
      for (const int t : touching_[v]) {
        if (done_[static_cast<size_t>(t)]) continue;
        gain_[static_cast<size_t>(t)] += more;
        if (begins) need_[static_cast<size_t>(t)] -= bytes(v);
        if (waits_[static_cast<size_t>(t)] == 0) push(t, forward);
      }
    }
  }

  const Steps& steps_;
  const Lists &after_, &touching_;
  std::vector<int> waits_, left_;
  std::vector<int64_t> gain_;  // by step: bytes that fewer are alive after it
  std::vector<int64_t> need_;  // by step: bytes that more are alive while it runs
  std::vector<bool> done_, alive_;
  std::priority_queue<std::pair<int64_t, int>> ready_;
};

// An order, and by position what is alive in it.
struct Candidate {
  std::vector<int> order;
  std::vector<size_t> alive;
  size_t peak = 0;
};

Candidate look_at(const Steps& steps, std::vector<int> order) {
  Liveness l = find_liveness(steps, order);
  return {std::move(order), std::move(l.alive), l.peak};
}

// Two orders in one. Between points at which both have run the same steps either can be taken: `other` only where `best`
// has more alive than the whole then needs, so that steps stay where they are if it does not help to move them.
void merge(Candidate& best, const Candidate& other) {
  const size_t count = best.order.size();
  std::vector<int> place(count);  // in best
  for (size_t i = 0; i < count; i++) place[static_cast<size_t>(best.order[i])] = static_cast<int>(i);
  struct Part {
    size_t begin, end, peak;  // of best
  };
  std::vector<Part> parts;
  Part part{0, 0, 0};
  size_t others = 0;  // peak of the part
  int furthest = -1;
  best.peak = 0;
  for (size_t i = 0; i < count; i++) {
    furthest = std::max(furthest, place[static_cast<size_t>(other.order[i])]);
    part.peak = std::max(part.peak, best.alive[i]);
    others = std::max(others, other.alive[i]);
    if (furthest != static_cast<int>(i)) continue;
    part.end = i + 1;
    parts.push_back(part);
    best.peak = std::max(best.peak, std::min(part.peak, others));
    part = {i + 1, 0, 0};
    others = 0;
  }
  for (const Part& p : parts)
    for (size_t i = p.begin; p.peak > best.peak && i < p.end; i++) {
      best.order[i] = other.order[i];
      best.alive[i] = other.alive[i];
    }
}

// What no order can go below: when the step at the captured peak runs, everything is alive that steps before it in every
// order make and steps after it in every order read.
size_t least_peak(const Steps& steps, const Candidate& captured) {
  const size_t count = static_cast<size_t>(steps.count());
  const size_t peak =
      static_cast<size_t>(std::max_element(captured.alive.begin(), captured.alive.end()) - captured.alive.begin());
  std::vector<bool> before(count, false), after(count, false), made(steps.bytes.size(), false);
  before[peak] = after[peak] = true;
  for (size_t s = peak + 1; s-- > 0;) {
    if (!before[s]) continue;
    for (const int b : steps.before[static_cast<int>(s)]) before[static_cast<size_t>(b)] = true;
    for (const int v : steps.touched[static_cast<int>(s)]) made[static_cast<size_t>(v)] = true;
  }
  size_t sum = steps.scratch[peak], shared = 0;
  for (size_t s = peak; s < count; s++) {
    for (const int b : steps.before[static_cast<int>(s)]) after[s] = after[s] || after[static_cast<size_t>(b)];
    if (!after[s]) continue;
    for (const int v : steps.touched[static_cast<int>(s)]) {
      if (made[static_cast<size_t>(v)]) sum += steps.bytes[static_cast<size_t>(v)];
      made[static_cast<size_t>(v)] = false;  // each once
    }
  }
  const std::span<const int> shares = steps.shares[static_cast<int>(peak)];
  for (size_t i = 0; i < shares.size(); i += 2) shared += steps.bytes[static_cast<size_t>(shares[i])];
  return sum - std::min(sum, shared);
}

}  // namespace

Order captured_order(const Steps& steps) {
  Order order{std::vector<int>(static_cast<size_t>(steps.count())), 0};
  std::iota(order.steps.begin(), order.steps.end(), 0);
  return order;
}

Order choose_order(const Steps& steps) {
  Order captured = captured_order(steps);
  Candidate best = look_at(steps, captured.steps);
  const size_t peak = best.peak, enough = peak - std::min(peak, std::max(peak / kWorthPart, kWorthBytes));
  if (best.order.empty() || least_peak(steps, best) > enough) return captured;
  const Lists after = steps.before.transposed(steps.count());
  const Lists touching = steps.touched.transposed(static_cast<int>(steps.bytes.size()));
  Greedy greedy(steps, after, touching);
  for (const bool forward : {true, false}) merge(best, look_at(steps, greedy.run(forward)));
  if (best.peak > enough) return captured;
  return {std::move(best.order), peak - best.peak};
}

}  // namespace ingot::graph
