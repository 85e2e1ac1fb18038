// Why a theory believes something: the best proof of a fact, with the truths that it rests on; of an assertion, where it is
// least true.
#include <algorithm>
#include <cmath>
#include <map>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "logic/theory/world.h"

namespace ingot::logic {

namespace {

using Kind = Node::Kind;

constexpr size_t kMostLines = 500;
constexpr size_t kMostRounds = 1000;
constexpr double kMostKept = 1e8;  // elements of all rounds of a recursion
constexpr size_t kShown = 10;      // instances of an assertion

std::string number_text(double x) { return formatted("%.4g", x); }

// Proofs are compared one by one, so ⊕ selects: where it adds up, the best proof is the most probable one.
std::string selecting(const std::string& algebra) {
  if (algebra == "log-sum-exp")
    throw Error(ErrorKind::kArgument, "explain: sums of exponentials have no best proof — choose another algebra");
  return algebra == "real" || algebra == "noisy-or" || algebra == "p-mean" ? "max-product" : algebra;
}

// Formulas as text, with values in the place of variables.
class FormulaText {
 public:
  FormulaText(const TheoryUnit& unit, const Statement& s, const std::vector<int64_t>& values)
      : unit_(unit), s_(s), values_(values) {}

  std::string of(const Node& n) const {
    switch (n.kind) {
      case Kind::kNumber: return number_text(n.number);
      case Kind::kName: return n.variable < 0 ? n.name : variable(n.variable);
      case Kind::kTensor: return atom(n);
      case Kind::kFunction: return n.name + "(" + of(n.parts[0]) + ")";
      case Kind::kReduce: return n.name + "[" + names(n) + "](" + of(n.parts[0]) + ")";
      case Kind::kNegative: return "-" + inner(n.parts[0]);
      case Kind::kNot: return "not " + inner(n.parts[0]);
      case Kind::kForAll:
      case Kind::kExists:
        return (n.kind == Kind::kForAll ? "forall " : "exists ") +
               (n.count > 0 ? std::to_string(n.count) + " " : std::string()) + names(n) +
               (n.parts.size() > 1 ? " where " + of(n.parts[1]) : "") + ": " + of(n.parts[0]);
      case Kind::kCompare: return compared(n);
      default: return inner(n.parts[0]) + " " + sign(n) + " " + inner(n.parts[1]);
    }
  }

  std::string variable(int v) const {
    const TheoryVariable& variable = s_.variables[static_cast<size_t>(v)];
    const int64_t value = static_cast<size_t>(v) < values_.size() ? values_[static_cast<size_t>(v)] : -1;
    if (value < 0) return variable.name.starts_with(' ') ? "_" : variable.name;
    return member(variable.axis, value);
  }
  std::string member(const Axis& axis, int64_t value) const {
    if (axis.domain < 0) return std::to_string(value);
    const Domain& d = unit_.domains[static_cast<size_t>(axis.domain)];
    return d.members.empty() ? std::to_string(value) : d.members[static_cast<size_t>(value)];
  }
  std::string fact(int tensor, const std::vector<int64_t>& index) const {
    const TheoryTensor& t = unit_.tensor(tensor);
    std::vector<std::string> places;
    for (size_t a = 0; a < index.size(); a++) places.push_back(member(t.axes[a], index[a]));
    return with_places(t, places);
  }

 private:
  static std::string with_places(const TheoryTensor& t, const std::vector<std::string>& places) {
    if (places.empty()) return t.name;
    return t.name + (t.truths ? "(" : "[") + join(places) + (t.truths ? ")" : "]");
  }
  std::string atom(const Node& n) const {
    const TheoryTensor& t = unit_.tensor(n.tensor);
    std::vector<std::string> places;
    for (size_t a = 0; a < n.parts.size(); a++)
      places.push_back(n.parts[a].variable >= 0 ? variable(n.parts[a].variable)
                                                : member(t.axes[a], static_cast<int64_t>(n.parts[a].number)));
    return with_places(t, places);
  }
  // A constant of a domain has become its number: it is written as what it is compared with is.
  std::string compared(const Node& n) const {
    const Axis* axis = axis_in(n);
    const auto side = [&](const Node& part) {
      const bool constant = part.kind == Kind::kNumber && axis != nullptr && n.mask.defined();
      return constant ? member(*axis, static_cast<int64_t>(part.number)) : inner(part);
    };
    static constexpr const char* kSigns[] = {"=", "!=", "<", "<=", ">", ">="};
    return side(n.parts[0]) + " " + kSigns[static_cast<size_t>(n.comparison)] + " " + side(n.parts[1]);
  }
  const Axis* axis_in(const Node& n) const {
    if (n.kind == Kind::kName && n.variable >= 0) return &s_.variables[static_cast<size_t>(n.variable)].axis;
    if (n.parts.size() != 2 || n.kind != Kind::kCompare) return nullptr;
    for (const Node& part : n.parts)
      if (const Axis* axis = axis_in(part)) return axis;
    return nullptr;
  }
  std::string inner(const Node& n) const {
    const bool simple = n.kind == Kind::kNumber || n.kind == Kind::kName || n.kind == Kind::kTensor ||
                        n.kind == Kind::kFunction || n.kind == Kind::kReduce || n.kind == Kind::kNot;
    return simple ? of(n) : "(" + of(n) + ")";
  }
  std::string names(const Node& n) const {
    std::vector<std::string> all;
    for (const Node::Bound& b : n.bound) all.push_back(variable(b.variable));
    return join(all);
  }
  static const char* sign(const Node& n) {
    switch (n.kind) {
      case Kind::kAdd: return "+";
      case Kind::kSubtract: return "-";
      case Kind::kMultiply: return "*";
      case Kind::kDivide: return "/";
      case Kind::kModulo: return "%";
      case Kind::kPower: return "^";
      case Kind::kAnd: return "and";
      case Kind::kOr: return "or";
      case Kind::kImplies: return "->";
      default: return "<->";
    }
  }

  const TheoryUnit& unit_;
  const Statement& s_;
  const std::vector<int64_t>& values_;
};

}  // namespace

class Explanation {
 public:
  Explanation(const TheoryUnit& unit, const data::Batch& batch)
      : unit_(unit), best_unit_(unit), own_(unit_, batch), best_(best_unit_, batch) {
    best_unit_.algebra = selecting(unit.algebra);
    least_is_best_ = best_unit_.algebra == "min-plus";
    nothing_ = unit.algebra.empty() ? 0 : algebra(best_unit_.algebra).zero;
  }

  std::string assertion(const Statement& s, const Assertion& a) {
    std::string text =
        number_text(own_.truth(s).item<double>()) + "   " + (a.name == a.text ? "" : a.name + ": ") + a.text + "\n";
    return text + instances(s);
  }

  // Of a question with variables, its best answer.
  std::string question(const Statement& s) {
    const Tensor truths = contiguous(to(own_.truth(s), kF64));
    if (truths.numel() == 0) return "there is nothing that it could be about\n";
    std::vector<int> free = s.body[0].free;
    std::sort(free.begin(), free.end());
    std::vector<int64_t> values(s.variables.size(), -1);
    const int64_t at = best_of(truths);
    int64_t rest = at;
    for (size_t i = free.size(); i-- > 0; rest /= truths.size(static_cast<int64_t>(i)))
      values[static_cast<size_t>(free[i])] = rest % truths.size(static_cast<int64_t>(i));
    const Node& n = s.body[0];
    if (n.kind == Kind::kTensor) return proof(n.tensor, index_of(n, values));
    return number_text(truths.data<double>()[at]) + "   " + FormulaText(unit_, s, values).of(n) + "\n" +
           (free.empty() ? instances(s) : "");
  }

 private:
  // A fact, and the last round of its recursion that may be used.
  struct Goal {
    int tensor;
    std::vector<int64_t> index;
    size_t round;
  };
  struct Instance {
    const Statement* rule = nullptr;
    std::vector<int64_t> values;  // of its variables
    std::vector<double> truths;   // of the parts of its body
    double value = 0;
  };

  static std::vector<int64_t> index_of(const Node& atom, const std::vector<int64_t>& values) {
    std::vector<int64_t> index;
    for (const Node& p : atom.parts)
      index.push_back(p.variable >= 0 ? values[static_cast<size_t>(p.variable)] : static_cast<int64_t>(p.number));
    return index;
  }
  int64_t best_of(const Tensor& x) const {
    const double* begin = x.data<double>();
    const double* best =
        least_is_best_ ? std::min_element(begin, begin + x.numel()) : std::max_element(begin, begin + x.numel());
    return best - begin;
  }
  bool better(double a, double b) const { return least_is_best_ ? a < b : a > b; }
  static double element(Tensor t, const std::vector<int64_t>& index) {
    for (const int64_t i : index) t = select(t, 0, i);
    return t.item<double>();
  }

  // Recursions ---------------------------------------------------------------------------------------------------------

  using Rounds = std::vector<std::vector<Tensor>>;
  // What each round knows, from the facts to where nothing changes: a fact's proof needs what earlier rounds know.
  const Rounds& rounds(int component) {
    Rounds& all = rounds_[component];
    if (!all.empty()) return all;
    const std::vector<int>& members = unit_.components[static_cast<size_t>(component)];
    std::vector<Tensor> now;
    double elements = 0;
    for (const int m : members) {
      for (const int i : unit_.tensor(m).statements)
        for (const Node& n : unit_.statements[static_cast<size_t>(i)].body) best_.evaluate_uses(n, component);
      now.push_back(unit_.tensor(m).elements);
      elements += static_cast<double>(now.back().numel());
    }
    for (bool more = true; more;) {
      all.push_back(now);
      know(component, all.size() - 1);
      more = false;
      for (size_t k = 0; k < members.size(); k++) {
        const Tensor next = plus(unit_.tensor(members[k]).elements, best_.rules(members[k]), best_unit_.algebra);
        more = more || to(next, kF64).to_vector<double>() != to(now[k], kF64).to_vector<double>();
        now[k] = next;
      }
      if (more && (all.size() == kMostRounds || elements * static_cast<double>(all.size()) > kMostKept))
        throw Error(ErrorKind::kMemory, "explain: a recursion of more than " + counted(std::ssize(all), "round") +
                                            " of so many elements — ask about a smaller domain");
    }
    return all;
  }
  void know(int component, size_t round) {
    const std::vector<int>& members = unit_.components[static_cast<size_t>(component)];
    for (size_t k = 0; k < members.size(); k++)
      best_.known_[static_cast<size_t>(members[k])] = rounds_[component][round][k];
  }
  double value(int tensor, const std::vector<int64_t>& index, size_t round) {
    const int component = unit_.tensor(tensor).component;
    if (component < 0) return element(best_.tensor(tensor), index);
    const Rounds& all = rounds(component);
    const std::vector<int>& members = unit_.components[static_cast<size_t>(component)];
    const auto k = std::find(members.begin(), members.end(), tensor) - members.begin();
    return element(all[std::min(round, all.size() - 1)][static_cast<size_t>(k)], index);
  }

  // Proofs -------------------------------------------------------------------------------------------------------------

  std::string proof(int tensor, const std::vector<int64_t>& index) {
    const double truth = element(own_.tensor(tensor), index);
    lines_ = 0;
    std::string text;
    const double best = print({tensor, index, SIZE_MAX}, "", "", text);
    if (std::abs(truth - best) > 1e-6 * std::max(1.0, std::abs(truth)))
      text = FormulaText(unit_, {}, {}).fact(tensor, index) + "   " + number_text(truth) +
             ", by all its proofs; the best:\n" + text;
    return text;
  }

  double print(Goal goal, const std::string& first, const std::string& rest, std::string& text) {
    const TheoryTensor& t = unit_.tensor(goal.tensor);
    double truth = value(goal.tensor, goal.index, goal.round);
    while (t.component >= 0 && goal.round > 0) {  // to the first round that knows it
      goal.round = std::min(goal.round, rounds(t.component).size() - 1);
      if (goal.round == 0 || value(goal.tensor, goal.index, goal.round - 1) != truth) break;
      goal.round--;
    }
    if (++lines_ > kMostLines) {
      if (lines_ == kMostLines + 1) text += first + "…\n";
      return truth;
    }
    text += first + FormulaText(unit_, {}, {}).fact(goal.tensor, goal.index) + "   " + number_text(truth) + "   ";
    const Instance best = t.kind == TheoryTensor::Kind::kRules && truth != nothing_ ? instance(goal) : Instance();
    if (best.rule == nullptr) {
      text += source(t, truth) + "\n";
      return truth;
    }
    const Statement& s = *best.rule;
    text += "by line " + std::to_string(unit_.sources.line(s.at)) + "\n";
    std::vector<const Node*> shown;
    std::vector<double> truths;
    for (size_t i = 0; i < s.body.size(); i++) {
      const bool made = s.body[i].kind == Kind::kCompare && s.body[i].parts[0].name.starts_with(' ');
      if (made) continue;  // by normalize(): it says what a place is, which the place shows
      shown.push_back(&s.body[i]);
      truths.push_back(best.truths[i]);
    }
    for (size_t i = 0; i < shown.size(); i++) {
      const bool last = i + 1 == shown.size();
      const std::string branch = rest + (last ? "└─ " : "├─ "), below = rest + (last ? "   " : "│  ");
      const Node& n = *shown[i];
      if (n.kind == Kind::kTensor) {
        const bool recursive = t.component >= 0 && unit_.tensor(n.tensor).component == t.component;
        print({n.tensor, index_of(n, best.values), recursive ? goal.round - 1 : SIZE_MAX}, branch, below, text);
        continue;
      }
      if (++lines_ > kMostLines) continue;
      text += branch + FormulaText(unit_, s, best.values).of(n) +
              (n.mask.defined() ? "" : "   " + number_text(truths[i])) + "\n";
    }
    return truth;
  }

  std::string source(const TheoryTensor& t, double truth) const {
    using K = TheoryTensor::Kind;
    switch (t.kind) {
      case K::kParam: return "learned";
      case K::kInput: return "in the batch";
      case K::kNeural: return "said by network " + in_quotes(t.network);
      case K::kEquation: return "computed in line " + std::to_string(unit_.sources.line(statement_of(t).at));
      case K::kGiven:
      case K::kRules: break;
    }
    return truth == nothing_ ? "nothing says so" : "given";
  }
  const Statement& statement_of(const TheoryTensor& t) const {
    return unit_.statements[static_cast<size_t>(t.statements[0])];
  }

  // The instance of a rule that a fact has its truth from; none if it was given.
  Instance instance(const Goal& goal) {
    const TheoryTensor& t = unit_.tensor(goal.tensor);
    Instance best;
    best.value = t.elements.defined() ? element(t.elements, goal.index) : nothing_;
    if (t.component >= 0) {
      if (goal.round == 0) return {};
      know(t.component, goal.round - 1);
    }
    for (const int i : t.statements) {
      Instance one = best_of_rule(unit_.statements[static_cast<size_t>(i)], goal.index);
      if (better(one.value, best.value)) best = std::move(one);
    }
    if (t.component >= 0) know(t.component, rounds(t.component).size() - 1);
    return best;
  }

  // One variable after the other gets the value that the best instance has.
  Instance best_of_rule(const Statement& s, const std::vector<int64_t>& index) {
    Instance found{&s, std::vector<int64_t>(s.variables.size(), -1), {}, 0};
    for (size_t a = 0; a < index.size(); a++) found.values[static_cast<size_t>(s.head.parts[a].variable)] = index[a];
    std::vector<int> all;
    for (const Node& n : s.body) all = united(all, n.free);
    std::vector<Valued> parts;
    for (const Node& n : s.body) {
      parts.push_back(best_.formula(s, n, all));
      if (parts.back().is_number()) parts.back() = {best_.constant(parts.back().number), {}};
      fix(parts.back(), found.values);
    }
    for (const int v : all) {
      if (found.values[static_cast<size_t>(v)] >= 0) continue;
      found.values[static_cast<size_t>(v)] = best_of(contiguous(to(joined(parts, v), kF64)));
      for (Valued& part : parts) fix(part, found.values);
    }
    found.value = joined(parts, -1).item<double>();
    for (const Valued& part : parts) found.truths.push_back(part.t.item<double>());
    return found;
  }
  static void fix(Valued& v, const std::vector<int64_t>& values) {
    for (size_t a = v.axes.size(); a-- > 0;) {
      const int64_t value = values[static_cast<size_t>(v.axes[a])];
      if (value < 0) continue;
      v.t = select(v.t, static_cast<int64_t>(a), value);
      v.axes.erase(v.axes.begin() + static_cast<ptrdiff_t>(a));
    }
  }
  // All parts multiplied, over the best values of all variables but one (-1: of all).
  Tensor joined(const std::vector<Valued>& parts, int kept) const {
    std::vector<int> all;
    for (const Valued& v : parts) all = united(all, v.axes);
    const auto name = [&](int v) {
      const auto i = std::find(all.begin(), all.end(), v) - all.begin();
      return static_cast<char>(i < 26 ? 'a' + i : 'A' + (i - 26));
    };
    std::vector<Tensor> operands;
    std::string equation;
    for (const Valued& v : parts) {
      if (!operands.empty()) equation += ",";
      for (const int a : v.axes) equation += name(a);
      operands.push_back(v.t);
    }
    return contract(Tensors(operands), equation + "->" + (kept < 0 ? std::string() : std::string(1, name(kept))),
                    best_unit_.algebra);
  }

  // Assertions ---------------------------------------------------------------------------------------------------------

  // For which values the formula behind an outermost "for all" is least true; behind "there is", truest. Else what it rests on.
  std::string instances(const Statement& s) {
    const Node& n = s.body[0];
    std::vector<int64_t> values(s.variables.size(), -1);
    if (n.kind != Kind::kForAll && n.kind != Kind::kExists) {
      std::string text;
      atoms(s, n, text);
      return text;
    }
    const bool all = n.kind == Kind::kForAll;
    std::vector<int> bound;
    for (const Node::Bound& b : n.bound) bound.push_back(b.variable);
    const Tensor truths = contiguous(to(own_.spread(s, own_.formula(s, n.parts[0], bound), bound), kF64));
    Tensor guard;
    if (n.parts.size() > 1) guard = contiguous(to(own_.spread(s, own_.formula(s, n.parts[1], bound), bound), kF64));
    std::vector<int64_t> order;
    for (int64_t i = 0; i < truths.numel(); i++)
      if (!guard.defined() || guard.data<double>()[i] > 0.5) order.push_back(i);
    const size_t shown = std::min(order.size(), kShown);
    std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(shown), order.end(),
                      [&](int64_t a, int64_t b) {
                        const double x = truths.data<double>()[a], y = truths.data<double>()[b];
                        return x != y ? (all ? x < y : x > y) : a < b;
                      });
    if (order.empty()) return "no values pass its guard\n";
    std::string text = all ? "least true for\n" : "truest for\n";
    for (size_t k = 0; k < shown; k++) {
      int64_t rest = order[k];
      for (size_t i = bound.size(); i-- > 0; rest /= truths.size(static_cast<int64_t>(i)))
        values[static_cast<size_t>(bound[i])] = rest % truths.size(static_cast<int64_t>(i));
      std::vector<std::string> words;
      words.reserve(bound.size());
      for (const int v : bound)
        words.push_back(s.variables[static_cast<size_t>(v)].name + " = " + FormulaText(unit_, s, values).variable(v));
      text += "  " + padded(number_text(truths.data<double>()[order[k]]), 9) + join(words) + "\n";
    }
    if (order.size() > shown) text += "  and " + grouped(std::ssize(order) - static_cast<int64_t>(shown)) + " more\n";
    return text;
  }
  // The facts of a formula without variables.
  void atoms(const Statement& s, const Node& n, std::string& text) {
    if (n.kind == Kind::kTensor && n.free.empty())
      text += "  " + padded(number_text(element(own_.tensor(n.tensor), index_of(n, {}))), 9) +
              FormulaText(unit_, s, {}).of(n) + "\n";
    else
      for (const Node& part : n.parts) atoms(s, part, text);
  }

  const TheoryUnit& unit_;
  TheoryUnit best_unit_;  // with an algebra whose ⊕ selects
  World own_, best_;
  bool least_is_best_ = false;
  double nothing_ = 0;
  size_t lines_ = 0;
  std::map<int, Rounds> rounds_;
};

std::string explain_assertion(const TheoryUnit& unit, size_t number, const data::Batch& batch) {
  return Explanation(unit, batch)
      .assertion(unit.statements[static_cast<size_t>(unit.asserted[number])], unit.assertions[number]);
}

std::string explain_question(const TheoryUnit& unit, const Statement& s, const data::Batch& batch) {
  return Explanation(unit, batch).question(s);
}

}  // namespace ingot::logic
