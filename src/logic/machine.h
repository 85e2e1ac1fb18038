// Runs the steps of a plan.
#pragma once
#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "logic/join_plan.h"

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

  static bool holds(Comparison comparison, int order);

 private:
  using Kind = Step::Kind;
  void step(size_t i);
  void keys(const Step& s, size_t i);
  void row(const Step& s, size_t i);
  void each(const Step& s, const IdSet& set, size_t i);
  void scan(const Step& s, size_t i);
  bool tuple(const Step& s, uint32_t t, size_t i);
  bool exists(const Step& s) const;
  void range(const Step& s, size_t i);
  void aggregate(const Step& s, size_t i);
  void emit();
  void unite(const Step& s);
  bool compare(const Literal& l);
  const IdSet& set_of(const Step& s) const;
  Value value(const Operand& o) const { return o.slot >= 0 ? slots_[static_cast<size_t>(o.slot)] : o.value; }
  Value value(const Term& t) {
    return t.is_variable() ? slots_[static_cast<size_t>(t.slot)] : value_of(unit_, t, slots_);
  }
  void tick();

  Unit& unit_;
  const Rule& rule_;
  const std::vector<Step>* steps_;
  Relation* head_;
  std::vector<Value> slots_;
  const std::atomic<bool>* cancel_;
  uint32_t ticks_ = 0;
  bool stopped_ = false, watching_ = false;
  size_t deepest_ = 0;
  std::vector<Value> deepest_slots_;
};

}  // namespace ingot::logic
