// Formulas: connectives and quantifiers over what stands in them.
#include <algorithm>

#include "ingot/base/text.h"
#include "ingot/logic/algebra.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "logic/theory/world.h"

namespace ingot::logic {

using Kind = Node::Kind;

Valued World::formula(const Statement& s, const Node& n, const std::vector<int>& scope) {
  const auto two = [&](Tensor (*f)(const Tensor&, const Tensor&, const Semantics&)) {
    const Valued a = formula(s, n.parts[0], scope), b = formula(s, n.parts[1], scope);
    const std::vector<int> axes = united(a.axes, b.axes);
    const auto side = [&](const Valued& v) { return v.is_number() ? constant(v.number) : arranged(v, axes); };
    return Valued{f(side(a), side(b), unit_.semantics), axes};
  };
  switch (n.kind) {
    case Kind::kNot: {
      const Valued v = formula(s, n.parts[0], scope);
      // In a rule what is not is taken from 1, whatever the semantics' own "not" is: algebras know no residuum.
      if (s.kind == Statement::Kind::kRule) {
        const Algebra& own = logic::algebra(unit_.algebra);
        if (own.zero != 0 || own.one != 1)
          fail(n.at, "a negation over " + in_quotes(unit_.algebra) + ", whose elements are no truths");
        return {subtract(constant(1), v.is_number() ? constant(v.number) : v.t), v.axes};
      }
      return {negation(v.is_number() ? constant(v.number) : v.t, unit_.semantics), v.axes};
    }
    case Kind::kAnd: return two(conjunction);
    case Kind::kOr: return two(disjunction);
    case Kind::kImplies: return two(implication);
    case Kind::kSame: return two(equivalence);
    case Kind::kForAll:
    case Kind::kExists: return quantified(s, n, scope);
    default: return numbers(s, n, scope);
  }
}

Valued World::quantified(const Statement& s, const Node& n, const std::vector<int>& scope) {
  std::vector<int> bound;
  for (const Node::Bound& b : n.bound) bound.push_back(b.variable);
  const std::vector<int> inner = united(scope, bound);
  const Valued what = formula(s, n.parts[0], inner);
  Tensor guard;
  std::vector<int> axes = united(what.axes, common(bound, bound));  // a variable that nothing names counts, too
  if (n.parts.size() > 1) {
    const Valued v = formula(s, n.parts[1], inner);
    axes = united(axes, v.axes);
    guard = v.is_number() ? full({}, v.number > 0.5 ? 1 : 0, kBool) : greater(arranged(v, axes), 0.5);
  }
  Dims folded;
  std::vector<int> left;
  for (size_t i = 0; i < axes.size(); i++) {
    if (std::find(bound.begin(), bound.end(), axes[i]) != bound.end())
      folded.push_back(static_cast<int64_t>(i));
    else
      left.push_back(axes[i]);
  }
  Semantics semantics = unit_.semantics;
  if (n.number > 0) semantics.p_forall = semantics.p_exists = n.number;
  const Tensor x = spread(s, what, axes);
  if (n.count > 0) return {at_least(n.count, x, folded, semantics, guard), left};
  return {n.kind == Kind::kForAll ? for_all(x, folded, semantics, guard) : exists(x, folded, semantics, guard), left};
}

}  // namespace ingot::logic
