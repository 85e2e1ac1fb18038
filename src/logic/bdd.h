// Boolean functions of facts as ordered decision diagrams: equal functions are one node, so probabilities and slopes take one
// walk over the nodes.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "logic/meter.h"

namespace ingot::logic {

class Bdd {
 public:
  using Node = uint32_t;
  static constexpr Node kFalse = 0, kTrue = 1;

  explicit Bdd(Meter& meter, uint32_t most_nodes = 4'000'000);
  ~Bdd() { meter_.give_back(metered_); }
  Bdd(const Bdd&) = delete;
  Bdd& operator=(const Bdd&) = delete;

  /// The function that is the variable itself.
  Node variable(uint32_t v) { return make(v, kFalse, kTrue); }
  Node both(Node a, Node b) { return apply(kAnd, a, b); }
  Node either(Node a, Node b) { return apply(kOr, a, b); }
  Node complement(Node a) { return apply(kNot, a, a); }

  /// How probable it is that the function is true, if variables are true independently with these weights.
  double probability(Node root, std::span<const double> weights);
  /// Its derivative by the weight of every variable.
  std::vector<double> slopes(Node root, std::span<const double> weights);

  struct Literal {
    uint32_t variable;
    bool value;
  };
  /// The most probable conjunction of literals on a way to `end`; empty if none leads there.
  std::vector<Literal> best_way(Node root, Node end, std::span<const double> weights);

  /// Rows {variable, low, high} of all nodes that these functions need, children first, and behind them a row for each
  /// function; 0 is false, 1 true, 2 + j row j.
  std::vector<std::array<int32_t, 3>> rows(std::span<const Node> functions) const;

  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  uint32_t most_nodes() const { return most_; }

 private:
  struct Branch {
    uint32_t variable;
    Node low, high;
  };
  struct Known {
    uint32_t op;
    Node a, b, result;
  };
  enum Op : uint32_t { kAnd = 1, kOr, kNot };

  Node make(uint32_t variable, Node low, Node high);
  Node apply(Op op, Node a, Node b);
  void grow();
  void meter_now();
  std::vector<Node> order(Node root) const;  // reachable, children before parents
  static uint64_t mixed(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t h = a * 0x9e3779b97f4a7c15u + b;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u + c;
    return (h ^ h >> 32) * 0x94d049bb133111ebu;
  }

  Meter& meter_;
  uint32_t most_;
  std::vector<Branch> nodes_;
  std::vector<Node> table_;   // of equal nodes, open addressing; 0: free
  std::vector<Known> known_;  // results, one for each hash: the last
  uint64_t metered_ = 0;
};

}  // namespace ingot::logic
