// Every variable must get its values from somewhere, and a column that keeps the best value must be used as such.
#include <set>
#include <vector>

#include "ingot/base/text.h"
#include "logic/check.h"

namespace ingot::logic {
namespace {

class Safety {
 public:
  Safety(const Unit& unit, const Rule& rule) : unit_(unit), rule_(rule) {}

  void check() {
    std::set<int> bound;
    body(rule_.body, bound);
    for (const Term& t : rule_.head.arguments) {
      any(t, "in the head of a rule");
      each_variable(t, [&](const Term& v) { need(v, bound); });
    }
  }

 private:
  static bool all_bound(const Term& t, const std::set<int>& bound) {
    bool all = true;
    each_variable(t, [&](const Term& v) { all = all && bound.count(v.slot) > 0; });
    return all;
  }

  // What atoms and equations bind, until nothing more is; then all else must be bound.
  void body(const Body& literals, std::set<int>& bound) {
    for (const Literal& l : literals)
      if (l.kind == Literal::Kind::kAtom) each_variable(l, [&](const Term& v) { bound.insert(v.slot); });
    for (bool more = true; more;) {
      const size_t before = bound.size();
      for (const Literal& l : literals) {
        if (l.kind != Literal::Kind::kCompare || l.comparison != Comparison::kEqual) continue;
        const bool left = all_bound(l.left, bound), right = ready(l.right, literals, bound);
        if (l.left.is_variable() && right) bound.insert(l.left.slot);
        if (l.right.is_variable() && left) bound.insert(l.right.slot);
      }
      more = before != bound.size();
    }
    for (const Literal& l : literals) {
      if (l.kind == Literal::Kind::kCompare) {
        any(l.left, "in a comparison");
        any(l.right, "in a comparison");
      }
      if (l.right.aggregate) {
        std::set<int> inside = bound;
        for (const Term& t : l.right.aggregate->terms) any(t, "as what is folded");
        shared(l.right, literals, bound);
        body(l.right.aggregate->body, inside);
        for (const Term& t : l.right.aggregate->terms) each_variable(t, [&](const Term& v) { need(v, inside); });
      }
      each_variable(l, [&](const Term& v) { need(v, bound); });
    }
  }

  // An aggregate waits for those of its variables that stand outside of it, too.
  std::vector<const Term*> missing(const Term& t, const Body& around, const std::set<int>& bound) const {
    std::set<int> outside;
    for (const Literal& l : around) each_variable(l, [&](const Term& v) { outside.insert(v.slot); });
    for (const Term& h : rule_.head.arguments) each_variable(h, [&](const Term& v) { outside.insert(v.slot); });
    std::vector<const Term*> all;
    for (const Literal& l : t.aggregate->body)
      each_variable(l, [&](const Term& v) {
        if (outside.count(v.slot) > 0 && bound.count(v.slot) == 0) all.push_back(&v);
      });
    return all;
  }
  bool ready(const Term& t, const Body& around, const std::set<int>& bound) const {
    return t.aggregate ? missing(t, around, bound).empty() : all_bound(t, bound);
  }
  void shared(const Term& t, const Body& around, const std::set<int>& bound) const {
    for (const Term* v : missing(t, around, bound)) need(*v, bound);
  }

  void need(const Term& v, const std::set<int>& bound) const {
    if (bound.count(v.slot) > 0) return;
    unit_.sources.fail(v.at,
                       v.name.starts_with(' ') ? "this term has a variable that gets no values"
                                               : "nothing says which values " + in_quotes(v.name) + " can have",
                       "name it in an atom that is not negated");
  }

  void any(const Term& t, const std::string& where) const {
    if (t.kind == Term::Kind::kAny) unit_.sources.fail(t.at, "_ " + where + " means nothing", "give it a name");
    for (const Term& part : t.parts) any(part, "inside a term");
  }

  const Unit& unit_;
  const Rule& rule_;
};

// The value that a recursive rule reads may only get better into the head: then the order of rounds does not matter.
class BestUse {
 public:
  BestUse(const Unit& unit, const Rule& rule, const std::set<int>& together) : unit_(unit), rule_(rule) {
    for (const Literal& l : rule.body) {
      if (l.kind != Literal::Kind::kAtom || together.count(l.atom.relation) == 0) continue;
      const Declaration& d = unit.relations[static_cast<size_t>(l.atom.relation)];
      if (d.best == Best::kAll) continue;
      if (l.atom.arguments.back().is_variable()) values_.insert(l.atom.arguments.back().slot);
      least_ = d.best == Best::kMin;
      reads_ = true;
      if (l.atom.arguments.back().is_constant()) refuse(l.atom.arguments.back().at);
    }
  }
  void check(const std::set<int>& together) {
    if (!reads_) return;
    const Declaration& head = unit_.relations[static_cast<size_t>(rule_.head.relation)];
    if (together.count(rule_.head.relation) == 0) return;
    if (head.best == Best::kAll || (head.best == Best::kMin) != least_)
      unit_.sources.fail(rule_.head.at,
                         in_quotes(head.name) +
                             " is computed together with a relation that keeps best values, but does not keep " +
                             (least_ ? "least" : "greatest") + " values itself",
                         "compute it afterwards, by rules of its own");
    grow();
    for (size_t i = 0; i + 1 < rule_.head.arguments.size(); i++)
      each_variable(rule_.head.arguments[i], [&](const Term& v) { not_a_value(v); });
    if (!monotone(rule_.head.arguments.back())) refuse(rule_.head.arguments.back().at);
    std::set<int> atoms;
    for (const Literal& l : rule_.body) {
      if (l.kind == Literal::Kind::kCompare) {
        comparison(l);
        continue;
      }
      const bool best = l.kind == Literal::Kind::kAtom && together.count(l.atom.relation) > 0;
      for (size_t c = 0; c < l.atom.arguments.size(); c++) {
        const Term& t = l.atom.arguments[c];
        if (!t.is_variable() || values_.count(t.slot) == 0) continue;
        if (!best || c + 1 < l.atom.arguments.size() || !atoms.insert(t.slot).second) refuse(t.at);
      }
    }
  }

 private:
  [[noreturn]] void refuse(int at) const {
    unit_.sources.fail(
        at,
        std::string("a ") + (least_ ? "least" : "greatest") + " value that may still change is used for more than a " +
            (least_ ? "least" : "greatest") + " value",
        "in its own recursion it may be added to, and bounded; use it in a rule of a relation computed afterwards");
  }
  // Variables that are computed from values are values.
  void grow() {
    for (bool more = true; more;) {
      more = false;
      for (const Literal& l : rule_.body) {
        if (l.kind != Literal::Kind::kCompare || l.comparison != Comparison::kEqual) continue;
        bool from = false;
        each_variable(l.right, [&](const Term& v) { from = from || values_.count(v.slot) > 0; });
        if (from && l.left.is_variable() && values_.insert(l.left.slot).second) more = true;
      }
    }
  }
  bool has_value(const Term& t) const {
    bool has = false;
    each_variable(t, [&](const Term& v) { has = has || values_.count(v.slot) > 0; });
    return has;
  }
  bool monotone(const Term& t) const {
    if (!has_value(t) || t.is_variable()) return true;
    if (t.kind != Term::Kind::kCall || t.function == nullptr) return false;
    switch (t.function->code) {
      case Code::kAdd:
      case Code::kMin:
      case Code::kMax: break;
      case Code::kSubtract:
        if (has_value(t.parts[1])) return false;
        break;
      case Code::kMultiply: {  // by a constant that does not turn the order around
        const Term& factor = has_value(t.parts[0]) ? t.parts[1] : t.parts[0];
        if (!factor.is_constant() || factor.name.starts_with('-')) return false;
        break;
      }
      default: return false;
    }
    for (const Term& part : t.parts)
      if (!monotone(part)) return false;
    return true;
  }
  void comparison(const Literal& l) const {
    const bool left = has_value(l.left), right = has_value(l.right);
    if (!left && !right) return;
    if (l.comparison == Comparison::kEqual && l.left.is_variable() && monotone(l.right)) return;
    const bool less = l.comparison == Comparison::kLess || l.comparison == Comparison::kLessEqual;
    const bool greater = l.comparison == Comparison::kGreater || l.comparison == Comparison::kGreaterEqual;
    // A bound that better values pass more easily.
    if (left && !right && monotone(l.left) && (least_ ? less : greater)) return;
    if (right && !left && monotone(l.right) && (least_ ? greater : less)) return;
    refuse(l.at);
  }
  void not_a_value(const Term& v) const {
    if (values_.count(v.slot) > 0) refuse(v.at);
  }

  const Unit& unit_;
  const Rule& rule_;
  std::set<int> values_;
  bool least_ = true, reads_ = false;
};

}  // namespace

void check_safety(Unit& unit) {
  for (const Rule& r : unit.rules) Safety(unit, r).check();
  for (const Stratum& s : stratify(unit)) {
    const std::set<int> together(s.relations.begin(), s.relations.end());
    if (!s.recursive) continue;
    for (const Rule& r : unit.rules)
      if (together.count(r.head.relation) > 0) BestUse(unit, r, together).check(together);
  }
}

}  // namespace ingot::logic
