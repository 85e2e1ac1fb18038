// Losses of classification.
#include "exchange/onnx/use.h"
#include "ingot/base/error.h"

namespace ingot::onnx {
namespace {

// -log-probability [n, c, …] at labels [n, …], weighted by class; a label to ignore counts nothing.
void pick(Use& u, const Tensor& log_probabilities, int target, int weight) {
  const Tensor& x = log_probabilities;
  const Tensor labels = as(u.in(target), kI64);
  const bool ignores = u.given("ignore_index");
  const auto ignored = static_cast<double>(u.integer("ignore_index", -1));
  const Tensor alive = ignores ? not_equal(labels, ignored) : Tensor();
  const Tensor safe = ignores ? where(alive, labels, scalar_like(labels, 0)) : labels;
  Tensor loss = negative(squeeze(gather(x, unsqueeze(safe, 1), 1), {1}));
  Tensor weights;
  if (u.has(weight)) weights = reshaped(index_select(u.in(weight), reshaped(safe, {safe.numel()}), 0), safe.shape());
  if (ignores) {
    const Tensor on = as(alive, x.dtype());
    weights = weights.defined() ? multiply(weights, on) : on;
  }
  if (weights.defined()) loss = multiply(loss, weights);
  const std::string reduction = u.text("reduction", "mean");
  if (reduction == "sum") loss = sum(loss);
  if (reduction == "mean") loss = weights.defined() ? divide(sum(loss), sum(weights)) : mean(loss);
  u.out(loss);
}

void negative_log_likelihood_op(Use& u) { pick(u, u.in(), 1, 2); }

void softmax_cross_entropy_op(Use& u) {
  const Tensor log_probabilities = log_softmax(u.in(), 1);
  pick(u, log_probabilities, 1, 2);
  if (u.wanted(1)) u.out(log_probabilities);
}

}  // namespace

std::span<const Row> loss_rows() {
  static constexpr Row kRows[] = {
      {"NegativeLogLikelihoodLoss", 12, negative_log_likelihood_op},
      {"SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy_op},
  };
  return kRows;
}

}  // namespace ingot::onnx
