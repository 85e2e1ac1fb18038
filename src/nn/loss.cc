#include "ingot/loss.h"

#include "ingot/ops.h"

namespace ingot::nn {

Tensor cross_entropy_loss(const Tensor& logits, const Tensor& labels) {
  return mean(softmax_cross_entropy(logits, labels));
}
Tensor mse_loss(const Tensor& result, const Tensor& target) { return mean(square(subtract(result, target))); }

}  // namespace ingot::nn
