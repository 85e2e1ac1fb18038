// Contractions over an algebra as compositions: axes are arranged into batches of matrices, and those multiplied by the
// ops of algebra_ops.cc.
#include "ingot/logic/algebra.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/logic/ops.h"
#include "ingot/ops/checks.h"
#include "ingot/ops/contraction_order.h"
#include "ingot/ops/equation.h"
#include "ingot/ops/ops.h"

namespace ingot::logic {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kShortRow = 64;
constexpr const char *kExact = "exactly", *kWitness = "to the first of the best products";

constexpr Algebra kAlgebras[] = {
    // name          ⊕              ⊗               zero        one type  comm. distr. idemp. absorp.
    {"boolean", "a or b", "a and b", 0, 1, kBool, true, true, true, true, nullptr},
    {"counting", "a + b", "a b", 0, 1, kI64, true, true, false, false, nullptr},
    {"real", "a + b", "a b", 0, 1, kF32, true, true, false, false, kExact},
    {"max-min", "max(a, b)", "min(a, b)", 0, 1, kF32, true, true, true, true, kWitness},
    {"max-product", "max(a, b)", "a b", 0, 1, kF32, true, true, true, true, kWitness},
    {"lukasiewicz", "max(a, b)", "max(0, a + b - 1)", 0, 1, kF32, true, true, true, true, kWitness},
    {"min-plus", "min(a, b)", "a + b", kInfinity, 0, kF32, true, true, true, true, kWitness},
    {"log-sum-exp", "log(e^a + e^b)", "a + b", -kInfinity, 0, kF32, true, true, false, false, kExact},
    {"noisy-or", "1 - (1 - a)(1 - b)", "a b", 0, 1, kF32, true, false, false, false, kExact},
    {"p-mean", "(mean of a^p)^(1/p)", "a b", 0, 1, kF32, true, false, false, false, kExact},
};

// Only what errors need to know: contractions are compositions.
const Op kContract = {.name = "contract", .not_differentiable = "its parts do"};

// An operand on its way: every axis has a name of its own and more than one entry.
struct Term {
  Tensor t;
  Labels labels;
  int axis(int label) const {
    const uint8_t* end = labels.of + labels.count;
    const uint8_t* found = std::find(labels.of, end, label);
    return found == end ? -1 : static_cast<int>(found - labels.of);
  }
};

void remove_axis(Labels& labels, int axis) {
  std::copy(labels.of + axis + 1, labels.of + labels.count, labels.of + axis);
  labels.count--;
}

// Repeated names walk the diagonal. Axes of size 1 say nothing, and broadcast ones neither.
Term as_term(const Tensor& t, const Labels& names) {
  Term term{t, names};
  for (int a = 0; a < term.labels.count; a++)
    if (term.t.shape()[a] == 1) {
      term.t = select(term.t, a, 0);
      remove_axis(term.labels, a--);
    }
  for (int a = 0; a < term.labels.count; a++)
    for (int b = a + 1; b < term.labels.count; b++)
      if (const int label = term.labels.of[a]; label == term.labels.of[b]) {
        term.t = diagonal(term.t, a, b);
        remove_axis(term.labels, b);
        remove_axis(term.labels, a);
        term.labels.add(label);
        a = -1;
        break;
      }
  return term;
}

class Contraction {
 public:
  Contraction(const Algebra& algebra, const Equation& e, double p) : algebra_(algebra), e_(e), p_(p) {}

  // The ⊕ over the axes that are not in `kept`.
  Term fold(const Term& term, const Labels& kept) const {
    Labels folded, left;
    for (int a = 0; a < term.labels.count; a++) (kept.has(term.labels.of[a]) ? left : folded).add(term.labels.of[a]);
    if (folded.count == 0) return term;
    const Tensor rows = reshape(arranged(term, joined({left, folded})), {count(left), count(folded)});
    return {reshape(fold_rows(rows), shape(left)), left};
  }

  // a ⊗ b with the axes `result`, after ⊕ over the others.
  Term pair(Term a, Term b, const Labels& result) const {
    if (algebra_.distributive) {
      a = fold(a, joined({result, b.labels}));
      b = fold(b, joined({result, a.labels}));
    }
    Labels batch, rows, cols, summed;
    for (int i = 0; i < result.count; i++) {
      const int label = result.of[i];
      (a.axis(label) < 0 ? cols : b.axis(label) < 0 ? rows : batch).add(label);
    }
    const Labels both = joined({a.labels, b.labels});
    if (!algebra_.distributive && both.count > kMaxRank)
      throw Error(ErrorKind::kArgument,
                  std::string("contract: over ") + algebra_.name +
                      " all operands are multiplied before anything is summed, which takes more than 8 axes — contract "
                      "in steps, or over an algebra that distributes");
    for (int i = 0; i < both.count; i++)
      if (!result.has(both.of[i])) summed.add(both.of[i]);
    // Of many small pairs, products of matrices without a sum: chains walk their short rows one by one.
    const bool small_pairs =
        is_real() && count(batch) > 1 && rows.count > 0 && cols.count > 0 && count(cols) < kShortRow;
    if (summed.count == 0 && !small_pairs)
      return {times(arranged(a, result), arranged(b, result), algebra_.name), result};
    const Tensor left = spread(a, joined({batch, rows, summed})), right = spread(b, joined({batch, summed, cols}));
    const Tensor product = multiply(reshape(left, {count(batch), count(rows), count(summed)}),
                                    reshape(right, {count(batch), count(summed), count(cols)}));
    const Labels order = joined({batch, rows, cols});
    return {reshape(product, shape(order)), order};
  }

  // The term with these axes in this order; one that it lacks has size 1.
  static Tensor arranged(const Term& term, const Labels& labels) {
    Dims axes;
    for (int i = 0; i < labels.count; i++)
      if (term.axis(labels.of[i]) >= 0) axes.push_back(term.axis(labels.of[i]));
    bool moved = false;
    for (int i = 0; i < axes.size(); i++) moved = moved || axes[i] != i;
    Tensor t = moved ? permute(term.t, axes) : term.t;
    for (int i = 0; i < labels.count; i++)
      if (term.axis(labels.of[i]) < 0) t = unsqueeze(t, i);
    return contiguous(t);
  }

  Dims shape(const Labels& labels) const {
    Dims sizes;
    for (int i = 0; i < labels.count; i++) sizes.push_back(e_.size[labels.of[i]]);
    return sizes;
  }

 private:
  static Labels joined(std::initializer_list<Labels> groups) {
    Labels all;
    for (const Labels& group : groups)
      for (int i = 0; i < group.count; i++)
        if (!all.has(group.of[i])) all.add(group.of[i]);
    return all;
  }
  bool is_real() const { return std::string_view(algebra_.name) == "real"; }
  int64_t count(const Labels& labels) const { return element_count(shape(labels)); }
  // The same with axes that it lacks repeated.
  Tensor spread(const Term& term, const Labels& labels) const {
    const Tensor t = arranged(term, labels);
    const Dims whole = shape(labels);
    return t.shape() == whole ? t : contiguous(broadcast_to(t, whole));
  }
  Tensor fold_rows(const Tensor& rows) const {
    if (rows.size(1) == 0) return full({rows.size(0)}, algebra_.zero, rows.dtype());
    if (algebra_.dtype == kBool) return max(rows, {1});
    if (algebra_.dtype == kI64 || is_real()) return sum(rows, {1});
    return algebra_fold(rows, algebra_.name, p_);
  }
  Tensor multiply(const Tensor& a, const Tensor& b) const {
    if (algebra_.dtype == kBool) return boolean_matmul(a, b);
    if (algebra_.dtype == kI64) return counting_matmul(a, b);
    return is_real() ? matmul(a, b) : algebra_matmul(a, b, algebra_.name, p_);
  }

  const Algebra& algebra_;
  const Equation& e_;
  const double p_;
};

void require_elements(const Call& call, const Algebra& algebra) {
  for (int i = 0; i < call.count(); i++) {
    const DType type = call.in(i).dtype();
    const bool fits = algebra.dtype == kF32 ? type == kF32 || type == kF64 : type == algebra.dtype;
    if (!fits)
      fail(call, std::string("the elements of ") + algebra.name + " are not " + name(type),
           algebra.dtype == kBool  ? "compare first: greater(x, 0.5)"
           : algebra.dtype == kI64 ? "convert with to(x, kI64)"
                                   : "convert with to(x, kF32)",
           ErrorKind::kType);
    if (type != call.in(0).dtype()) fail(call, "operands differ in their types", "convert with to()", ErrorKind::kType);
  }
}

ContractionOrder order_of(const Call& call, const Equation& e, const std::vector<Term>& terms, const Labels& result,
                          int64_t most_bytes) {
  ContractionNetwork n;
  n.count = static_cast<int>(terms.size());
  for (int label = 0; label < kLabels; label++)
    n.sizes[label] = static_cast<double>(std::max<int64_t>(e.size[label], 1));
  for (int i = 0; i < n.count; i++)
    for (int a = 0; a < terms[static_cast<size_t>(i)].labels.count; a++)
      n.tensors[i].add(terms[static_cast<size_t>(i)].labels.of[a]);
  for (int a = 0; a < result.count; a++) n.result.add(result.of[a]);
  OrderOptions options{.most_axes = kMaxRank};
  ContractionOrder order = contraction_order(n, options);
  if (!order.found) fail_equation(call, "an intermediate result would have more than 8 axes; contract in steps");
  const auto element = static_cast<double>(size_of(call.in(0).dtype()));
  if (most_bytes == 0 || order.elements * element <= static_cast<double>(most_bytes)) return order;
  const double needed = order.elements * element;
  options.most_elements = static_cast<double>(most_bytes) / element;
  options.slice_result = false;
  order = contraction_order(n, options);
  double slices = 1;
  order.sliced.each([&](int label) { slices *= n.sizes[label]; });
  if (!order.found || slices > 4096)
    fail_argument(call,
                  "intermediate results take " + std::to_string(static_cast<int64_t>(needed)) + " bytes, and " +
                      std::to_string(most_bytes) + " would take more than 4096 slices",
                  "raise most_bytes, or contract in steps");
  return order;
}

// All steps, once for every value of the sliced names.
Term contract_slices(const Contraction& c, const Algebra& algebra, const Equation& e, const ContractionOrder& order,
                     IndexSet sliced, std::vector<Term> terms, const Labels& result) {
  int slice = -1;
  sliced.each([&](int label) { slice = label; });
  if (slice >= 0) {
    sliced.remove(slice);
    Term sum;
    for (int64_t value = 0; value < e.size[slice]; value++) {
      std::vector<Term> parts = terms;
      for (Term& term : parts)
        if (const int axis = term.axis(slice); axis >= 0) {
          term.t = select(term.t, axis, value);
          remove_axis(term.labels, axis);
        }
      Term part = contract_slices(c, algebra, e, order, sliced, parts, result);
      part = {Contraction::arranged(part, result), result};
      sum = value == 0 ? part : Term{plus(sum.t, part.t, algebra.name), result};
    }
    return sum;
  }
  for (int s = 0; s < order.steps.count; s++) {
    const size_t left = order.steps.left[s], right = order.steps.right[s];
    Labels kept;
    for (const size_t side : {left, right})
      for (int a = 0; a < terms[side].labels.count; a++) {
        const int label = terms[side].labels.of[a];
        bool needed = result.has(label) || !algebra.distributive;
        for (size_t i = 0; i < terms.size(); i++)
          needed = needed || (i != left && i != right && terms[i].axis(label) >= 0);
        if (needed && !kept.has(label)) kept.add(label);
      }
    terms[left] = c.pair(terms[left], terms[right], s + 1 == order.steps.count ? result : kept);
    terms[right] = {};
  }
  const size_t last = order.steps.count > 0 ? order.steps.left[order.steps.count - 1] : 0;
  return c.fold(terms[last], result);
}

}  // namespace

std::span<const Algebra> algebras() { return kAlgebras; }

const Algebra& algebra(std::string_view name) {
  std::string all;
  for (const Algebra& each : kAlgebras) {
    if (name == each.name) return each;
    all += (all.empty() ? "" : ", ") + std::string(each.name);
  }
  throw Error(ErrorKind::kArgument, "algebra: there is no \"" + std::string(name) + "\" — the algebras are " + all);
}

Tensor contract(Tensors xs, std::string_view equation, std::string_view name, const ContractOptions& options) {
  const Algebra& algebra = logic::algebra(name);
  const Attrs attrs = Attrs().set("equation", equation);
  std::vector<const Tensor*> in;
  for (size_t i = 0; i < xs.size(); i++) in.push_back(&xs[i]);
  const Call call{kContract, in, attrs};
  if (xs.size() == 0 || xs.size() > kMaxInputs)
    fail_argument(call, std::to_string(xs.size()) + " operands", "give 1 to " + std::to_string(kMaxInputs));
  for (const Tensor* t : in)
    if (!t->defined()) fail_argument(call, "an operand is not defined", "give tensors");
  if (options.most_bytes < 0)
    fail_argument(call, "most_bytes is " + std::to_string(options.most_bytes), "0 sets no limit");
  require_elements(call, algebra);
  const Equation e = parse_equation(call);

  std::vector<Term> terms;
  for (size_t i = 0; i < xs.size(); i++) terms.push_back(as_term(xs[i], e.in[i]));
  Labels result;
  for (int a = 0; a < e.out.count; a++)
    if (e.size[e.out.of[a]] != 1) result.add(e.out.of[a]);
  ContractionOrder order;
  if (algebra.distributive) {
    order = order_of(call, e, terms, result, options.most_bytes);
  } else {
    for (size_t i = 1; i < terms.size(); i++) {
      order.steps.left[i - 1] = 0, order.steps.right[i - 1] = static_cast<uint8_t>(i);
      order.steps.count++;
    }
  }
  const Contraction c(algebra, e, options.p);
  const Term whole = contract_slices(c, algebra, e, order, order.sliced, terms, result);
  Dims shape;
  for (int a = 0; a < e.out.count; a++) shape.push_back(e.size[e.out.of[a]]);
  return reshape(Contraction::arranged(whole, result), shape);
}

Tensor times(const Tensor& a, const Tensor& b, std::string_view name) {
  const Algebra& own = algebra(name);
  if (own.dtype == kBool) return minimum(a, b);
  if (name == "max-min") return where(less_equal(a, b), a, minimum(a, b));  // at equality all of the gradient is a's
  if (name == "lukasiewicz") return relu(subtract(add(a, b), 1.0));
  return own.one == 0 ? add(a, b) : multiply(a, b);
}

Tensor plus(const Tensor& a, const Tensor& b, std::string_view name) {
  const Algebra& own = algebra(name);
  if (own.dtype == kBool) return maximum(a, b);
  if (name == "real" || name == "counting") return add(a, b);
  if (name == "min-plus") return where(less_equal(a, b), a, minimum(a, b));
  if (own.idempotent) return where(greater_equal(a, b), a, maximum(a, b));
  if (name == "noisy-or") return subtract(add(a, b), multiply(a, b));
  if (name == "log-sum-exp") {
    const Dims shape = broadcast_shapes("plus", a.shape(), b.shape());
    return logsumexp(stack({broadcast_to(a, shape), broadcast_to(b, shape)}, -1), {-1});
  }
  throw Error(ErrorKind::kArgument, "plus: a p-mean of two is not the p-mean of more — use contract for all at once");
}

}  // namespace ingot::logic
