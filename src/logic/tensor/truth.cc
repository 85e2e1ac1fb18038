#include "ingot/logic/truth.h"

#include <string>

#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::logic {
namespace {

// All of the gradient goes to one side; at equality to a.
Tensor lesser(const Tensor& a, const Tensor& b) { return where(less_equal(a, b), a, minimum(a, b)); }
Tensor larger(const Tensor& a, const Tensor& b) { return where(greater_equal(a, b), a, maximum(a, b)); }

Tensor constant(double value, const Tensor& like) { return full({}, value, like.dtype()); }

// a / b where `sound`, else `other`; no gradient comes from where it is not.
Tensor guarded_quotient(const Tensor& sound, const Tensor& a, const Tensor& b, const Tensor& other) {
  return where(sound, a / where(sound, b, constant(1, b)), other);
}

Tensor residuum(const Tensor& a, const Tensor& b, TNorm norm) {
  const Tensor one = constant(1, a);
  switch (norm) {
    case TNorm::kGodel: return where(less_equal(a, b), one, b);
    case TNorm::kProduct: return guarded_quotient(greater(a, b), b, a, one);
    case TNorm::kLukasiewicz: return lesser(1.0 - a + b, one);
    case TNorm::kDrastic: return where(greater_equal(a, 1.0), b, one);
    case TNorm::kNilpotent: return where(less_equal(a, b), one, larger(1.0 - a, b));
    case TNorm::kHamacher: return guarded_quotient(greater(a, b), a * b, a - b + a * b, one);
  }
  return {};
}

// What the stable product does to a truth before it is multiplied (never 0) and before it is subtracted (never 1).
Tensor away_from_0(const Tensor& x, double stable) { return stable == 0 ? x : x * (1 - stable) + stable; }
Tensor away_from_1(const Tensor& x, double stable) { return stable == 0 ? x : x * (1 - stable); }

void require_truths(const char* what, const Tensor& x) {
  if (!x.defined() || !is_float(x.dtype()) || x.dtype() == kF16 || x.dtype() == kBF16)
    throw Error(ErrorKind::kType, std::string(what) + ": truths are f32 or f64" +
                                      (x.defined() ? std::string(", not ") + name(x.dtype()) : "") +
                                      " — convert with to(x, kF32)");
}

void require_semantics(const char* what, const Semantics& s) {
  if (!(s.p_forall >= 1) || !(s.p_exists >= 1) || !(s.stable >= 0) || s.stable >= 1)
    throw Error(ErrorKind::kArgument, std::string(what) + ": p is below 1 or `stable` not in [0, 1) — give p ≥ 1");
}

constexpr double kMostPlainP = 8;  // (1e-4)^8, of the least truth of a stable product, is still a number

// (mean of x^p)^(1/p) of what counts; 0 of nothing, with a gradient of 0 where it is 0. What is no number stays none.
Tensor p_mean(const Tensor& x, double p, const Dims& axes, const Tensor& guard, bool divided = false) {
  if (p > kMostPlainP && !divided) {  // x^p may be too small for a number: of x / the largest of them it is not
    const Tensor counted = guard.defined() ? where(guard, x, constant(0, x)) : x;
    const auto largest = [&](bool keepdim) {
      return stop_gradient(maximum(max(counted, axes, keepdim), constant(1e-30, x)));
    };
    return largest(false) * p_mean(counted / largest(true), p, axes, guard, true);
  }
  const Tensor powers = p == 1 ? x : p == 2 ? square(x) : pow(x, p);
  Tensor average;
  if (guard.defined()) {
    const Tensor counts = to(guard, x.dtype());
    const Tensor n = sum(broadcast_to(counts, broadcast_shapes("guard", counts.shape(), x.shape())), axes);
    average = guarded_quotient(greater(n, 0.0), sum(where(guard, powers, constant(0, x)), axes), n, constant(0, x));
  } else {
    average = mean(powers, axes);
  }
  if (p == 1) return average;
  const Tensor zero = less_equal(average, 0.0);
  const Tensor base = where(zero, constant(1, x), average);
  return where(zero, constant(0, x), p == 2 ? sqrt(base) : pow(base, 1 / p));
}

// exp(mean of log x) of what counts, 1 of nothing. A truth below 1e-12 counts as that.
Tensor geometric_mean(const Tensor& x, const Dims& axes, const Tensor& guard) {
  const Tensor logs = log(clamp(x, 1e-12, 1));
  if (!guard.defined()) return exp(mean(logs, axes));
  const Tensor counts = to(guard, x.dtype());
  const Tensor n = sum(broadcast_to(counts, broadcast_shapes("guard", counts.shape(), x.shape())), axes);
  return exp(sum(where(guard, logs, constant(0, x)), axes) / maximum(n, constant(1, x)));
}

// What does not count is replaced by what changes nothing.
Tensor with_guard(const Tensor& x, const Tensor& guard, double neutral) {
  return guard.defined() ? where(guard, x, constant(neutral, x)) : x;
}

void require_guard(const char* what, const Tensor& x, const Tensor& guard) {
  if (!guard.defined()) return;
  if (guard.dtype() != kBool)
    throw Error(ErrorKind::kType, std::string(what) + ": the guard is " + name(guard.dtype()) +
                                      ", not bool — compare first: greater(x, 0.5)");
  if (!(broadcast_shapes(what, x.shape(), guard.shape()) == x.shape()))
    throw Error(ErrorKind::kShape, std::string(what) + ": a guard " + to_string(guard.shape()) + " on " +
                                       to_string(x.shape()) + " — it must broadcast to what it guards");
}

}  // namespace

Semantics semantics(std::string_view name) {
  const struct {
    const char* name;
    TNorm norm;
  } norms[] = {{"godel", TNorm::kGodel},     {"product", TNorm::kProduct},     {"lukasiewicz", TNorm::kLukasiewicz},
               {"drastic", TNorm::kDrastic}, {"nilpotent", TNorm::kNilpotent}, {"hamacher", TNorm::kHamacher}};
  if (name == "ltn") return {};
  if (name == "probability") return {.quantify = Quantify::kGeometric, .stable = 0};
  for (const auto& each : norms)
    if (name == each.name)
      return {.norm = each.norm,
              .implies = Implies::kResiduum,
              .quantify = each.norm == TNorm::kProduct ? Quantify::kProduct : Quantify::kMinMax,
              .stable = 0};
  throw Error(ErrorKind::kArgument,
              "semantics: there is no \"" + std::string(name) +
                  "\" — there are godel, product, lukasiewicz, drastic, nilpotent, hamacher, ltn and probability");
}

Tensor conjunction(const Tensor& a, const Tensor& b, const Semantics& s) {
  require_truths("conjunction", a);
  require_semantics("conjunction", s);
  const Tensor zero = constant(0, a);
  switch (s.norm) {
    case TNorm::kGodel: return lesser(a, b);
    case TNorm::kProduct: return away_from_0(a, s.stable) * away_from_0(b, s.stable);
    case TNorm::kLukasiewicz: return relu(a + b - 1.0);
    case TNorm::kDrastic: return where(greater_equal(a, 1.0), b, where(greater_equal(b, 1.0), a, zero));
    case TNorm::kNilpotent: return where(greater(a + b, 1.0), lesser(a, b), zero);
    case TNorm::kHamacher: {
      const Tensor product = a * b, rest = a + b - product;
      return guarded_quotient(greater(rest, 0.0), product, rest, zero);
    }
  }
  return {};
}

Tensor disjunction(const Tensor& a, const Tensor& b, const Semantics& s) {
  require_truths("disjunction", a);
  require_semantics("disjunction", s);
  const Tensor one = constant(1, a);
  switch (s.norm) {
    case TNorm::kGodel: return larger(a, b);
    case TNorm::kProduct: {
      const Tensor x = away_from_1(a, s.stable), y = away_from_1(b, s.stable);
      return x + y - x * y;
    }
    case TNorm::kLukasiewicz: return lesser(a + b, one);
    case TNorm::kDrastic: return where(less_equal(a, 0.0), b, where(less_equal(b, 0.0), a, one));
    case TNorm::kNilpotent: return where(less(a + b, 1.0), larger(a, b), one);
    case TNorm::kHamacher: {
      const Tensor product = a * b, rest = 1.0 - product;
      return guarded_quotient(greater(rest, 0.0), a + b - 2.0 * product, rest, one);
    }
  }
  return {};
}

Tensor negation(const Tensor& a, const Semantics& s) {
  require_truths("negation", a);
  return s.negation == Not::kStandard ? 1.0 - a : residuum(a, constant(0, a), s.norm);
}

Tensor implication(const Tensor& a, const Tensor& b, const Semantics& s) {
  require_truths("implication", a);
  require_semantics("implication", s);
  if (s.implies == Implies::kResiduum) return residuum(a, b, s.norm);
  if (s.norm != TNorm::kProduct) return disjunction(1.0 - a, b, s);
  const Tensor x = away_from_0(a, s.stable);
  return 1.0 - x + x * away_from_1(b, s.stable);
}

Tensor equivalence(const Tensor& a, const Tensor& b, const Semantics& s) {
  return conjunction(implication(a, b, s), implication(b, a, s), s);
}

Tensor for_all(const Tensor& x, const Dims& axes, const Semantics& s, const Tensor& guard) {
  require_truths("for_all", x);
  require_semantics("for_all", s);
  require_guard("for_all", x, guard);
  switch (s.quantify) {
    case Quantify::kMinMax: return min(with_guard(x, guard, 1), axes);
    case Quantify::kProduct: return prod(with_guard(x, guard, 1), axes);
    case Quantify::kPMean: return 1.0 - p_mean(1.0 - away_from_1(x, s.stable), s.p_forall, axes, guard);
    case Quantify::kGeometric: return geometric_mean(x, axes, guard);
  }
  return {};
}

Tensor exists(const Tensor& x, const Dims& axes, const Semantics& s, const Tensor& guard) {
  require_truths("exists", x);
  require_semantics("exists", s);
  require_guard("exists", x, guard);
  switch (s.quantify) {
    case Quantify::kMinMax: return max(with_guard(x, guard, 0), axes);
    case Quantify::kProduct:
    case Quantify::kGeometric: return 1.0 - prod(1.0 - with_guard(x, guard, 0), axes);
    case Quantify::kPMean: return p_mean(away_from_0(x, s.stable), s.p_exists, axes, guard);
  }
  return {};
}

Tensor at_least(int64_t count, const Tensor& x, const Dims& axes, const Semantics& s, const Tensor& guard) {
  require_truths("at_least", x);
  require_semantics("at_least", s);
  require_guard("at_least", x, guard);
  if (count < 1) throw Error(ErrorKind::kArgument, "at_least: " + std::to_string(count) + " of them — give 1 or more");
  Dims order, kept;
  int64_t n = 1;
  const auto folded = [&](int axis) {
    bool found = axes.empty();
    for (const int64_t a : axes) found = found || normalize_axis("at_least", a, x.rank()) == axis;
    return found;
  };
  for (int axis = 0; axis < x.rank(); axis++)
    if (!folded(axis)) order.push_back(axis), kept.push_back(x.shape()[axis]);
  for (int axis = 0; axis < x.rank(); axis++)
    if (folded(axis)) order.push_back(axis), n *= x.shape()[axis];
  if (count > n) return full(kept, 0, x.dtype());
  Dims rows = kept;
  rows.push_back(n);
  const Tensor best = topk(reshape(contiguous(permute(with_guard(x, guard, 0), order)), rows), count).values;
  Tensor all = select(best, -1, 0);
  for (int64_t i = 1; i < count; i++) all = conjunction(all, select(best, -1, i), s);
  return all;
}

}  // namespace ingot::logic
