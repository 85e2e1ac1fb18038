// Tensors of a theory: given, learned, from the batch, said by networks, or made of others by rules and equations.
#include "logic/theory/world.h"

#include <algorithm>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/graph/plan.h"
#include "ingot/logic/fixpoint.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::logic {
namespace {

using Kind = TheoryTensor::Kind;

constexpr int64_t kMostKeptRounds = 64;  // of a recursion whose gradient goes through all rounds

char letter(size_t i) { return static_cast<char>(i < 26 ? 'a' + i : 'A' + (i - 26)); }

}  // namespace

std::vector<int> united(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> all = a;
  for (const int v : b)
    if (std::find(all.begin(), all.end(), v) == all.end()) all.push_back(v);
  return all;
}
std::vector<int> common(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both;
  for (const int v : a)
    if (std::find(b.begin(), b.end(), v) != b.end()) both.push_back(v);
  return both;
}

World::World(const TheoryUnit& unit, const data::Batch& batch)
    : unit_(unit), batch_(batch), known_(unit.tensors.size()) {
  for (const TheoryTensor& t : unit_.tensors) {
    if (t.kind != Kind::kInput) continue;
    const Tensor* given = batch_.find(t.name);
    if (given == nullptr) continue;
    Dims wanted;
    for (const Axis& a : t.axes) {
      int64_t n = unit_.size_of(a);
      const int i = wanted.size();
      if (n == kBatch && i < given->rank()) {
        if (batch_size_ < 0) batch_size_ = given->shape()[i];
        n = batch_size_;
      }
      wanted.push_back(n);
    }
    if (!(given->shape() == wanted))
      throw Error(ErrorKind::kShape, "theory: input " + in_quotes(t.name) + " is " + to_string(given->shape()) +
                                         ", the program says " + to_string(wanted));
  }
}

void World::fail(int at, const std::string& what, const std::string& hint) const { unit_.sources.fail(at, what, hint); }

int64_t World::size(const Axis& axis) const {
  const int64_t n = unit_.size_of(axis);
  if (n != kBatch) return n;
  if (batch_size_ < 0)
    throw Error(ErrorKind::kArgument,
                "theory: " + unit_.text_of(axis) +
                    " is as large as the batch, and there is none — give one that has its inputs: --batch FILE");
  return batch_size_;
}
int64_t World::size(const Statement& s, int variable) const {
  return size(s.variables[static_cast<size_t>(variable)].axis);
}
Dims World::sizes(const Statement& s, const std::vector<int>& axes) const {
  Dims d;
  for (const int v : axes) d.push_back(size(s, v));
  return d;
}
Tensor World::constant(double value) const { return full({}, value, unit_.dtype); }

Tensor World::arranged(const Valued& v, const std::vector<int>& axes) {
  Dims order;
  bool moved = false;
  for (const int a : axes) {
    const auto found = std::find(v.axes.begin(), v.axes.end(), a);
    if (found == v.axes.end()) continue;
    moved = moved || found - v.axes.begin() != order.size();
    order.push_back(found - v.axes.begin());
  }
  Tensor t = moved ? permute(v.t, order) : v.t;
  for (size_t i = 0; i < axes.size(); i++)
    if (std::find(v.axes.begin(), v.axes.end(), axes[i]) == v.axes.end()) t = unsqueeze(t, static_cast<int64_t>(i));
  return t;
}
Tensor World::spread(const Statement& s, const Valued& v, const std::vector<int>& axes) const {
  const Dims whole = sizes(s, axes);
  if (v.is_number()) return full(whole, v.number, unit_.dtype);
  const Tensor t = arranged(v, axes);
  return t.shape() == whole ? t : broadcast_to(t, whole);
}

Tensor World::tensor(int number) {
  Tensor& known = known_[static_cast<size_t>(number)];
  if (known.defined()) return known;
  const Scope scope(unit_.tensor(number).name);
  if (unit_.tensor(number).component >= 0)
    fixpoint(unit_.components[static_cast<size_t>(unit_.tensor(number).component)]);
  else
    known = compute(number);
  return known_[static_cast<size_t>(number)];
}

Tensor World::compute(int number) {
  const TheoryTensor& t = unit_.tensor(number);
  switch (t.kind) {
    case Kind::kGiven: return t.elements;
    case Kind::kParam: return t.truths ? sigmoid(t.elements) : t.elements;
    case Kind::kInput: {
      const Tensor* given = batch_.find(t.name);
      if (given == nullptr)
        throw Error(ErrorKind::kArgument, "theory: the batch has no " + in_quotes(t.name) +
                                              ", which is an input — give it: --batch FILE, or Batch::set() in C++");
      return is_float(given->dtype()) && given->dtype() == unit_.dtype ? *given : to(*given, unit_.dtype);
    }
    case Kind::kNeural: return network(t);
    case Kind::kEquation: return equation(number);
    case Kind::kRules: {
      const Tensor all = rules(number);
      return t.elements.defined() ? plus(t.elements, all, unit_.algebra) : all;
    }
  }
  return {};
}

Tensor World::network(const TheoryTensor& t) {
  std::vector<Tensor> in;
  for (const int i : t.inputs) in.push_back(tensor(i));
  const auto layer = unit_.layers.find(t.network);
  const auto function = unit_.functions.find(t.network);
  if (layer == unit_.layers.end() && function == unit_.functions.end())
    fail(t.at, "nobody has said what network " + in_quotes(t.network) + " is",
         "theory.network(\"" + t.network + "\", …)");
  if (layer != unit_.layers.end() && in.size() != 1)
    fail(t.at, "a layer takes one tensor, here are " + std::to_string(in.size()), "hand over a function of several");
  Tensor y = layer != unit_.layers.end() ? (*layer->second)(in[0]) : function->second(Tensors(in));
  if (t.head == "softmax") y = softmax(y);
  if (t.head == "sigmoid") y = sigmoid(y);
  Dims wanted;
  for (const Axis& a : t.axes) wanted.push_back(size(a));
  if (y.shape() == wanted && y.dtype() == unit_.dtype) return y;
  if (y.numel() != element_count(wanted))
    fail(t.at, "network " + in_quotes(t.network) + " makes " + to_string(y.shape()) + ", and " + in_quotes(t.name) +
                   " is " + to_string(wanted));
  return reshape(y.dtype() == unit_.dtype ? y : to(y, unit_.dtype), wanted);
}

// Equations with the same left side add up.
Tensor World::equation(int number) {
  const TheoryTensor& t = unit_.tensor(number);
  Tensor all;
  for (const int i : t.statements) {
    const Statement& s = unit_.statements[static_cast<size_t>(i)];
    std::vector<int> axes;
    for (const Node& p : s.head.parts) axes.push_back(p.variable);
    const Tensor one = spread(s, numbers(s, s.body[0], axes), axes);
    all = all.defined() ? add(all, one) : one;
  }
  return all;
}

Tensor World::rules(int number) {
  Tensor all;
  for (const int i : unit_.tensor(number).statements) {
    const Tensor one = rule(unit_.statements[static_cast<size_t>(i)]);
    all = all.defined() ? plus(all, one, unit_.algebra) : one;
  }
  return all;
}

// A rule is a contraction of the parts of its body.
Tensor World::rule(const Statement& s) {
  std::vector<int> head;
  for (const Node& p : s.head.parts) head.push_back(p.variable);
  std::vector<int> all;
  for (const Node& n : s.body) all = united(all, n.free);
  if (all.size() > 52) fail(s.at, "a rule of more than 52 variables");
  const auto name = [&](int v) {
    return letter(static_cast<size_t>(std::find(all.begin(), all.end(), v) - all.begin()));
  };
  std::vector<Tensor> operands;
  std::string equation;
  const bool boolean = unit_.semantics_name == "boolean";
  for (const Node& n : s.body) {
    Valued v = formula(s, n, all);
    if (v.is_number()) v = {constant(v.number), {}};
    if (!operands.empty()) equation += ",";
    for (const int a : v.axes) equation += name(a);
    operands.push_back(boolean ? greater(v.t, 0.5) : v.t);
  }
  equation += "->";
  for (const int v : head) equation += name(v);
  try {
    const Tensor result = contract(Tensors(operands), equation, boolean ? "boolean" : unit_.algebra);
    return boolean ? to(result, unit_.dtype) : result;
  } catch (const Error& e) {
    fail(s.at, std::string("this rule cannot be computed: ") + e.what());
  }
}

// What a recursion uses from outside it, before the loop that is the recursion begins.
void World::evaluate_uses(const Node& n, int component) {
  if (n.kind == Node::Kind::kTensor && unit_.tensor(n.tensor).component != component) tensor(n.tensor);
  for (const Node& part : n.parts) evaluate_uses(part, component);
}

void World::fixpoint(const std::vector<int>& component) {
  std::vector<Tensor> facts;
  int64_t rounds = 1;
  for (const int number : component) {
    const TheoryTensor& t = unit_.tensor(number);
    for (const int i : t.statements)
      for (const Node& n : unit_.statements[static_cast<size_t>(i)].body) evaluate_uses(n, t.component);
    facts.push_back(t.elements);
    for (const Axis& a : t.axes) rounds = std::max(rounds, size(a));
  }
  // By max and min what is best may have been best in a circle, so only rounds tell where a truth came from.
  const bool by_rounds = unit_.algebra == "max-min" && unit_.semantics_name != "boolean" && rounds <= kMostKeptRounds;
  FixpointOptions options{.name = unit_.tensor(component[0]).name};
  if (by_rounds) options.gradient = LoopOptions::Gradient::kRounds, options.most = rounds;
  const std::vector<Tensor> outside = known_;
  const std::vector<Tensor> result = logic::fixpoint(
      [&](std::span<const Tensor> now) {
        known_ = outside;
        for (size_t i = 0; i < component.size(); i++) known_[static_cast<size_t>(component[i])] = now[i];
        std::vector<Tensor> next;
        next.reserve(component.size());
        for (const int number : component) next.push_back(rules(number));
        return next;
      },
      Tensors(facts), unit_.algebra, options);
  known_ = outside;
  for (size_t i = 0; i < component.size(); i++) known_[static_cast<size_t>(component[i])] = result[i];
}

Tensor World::truth(const Statement& s) {
  std::vector<int> scope;
  if (s.kind == Statement::Kind::kAsk) scope = s.body[0].free;
  std::sort(scope.begin(), scope.end());  // in the order in which they are named
  const Valued v = formula(s, s.body[0], scope);
  return spread(s, v, scope);
}

}  // namespace ingot::logic
