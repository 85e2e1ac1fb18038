// The instances of rules that lead to some facts: what proofs and probabilities are made of.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "logic/evaluate.h"

namespace ingot::logic {

class Grounding {
 public:
  struct Node {
    int relation;
    std::vector<Value> fact;
    bool given;  // from outside, not by a rule
    bool coin;   // true with a probability of its own, its last column
  };
  struct Instance {
    const Rule* rule;
    size_t head;
    std::vector<size_t> premises;  // nodes, in the order of the atoms
    std::vector<size_t> absent;    // uncertain facts that must not hold
    std::vector<Value> slots;
  };

  /// `uncertain_only`: facts of certain relations are taken as they are, and are no premises.
  Grounding(Evaluation& evaluation, bool uncertain_only);

  size_t node(int relation, const std::vector<Value>& fact);
  /// Adds the instances that lead to all nodes, and to the nodes which those need. An Error if they are too many.
  void expand();

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Instance>& instances() const { return instances_; }
  /// The rules as they are computed, with a name for every `_`.
  const std::vector<Rule>& rules() const { return rules_; }

  std::string text_of(int relation, const std::vector<Value>& fact) const;
  std::string text_of(size_t node) const { return text_of(nodes_[node].relation, nodes_[node].fact); }
  /// With values where variables have them. `bound` empty: all have.
  std::string literal_text(const Literal& l, const Rule& r, const std::vector<Value>& slots,
                           const std::vector<bool>& bound) const;
  /// The head's variables as the fact says; false if its constants are others.
  static bool bind(const Rule& r, const std::vector<Value>& fact, std::vector<bool>& bound, std::vector<Value>& values);

 private:
  void expand(size_t number);
  const JoinPlan& plan_of(size_t rule, const std::vector<bool>& bound);
  Instance instance(const Rule& r, size_t head, std::vector<Value> slots);
  void absent_facts(const Literal& l, const Rule& r, const std::vector<Value>& slots, std::vector<size_t>& into);
  bool is_uncertain(int relation) const { return e_.unit().relations[static_cast<size_t>(relation)].uncertain; }
  std::string term_text(const Term& t, const Rule& r, const std::vector<Value>& slots,
                        const std::vector<bool>& bound) const;

  Evaluation& e_;
  bool uncertain_only_;
  std::vector<Rule> rules_, written_;  // with negations of uncertain facts in the latter
  std::vector<std::unique_ptr<JoinPlan>> plans_;
  std::vector<std::vector<size_t>> rules_of_;  // a relation's
  std::vector<Node> nodes_;
  std::vector<Instance> instances_;
  std::map<std::pair<int, std::vector<Value>>, size_t> numbers_;
  size_t expanded_ = 0;
};

}  // namespace ingot::logic
