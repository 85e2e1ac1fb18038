// Does a theory make sense? Names, axes of tensors and variables, elements, what depends on what.
#include <algorithm>
#include <cmath>
#include <set>

#include "ingot/base/text.h"
#include "ingot/nn/init.h"
#include "ingot/ops/ops.h"
#include "logic/theory/files.h"
#include "logic/theory/normalize.h"
#include "logic/theory/syntax.h"

namespace ingot::logic {
namespace {

using Kind = Node::Kind;

constexpr double kMostElements = 3e7,
                 kMostCompared = 4e6;  // of all relations and masks together: a small file asks for no more
constexpr int kMostVariables = 40;

bool has_tensor(const Node& n) {
  return n.kind == Kind::kTensor || std::any_of(n.parts.begin(), n.parts.end(), has_tensor);
}

// One statement: finds tensors and variables and what axes they have, as far as that is known.
class StatementCheck {
 public:
  StatementCheck(TheoryUnit& unit, Statement& s, bool strict) : unit_(unit), s_(s), strict_(strict) {}

  void run() {
    s_.variables.clear();
    scopes_.assign(1, {});
    const bool has_head = s_.kind == Statement::Kind::kRule || s_.kind == Statement::Kind::kEquation;
    if (has_head) atom(s_.head);
    for (Node& n : s_.body) walk(n, true);
    if (has_head) learn(s_.head);
    if (!strict_) return;
    for (const TheoryVariable& v : s_.variables)
      if (!v.axis.known())
        fail(v.at, "nothing says which values " + called(v) + " has", "name it in an atom of a declared relation");
    if (has_head) free_of(s_.head);
    for (Node& n : s_.body) free_of(n);
    if (s_.kind == Statement::Kind::kRule) rule_head_is_bound();
  }

 private:
  [[noreturn]] void fail(int at, const std::string& what, const std::string& hint = "") const {
    unit_.sources.fail(at, what, hint);
  }
  static std::string called(const TheoryVariable& v) {
    return v.name.starts_with(' ') ? "what stands here" : in_quotes(v.name);
  }

  // Variables ----------------------------------------------------------------------------------------------------------

  int variable(const std::string& name, int at, bool may_make) {
    for (size_t i = scopes_.size(); i-- > 0;) {
      const auto found = scopes_[i].find(name);
      if (found != scopes_[i].end()) return found->second;
    }
    if (!may_make) fail(at, "variable " + in_quotes(name) + " has no quantifier", "forall " + name + ": …");
    return make(name, at, scopes_[0]);
  }
  int make(const std::string& name, int at, std::map<std::string, int>& scope) {
    if (s_.variables.size() == kMostVariables)
      fail(at, "a statement of more than " + std::to_string(kMostVariables) + " variables");
    s_.variables.push_back({name, at});
    return scope[name] = static_cast<int>(s_.variables.size()) - 1;
  }
  void unify(int variable, const Axis& axis, int at) {
    TheoryVariable& v = s_.variables[static_cast<size_t>(variable)];
    if (!axis.known()) return;
    if (!v.axis.known()) {
      v.axis = axis;
      v.at = at;
    } else if (!(v.axis == axis)) {
      fail(at, called(v) + " is of " + unit_.text_of(axis) + " here, and of " + unit_.text_of(v.axis) + " in line " +
                   std::to_string(unit_.sources.line(v.at)));
    }
  }

  // The number of a constant of a domain; -1: it is none.
  int64_t member(const std::string& name, int domain) const {
    const auto& all = unit_.domains[static_cast<size_t>(domain)].members;
    const auto found = std::find(all.begin(), all.end(), name);
    return found == all.end() ? -1 : found - all.begin();
  }
  bool is_member(const std::string& name) const {
    for (size_t d = 0; d < unit_.domains.size(); d++)
      if (member(name, static_cast<int>(d)) >= 0) return true;
    return false;
  }

  // A variable or a constant in a place with this axis.
  void place(Node& p, const Axis& axis, const std::string& relation, bool may_make) {
    if (p.kind == Kind::kName && !is_member(p.name)) {
      p.variable = variable(p.name, p.at, may_make);
      return unify(p.variable, axis, p.at);
    }
    if (!axis.known()) return;
    const int64_t size = unit_.size_of(axis);
    if (p.kind == Kind::kName) {
      const int64_t value = axis.domain >= 0 ? member(p.name, axis.domain) : -1;
      if (value < 0)
        fail(p.at, in_quotes(p.name) + " is no member of " + unit_.text_of(axis) + ", which " + in_quotes(relation) +
                       " has here");
      p.kind = Kind::kNumber;
      p.number = static_cast<double>(value);
    } else if (size == kBatch) {
      const bool sample = s_.kind == Statement::Kind::kAsk && p.number == std::floor(p.number) && p.number >= 0;
      if (sample) return;  // a question comes with its batch, which knows whether there is such a one
      fail(p.at, "a constant where " + in_quotes(relation) + " has " + unit_.text_of(axis),
           "how large the batch is, is known when it is there");
    } else if (p.number != std::floor(p.number) || p.number < 0 || p.number >= static_cast<double>(size)) {
      fail(p.at,
           "there is no " + exact(p.number) + " in " + unit_.text_of(axis) + " (0 … " + std::to_string(size - 1) + ")");
    }
  }
  static std::string exact(double number) {
    return number == std::floor(number) ? std::to_string(static_cast<int64_t>(number)) : std::to_string(number);
  }

  // Tensors ------------------------------------------------------------------------------------------------------------

  void atom(Node& n) {
    n.tensor = unit_.find(n.name);
    if (n.tensor < 0) {
      const int domain = unit_.domain_named(n.name);
      if (domain >= 0)
        fail(n.at, in_quotes(n.name) + " is a domain", "say that a variable is of it by forall x in " + n.name);
      std::vector<std::string> known;
      for (const TheoryTensor& t : unit_.tensors) known.push_back(t.name);
      fail(n.at, "nothing says what " + in_quotes(n.name) + " is: no fact, no rule, no declaration",
           known.empty() ? "" : did_you_mean(n.name, known));
    }
    const TheoryTensor& t = unit_.tensor(n.tensor);
    if (static_cast<size_t>(t.arity) != n.parts.size())
      fail(n.at,
           in_quotes(n.name) + " has " + counted(t.arity, t.truths ? "column" : "axis") + ", here are " +
               std::to_string(n.parts.size()),
           (t.declared ? "declared in line " : "first used in line ") + std::to_string(unit_.sources.line(t.at)));
    const bool asserted = s_.kind == Statement::Kind::kAssert;
    for (size_t i = 0; i < n.parts.size(); i++) {
      if (n.parts[i].kind != Kind::kName && n.parts[i].kind != Kind::kNumber)
        fail(n.parts[i].at, "a place is a variable or a constant");
      place(n.parts[i], t.axes[i], n.name, !asserted || n.square);
    }
  }
  // What a head takes from its variables.
  void learn(const Node& head) {
    TheoryTensor& t = unit_.tensor(head.tensor);
    for (size_t i = 0; i < head.parts.size(); i++)
      if (!t.axes[i].known() && head.parts[i].variable >= 0)
        t.axes[i] = s_.variables[static_cast<size_t>(head.parts[i].variable)].axis;
  }

  // A name alone is a tensor without axes: variables and constants stand in places and in comparisons.
  void alone(Node& n, bool is_truth) {
    if (unit_.find(n.name) < 0 && is_truth && (n.name == "true" || n.name == "false")) {
      n.kind = Kind::kNumber;
      n.number = n.name == "true" ? 1 : 0;
      return;
    }
    if (unit_.find(n.name) < 0 && known(n.name))
      fail(n.at, "index " + in_quotes(n.name) + " stands where a number should",
           "compare it: (i = j) is 1 where it holds");
    n.kind = Kind::kTensor;
    atom(n);
  }
  bool known(const std::string& name) const {
    return std::any_of(scopes_.begin(), scopes_.end(), [&](const auto& scope) { return scope.count(name) > 0; });
  }

  // Both sides are made of variables and constants.
  void indices(Node& n, int domain) {
    if (n.kind == Kind::kName) {
      if (!is_member(n.name)) {
        n.variable = variable(n.name, n.at, s_.kind == Statement::Kind::kRule || s_.kind == Statement::Kind::kEquation);
        return;
      }
      if (domain < 0 || member(n.name, domain) < 0) {
        if (!strict_) return;
        fail(n.at, in_quotes(n.name) + " is compared with nothing of its domain");
      }
      n.number = static_cast<double>(member(n.name, domain));
      n.kind = Kind::kNumber;
    }
    for (Node& part : n.parts) indices(part, domain);
  }
  int domain_in(const Node& n) {
    if (n.kind == Kind::kName && !is_member(n.name))
      return s_
          .variables[static_cast<size_t>(
              variable(n.name, n.at, s_.kind == Statement::Kind::kRule || s_.kind == Statement::Kind::kEquation))]
          .axis.domain;
    for (const Node& part : n.parts)
      if (const int d = domain_in(part); d >= 0) return d;
    return -1;
  }

  void walk(Node& n, bool is_truth) {
    const bool formula = n.kind == Kind::kNot || n.kind == Kind::kAnd || n.kind == Kind::kOr ||
                         n.kind == Kind::kImplies || n.kind == Kind::kSame;
    switch (n.kind) {
      case Kind::kNumber: return;
      case Kind::kName: return alone(n, is_truth);
      case Kind::kTensor: return atom(n);
      case Kind::kCompare:
        if (!has_tensor_or_name(n)) return indices(n, domain_in(n));
        break;
      case Kind::kForAll:
      case Kind::kExists:
      case Kind::kReduce: return bound(n);
      default: break;
    }
    for (Node& part : n.parts) walk(part, formula);
  }
  // Is there a tensor, or a name that is one without axes?
  bool has_tensor_or_name(const Node& n) const {
    return n.kind == Kind::kTensor || n.kind == Kind::kFunction || n.kind == Kind::kReduce ||
           (n.kind == Kind::kName && unit_.find(n.name) >= 0) ||
           std::any_of(n.parts.begin(), n.parts.end(), [&](const Node& p) { return has_tensor_or_name(p); });
  }

  void bound(Node& n) {
    const bool reduces = n.kind == Kind::kReduce;
    if (n.number > 0 && unit_.semantics.quantify != Quantify::kPMean)
      fail(n.at, "a p is of p-means, which " + in_quotes(unit_.semantics_name) + " does not have", "semantics ltn.");
    scopes_.emplace_back();
    for (Node::Bound& b : n.bound) {
      if (reduces && known(b.name)) {
        b.variable = variable(b.name, b.at, true);  // softmax[q](…) V[q]: q is the sum's
        continue;
      }
      b.variable = make(b.name, b.at, reduces ? scopes_[0] : scopes_.back());
      if (b.domain.empty()) continue;
      const int domain = unit_.domain_named(b.domain);
      if (domain < 0) {
        std::vector<std::string> all;
        for (const Domain& d : unit_.domains) all.push_back(d.name);
        fail(b.at, "there is no domain " + in_quotes(b.domain), all.empty() ? "" : did_you_mean(b.domain, all));
      }
      unify(b.variable, {domain, -1}, b.at);
    }
    for (Node& part : n.parts) walk(part, !reduces);
    scopes_.pop_back();
  }

  // Free variables, and masks ------------------------------------------------------------------------------------------

  void free_of(Node& n) {
    std::set<int> all;
    if (n.variable >= 0) all.insert(n.variable);
    for (Node& part : n.parts) {
      free_of(part);
      all.insert(part.free.begin(), part.free.end());
    }
    if (n.kind == Kind::kForAll || n.kind == Kind::kExists || (n.kind == Kind::kReduce && n.name != "softmax"))
      for (const Node::Bound& b : n.bound) all.erase(b.variable);
    n.free.assign(all.begin(), all.end());
    if (n.kind == Kind::kCompare && !has_tensor_or_name(n)) mask(n);
    if (n.kind == Kind::kModulo && has_tensor(n)) fail(n.at, "% is for indices");
  }

  // In a rule what does not hold is the algebra's zero, elsewhere 0.
  void mask(Node& n) {
    Dims shape;
    double elements = 1;
    for (const int v : n.free) {
      const int64_t size = unit_.size_of(s_.variables[static_cast<size_t>(v)].axis);
      if (size == kBatch)
        fail(n.at, "a comparison of positions in the batch", "compare what samples have, by relations");
      shape.push_back(size);
      elements *= static_cast<double>(size);
    }
    unit_.elements += elements;
    if (elements > kMostCompared || unit_.elements > kMostElements || shape.size() > kMaxRank)
      fail(n.at, "a comparison of too many values at once (" + grouped(static_cast<int64_t>(elements)) + ")");
    const bool rule = s_.kind == Statement::Kind::kRule && !unit_.algebra.empty();
    const double zero = rule ? logic::algebra(unit_.algebra).zero : 0,
                 one = rule ? logic::algebra(unit_.algebra).one : 1;
    n.mask = Tensor::empty(shape, unit_.dtype);
    std::vector<int64_t> values(s_.variables.size(), 0);
    auto* out = static_cast<std::byte*>(n.mask.raw());
    for (int64_t i = 0; i < n.mask.numel(); i++) {
      int64_t rest = i;
      for (size_t k = n.free.size(); k-- > 0;) {
        values[static_cast<size_t>(n.free[k])] = rest % shape[static_cast<int>(k)];
        rest /= shape[static_cast<int>(k)];
      }
      store_from_double(out + static_cast<size_t>(i) * size_of(unit_.dtype), unit_.dtype,
                        holds(n, values) ? one : zero);
    }
  }
  bool holds(const Node& n, const std::vector<int64_t>& values) const {
    const int64_t a = index_value(n.parts[0], values), b = index_value(n.parts[1], values);
    switch (n.comparison) {
      case Comparison::kEqual: return a == b;
      case Comparison::kNotEqual: return a != b;
      case Comparison::kLess: return a < b;
      case Comparison::kLessEqual: return a <= b;
      case Comparison::kGreater: return a > b;
      case Comparison::kGreaterEqual: return a >= b;
    }
    return false;
  }
  int64_t index_value(const Node& n, const std::vector<int64_t>& values) const {
    const auto part = [&](size_t i) { return index_value(n.parts[i], values); };
    const auto wrapped = [](uint64_t x) { return static_cast<int64_t>(x); };
    const auto u = [](int64_t x) { return static_cast<uint64_t>(x); };
    switch (n.kind) {
      case Kind::kNumber:
        if (n.number != std::floor(n.number) || std::abs(n.number) > 1e15) fail(n.at, "indices are whole numbers");
        return static_cast<int64_t>(n.number);
      case Kind::kName: return values[static_cast<size_t>(n.variable)];
      case Kind::kNegative: return wrapped(-u(part(0)));
      case Kind::kAdd: return wrapped(u(part(0)) + u(part(1)));
      case Kind::kSubtract: return wrapped(u(part(0)) - u(part(1)));
      case Kind::kMultiply: return wrapped(u(part(0)) * u(part(1)));
      case Kind::kDivide:
      case Kind::kModulo: {
        const int64_t divisor = part(1);
        if (divisor == 0 || divisor == -1) fail(n.at, divisor == 0 ? "a division by zero" : "a division by -1");
        return n.kind == Kind::kDivide ? part(0) / divisor : part(0) % divisor;
      }
      default: fail(n.at, "indices are computed with + - * / %");
    }
  }

  void rule_head_is_bound() {
    std::set<int> bound;
    for (const Node& n : s_.body) bound.insert(n.free.begin(), n.free.end());
    for (const Node& p : s_.head.parts)
      if (p.variable >= 0 && bound.count(p.variable) == 0)
        fail(p.at, "nothing gives " + in_quotes(p.name) + " a value", "name it in an atom of the body");
  }

  TheoryUnit& unit_;
  Statement& s_;
  const bool strict_;
  std::vector<std::map<std::string, int>> scopes_;
};

class TheoryCheck {
 public:
  explicit TheoryCheck(TheoryUnit& unit) : unit_(unit) {}

  void run() {
    default_algebra();
    constants_are_facts();
    for (Statement& s : unit_.statements) normalize(unit_, s);
    for (size_t i = 0; i < unit_.statements.size(); i++) head(i);
    for (TheoryTensor& t : unit_.tensors) neural(t);
    infer();
    for (Statement& s : unit_.statements) StatementCheck(unit_, s, true).run();
    for (TheoryTensor& t : unit_.tensors) axes_are_known(t);
    for (TheoryTensor& t : unit_.tensors) make_elements(t);
    for (TheoryTensor& t : unit_.tensors) from_file(t);
    for (const TheoryFact& f : unit_.facts) fact(f);
    dependencies();
    for (TheoryOutput& o : unit_.outputs) output(o);
  }

 private:
  [[noreturn]] void fail(int at, const std::string& what, const std::string& hint = "") const {
    unit_.sources.fail(at, what, hint);
  }

  void default_algebra() {
    const std::string& s = unit_.semantics_name;
    if (!unit_.algebra.empty()) return;
    unit_.algebra = s == "boolean" || s == "godel" ? "max-min"
                    : s == "product" || s == "ltn" ? "max-product"
                    : s == "lukasiewicz"           ? "lukasiewicz"
                    : s == "probability"           ? "real"
                                                   : "";
  }

  // W[0, 1] = 0.5. is a fact.
  void constants_are_facts() {
    std::set<std::string> members;
    for (const Domain& d : unit_.domains) members.insert(d.members.begin(), d.members.end());
    std::vector<Statement> rest;
    std::vector<int> number(unit_.statements.size());
    for (size_t i = 0; i < unit_.statements.size(); i++) {
      Statement& s = unit_.statements[i];
      const Node* value = s.kind == Statement::Kind::kEquation ? &s.body[0] : nullptr;
      const bool negative = value != nullptr && value->kind == Kind::kNegative;
      if (negative) value = &value->parts[0];
      const bool is_fact = value != nullptr && value->kind == Kind::kNumber &&
                           std::all_of(s.head.parts.begin(), s.head.parts.end(), [&](const Node& p) {
                             return p.kind == Kind::kNumber || (p.kind == Kind::kName && members.count(p.name) > 0);
                           });
      number[i] = static_cast<int>(rest.size());
      if (is_fact)
        unit_.facts.push_back({s.head, negative ? -value->number : value->number, true});
      else
        rest.push_back(std::move(s));
    }
    unit_.statements = std::move(rest);
    for (int& i : unit_.asserted) i = number[static_cast<size_t>(i)];
  }

  // The relation or tensor that a rule or an equation is about.
  void head(size_t number) {
    Statement& s = unit_.statements[number];
    const bool rule = s.kind == Statement::Kind::kRule;
    if (!rule && s.kind != Statement::Kind::kEquation) return;
    int i = unit_.find(s.head.name);
    if (i < 0) {
      if (unit_.domain_named(s.head.name) >= 0) fail(s.head.at, in_quotes(s.head.name) + " is the name of a domain");
      i = static_cast<int>(unit_.tensors.size());
      if (unit_.tensors.size() >= kMostTensors)
        fail(s.head.at, "more than " + grouped(kMostTensors) + " relations and tensors");
      TheoryTensor t{.name = s.head.name, .at = s.head.at, .truths = !s.head.square};
      t.arity = static_cast<int>(s.head.parts.size());
      t.axes.resize(s.head.parts.size());
      for (const Node& p : s.head.parts) t.axis_names.push_back(p.name);
      if (t.arity > kMaxRank) fail(t.at, in_quotes(t.name) + " has more than 8 axes");
      unit_.numbers.emplace(t.name, i);
      unit_.tensors.push_back(std::move(t));
    }
    TheoryTensor& t = unit_.tensor(i);
    const auto wanted = rule ? TheoryTensor::Kind::kRules : TheoryTensor::Kind::kEquation;
    if (t.kind != TheoryTensor::Kind::kGiven && t.kind != wanted) {
      const char* is = t.kind == TheoryTensor::Kind::kParam    ? "is learned"
                       : t.kind == TheoryTensor::Kind::kInput  ? "is an input"
                       : t.kind == TheoryTensor::Kind::kNeural ? "is said by a network"
                       : t.kind == TheoryTensor::Kind::kRules  ? "has rules"
                                                               : "has equations";
      fail(s.head.at,
           in_quotes(t.name) + " " + is + " (line " + std::to_string(unit_.sources.line(t.at)) + "), and would have " +
               (rule ? "a rule" : "an equation") + " here",
           "give what is computed a name of its own");
    }
    t.kind = wanted;
    t.statements.push_back(static_cast<int>(number));
    if (rule && unit_.algebra.empty())
      fail(s.head.at, "rules have no meaning under " + in_quotes(unit_.semantics_name) + ", which no algebra has",
           "add `algebra max-product.`");
    if (rule && unit_.algebra == "p-mean" && t.statements.size() > 1)
      fail(s.head.at, "a p-mean of two rules is not the p-mean of both bodies", "write one rule, or another algebra");
  }

  void neural(TheoryTensor& t) {
    for (const std::string& name : t.network_inputs) {
      const int i = unit_.find(name);
      std::vector<std::string> known;
      for (const TheoryTensor& other : unit_.tensors) known.push_back(other.name);
      if (i < 0)
        fail(t.at, "there is no tensor " + in_quotes(name) + " for network " + in_quotes(t.network),
             did_you_mean(name, known));
      t.inputs.push_back(i);
    }
  }

  // Axes of relations that were not declared come from the rules that make them.
  void infer() {
    const auto known = [&] {
      int64_t n = 0;
      for (const TheoryTensor& t : unit_.tensors)
        for (const Axis& a : t.axes) n += a.known() ? 1 : 0;
      return n;
    };
    for (int64_t before = -1, now = known(); now != before;) {
      before = now;
      for (Statement& s : unit_.statements)
        if (s.kind == Statement::Kind::kRule || s.kind == Statement::Kind::kEquation)
          StatementCheck(unit_, s, false).run();
      now = known();
    }
  }

  void axes_are_known(const TheoryTensor& t) {
    double elements = 1;
    for (size_t i = 0; i < t.axes.size(); i++) {
      if (!t.axes[i].known())
        fail(t.at, "nothing says of which domain place " + std::to_string(i + 1) + " of " + in_quotes(t.name) + " is",
             "declare it: rel " + t.name + "(…).");
      elements *= static_cast<double>(std::max<int64_t>(1, unit_.size_of(t.axes[i])));
    }
    unit_.elements += elements;
    if (unit_.elements > kMostElements)
      fail(t.at,
           "with " + in_quotes(t.name) + " there would be " +
               grouped(static_cast<int64_t>(std::min(unit_.elements, 9e18))) + " elements",
           "a theory is dense: the exact engine (logic::Engine) holds sparse relations");
  }

  Dims shape(const TheoryTensor& t) const {
    Dims d;
    for (const Axis& a : t.axes) d.push_back(unit_.size_of(a));
    return d;
  }
  bool has_batch(const TheoryTensor& t) const {
    return std::any_of(t.axes.begin(), t.axes.end(), [&](const Axis& a) { return unit_.size_of(a) == kBatch; });
  }
  double nothing(const TheoryTensor& t) const {
    return t.truths && !unit_.algebra.empty() ? logic::algebra(unit_.algebra).zero : 0;
  }

  // Tables that are learned begin with small random numbers: truths about one half.
  void make_elements(TheoryTensor& t) {
    using K = TheoryTensor::Kind;
    if (t.kind == K::kParam) {
      if (unit_.semantics_name == "boolean")
        fail(t.at, "boolean truths have no gradient, so nothing can be learned", "semantics godel.");
      if (has_batch(t))
        fail(t.at, in_quotes(t.name) + " is learned and as large as a batch", "what belongs to samples is an input");
      t.elements = Tensor::empty(shape(t), unit_.dtype);
      const Dims& d = t.elements.shape();
      const double fan = d.empty() ? 1 : static_cast<double>(d.size() == 1 ? d[0] : d[0] + d[d.size() - 1]) / 2;
      if (t.truths)
        nn::init::normal(t.elements, 0, 0.1);
      else
        nn::init::normal(t.elements, 0, 1 / std::sqrt(std::max(fan, 1.0)));
    } else if (t.kind == K::kGiven || t.kind == K::kRules) {
      if (has_batch(t)) {
        if (t.kind == K::kGiven)
          fail(t.at, in_quotes(t.name) + " is as large as a batch and nothing says what is in it",
               "declare it as an input");
        return;
      }
      t.elements = clone(full(shape(t), nothing(t), unit_.dtype));
    }
  }

  void from_file(TheoryTensor& t) {
    if (t.file.empty()) return;
    if (!t.elements.defined())
      fail(t.file_at, in_quotes(t.name) + " takes nothing from a file: it is computed, or as large as a batch",
           "give the file to a relation or tensor of its own");
    unit_.files.push_back(path_in(unit_.folder, t.file));
    read_elements(unit_, t);
  }

  void output(const TheoryOutput& o) const {
    std::vector<std::string> known;
    for (const TheoryTensor& t : unit_.tensors) known.push_back(t.name);
    if (unit_.find(o.name) < 0)
      fail(o.at, "there is no relation or tensor " + in_quotes(o.name), did_you_mean(o.name, known));
  }

  void fact(const TheoryFact& f) {
    const int i = unit_.find(f.what.name);
    if (i < 0) fail(f.what.at, in_quotes(f.what.name) + " is not declared", "rel " + f.what.name + "(domain, …).");
    TheoryTensor& t = unit_.tensor(i);
    // Checked as a question: places, constants.
    Statement s{.kind = Statement::Kind::kAsk, .at = f.what.at};
    s.body.push_back(f.what);
    s.body[0].kind = Kind::kTensor;
    StatementCheck(unit_, s, true).run();
    if (!s.variables.empty())
      fail(s.variables[0].at, "variable " + in_quotes(s.variables[0].name) + " in a fact",
           "facts have constants; a rule has a body");
    if (!t.elements.defined())
      fail(f.what.at, in_quotes(t.name) + " takes no facts: it is an input, or computed",
           "write a rule, or hand it over in the batch");
    const double value =
        stored_value(unit_, t, f.has_value ? &f.value : nullptr,
                     [&](const std::string& what, const std::string& hint) { fail(f.what.at, what, hint); });
    Dims index;
    for (const Node& p : s.body[0].parts) index.push_back(static_cast<int64_t>(p.number));
    if (unit_.dtype == kF32)
      t.elements.at<float>(index) = static_cast<float>(value);
    else
      t.elements.at<double>(index) = value;
  }

  // Recursions ---------------------------------------------------------------------------------------------------------

  struct Use {
    int tensor, at;
    bool monotone;  // more of it never makes less
  };
  static void uses(const Node& n, bool monotone, std::vector<Use>& all) {
    if (n.kind == Kind::kTensor) all.push_back({n.tensor, n.at, monotone});
    const bool keeps = n.kind == Kind::kAnd || n.kind == Kind::kOr || n.kind == Kind::kExists ||
                       n.kind == Kind::kMultiply || n.kind == Kind::kAdd;
    for (size_t i = 0; i < n.parts.size(); i++) {
      const bool guard = n.kind == Kind::kExists && i == 1;
      uses(n.parts[i], monotone && keeps && !guard, all);
    }
  }

  void dependencies() {
    const size_t n = unit_.tensors.size();
    std::vector<std::vector<Use>> edges(n);
    for (size_t t = 0; t < n; t++) {
      for (const int s : unit_.tensors[t].statements)
        for (const Node& part : unit_.statements[static_cast<size_t>(s)].body) uses(part, true, edges[t]);
      for (const int i : unit_.tensors[t].inputs) edges[t].push_back({i, unit_.tensors[t].at, false});
    }
    // Who reaches whom: theories have few relations.
    std::vector<std::vector<bool>> reach(n, std::vector<bool>(n, false));
    for (size_t start = 0; start < n; start++) {
      std::vector<size_t> open{start};
      while (!open.empty()) {
        const size_t t = open.back();
        open.pop_back();
        for (const Use& u : edges[t]) {
          const auto to = static_cast<size_t>(u.tensor);
          if (reach[start][to]) continue;
          reach[start][to] = true;
          open.push_back(to);
        }
      }
    }
    for (size_t t = 0; t < n; t++) {
      if (!reach[t][t]) continue;
      if (unit_.tensors[t].kind != TheoryTensor::Kind::kRules)
        fail(unit_.tensors[t].at, in_quotes(unit_.tensors[t].name) + " depends on itself",
             "rules (<-) may: they have a least solution");
      for (const Use& u : edges[t])
        if (!u.monotone && reach[static_cast<size_t>(u.tensor)][t])
          fail(u.at, in_quotes(unit_.tensors[t].name) + " depends on itself through more than \"and\" and \"or\" here",
               "in a recursion nothing is negated, implied or counted");
      if (unit_.algebra == "p-mean")
        fail(unit_.tensors[t].at,
             in_quotes(unit_.tensors[t].name) + " depends on itself, and a p-mean has no least solution",
             "choose another algebra");
      if (unit_.tensors[t].component >= 0) continue;
      std::vector<int> component;
      for (size_t other = 0; other < n; other++)
        if (reach[t][other] && reach[other][t]) {
          component.push_back(static_cast<int>(other));
          unit_.tensors[other].component = static_cast<int>(unit_.components.size());
          if (has_batch(unit_.tensors[other]))
            fail(unit_.tensors[other].at,
                 in_quotes(unit_.tensors[other].name) + " is recursive and as large as a batch", "");
        }
      unit_.components.push_back(std::move(component));
    }
  }

  TheoryUnit& unit_;
};

}  // namespace

int64_t TheoryUnit::size_of(const Axis& axis) const {
  if (axis.domain < 0) return axis.size;
  const Domain& d = domains[static_cast<size_t>(axis.domain)];
  return d.size != -1 ? d.size : std::ssize(d.members);
}

std::string TheoryUnit::text_of(const Axis& axis) const {
  return axis.domain >= 0 ? in_quotes(domains[static_cast<size_t>(axis.domain)].name) : counted(axis.size, "value");
}

double stored_value(const TheoryUnit& unit, const TheoryTensor& t, const double* given, const Complaint& wrong) {
  const bool param = t.kind == TheoryTensor::Kind::kParam;
  const double one = t.truths && !unit.algebra.empty() ? logic::algebra(unit.algebra).one : 1;
  double value = given != nullptr ? *given : t.truths && param ? 0.99 : one;
  const bool bounded = t.truths && (param || one == 1);
  if (bounded && !(value >= 0 && value <= 1)) wrong("a truth is a number from 0 to 1", "");
  if (std::isnan(value)) wrong("a value that is no number", "");
  if (unit.semantics_name == "boolean" && t.truths && value != 0 && value != 1)
    wrong("a boolean truth is 0 or 1", "semantics godel.");
  if (!t.truths || !param) return value;
  if (value <= 0 || value >= 1) wrong("what is learned begins between 0 and 1", "");
  return std::log(value / (1 - value));
}

void check_theory(TheoryUnit& unit) { TheoryCheck(unit).run(); }

void check_statement(TheoryUnit& unit, Statement& s) {
  normalize(unit, s);
  StatementCheck(unit, s, true).run();
}

}  // namespace ingot::logic
