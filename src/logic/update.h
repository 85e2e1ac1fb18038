// Facts that come and go when rules are done: what follows from them changes stratum by stratum. Facts that lose a reason go
// first, those that have another come back, then new ones follow (delete and rederive). Closures search anew from the nodes
// that reach a changed edge. Aggregates and best values are computed anew, and so is a stratum when the change has cost a
// good part of what that costs: it never takes much longer.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "logic/evaluate.h"

namespace ingot::logic {

/// Rows of a closure after these edges (u, v, u, v …) came and went, in `edges` already. False, and nothing done, if that would
/// be too much work.
struct ClosureChange {
  const Rows& edges;  // with columns
  Relation& closure;
  const std::vector<Value>&added, &removed;
  uint64_t most_work;
  std::function<void(const Value*, bool)> changed;  // a fact, and whether it came
};
bool update_closure(const ClosureChange& change);

class Updater {
 public:
  explicit Updater(Evaluation& evaluation);
  /// What becomes of the given facts in the next run().
  void want(int relation, const Value* fact, bool there);
  bool empty() const { return wanted_.empty(); }
  void run();

 private:
  struct Wanted {
    int relation;
    std::vector<Value> fact;
    bool there;
  };
  enum Table : int { kNow = 0, kAdded = 1, kRemoved = 2, kFrontier = 3 };

  Relation& table(int relation, Table which) { return *tables_[index(relation, which)]; }
  size_t index(int relation, Table which) const {
    return static_cast<size_t>(which) * relations_ + static_cast<size_t>(relation);
  }
  void note(int relation, const Value* fact, bool came);
  void give(const Wanted& w);
  bool changed(int relation);
  void stratum(const Stratum& s);
  void spend(uint64_t work);
  void take_back(const Stratum& s);
  bool must_be_anew(const Stratum& s, const std::vector<const Rule*>& rules);
  void anew(const Stratum& s);
  bool by_closure(const Stratum& s, const std::vector<const Rule*>& rules);
  void lose(const Stratum& s, const std::vector<const Rule*>& rules);
  void regain(const std::vector<const Rule*>& rules, const Stratum& s);
  void gain(const Stratum& s, const std::vector<const Rule*>& rules);
  bool derivable(const std::vector<const Rule*>& rules, int relation, const std::vector<Value>& fact);
  /// Heads of the rule's solutions when literals read other tables than kNow; `first` is the one to begin with.
  void solve(const Rule& rule, const std::vector<std::pair<size_t, Table>>& reads, std::vector<Value>& heads);
  void consumers();
  void finish();

  Evaluation& e_;
  size_t relations_;
  std::vector<Stratum> strata_;
  std::vector<std::unique_ptr<Relation>> deltas_;  // added, removed, frontier of each relation, made when needed
  std::vector<Relation*> tables_;                  // all four
  std::vector<bool> consumed_;                     // some rule outside of its stratum reads it
  std::vector<Wanted> wanted_;
  std::vector<int> touched_;                      // relations with entries in added or removed
  std::vector<std::unique_ptr<JoinPlan>> plans_;  // of derivable()
  uint64_t left_ = 0;                             // work that the stratum's change may still cost
  bool broken_ = false;
};

}  // namespace ingot::logic
