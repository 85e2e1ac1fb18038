// How probable facts are. Coins (facts and rules with probabilities) fall independently; a fact is as probable as the worlds in
// which it follows.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "logic/bdd.h"
#include "logic/grounding.h"

namespace ingot::logic {

class Chances {
 public:
  /// `proofs`: only so many best proofs of each fact are kept; 0: all, and probabilities are exact.
  Chances(Evaluation& evaluation, int proofs);

  /// The probability of each of these facts.
  std::vector<double> probabilities(int relation, const std::vector<std::vector<Value>>& facts);
  /// The probabilities of these facts as a function of those of the coins.
  struct Function {
    std::vector<std::string> coins;
    std::vector<double> weights;
    std::vector<std::array<int32_t, 3>> rows;  // of a decision diagram; the last ones are the facts
  };
  Function function(const std::vector<std::pair<int, std::vector<Value>>>& facts);
  std::vector<Slope> slopes(int relation, const std::vector<Value>& fact);
  /// The most probable proof as a tree, why it may fail, and what matters most.
  std::string explain(int relation, const std::vector<Value>& fact);

 private:
  using Proof = std::vector<int64_t>;  // sorted: coins, and -1 - n for a node n that must not hold
  struct Kept {
    double probability;
    Proof proof;
    size_t by;  // the instance that it came from
  };
  struct Label {
    std::vector<Kept> kept;  // the best first
  };

  void ground(const std::vector<size_t>& goals);
  void solve();
  void solve_exactly(const std::vector<bool>& wanted);
  void solve_best(size_t most);
  template <class F>
  void sweep(const std::vector<bool>& wanted, F&& update);
  Bdd::Node function_of(size_t goal);
  std::vector<Kept> proofs_of(size_t instance, size_t most);
  bool keep(Label& label, Kept proof, size_t most);
  double probability_of(const Proof& proof);
  Bdd::Node function_of(const Proof& proof);
  std::string coin_text(size_t node) const;
  std::string text_of_coin(uint32_t coin) const { return coin_text(coins_[coin]); }
  void print(size_t node, const std::string& first, const std::string& rest, std::string& text);
  std::string failure(Bdd::Node f);

  Evaluation& e_;
  int proofs_;
  Grounding grounding_;
  Bdd bdd_;
  std::vector<size_t> coins_;               // nodes
  std::vector<int64_t> coin_of_;            // of a node; -1: none
  std::vector<double> weights_;             // of coins
  std::vector<std::vector<size_t>> users_;  // instances that have a node among their premises
  std::vector<Bdd::Node> exact_;            // of nodes
  std::vector<bool> solved_;                // exactly
  std::vector<Label> labels_;
  uint64_t work_ = 0;
};

}  // namespace ingot::logic
