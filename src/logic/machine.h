// Runs the steps of a plan.
#pragma once
#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "logic/join_plan.h"
#include "logic/shards.h"

namespace ingot::logic {

/// What a term is, with these values in its slots.
Value value_of(Unit& unit, const Term& term, std::span<const Value> slots);

class Machine {
 public:
  /// `head` takes what the plan emits.
  Machine(Unit& unit, const Rule& rule, const JoinPlan& plan, Relation* head, const std::atomic<bool>* cancel);

  Value& slot(int i) { return slots_[static_cast<size_t>(i)]; }
  /// Emits facts into the head, or calls `solved` for each solution of a plan that ends with kSolved; false ends it.
  void run() { step(0); }
  std::function<bool()> solved;
  /// How many steps of the plan some solution came through: what fails first is the next one.
  size_t deepest() const { return deepest_; }
  const std::vector<Value>& deepest_slots() const { return deepest_slots_; }
  void watch_depth() { watching_ = true; }
  /// Only solutions whose rows of the head are in this member's shard; they go into `found`.
  void share(const Shards& shards, const Team& team, Rows::Found& found);
  /// Steps, and members of sets that were united: the same in all, however many machines share a plan.
  uint64_t work() const { return work_; }
  /// More than so much work throws TooMuchWork.
  void set_most_work(uint64_t most) { most_work_ = most; }
  struct TooMuchWork {};

  static bool holds(Comparison comparison, int order);

 private:
  using Kind = Step::Kind;
  static constexpr uint64_t kLook = 1024;  // work between two looks at what may stop it
  void step(size_t i);
  void keys(const Step& s, size_t i);
  void each(const Step& s, const IdSet& set, size_t i);
  void scan(const Step& s, size_t i);
  bool tuple(const Step& s, uint32_t t, size_t i);
  bool exists(const Step& s) const;
  void range(const Step& s, size_t i);
  void aggregate(const Step& s, size_t i);
  void emit();
  void unite(const Step& s, size_t i);
  bool compare(const Literal& l);
  const IdSet& set_of(const Step& s) const;
  Value value(const Operand& o) const { return o.slot >= 0 ? slots_[static_cast<size_t>(o.slot)] : o.value; }
  Value value(const Term& t) {
    return t.is_variable() ? slots_[static_cast<size_t>(t.slot)] : value_of(unit_, t, slots_);
  }
  bool bound(const Step& s, size_t i, Value v);
  void tick(size_t i, uint64_t work = 1) {
    if (i < counted_from_) return;
    work_ += work;
    if (work_ >= next_look_) look();
  }
  void look();

  Unit& unit_;
  const Rule& rule_;
  const std::vector<Step>* steps_;
  Relation* head_;
  std::vector<Value> slots_;
  const std::atomic<bool>* cancel_;
  uint64_t work_ = 0, next_look_ = kLook, most_work_ = UINT64_MAX;
  size_t counted_from_ = 0;
  int shard_slot_ = -1;
  Team team_ = {};
  Rows::Found* found_ = nullptr;
  bool stopped_ = false, watching_ = false;
  size_t deepest_ = 0;
  std::vector<Value> deepest_slots_;
};

}  // namespace ingot::logic
