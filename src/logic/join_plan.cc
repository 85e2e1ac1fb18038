#include "logic/join_plan.h"

#include <algorithm>
#include <cmath>

#include "ingot/base/text.h"
#include "logic/check.h"

namespace ingot::logic {
namespace {

constexpr double kLate = 1e12;

class Planner {
 public:
  explicit Planner(const PlanRequest& request) : r_(request), bound_(request.bound) {
    plan_.slots = request.rule.slots;
    bound_.resize(static_cast<size_t>(plan_.slots), false);
    done_.assign(request.body.size(), false);
  }

  JoinPlan plan() {
    flush();
    for (const int begin : {r_.fresh, r_.first}) {
      if (begin < 0 || done_[static_cast<size_t>(begin)]) continue;
      atom(static_cast<size_t>(begin));
      flush();
    }
    for (;;) {
      const int next = cheapest();
      if (next < 0) break;
      atom(static_cast<size_t>(next));
      flush();
    }
    plan_.steps.push_back({.kind = r_.end});
    if (r_.end == Step::Kind::kEmit) {
      plan_.steps.back().relation = relation(r_.rule.head);
      unite_at_end();
    }
    return std::move(plan_);
  }

 private:
  Relation* relation(const Atom& a) const { return r_.relations[static_cast<size_t>(a.relation)]; }
  bool is_bound(const Term& t) const {
    return t.is_constant() || (t.is_variable() && bound_[static_cast<size_t>(t.slot)]);
  }
  bool ready(const Term& t) const {
    if (t.is_variable()) return is_bound(t);
    return std::all_of(t.parts.begin(), t.parts.end(), [&](const Term& part) { return ready(part); });
  }
  static Operand operand(const Term& t) { return t.is_variable() ? Operand{t.slot, 0} : Operand{-1, t.value}; }
  int bind(const Term& t) {
    if (!t.is_variable()) return plan_.slots++;  // `_`
    bound_[static_cast<size_t>(t.slot)] = true;
    return t.slot;
  }
  bool unnamed(const Term& t) const { return t.kind == Term::Kind::kAny && !r_.enumerate; }

  // What an atom costs as the next step: how many solutions it has for each that there is.
  double cost(size_t i) const {
    const Atom& a = r_.body[i].atom;
    const Relation& rel = *relation(a);
    const auto size = static_cast<double>(rel.size());
    if (const Rows* rows = rel.rows()) {
      const bool fresh = static_cast<int>(i) == r_.fresh;
      const double all = fresh ? static_cast<double>(rows->fresh_size()) : size;
      const double keys = fresh ? static_cast<double>(rows->fresh_keys().size()) : rows->used_rows();
      if (a.arguments.size() == 1) return all;
      if (is_bound(a.arguments[0])) return all / std::max(1.0, keys);
      if (is_bound(a.arguments[1])) return size / std::max(1.0, std::min(size, rows->top() + 1.0));
      return keys;
    }
    double known = 0;
    for (const Term& t : a.arguments) known += is_bound(t) ? 1 : 0;
    const double columns =
        std::max<double>(1, static_cast<double>(a.arguments.size()) - (rel.best() == Best::kAll ? 0 : 1));
    return std::pow(std::max(1.0, size), std::max(0.0, 1 - known / columns));
  }

  int cheapest() const {
    int best = -1;
    double least = 0;
    for (size_t i = 0; i < r_.body.size(); i++) {
      if (done_[i] || r_.body[i].kind != Literal::Kind::kAtom) continue;
      const double c = cost(i) * (waits(i) ? kLate : 1);
      if (best >= 0 && (r_.as_written || c >= least)) continue;
      best = static_cast<int>(i);
      least = c;
    }
    return best;
  }

  // An atom that only binds the head's last variable had better be the last one: then whole sets are united. Not if others
  // need that variable to find theirs.
  bool waits(size_t i) const {
    if (!r_.sets || r_.end != Step::Kind::kEmit || relation(r_.rule.head)->rows() == nullptr) return false;
    const Term& z = r_.rule.head.arguments.back();
    if (!z.is_variable() || relation(r_.body[i].atom)->rows() == nullptr) return false;
    const auto is_z = [&](const Term& t) { return t.is_variable() && t.slot == z.slot; };
    const auto others_bound = [&](const Atom& a) {
      return std::all_of(a.arguments.begin(), a.arguments.end(), [&](const Term& t) { return is_z(t) || is_bound(t); });
    };
    const auto has_z = [&](const Atom& a) { return std::any_of(a.arguments.begin(), a.arguments.end(), is_z); };
    if (!has_z(r_.body[i].atom) || !others_bound(r_.body[i].atom)) return false;
    for (size_t k = 0; k < r_.body.size(); k++)
      if (!done_[k] && k != i && r_.body[k].kind == Literal::Kind::kAtom && has_z(r_.body[k].atom) &&
          !others_bound(r_.body[k].atom))
        return false;
    return true;
  }

  // Everything that needs no more than what is bound: tests first, then new values, then facts.
  void flush() {
    for (bool more = true; more;) {
      more = false;
      for (size_t i = 0; i < r_.body.size() && !more; i++)
        more = !done_[i] && r_.body[i].kind == Literal::Kind::kCompare && test(i);
      for (size_t i = 0; i < r_.body.size() && !more; i++)
        more = !done_[i] && r_.body[i].kind == Literal::Kind::kCompare && value(i);
      for (size_t i = 0; i < r_.body.size() && !more; i++)
        more = !done_[i] && r_.body[i].kind != Literal::Kind::kCompare && fact(i);
    }
  }

  bool finished(size_t i, Step step) {
    step.literal = &r_.body[i];
    plan_.steps.push_back(std::move(step));
    done_[i] = true;
    return true;
  }

  bool test(size_t i) {
    const Literal& l = r_.body[i];
    if (is_generator(l) || !ready(l.left) || !ready(l.right)) return false;
    return finished(i, {.kind = Step::Kind::kCompare});
  }

  bool value(size_t i) {
    const Literal& l = r_.body[i];
    if (l.right.aggregate) return aggregate(i);
    if (is_generator(l)) {
      if (!ready(l.right)) return false;
      Step s{.kind = Step::Kind::kRange, .slot = -1, .term = &l.right};
      if (!is_bound(l.left)) s.slot = bind(l.left);
      s.key = operand(l.left);
      return finished(i, std::move(s));
    }
    if (l.comparison != Comparison::kEqual) return false;
    const bool left = l.left.is_variable() && ready(l.right);
    if (!left && !(l.right.is_variable() && ready(l.left))) return false;
    Step s{.kind = Step::Kind::kAssign, .term = left ? &l.right : &l.left};
    s.slot = bind(left ? l.left : l.right);
    return finished(i, std::move(s));
  }

  bool aggregate(size_t i) {
    const Literal& l = r_.body[i];
    const Aggregate& a = *l.right.aggregate;
    // Variables that the aggregate shares with what is outside of it come first.
    std::vector<bool> outside(static_cast<size_t>(r_.rule.slots), false);
    const auto mark = [&](const Term& v) { outside[static_cast<size_t>(v.slot)] = true; };
    for (const Term& t : r_.rule.head.arguments) each_variable(t, mark);
    for (const Literal& other : r_.body) each_variable(other, mark);
    bool all = true;
    for (const Literal& inner : a.body)
      each_variable(inner, [&](const Term& v) { all = all && (!outside[static_cast<size_t>(v.slot)] || is_bound(v)); });
    if (!all) return false;
    Step s{.kind = Step::Kind::kAggregate, .term = &l.right};
    PlanRequest inner{.unit = r_.unit,
                      .rule = r_.rule,
                      .body = a.body,
                      .relations = r_.relations,
                      .fresh = -1,
                      .bound = bound_,
                      .enumerate = true,
                      .end = Step::Kind::kSolved};
    s.inner = std::make_unique<JoinPlan>(plan_join(inner));
    plan_.slots = std::max(plan_.slots, s.inner->slots);
    if (!is_bound(l.left)) s.slot = bind(l.left);
    s.key = operand(l.left);
    return finished(i, std::move(s));
  }

  bool fact(size_t i) {
    const Literal& l = r_.body[i];
    bool named = true, enough = true;
    for (const Term& t : l.atom.arguments) {
      named = named && t.kind != Term::Kind::kAny;
      enough =
          enough && (is_bound(t) || (t.kind == Term::Kind::kAny && (l.kind == Literal::Kind::kNegated || unnamed(t))));
    }
    if (!enough) return false;
    Step s{.kind = named ? Step::Kind::kContains : Step::Kind::kExists,
           .relation = relation(l.atom),
           .negated = l.kind == Literal::Kind::kNegated};
    for (const Term& t : l.atom.arguments) s.operands.push_back(operand(t));
    if (named) return finished(i, std::move(s));
    for (size_t c = 0; c < l.atom.arguments.size(); c++)
      if (l.atom.arguments[c].kind != Term::Kind::kAny) s.known.emplace_back(static_cast<int>(c), s.operands[c]);
    prepare(s);
    return finished(i, std::move(s));
  }

  // An index for the known columns. A column that keeps the best value changes: it is compared, never hashed.
  void prepare(Step& s) const {
    if (const auto* rows = s.relation->rows()) {
      const bool by_second = s.known.size() == 1 && s.known[0].first == 1 && rows->arity() == 2;
      if (by_second) s.relation->rows()->need_columns();
      return;
    }
    uint32_t mask = 0;
    const int last = s.relation->arity() - 1;
    for (const auto& [column, value] : s.known)
      if (s.relation->best() == Best::kAll || column != last) mask |= 1u << column;
    if (mask != 0) s.index = s.relation->tuples()->need_index(mask);
  }

  void atom(size_t i) {
    const Atom& a = r_.body[i].atom;
    const bool fresh = static_cast<int>(i) == r_.fresh;
    Step s{.kind = Step::Kind::kScan, .relation = relation(a), .fresh = fresh};
    s.estimate = cost(i);
    if (s.relation->rows() != nullptr)
      rows_atom(i, std::move(s));
    else
      tuples_atom(i, std::move(s));
  }

  void rows_atom(size_t i, Step s) {
    const std::vector<Term>& t = r_.body[i].atom.arguments;
    if (t.size() == 1 || is_bound(t[0])) {
      s.kind = Step::Kind::kRow;
      s.key = t.size() == 1 ? Operand{-1, 0} : operand(t[0]);
      s.slot = bind(t.back());
    } else if (is_bound(t[1]) && !s.fresh) {
      s.kind = Step::Kind::kColumn;
      s.key = operand(t[1]);
      s.slot = bind(t[0]);
      s.relation->rows()->need_columns();
    } else {
      s.kind = Step::Kind::kKeys;
      s.slot = bind(t[0]);
      if (t[0].kind == Term::Kind::kAny) return any_row(i, std::move(s));
      if (!unnamed(t[1])) {  // the row itself is a step of its own, perhaps later
        s.literal = &r_.body[i];
        plan_.steps.push_back(std::move(s));
        return;
      }
    }
    finished(i, std::move(s));
  }

  // p(_, y): each row, whatever its number.
  void any_row(size_t i, Step s) {
    Step row{.kind = Step::Kind::kRow, .relation = s.relation, .fresh = s.fresh, .key = {s.slot, 0}};
    row.literal = s.literal = &r_.body[i];
    plan_.steps.push_back(std::move(s));
    const Term& y = r_.body[i].atom.arguments[1];
    if (is_bound(y)) {
      row.kind = Step::Kind::kContains;
      row.operands = {row.key, operand(y)};
    } else {
      row.slot = bind(y);
    }
    finished(i, std::move(row));
  }

  void tuples_atom(size_t i, Step s) {
    const std::vector<Term>& t = r_.body[i].atom.arguments;
    std::vector<int> first(static_cast<size_t>(r_.rule.slots), -1);  // column of a slot that this atom binds
    for (size_t c = 0; c < t.size(); c++) {
      const int column = static_cast<int>(c);
      if (t[c].is_variable() && first[static_cast<size_t>(t[c].slot)] >= 0) {
        s.equal.emplace_back(column, first[static_cast<size_t>(t[c].slot)]);
      } else if (is_bound(t[c])) {
        s.known.emplace_back(column, operand(t[c]));
      } else if (t[c].is_variable()) {
        first[static_cast<size_t>(t[c].slot)] = column;
        s.binds.emplace_back(column, bind(t[c]));
      }
    }
    if (!s.fresh && !s.known.empty()) prepare(s);
    if (s.index >= 0) s.kind = Step::Kind::kLookup;
    finished(i, std::move(s));
  }

  // … row(y → z), tests of z in rows, head(x, z): whole sets at once.
  void unite_at_end() {
    std::vector<Step>& steps = plan_.steps;
    const std::vector<Term>& head = r_.rule.head.arguments;
    Relation* into = steps.back().relation;
    if (!r_.sets || into->rows() == nullptr || !head.back().is_variable()) return;
    const int z = head.back().slot;
    if (head.size() == 2 && head[0].kind == Term::Kind::kCall) return;
    if (head.size() == 2 && head[0].is_variable() && head[0].slot == z) return;
    size_t last = steps.size() - 1;
    while (last > 0 && steps[last - 1].kind == Step::Kind::kContains && sieve(steps[last - 1], z)) last--;
    if (last == 0) return;
    Step& source = steps[last - 1];
    if ((source.kind != Step::Kind::kRow && source.kind != Step::Kind::kColumn) || source.slot != z) return;
    Step unite{
        .kind = Step::Kind::kUnite, .literal = source.literal, .relation = source.relation, .fresh = source.fresh};
    unite.source = source.kind;
    unite.key = source.key;
    unite.estimate = source.estimate;
    if (head.size() == 2) unite.operands.push_back(operand(head[0]));
    for (size_t i = last; i + 1 < steps.size(); i++) unite.sieves.push_back(std::move(steps[i]));
    steps.resize(last - 1);
    steps.push_back(std::move(unite));
  }
  static bool sieve(const Step& s, int z) {
    if (s.relation->rows() == nullptr || s.operands.back().slot != z) return false;
    return s.operands.size() == 1 || s.operands[0].slot != z;
  }

  const PlanRequest& r_;
  std::vector<bool> bound_, done_;
  JoinPlan plan_;
};

}  // namespace

JoinPlan plan_join(const PlanRequest& request) { return Planner(request).plan(); }

std::string JoinPlan::text() const {
  static constexpr const char* kNames[] = {"keys of",   "row of",       "column of", "scan",   "look up",
                                           "test",      "test for any", "compare",   "assign", "range",
                                           "aggregate", "emit",         "unite",     "solved"};
  std::vector<std::string> parts;
  for (const Step& s : steps) {
    if (s.kind == Step::Kind::kEmit || s.kind == Step::Kind::kSolved) continue;
    std::string part = kNames[static_cast<int>(s.kind)];
    if (s.kind == Step::Kind::kUnite) part += s.source == Step::Kind::kRow ? " row of" : " column of";
    if (s.relation != nullptr)
      part += (s.negated ? " not " : " ") + std::string(s.fresh ? "new " : "") + s.relation->name();
    if (s.inner) part += " (" + s.inner->text() + ")";
    for (const Step& sieve : s.sieves) part += (sieve.negated ? " less " : " and ") + sieve.relation->name();
    parts.push_back(part);
  }
  return join(parts, " → ");
}

}  // namespace ingot::logic
