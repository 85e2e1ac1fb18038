#include "logic/check.h"

namespace ingot::logic {

void check(Unit& unit) {
  resolve_names(unit);
  flatten(unit);
  number_variables(unit);
  infer_types(unit);
  check_safety(unit);
  stratify(unit);
  find_uncertain(unit);
}

void each_variable(const Term& term, const std::function<void(const Term&)>& f) {
  if (term.is_variable()) f(term);
  for (const Term& part : term.parts) each_variable(part, f);
}

void each_variable(const Literal& literal, const std::function<void(const Term&)>& f) {
  for (const Term& t : literal.atom.arguments) each_variable(t, f);
  each_variable(literal.left, f);
  each_variable(literal.right, f);
}

bool is_generator(const Literal& l) {
  return l.kind == Literal::Kind::kCompare &&
         (l.right.kind == Term::Kind::kAggregate ||
          (l.right.kind == Term::Kind::kCall && l.right.function != nullptr && l.right.function->code == Code::kRange));
}

}  // namespace ingot::logic
