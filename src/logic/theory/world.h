// What a theory says of one batch: its tensors, computed when somebody asks, each once.
#pragma once
#include <map>
#include <vector>

#include "logic/theory/syntax.h"

namespace ingot::logic {

/// A tensor whose axes are variables of a statement; or a plain number, which needs no tensor.
struct Valued {
  Tensor t;
  std::vector<int> axes;
  double number = 0;
  bool is_number() const { return !t.defined(); }
};

class World {
 public:
  World(const TheoryUnit& unit, const data::Batch& batch);

  /// A relation's truths, a tensor's numbers.
  Tensor tensor(int number);
  /// How true an assertion or a question is: [] or an axis for each variable that has no quantifier.
  Tensor truth(const Statement& s);

  /// The value of a formula whose variables in `scope` are axes.
  Valued formula(const Statement& s, const Node& n, const std::vector<int>& scope);

 private:
  friend class Explanation;
  Tensor compute(int number);
  void fixpoint(const std::vector<int>& component);
  void evaluate_uses(const Node& n, int component);
  Tensor rules(int number);
  Tensor rule(const Statement& s);
  Tensor equation(int number);
  Tensor network(const TheoryTensor& t);

  // src/logic/theory/formulas.cc, where formula() is, too
  Valued quantified(const Statement& s, const Node& n, const std::vector<int>& scope);
  // src/logic/theory/equations.cc
  Valued numbers(const Statement& s, const Node& n, const std::vector<int>& kept);
  Valued reference(const Statement& s, const Node& n);
  Valued product(const Statement& s, const Node& n, const std::vector<int>& kept);
  Valued sum(const Statement& s, const Node& n, const std::vector<int>& kept);
  Valued reduction(const Statement& s, const Node& n, const std::vector<int>& kept);
  Valued summed(const Statement& s, Valued v, const std::vector<int>& kept) const;
  Valued contracted(const Statement& s, const std::vector<Valued>& factors, const std::vector<int>& kept) const;

  int64_t size(const Statement& s, int variable) const;
  int64_t size(const Axis& axis) const;
  Dims sizes(const Statement& s, const std::vector<int>& axes) const;
  Tensor constant(double value) const;
  /// With these axes in this order; those that it lacks have size 1, or are repeated.
  static Tensor arranged(const Valued& v, const std::vector<int>& axes);
  Tensor spread(const Statement& s, const Valued& v, const std::vector<int>& axes) const;
  [[noreturn]] void fail(int at, const std::string& what, const std::string& hint = "") const;

  const TheoryUnit& unit_;
  const data::Batch& batch_;
  int64_t batch_size_ = -1;
  std::vector<Tensor> known_;  // of tensors, as far as they were asked for
};

/// Where an assertion is least true; the best proof of a fact (explain.cc).
std::string explain_assertion(const TheoryUnit& unit, size_t number, const data::Batch& batch);
std::string explain_question(const TheoryUnit& unit, const Statement& s, const data::Batch& batch);

/// What two values have together, in order.
std::vector<int> united(const std::vector<int>& a, const std::vector<int>& b);
/// Those of a that b has.
std::vector<int> common(const std::vector<int>& a, const std::vector<int>& b);

}  // namespace ingot::logic
