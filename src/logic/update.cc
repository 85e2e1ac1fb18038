#include "logic/update.h"

#include <algorithm>
#include <map>

#include "logic/closure.h"
#include "logic/grounding.h"

namespace ingot::logic {
namespace {

constexpr size_t kMostLossy = 6;  // literals of a rule that changed: all their combinations are tried

// A change may cost a quarter of what computing the stratum anew did. Its steps are dearer: facts go one by one through tables.
constexpr uint64_t kShare = 4, kLeastWork = 1000;
constexpr uint64_t kPerFact = 16, kPerPlan = 100;
constexpr uint64_t kClosureShare = 8;

bool in_stratum(const Stratum& s, int relation) {
  return std::binary_search(s.relations.begin(), s.relations.end(), relation);
}

// Some fact no longer fits into the form of its relation: all must be computed anew.
struct FormChanges {};

using TooMuchWork = Machine::TooMuchWork;

}  // namespace

Updater::Updater(Evaluation& e)
    : e_(e), relations_(e.unit().relations.size()), strata_(stratify(e.unit())), deltas_(3 * relations_) {
  tables_.assign(4 * relations_, nullptr);
  for (size_t t = 0; t < 3 * relations_; t++) {
    deltas_[t] = Relation::of_tuples(e.unit().relations[t % relations_], e.meter());
    tables_[relations_ + t] = deltas_[t].get();
  }
  consumers();
}

void Updater::consumers() {
  consumed_.assign(relations_, false);
  std::vector<size_t> level(relations_, 0);
  for (size_t s = 0; s < strata_.size(); s++)
    for (const int r : strata_[s].relations) level[static_cast<size_t>(r)] = s;
  const std::function<void(size_t, const Body&)> read = [&](size_t head, const Body& body) {
    for (const Literal& l : body) {
      if (l.kind != Literal::Kind::kCompare) {
        const auto r = static_cast<size_t>(l.atom.relation);
        if (level[r] != level[head]) consumed_[r] = true;
      } else if (l.right.aggregate) {
        read(head, l.right.aggregate->body);
      }
    }
  };
  for (const Rule& r : e_.unit().rules) read(static_cast<size_t>(r.head.relation), r.body);
}

void Updater::want(int relation, const Value* fact, bool there) {
  wanted_.push_back({relation, std::vector<Value>(fact, fact + e_.relation(relation).arity()), there});
}

void Updater::run() {
  std::copy(e_.relations().begin(), e_.relations().end(), tables_.begin());
  try {
    if (!broken_) {
      broken_ = true;
      for (const Wanted& w : wanted_) {
        if (w.there && !e_.relation(w.relation).fits(w.fact.data())) throw FormChanges{};
        give(w);
      }
      for (const Stratum& s : strata_) stratum(s);
    } else {
      throw FormChanges{};
    }
  } catch (const FormChanges&) {
    broken_ = true;
    for (const Wanted& w : wanted_) e_.force_given(w.relation, w.fact.data(), w.there);
    e_.compute_all();
    std::copy(e_.relations().begin(), e_.relations().end(), tables_.begin());
  }
  wanted_.clear();
  finish();
  broken_ = false;
}

void Updater::finish() {
  for (const int r : touched_)
    for (const Table which : {kAdded, kRemoved, kFrontier})
      if (table(r, which).size() > 0) table(r, which).tuples()->clear();
  touched_.clear();
}

bool Updater::changed(int relation) {
  return table(relation, kAdded).size() > 0 || table(relation, kRemoved).size() > 0;
}

// A fact that came and then went did not change.
void Updater::note(int relation, const Value* fact, bool came) {
  if (!changed(relation)) touched_.push_back(relation);
  if (!table(relation, came ? kRemoved : kAdded).erase(fact)) table(relation, came ? kAdded : kRemoved).put(fact);
}

void Updater::give(const Wanted& w) {
  const bool changes = e_.set_given(w.relation, w.fact.data(), w.there);
  if (!changes) return;
  Relation& now = table(w.relation, kNow);
  if (!e_.has_rules(w.relation)) {
    if (w.there ? now.put(w.fact.data()) : now.erase(w.fact.data())) note(w.relation, w.fact.data(), w.there);
  } else if (now.contains(w.fact.data()) != w.there) {
    note(w.relation, w.fact.data(), w.there);  // its stratum sees to it
  } else {
    table(w.relation, w.there ? kRemoved : kAdded).erase(w.fact.data());
  }
}

void Updater::stratum(const Stratum& s) {
  std::vector<const Rule*> rules;
  bool any = false;
  for (const int r : s.relations) any = any || (e_.has_rules(r) && changed(r));
  const std::function<void(const Body&)> look = [&](const Body& body) {
    for (const Literal& l : body) {
      if (l.kind != Literal::Kind::kCompare)
        any = any || changed(l.atom.relation);
      else if (l.right.aggregate)
        look(l.right.aggregate->body);
    }
  };
  for (const Rule& r : e_.unit().rules)
    if (!r.is_fact() && in_stratum(s, r.head.relation)) {
      rules.push_back(&r);
      look(r.body);
    }
  if (!any || rules.empty()) return;
  e_.check_cancel();
  if (must_be_anew(s, rules)) return anew(s);
  if (by_closure(s, rules)) return;
  left_ = std::max(e_.work_of(s) / kShare, kLeastWork);
  try {
    lose(s, rules);
    regain(rules, s);
    gain(s, rules);
  } catch (const TooMuchWork&) {
    take_back(s);
    anew(s);
  }
}

void Updater::spend(uint64_t work) {
  if (work > left_) throw TooMuchWork{};
  left_ -= work;
}

// What was done to a stratum that is computed anew after all.
void Updater::take_back(const Stratum& s) {
  plans_.clear();
  for (const int r : s.relations) {
    if (table(r, kFrontier).size() > 0) table(r, kFrontier).tuples()->clear();
    if (!consumed_[static_cast<size_t>(r)]) continue;  // nobody will ask what changed
    table(r, kAdded).for_each([&](const Value* fact) { table(r, kNow).erase(fact); });
    table(r, kRemoved).for_each([&](const Value* fact) { table(r, kNow).put(fact); });
  }
}

bool Updater::must_be_anew(const Stratum& s, const std::vector<const Rule*>& rules) {
  for (const int r : s.relations)
    if (table(r, kNow).best() != Best::kAll) return true;
  const std::function<bool(const Body&, bool)> changes = [&](const Body& body, bool inside) {
    return std::any_of(body.begin(), body.end(), [&](const Literal& l) {
      if (l.kind == Literal::Kind::kCompare) return l.right.aggregate && changes(l.right.aggregate->body, true);
      return inside && changed(l.atom.relation);
    });
  };
  return std::any_of(rules.begin(), rules.end(), [&](const Rule* r) { return changes(r->body, false); });
}

void Updater::anew(const Stratum& s) {
  std::vector<std::unique_ptr<Relation>> before;
  for (const int r : s.relations) {
    for (const Table which : {kAdded, kRemoved})  // given facts that changed: the comparison finds them
      if (table(r, which).size() > 0) table(r, which).tuples()->clear();
    before.push_back(e_.begin_anew(r));
    tables_[static_cast<size_t>(r)] = e_.relations()[static_cast<size_t>(r)];
  }
  e_.compute(s);
  for (size_t i = 0; i < s.relations.size(); i++) {
    const int r = s.relations[i];
    if (!consumed_[static_cast<size_t>(r)]) continue;
    const Relation& now = table(r, kNow);
    before[i]->for_each([&](const Value* fact) {
      if (!now.contains(fact)) note(r, fact, false);
    });
    now.for_each([&](const Value* fact) {
      if (!before[i]->contains(fact)) note(r, fact, true);
    });
  }
}

bool Updater::by_closure(const Stratum& s, const std::vector<const Rule*>& rules) {
  const int p = s.relations[0];
  if (!e_.uses(Evaluation::kClosure) || !s.recursive || s.relations.size() != 1 || changed(p) || e_.has_given(p))
    return false;
  const int base = closed_relation(rules, p);
  if (base < 0 || table(base, kNow).rows() == nullptr || table(p, kNow).rows() == nullptr) return false;
  table(base, kNow).rows()->need_columns();
  std::vector<Value> added, removed;
  table(base, kAdded).for_each([&](const Value* f) { added.insert(added.end(), f, f + 2); });
  table(base, kRemoved).for_each([&](const Value* f) { removed.insert(removed.end(), f, f + 2); });
  for (size_t i = 0; i < added.size(); i += 2)
    if (!table(p, kNow).fits(added.data() + i)) throw FormChanges{};
  const bool consumed = consumed_[static_cast<size_t>(p)];
  const ClosureChange change{*table(base, kNow).rows(),
                             table(p, kNow),
                             added,
                             removed,
                             e_.work_of(s) / kClosureShare + kLeastWork / 10,
                             [&](const Value* fact, bool came) {
                               if (consumed) note(p, fact, came);
                             }};
  if (!update_closure(change)) anew(s);
  return true;
}

void Updater::solve(const Rule& rule, const std::vector<std::pair<size_t, Table>>& reads, std::vector<Value>& heads) {
  Rule r = rule;
  for (const auto& [literal, which] : reads) {
    if (which == kNow) continue;
    const bool negated = r.body[literal].kind == Literal::Kind::kNegated;
    if (negated && which == kRemoved) {  // it may hold now that this is gone, if nothing else stands against it
      r.body.push_back(r.body[literal]);
      r.body.back().kind = Literal::Kind::kAtom;
      r.body.back().atom.relation = static_cast<int>(index(r.body[literal].atom.relation, which));
      continue;
    }
    r.body[literal].kind = Literal::Kind::kAtom;
    r.body[literal].atom.relation = static_cast<int>(index(r.body[literal].atom.relation, which));
  }
  const bool behind = r.body.size() > rule.body.size();
  const JoinPlan plan = plan_join({.unit = e_.unit(),
                                   .rule = r,
                                   .body = r.body,
                                   .relations = tables_,
                                   .first = static_cast<int>(behind ? rule.body.size() : reads[0].first),
                                   .bound = {},
                                   .end = Step::Kind::kSolved});
  spend(kPerPlan);
  Machine machine(e_.unit(), r, plan, nullptr, e_.cancel());
  machine.set_most_work(left_);
  std::vector<Value> slots(static_cast<size_t>(plan.slots));
  machine.solved = [&] {
    for (int i = 0; i < r.slots; i++) slots[static_cast<size_t>(i)] = machine.slot(i);
    for (const Term& t : r.head.arguments) heads.push_back(value_of(e_.unit(), t, slots));
    if (r.head.arguments.empty()) heads.push_back(0);
    return true;
  };
  machine.run();
  spend(machine.work());
}

// All facts that some lost reason leads to, into kRemoved.
void Updater::lose(const Stratum& s, const std::vector<const Rule*>& rules) {
  std::map<int, std::vector<Value>> frontier;
  for (const int r : s.relations)
    table(r, kRemoved).for_each([&](const Value* fact) {
      auto& f = frontier[r];
      f.insert(f.end(), fact, fact + std::max(1, table(r, kNow).arity()));
    });
  const auto take = [&](int r, const std::vector<Value>& heads) {
    const auto step = static_cast<size_t>(std::max(1, table(r, kNow).arity()));
    for (size_t i = 0; i < heads.size(); i += step) {
      const Value* fact = heads.data() + i;
      if (!table(r, kNow).contains(fact) || e_.is_given(r, fact)) continue;
      if (table(r, kRemoved).contains(fact)) continue;
      note(r, fact, false);
      spend(kPerFact);
      frontier[r].insert(frontier[r].end(), fact, fact + step);
    }
  };
  for (const Rule* r : rules) {
    std::vector<std::pair<size_t, Table>> lossy;
    for (size_t l = 0; l < r->body.size(); l++) {
      const Literal& literal = r->body[l];
      if (literal.kind == Literal::Kind::kCompare || in_stratum(s, literal.atom.relation)) continue;
      const Table which = literal.kind == Literal::Kind::kNegated ? kAdded : kRemoved;
      if (table(literal.atom.relation, which).size() > 0) lossy.emplace_back(l, which);
    }
    if (lossy.size() > kMostLossy) throw TooMuchWork{};
    for (uint32_t some = 1; some < (1u << lossy.size()); some++) {
      std::vector<std::pair<size_t, Table>> reads;
      for (size_t i = 0; i < lossy.size(); i++)
        if ((some >> i & 1) != 0) reads.push_back(lossy[i]);
      std::vector<Value> heads;
      solve(*r, reads, heads);
      take(r->head.relation, heads);
    }
  }
  while (!frontier.empty()) {
    const auto last = std::exchange(frontier, {});
    for (const auto& [r, facts] : last) {
      touched_.push_back(r);
      Relation& f = table(r, kFrontier);
      f.tuples()->clear();
      const auto step = static_cast<size_t>(std::max(1, f.arity()));
      for (size_t i = 0; i < facts.size(); i += step) f.put(facts.data() + i);
    }
    for (const Rule* r : rules)
      for (size_t l = 0; l < r->body.size(); l++) {
        if (r->body[l].kind != Literal::Kind::kAtom || last.count(r->body[l].atom.relation) == 0) continue;
        std::vector<Value> heads;
        solve(*r, {{l, kFrontier}}, heads);
        take(r->head.relation, heads);
      }
    for (const auto& [r, facts] : last) table(r, kFrontier).tuples()->clear();
  }
}

bool Updater::derivable(const std::vector<const Rule*>& rules, int relation, const std::vector<Value>& fact) {
  plans_.resize(rules.size());
  for (size_t n = 0; n < rules.size(); n++) {
    const Rule* r = rules[n];
    if (r->head.relation != relation) continue;
    std::vector<bool> bound;
    std::vector<Value> values;
    bool found = false;
    if (!Grounding::bind(*r, fact, bound, values)) continue;
    if (!plans_[n]) plans_[n] = std::make_unique<JoinPlan>(e_.plan_for(*r, bound, false));
    const JoinPlan& plan = *plans_[n];
    Machine machine(e_.unit(), *r, plan, nullptr, e_.cancel());
    for (size_t i = 0; i < values.size(); i++) machine.slot(static_cast<int>(i)) = values[i];
    std::vector<Value> slots(static_cast<size_t>(plan.slots));
    machine.solved = [&] {
      for (int i = 0; i < r->slots; i++) slots[static_cast<size_t>(i)] = machine.slot(i);
      found = true;
      for (size_t c = 0; c < fact.size() && found; c++)
        found = value_of(e_.unit(), r->head.arguments[c], slots) == fact[c];
      return !found;
    };
    machine.set_most_work(left_);
    machine.run();
    spend(machine.work() + kPerFact);
    if (found) return true;
  }
  return false;
}

// Facts that lost a reason go; those that have another come back.
void Updater::regain(const std::vector<const Rule*>& rules, const Stratum& s) {
  std::map<int, std::vector<std::vector<Value>>> lost;
  for (const int r : s.relations)
    table(r, kRemoved).for_each([&](const Value* fact) { lost[r].emplace_back(fact, fact + table(r, kNow).arity()); });
  for (const auto& [r, facts] : lost)
    for (const auto& fact : facts) table(r, kNow).erase(fact.data());
  for (const auto& [r, facts] : lost)
    for (const auto& fact : facts)
      if (derivable(rules, r, fact)) {
        table(r, kNow).put(fact.data());
        note(r, fact.data(), true);
        touched_.push_back(r);
        table(r, kFrontier).put(fact.data());
      }
  plans_.clear();
}

// Facts that are new below, and those that came back, lead to more. kFrontier has the latter.
void Updater::gain(const Stratum& s, const std::vector<const Rule*>& rules) {
  std::map<int, std::vector<Value>> next;
  const auto take = [&](int r, const std::vector<Value>& heads) {
    const auto step = static_cast<size_t>(std::max(1, table(r, kNow).arity()));
    for (size_t i = 0; i < heads.size(); i += step) {
      const Value* fact = heads.data() + i;
      if (!table(r, kNow).fits(fact)) throw FormChanges{};
      if (!table(r, kNow).put(fact)) continue;
      note(r, fact, true);
      spend(kPerFact);
      next[r].insert(next[r].end(), fact, fact + step);
    }
  };
  for (const int r : s.relations) {  // given facts
    std::vector<Value> given;
    table(r, kAdded).for_each([&](const Value* fact) {
      if (!table(r, kNow).contains(fact)) given.insert(given.end(), fact, fact + std::max(1, table(r, kNow).arity()));
    });
    const auto step = static_cast<size_t>(std::max(1, table(r, kNow).arity()));
    for (size_t i = 0; i < given.size(); i += step) {
      table(r, kNow).put(given.data() + i);
      next[r].insert(next[r].end(), given.begin() + static_cast<ptrdiff_t>(i),
                     given.begin() + static_cast<ptrdiff_t>(i + step));
    }
  }
  std::vector<std::pair<const Rule*, std::pair<size_t, Table>>> begin;
  for (const Rule* r : rules)
    for (size_t l = 0; l < r->body.size(); l++) {
      const Literal& literal = r->body[l];
      if (literal.kind == Literal::Kind::kCompare || in_stratum(s, literal.atom.relation)) continue;
      const Table which = literal.kind == Literal::Kind::kNegated ? kRemoved : kAdded;
      if (table(literal.atom.relation, which).size() > 0) begin.push_back({r, {l, which}});
    }
  for (const auto& [r, read] : begin) {
    std::vector<Value> heads;
    solve(*r, {read}, heads);
    take(r->head.relation, heads);
  }
  for (;;) {
    bool more = false;
    for (const int r : s.relations) more = more || table(r, kFrontier).size() > 0;
    if (more) {
      for (const Rule* r : rules)
        for (size_t l = 0; l < r->body.size(); l++) {
          const Literal& literal = r->body[l];
          if (literal.kind != Literal::Kind::kAtom || !in_stratum(s, literal.atom.relation) ||
              table(literal.atom.relation, kFrontier).size() == 0)
            continue;
          std::vector<Value> heads;
          solve(*r, {{l, kFrontier}}, heads);
          take(r->head.relation, heads);
        }
    } else if (next.empty()) {
      return;
    }
    for (const int r : s.relations)
      if (table(r, kFrontier).size() > 0) table(r, kFrontier).tuples()->clear();
    for (const auto& [r, facts] : std::exchange(next, {})) {
      touched_.push_back(r);
      const auto step = static_cast<size_t>(std::max(1, table(r, kNow).arity()));
      for (size_t i = 0; i < facts.size(); i += step) table(r, kFrontier).put(facts.data() + i);
    }
  }
}

}  // namespace ingot::logic
