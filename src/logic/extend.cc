#include "logic/extend.h"

#include <algorithm>

#include "logic/parse.h"
#include "logic/update.h"

namespace ingot::logic {
namespace {

// Calls f(relation) for all relations that a body reads.
template <class F>
void each_relation(const Body& body, const F& f) {
  for (const Literal& l : body) {
    if (l.kind != Literal::Kind::kCompare)
      f(l.atom.relation);
    else if (l.right.aggregate)
      each_relation(l.right.aggregate->body, f);
  }
}

// Can one hold the facts of the other, from the same files?
bool same_kind(const Declaration& a, const Declaration& b) {
  return a.best == b.best && a.coin == b.coin && a.requests.size() == b.requests.size() &&
         std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                    [](const Column& x, const Column& y) { return x.type == y.type; });
}

std::vector<size_t> rule_counts(const Unit& unit) {
  std::vector<size_t> counts(unit.relations.size(), 0);
  for (const Rule& r : unit.rules) counts[static_cast<size_t>(r.head.relation)]++;
  return counts;
}

}  // namespace

// Statements are only added, so a relation is another one if it has more rules, facts or files, or another kind of columns;
// and so is what reads such a one.
std::vector<bool> Evaluation::changed_since(const Evaluation& before) const {
  const std::vector<size_t> now = rule_counts(unit_), then = rule_counts(before.unit_);
  std::vector<bool> changed(unit_.relations.size(), true);
  for (size_t i = 0; i < changed.size(); i++) {
    const Declaration& d = unit_.relations[i];
    const int number = before.unit_.find(d.name);
    if (number < 0) continue;
    const auto k = static_cast<size_t>(number);
    const Declaration& other = before.unit_.relations[k];
    changed[i] = now[i] != then[k] || !same_kind(d, other) || d.uncertain != other.uncertain;
  }
  for (bool more = true; more;) {
    more = false;
    for (const Rule& r : unit_.rules) {
      if (changed[static_cast<size_t>(r.head.relation)]) continue;
      bool reads = false;
      each_relation(r.body, [&](int relation) { reads = reads || changed[static_cast<size_t>(relation)]; });
      if (reads) changed[static_cast<size_t>(r.head.relation)] = more = true;
    }
  }
  return changed;
}

void Evaluation::adopt(Evaluation& before) {
  const std::vector<bool> changed = changed_since(before);
  adopted_.assign(relations_.size(), -1);
  inherits_.assign(relations_.size(), false);
  inherited_to_ = static_cast<int>(before.unit_.sources.first().size());
  for (size_t i = 0; i < relations_.size(); i++) {
    const int number = before.unit_.find(unit_.relations[i].name);
    const auto k = static_cast<size_t>(number);
    if (changed[i]) {
      inherits_[i] = number >= 0 && same_kind(unit_.relations[i], before.unit_.relations[k]);
      if (!inherits_[i]) continue;
      if (const Relation* given = before.given(number))
        given->for_each([&](const Value* fact) { relations_[i]->stage(fact); });
      continue;
    }
    adopted_[i] = number;
    relations_[i].swap(before.relations_[k]);
    given_[i].swap(before.given_[k]);
    pointers_[i] = relations_[i].get();
    before.pointers_[k] = before.relations_[k].get();
    stratum_work_[i] = before.stratum_work_[k];
  }
  for (Work& w : works_)
    for (const Work& other : before.works_)
      if (is_adopted(w.rule->head.relation) && other.rule->at == w.rule->at &&
          other.rule->head.name == w.rule->head.name && w.how.empty()) {
        const Rule* rule = w.rule;
        w = other;
        w.rule = rule;
      }
}

void Evaluation::give_back(Evaluation& before) {
  for (size_t i = 0; i < adopted_.size(); i++) {
    if (adopted_[i] < 0) continue;
    const auto k = static_cast<size_t>(adopted_[i]);
    relations_[i].swap(before.relations_[k]);
    given_[i].swap(before.given_[k]);
    before.pointers_[k] = before.relations_[k].get();
  }
  adopted_.clear();
}

Extension::Extension(Evaluation& before, const std::string& statements) : before_(before) {
  before.run();
  // Facts hold numbers of texts, so the longer program is read with the same table of them.
  Unit unit;
  Symbols& known = before.unit().symbols;
  unit.dialect = before.unit().dialect;
  unit.symbols.swap(known);
  try {
    Parser(unit).parse(before.unit().sources.names()[0], before.unit().sources.first() + "\n" + statements);
    check(unit);
  } catch (...) {
    unit.symbols.swap(known);
    throw;
  }
  unit.symbols.swap(known);
  now_ = std::make_unique<Evaluation>(unit, before.options(), before.shared_meter());
  now_->adopt(before);
  now_->unit().symbols.swap(known);
}

Extension::~Extension() {
  if (!now_) return;
  now_->unit().symbols.swap(before_.unit().symbols);
  now_->give_back(before_);
}

}  // namespace ingot::logic
