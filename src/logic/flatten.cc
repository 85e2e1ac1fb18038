// Bodies made simple, and a slot for every variable.
#include <iterator>
#include <map>

#include "logic/check.h"

namespace ingot::logic {
namespace {

// Slots: words outside of aggregates belong to the rule, the others to their aggregate.
class Slots {
 public:
  explicit Slots(Rule& rule) : rule_(rule) {}
  void number() {
    std::map<std::string, int> names;
    for (Term& t : rule_.head.arguments) term(t, names, true);
    for (Literal& l : rule_.body) outer(l, names);
    for (Literal& l : rule_.body) inner(l, names);
  }

 private:
  void term(Term& t, std::map<std::string, int>& names, bool create) {
    if (t.is_variable()) {
      auto found = names.find(t.name);
      if (found == names.end() && create) {
        found = names.emplace(t.name, rule_.slots++).first;
        rule_.names.push_back(t.name);
      }
      t.slot = found->second;
    }
    for (Term& part : t.parts) term(part, names, create);
  }
  void outer(Literal& l, std::map<std::string, int>& names) {
    for (Term& t : l.atom.arguments) term(t, names, true);
    if (l.kind != Literal::Kind::kCompare) return;
    term(l.left, names, true);
    term(l.right, names, true);
  }
  void inner(Literal& l, const std::map<std::string, int>& outside) {
    if (!l.right.aggregate) return;
    std::map<std::string, int> names = outside;
    Aggregate& a = *l.right.aggregate;
    for (Term& t : a.terms) term(t, names, true);
    for (Literal& b : a.body) outer(b, names);
    for (Literal& b : a.body) inner(b, names);
  }
  Rule& rule_;
};

// An aggregate's tree is shared between copies of a rule: each gets its own before slots are written into it.
void own_aggregates(Term& t);
void own_aggregates(Literal& l) {
  for (Term& t : l.atom.arguments) own_aggregates(t);
  own_aggregates(l.left);
  own_aggregates(l.right);
}
void own_aggregates(Term& t) {
  for (Term& part : t.parts) own_aggregates(part);
  if (!t.aggregate) return;
  t.aggregate = std::make_shared<Aggregate>(*t.aggregate);
  for (Term& inner : t.aggregate->terms) own_aggregates(inner);
  for (Literal& l : t.aggregate->body) own_aggregates(l);
}

// Takes what is no plain term out of atoms and comparisons.
class Flattener {
 public:
  void rule(Rule& r) {
    for (Term& t : r.head.arguments) own_aggregates(t);
    for (Literal& l : r.body) own_aggregates(l);
    Body flat;
    for (Term& t : r.head.arguments) take_generators(t, flat);
    body(r.body);
    r.body.insert(r.body.end(), std::make_move_iterator(flat.begin()), std::make_move_iterator(flat.end()));
  }

 private:
  static bool generates(const Term& t) {
    return t.kind == Term::Kind::kAggregate ||
           (t.kind == Term::Kind::kCall && t.function != nullptr && t.function->code == Code::kRange);
  }

  // t becomes a variable of its own, which is equal to what t was.
  void name(Term& t, Body& flat) {
    const Term variable{.kind = Term::Kind::kVariable, .at = t.at, .name = " " + std::to_string(++names_)};
    Literal l{.kind = Literal::Kind::kCompare, .at = t.at, .left = variable};
    l.right = std::move(t);
    t = variable;
    finish(l, flat);
    flat.push_back(std::move(l));
  }
  void finish(Literal& l, Body& flat) {
    for (Term& part : l.right.parts) take_generators(part, flat);
    if (!l.right.aggregate) return;
    Body inside;
    for (Term& t : l.right.aggregate->terms) take_generators(t, inside);
    body(l.right.aggregate->body);
    for (Literal& i : inside) l.right.aggregate->body.push_back(std::move(i));
  }
  void take_generators(Term& t, Body& flat) {
    if (generates(t)) return name(t, flat);
    for (Term& part : t.parts) take_generators(part, flat);
  }

  void body(Body& literals) {
    Body flat;
    for (Literal& l : literals) {
      for (Term& t : l.atom.arguments)
        if (t.kind == Term::Kind::kCall || t.kind == Term::Kind::kAggregate) name(t, flat);
      if (l.kind == Literal::Kind::kCompare) {
        if (generates(l.left)) std::swap(l.left, l.right), l.comparison = turned(l.comparison);
        if (generates(l.right) && l.comparison == Comparison::kEqual && l.left.is_variable()) {
          finish(l, flat);
        } else {
          take_generators(l.left, flat);
          take_generators(l.right, flat);
        }
      }
      flat.push_back(std::move(l));
    }
    literals = std::move(flat);
  }
  static Comparison turned(Comparison c) {
    switch (c) {
      case Comparison::kLess: return Comparison::kGreater;
      case Comparison::kLessEqual: return Comparison::kGreaterEqual;
      case Comparison::kGreater: return Comparison::kLess;
      case Comparison::kGreaterEqual: return Comparison::kLessEqual;
      default: return c;
    }
  }
  int names_ = 0;
};

}  // namespace

void flatten(Unit& unit) {
  for (Rule& r : unit.rules) Flattener().rule(r);
}

void number_variables(Unit& unit) {
  for (Rule& r : unit.rules) Slots(r).number();
}

}  // namespace ingot::logic
