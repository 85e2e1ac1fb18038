// Probabilities that follow by rules, inside plans. An Engine finds how some facts follow from coins (facts and rules with
// probabilities), through recursion and negation; what comes out is a function of the coins' probabilities that is a step of a
// plan, and differentiates: networks can say how probable the coins are, and learn from what follows.
//
//   logic::Engine engine(logic::Program::parse("0.5 :: edge(1, 2). 0.5 :: edge(2, 3). … path(x, z) <- path(x, y), edge(y, z)."));
//   engine.run();
//   const logic::ChanceFunction chances = engine.chance_function({"path(1, 3)"});
//   Tensor p = chances(sigmoid(net(x)));       // [batch, coins] to [batch, 1]
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"

namespace ingot::logic {

class INGOT_API ChanceFunction {
 public:
  /// The probabilities of the facts, [facts] or [batch, facts], for probabilities of the coins [coins] or [batch, coins]; f32
  /// or f64. Exact; with `proofs` (RunOptions, or the program's own) of the proofs that were best when this was made.
  Tensor operator()(const Tensor& weights) const;

  const std::vector<std::string>& facts() const { return facts_; }
  /// What has a probability: a fact, or a rule's line and the values of its variables; in the order of the weights.
  const std::vector<std::string>& coins() const { return coins_; }
  /// The number of such a one; an Error that lists them if there is none.
  int64_t coin(std::string_view statement) const;
  /// The probabilities that the program says, [coins].
  Tensor weights(DType dtype = kF32) const;
  /// Of the decision diagram that all facts share.
  int64_t nodes() const { return nodes_.size(0); }

 private:
  friend class Engine;
  ChanceFunction(std::vector<std::string> coins, std::vector<double> weights,
                 const std::vector<std::array<int32_t, 3>>& rows, std::vector<std::string> facts);
  std::vector<std::string> coins_, facts_;
  std::vector<double> weights_;
  Tensor nodes_;
};

}  // namespace ingot::logic
