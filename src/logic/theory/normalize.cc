#include "logic/theory/normalize.h"

#include <algorithm>

#include "ingot/base/text.h"

namespace ingot::logic {
namespace {

using Kind = Node::Kind;

class Normalizer {
 public:
  Normalizer(TheoryUnit& unit, Statement& s) : unit_(unit), s_(s) {}

  void run() {
    const bool rule = s_.kind == Statement::Kind::kRule;
    if (rule || s_.kind == Statement::Kind::kEquation) head(rule);
    const size_t written = s_.body.size();
    for (size_t i = 0; i < written; i++) {
      Node part = std::move(s_.body[i]);
      body(part, true);
      s_.body[i] = std::move(part);
    }
    for (Node& c : conditions_) s_.body.push_back(std::move(c));
  }

 private:
  bool constant(const Node& n) const {
    if (n.kind == Kind::kNumber) return true;
    return n.kind == Kind::kName && std::any_of(unit_.domains.begin(), unit_.domains.end(), [&](const Domain& d) {
             return std::find(d.members.begin(), d.members.end(), n.name) != d.members.end();
           });
  }
  // A variable that no text can name, equal to what stood there.
  Node fresh(const Node& was, bool compared) {
    Node name{.kind = Kind::kName, .at = was.at, .name = " " + std::to_string(count_++)};
    if (compared) {
      conditions_.push_back({.kind = Kind::kCompare, .at = was.at});
      conditions_.back().parts = {name, was};
    }
    return name;
  }

  void head(bool rule) {
    std::vector<std::string> seen;
    for (Node& p : s_.head.parts) {
      if (p.is_any())
        unit_.sources.fail(p.at, "a head says which facts there are, so `_` has no meaning in it", "give it a name");
      const bool simple = p.kind == Kind::kName && !constant(p);
      if (simple && std::find(seen.begin(), seen.end(), p.name) == seen.end()) {
        seen.push_back(p.name);
        continue;
      }
      if (!rule)
        unit_.sources.fail(p.at, "the left side of an equation has different variables as indices",
                           "indices such as i + 1 belong to the right side");
      p = fresh(p, true);
    }
  }

  // `_` is some value: in a part of a rule's body any that the rule holds for; inside of "not" and so on, any of that atom.
  void body(Node& n, bool whole) {
    if (n.kind == Kind::kCompare && !has_tensor(n)) return;
    if (n.kind != Kind::kTensor) {
      for (Node& part : n.parts) body(part, false);
      return;
    }
    std::vector<Node::Bound> some;
    const size_t before = conditions_.size();
    for (Node& p : n.parts) {
      if (p.is_any()) {
        if (s_.kind != Statement::Kind::kRule)
          unit_.sources.fail(p.at, "`_` is for the bodies of rules", "write exists x: … with a name");
        p = fresh(p, false);
        if (!whole) some.push_back({.name = p.name, .at = p.at});
      } else if (p.kind != Kind::kName && p.kind != Kind::kNumber) {
        if (s_.kind == Statement::Kind::kAssert || s_.kind == Statement::Kind::kAsk)
          unit_.sources.fail(p.at, "arithmetic in a place of " + in_quotes(n.name),
                             "a rule can compute it: next(x) <- " + n.name + "(x + 1).");
        p = fresh(p, true);
      }
    }
    if (!some.empty()) {
      Node exists{.kind = Kind::kExists, .at = n.at};
      exists.parts.push_back(std::move(n));
      exists.bound = std::move(some);
      n = std::move(exists);
      return;
    }
    if (s_.kind != Statement::Kind::kEquation || conditions_.size() == before) return;
    Node product = std::move(n);  // W[k] X[i + k] is W[k] X[j] (j = i + k)
    for (; conditions_.size() > before; conditions_.pop_back()) {
      Node both{.kind = Kind::kMultiply, .at = product.at};
      both.parts = {std::move(product), conditions_.back()};
      product = std::move(both);
    }
    n = std::move(product);
  }

  static bool has_tensor(const Node& n) {
    return n.kind == Kind::kTensor || std::any_of(n.parts.begin(), n.parts.end(), has_tensor);
  }

  TheoryUnit& unit_;
  Statement& s_;
  std::vector<Node> conditions_;
  int count_ = 0;
};

}  // namespace

void normalize(TheoryUnit& unit, Statement& s) { Normalizer(unit, s).run(); }

}  // namespace ingot::logic
