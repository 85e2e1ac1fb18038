// Losses: functions of a model's result and a target to one number, and what a training step takes for one.
//
//   nn::train_step(net, nn::cross_entropy, …);                        // as it is
//   nn::train_step(net, nn::huber(/*delta=*/0.5), …);                 // with options
//   nn::train_step(net, nn::Loss{"mine", [](const Tensor& y, const Tensor& t) { … }, kF32}, …);
#pragma once
#include <functional>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"

namespace ingot::nn {

/// A loss: what it makes of a model's result and a target, and of which type targets are.
struct INGOT_API Loss {
  using Function = std::function<Tensor(const Tensor& result, const Tensor& target)>;
  const char* name;
  Function function;
  DType target;
  Function each = {};  // the loss of every sample, [n]: what weights per sample need
  Tensor operator()(const Tensor& result, const Tensor& t) const { return function(result, t); }
  /// The mean of the samples' losses by `weight` [n]: Σ wᵢ lᵢ / Σ wᵢ; 0 if all weights are. An Error for a loss that is
  /// not one per sample.
  Tensor operator()(const Tensor& result, const Tensor& t, const Tensor& weight) const;
};

/// What becomes of the single losses: their mean, their sum, their sum divided by the size of the first axis, or
/// nothing.
enum class Reduction : uint8_t { kMean, kSum, kBatchMean, kNone };

struct CrossEntropyOptions {
  Reduction reduction = Reduction::kMean;
  double label_smoothing = 0;  // share of the target that is spread over all classes
  Tensor weight = {};          // of the classes, [classes]; the mean is then a weighted one
  bool skip_negative = false;  // a negative label counts as no sample in the mean, not as one with loss 0
};

// Of numbers: result and target have the same shape. Targets of another real type are converted.

/// (result - target)².
INGOT_API Tensor mse_loss(const Tensor& result, const Tensor& target, Reduction reduction = Reduction::kMean);
/// |result - target|.
INGOT_API Tensor mae_loss(const Tensor& result, const Tensor& target, Reduction reduction = Reduction::kMean);
/// ½e² where the error e is at most delta, delta · (|e| - ½delta) beyond.
INGOT_API Tensor huber_loss(const Tensor& result, const Tensor& target, double delta = 1,
                            Reduction reduction = Reduction::kMean);

// Of classes: scores [n, …, classes] with labels [n, …], i32 or i64; negative labels have loss 0.

/// -log softmax(logits)[label]. Targets may also be probabilities, of the logits' shape.
INGOT_API Tensor cross_entropy_loss(const Tensor& logits, const Tensor& target,
                                    const CrossEntropyOptions& options = {});
/// -log p[label] of probabilities, where log is at least -100.
INGOT_API Tensor cross_entropy_on_probabilities_loss(const Tensor& probabilities, const Tensor& labels,
                                                     Reduction reduction = Reduction::kMean);
/// -log_probabilities[label].
INGOT_API Tensor nll_loss(const Tensor& log_probabilities, const Tensor& labels,
                          Reduction reduction = Reduction::kMean);

// Of probabilities: result and target have the same shape.

/// -(t · log p + (1 - t) · log(1 - p)), where log is at least -100.
INGOT_API Tensor bce_loss(const Tensor& probabilities, const Tensor& target, Reduction reduction = Reduction::kMean);
/// bce_loss of sigmoid(logits), right for any logits.
INGOT_API Tensor bce_with_logits_loss(const Tensor& logits, const Tensor& target,
                                      Reduction reduction = Reduction::kMean);
/// t · (log t - log_probabilities), 0 where t is; kBatchMean is the mathematical divergence.
INGOT_API Tensor kl_div_loss(const Tensor& log_probabilities, const Tensor& target,
                             Reduction reduction = Reduction::kMean);

// For train_step and the trainer: the functions above with their options bound.

extern INGOT_API const Loss mse, mae, cross_entropy, cross_entropy_on_probabilities, nll, bce, bce_with_logits,
    kl_div;  // kl_div takes the batch mean
INGOT_API Loss huber(double delta = 1, Reduction reduction = Reduction::kMean);
INGOT_API Loss cross_entropy_with(CrossEntropyOptions options);

}  // namespace ingot::nn
