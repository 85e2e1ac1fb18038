#include "ingot/logic/chance_function.h"

#include <algorithm>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/logic/ops.h"
#include "ingot/ops/ops.h"

namespace ingot::logic {

ChanceFunction::ChanceFunction(std::vector<std::string> coins, std::vector<double> weights,
                               const std::vector<std::array<int32_t, 3>>& rows, std::vector<std::string> facts)
    : coins_(std::move(coins)), facts_(std::move(facts)), weights_(std::move(weights)) {
  if (coins_.empty())
    throw Error(ErrorKind::kArgument, "chances: no statement with a probability leads to " +
                                          (facts_.empty() ? std::string("nothing") : in_quotes(facts_[0])) +
                                          ", so nothing can be learned");
  nodes_ = Tensor::empty({std::ssize(rows), 3}, kI32);
  for (size_t k = 0; k < rows.size(); k++) std::copy(rows[k].begin(), rows[k].end(), nodes_.data<int32_t>() + 3 * k);
}

Tensor ChanceFunction::operator()(const Tensor& weights) const {
  if ((weights.rank() != 1 && weights.rank() != 2) || weights.size(-1) != std::ssize(coins_))
    throw Error(ErrorKind::kShape, "chances: the weights are " + to_string(weights.shape()) + ", and there are " +
                                       counted(std::ssize(coins_), "coin") + " — give [coins] or [batch, coins]");
  const bool batch = weights.rank() == 2;
  const Tensor y = decision_diagram(batch ? weights : unsqueeze(weights, 0), nodes_, std::ssize(facts_));
  return batch ? y : squeeze(y, {0});
}

int64_t ChanceFunction::coin(std::string_view statement) const {
  const auto found = std::find(coins_.begin(), coins_.end(), statement);
  if (found == coins_.end())
    throw Error(ErrorKind::kArgument, "chances: nothing leads from " + in_quotes(statement) + " to its facts — " +
                                          did_you_mean(statement, coins_));
  return found - coins_.begin();
}

Tensor ChanceFunction::weights(DType dtype) const { return clone(to(Tensor::from<double>(weights_), dtype)); }

}  // namespace ingot::logic
