// Numbers: sums of products of tensors. An index that nobody outside wants is summed in the smallest product that has all
// its occurrences.
#include <algorithm>
#include <cmath>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "logic/theory/world.h"

namespace ingot::logic {
namespace {

using Kind = Node::Kind;

Tensor step(const Tensor& x) { return to(greater(x, 0.0), x.dtype()); }

constexpr Function1 kFunctions[] = {
    {"relu", relu, [](double x) { return std::max(x, 0.0); }},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"sig", nullptr, nullptr},  // sigmoid(x / temperature)
    {"step", step, [](double x) { return x > 0 ? 1.0 : 0.0; }},
    {"tanh", tanh, [](double x) { return std::tanh(x); }},
    {"exp", exp, [](double x) { return std::exp(x); }},
    {"log", log, [](double x) { return std::log(x); }},
    {"sqrt", sqrt, [](double x) { return std::sqrt(x); }},
    {"abs", abs, [](double x) { return std::abs(x); }},
    {"square", square, [](double x) { return x * x; }},
    {"sin", sin, [](double x) { return std::sin(x); }},
    {"cos", cos, [](double x) { return std::cos(x); }},
    {"gelu", gelu, nullptr},
    {"silu", silu, nullptr},
    {"softplus", softplus, nullptr},
};

// a b / c as a list: factors, and what they are divided by.
void factors_of(const Node& n, bool below, std::vector<std::pair<const Node*, bool>>& all) {
  if (n.kind == Kind::kMultiply || n.kind == Kind::kDivide) {
    factors_of(n.parts[0], below, all);
    factors_of(n.parts[1], below != (n.kind == Kind::kDivide), all);
  } else {
    all.emplace_back(&n, below);
  }
}

}  // namespace

const Function1* find_function1(std::string_view name) {
  for (const Function1& f : kFunctions)
    if (name == f.name) return &f;
  return nullptr;
}

// A tensor in a statement: constants select, a variable that stands twice walks the diagonal.
Valued World::reference(const Statement& /*s*/, const Node& n) {
  Valued v{tensor(n.tensor), {}};
  for (const Node& p : n.parts) {
    if (p.variable >= 0) {
      v.axes.push_back(p.variable);
      continue;
    }
    v.t = select(v.t, static_cast<int64_t>(v.axes.size()), static_cast<int64_t>(p.number));
  }
  for (size_t a = 0; a < v.axes.size(); a++)
    for (size_t b = a + 1; b < v.axes.size(); b++)
      if (v.axes[a] == v.axes[b]) {
        const int both = v.axes[a];
        v.t = diagonal(v.t, static_cast<int64_t>(a), static_cast<int64_t>(b));
        v.axes.erase(v.axes.begin() + static_cast<ptrdiff_t>(b));
        v.axes.erase(v.axes.begin() + static_cast<ptrdiff_t>(a));
        v.axes.push_back(both);
        a = static_cast<size_t>(-1);
        break;
      }
  return v;
}

Valued World::contracted(const Statement& s, const std::vector<Valued>& factors, const std::vector<int>& kept) const {
  double number = 1;
  std::vector<Tensor> operands;
  std::vector<int> all;
  for (const Valued& f : factors) {
    if (f.is_number())
      number *= f.number;
    else
      all = united(all, f.axes);
  }
  if (all.size() > 52) fail(s.at, "an equation of more than 52 indices");
  const auto name = [&](int v) {
    const auto i = static_cast<size_t>(std::find(all.begin(), all.end(), v) - all.begin());
    return static_cast<char>(i < 26 ? 'a' + i : 'A' + (i - 26));
  };
  std::string equation;
  for (const Valued& f : factors) {
    if (f.is_number()) continue;
    if (!operands.empty()) equation += ",";
    for (const int a : f.axes) equation += name(a);
    operands.push_back(f.t);
  }
  if (operands.empty()) return {{}, {}, number};
  const std::vector<int> axes = common(all, kept);
  equation += "->";
  for (const int a : axes) equation += name(a);
  Tensor t = operands[0];
  if (operands.size() > 1 || axes.size() != all.size()) {
    try {
      t = einsum(Tensors(operands), equation);
    } catch (const Error& e) {
      fail(s.at, std::string("this product cannot be computed: ") + e.what());
    }
  }
  return {number == 1 ? t : multiply(t, number), axes};
}

Valued World::summed(const Statement& s, Valued v, const std::vector<int>& kept) const {
  if (v.is_number() || common(v.axes, kept).size() == v.axes.size()) return v;
  return contracted(s, {std::move(v)}, kept);
}

Valued World::product(const Statement& s, const Node& n, const std::vector<int>& kept) {
  std::vector<std::pair<const Node*, bool>> nodes;
  factors_of(n, false, nodes);
  std::vector<Valued> factors;
  for (size_t i = 0; i < nodes.size(); i++) {
    std::vector<int> wanted = kept;
    for (size_t other = 0; other < nodes.size(); other++)
      if (other != i) wanted = united(wanted, nodes[other].first->free);
    Valued v = numbers(s, *nodes[i].first, wanted);
    if (nodes[i].second) {
      if (v.is_number())
        v.number = 1 / v.number;
      else
        v.t = reciprocal(v.t);
    }
    factors.push_back(std::move(v));
  }
  return contracted(s, factors, kept);
}

Valued World::sum(const Statement& s, const Node& n, const std::vector<int>& kept) {
  const Valued a = numbers(s, n.parts[0], kept), b = numbers(s, n.parts[1], kept);
  const bool minus = n.kind == Kind::kSubtract;
  if (a.is_number() && b.is_number()) return {{}, {}, minus ? a.number - b.number : a.number + b.number};
  if (b.is_number()) return {add(a.t, minus ? -b.number : b.number), a.axes};
  if (a.is_number()) return {add(minus ? negative(b.t) : b.t, a.number), b.axes};
  const std::vector<int> axes = united(a.axes, b.axes);
  const Tensor x = arranged(a, axes), y = arranged(b, axes);
  return {minus ? subtract(x, y) : add(x, y), axes};
}

Valued World::reduction(const Statement& s, const Node& n, const std::vector<int>& kept) {
  std::vector<int> over;
  for (const Node::Bound& b : n.bound) over.push_back(b.variable);
  Valued v = numbers(s, n.parts[0], united(kept, over));
  if (v.is_number() || common(over, v.axes).size() != over.size())
    v = {spread(s, v, united(v.axes, over)), united(v.axes, over)};
  Dims axes;
  std::vector<int> left;
  for (size_t i = 0; i < v.axes.size(); i++) {
    if (std::find(over.begin(), over.end(), v.axes[i]) != over.end())
      axes.push_back(static_cast<int64_t>(i));
    else
      left.push_back(v.axes[i]);
  }
  if (n.name == "softmax") return summed(s, {softmax(v.t, axes[0]), v.axes}, kept);
  if (n.name == "sum") return {ingot::sum(v.t, axes), left};
  if (n.name == "mean") return {mean(v.t, axes), left};
  return {n.name == "max" ? max(v.t, axes) : min(v.t, axes), left};
}

Valued World::numbers(const Statement& s, const Node& n, const std::vector<int>& kept) {
  switch (n.kind) {
    case Kind::kNumber: return {{}, {}, n.number};
    case Kind::kTensor: return summed(s, reference(s, n), kept);
    case Kind::kMultiply:
    case Kind::kDivide: return product(s, n, kept);
    case Kind::kAdd:
    case Kind::kSubtract: return sum(s, n, kept);
    case Kind::kReduce: return reduction(s, n, kept);
    case Kind::kNegative: {
      Valued v = numbers(s, n.parts[0], kept);
      if (v.is_number())
        v.number = -v.number;
      else
        v.t = negative(v.t);
      return v;
    }
    case Kind::kFunction: {
      Valued v = numbers(s, n.parts[0], kept);
      const bool sig = n.function->of == nullptr;
      if (v.is_number() && n.function->number != nullptr) return {{}, {}, n.function->number(v.number)};
      if (v.is_number()) v = {constant(v.number), {}};
      if (!sig) return {n.function->of(v.t), v.axes};
      const double heat = unit_.temperature;
      return {heat == 0 ? step(v.t) : sigmoid(heat == 1 ? v.t : multiply(v.t, 1 / heat)), v.axes};
    }
    case Kind::kPower: {
      const Valued base = numbers(s, n.parts[0], kept), exponent = numbers(s, n.parts[1], kept);
      if (!exponent.is_number()) fail(n.parts[1].at, "an exponent is a number");
      if (base.is_number()) return {{}, {}, std::pow(base.number, exponent.number)};
      return {exponent.number == 2 ? square(base.t) : pow(base.t, exponent.number), base.axes};
    }
    case Kind::kCompare: {
      if (n.mask.defined()) return summed(s, {n.mask, n.free}, kept);
      const Valued a = numbers(s, n.parts[0], kept), b = numbers(s, n.parts[1], kept);
      const std::vector<int> axes = united(a.axes, b.axes);
      const Tensor x = a.is_number() ? constant(a.number) : arranged(a, axes),
                   y = b.is_number() ? constant(b.number) : arranged(b, axes);
      const Tensor holds = n.comparison == Comparison::kEqual       ? equal(x, y)
                           : n.comparison == Comparison::kNotEqual  ? not_equal(x, y)
                           : n.comparison == Comparison::kLess      ? less(x, y)
                           : n.comparison == Comparison::kLessEqual ? less_equal(x, y)
                           : n.comparison == Comparison::kGreater   ? greater(x, y)
                                                                    : greater_equal(x, y);
      return {to(holds, unit_.dtype), axes};
    }
    case Kind::kModulo:
    case Kind::kName: fail(n.at, "indices stand in places and in comparisons");
    default: return formula(s, n, kept);
  }
}

}  // namespace ingot::logic
