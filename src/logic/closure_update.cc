// The closure of a graph whose edges change.
#include <algorithm>
#include <unordered_map>

#include "logic/update.h"

namespace ingot::logic {
namespace {

class ClosureUpdate {
 public:
  explicit ClosureUpdate(const ClosureChange& change) : c_(change) {}

  bool run() {
    if (nothing_changes()) return work_ <= c_.most_work;
    if (work_ > c_.most_work) return false;
    for (const std::vector<Value>* edges : {&c_.added, &c_.removed})
      for (size_t i = 0; i < edges->size(); i += 2) reach((*edges)[i]);
    for (size_t i = 0; i < sources_.size() && work_ <= c_.most_work; i++) before(sources_[i]);
    for (size_t i = 0; i < sources_.size() && work_ <= c_.most_work; i++) search(sources_[i]);
    if (work_ > c_.most_work) return false;
    for (const uint32_t x : sources_) store(x);
    return true;
  }

 private:
  struct State {
    bool done = false;
    uint32_t seen = 0;  // by which search
    std::vector<uint32_t> row = {};
  };

  // Edges that lead where one could go before; edges that went, but not the way that they were.
  bool nothing_changes() {
    if (c_.removed.empty()) {
      for (size_t i = 0; i < c_.added.size(); i += 2)
        if (!c_.closure.contains(c_.added.data() + i)) return false;
      return true;
    }
    if (!c_.added.empty()) return false;
    for (size_t i = 0; i < c_.removed.size(); i += 2)
      if (!leads(static_cast<uint32_t>(c_.removed[i]), static_cast<uint32_t>(c_.removed[i + 1]))) return false;
    return true;
  }
  bool leads(uint32_t from, uint32_t to) {
    std::unordered_map<uint32_t, bool> seen;
    std::vector<uint32_t> open = {from};
    while (!open.empty() && work_ <= c_.most_work) {
      const uint32_t x = open.back();
      open.pop_back();
      if (c_.edges.contains(x, to)) return true;
      c_.edges.row(x).for_each([&](uint32_t y) {
        work_++;
        if (seen.emplace(y, true).second) open.push_back(y);
      });
    }
    return false;
  }

  void reach(Value x) {
    if (states_.emplace(static_cast<uint32_t>(x), State{}).second) sources_.push_back(static_cast<uint32_t>(x));
  }
  // Nodes with an edge to x, now or before.
  void before(uint32_t x) {
    c_.edges.column(x).for_each([&](uint32_t w) {
      work_++;
      reach(w);
    });
    for (size_t i = 0; i < c_.removed.size(); i += 2)
      if (c_.removed[i + 1] == x) reach(c_.removed[i]);
  }

  // All that x leads to: nodes whose rows are right bring theirs along, the others are walked through.
  void search(uint32_t x) {
    std::vector<uint32_t> open = {x}, found;
    const auto tag = ++searches_;
    while (!open.empty() && work_ <= c_.most_work) {
      const uint32_t from = open.back();
      open.pop_back();
      c_.edges.row(from).for_each([&](uint32_t y) {
        found.push_back(y);
        work_++;
        const auto state = states_.find(y);
        if (state == states_.end()) {
          const IdSet& row = c_.closure.rows()->row(y);
          work_ += row.size();
          if (work_ <= c_.most_work) row.for_each([&](uint32_t z) { found.push_back(z); });
        } else if (state->second.done) {
          work_ += state->second.row.size();
          found.insert(found.end(), state->second.row.begin(), state->second.row.end());
        } else if (state->second.seen != tag) {
          state->second.seen = tag;
          open.push_back(y);
        }
      });
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    State& s = states_[x];
    s.row = std::move(found);
    s.done = true;
  }

  void store(uint32_t x) {
    const std::vector<uint32_t>& now = states_[x].row;
    std::vector<uint32_t> old, went, came;
    c_.closure.rows()->row(x).for_each([&](uint32_t y) { old.push_back(y); });
    std::set_difference(old.begin(), old.end(), now.begin(), now.end(), std::back_inserter(went));
    std::set_difference(now.begin(), now.end(), old.begin(), old.end(), std::back_inserter(came));
    for (const bool comes : {false, true})
      for (const uint32_t y : comes ? came : went) {
        const Value fact[2] = {x, y};
        comes ? c_.closure.put(fact) : c_.closure.erase(fact);
        c_.changed(fact, comes);
      }
  }

  const ClosureChange& c_;
  std::unordered_map<uint32_t, State> states_;
  std::vector<uint32_t> sources_;
  uint32_t searches_ = 0;
  uint64_t work_ = 0;
};

}  // namespace

bool update_closure(const ClosureChange& change) { return ClosureUpdate(change).run(); }

}  // namespace ingot::logic
