// Losses.
#pragma once
#include "ingot/tensor.h"

namespace ingot::nn {

/// A loss: what it makes of a model's result and a target, and of which type targets are.
struct Loss {
  const char* name;
  Tensor (*function)(const Tensor& result, const Tensor& target);
  DType target;
};
Tensor cross_entropy_loss(const Tensor& logits, const Tensor& labels);
Tensor mse_loss(const Tensor& result, const Tensor& target);
/// Mean of -log softmax(logits)[label] over logits [n, classes] and labels [n], i64; negative labels count as 0.
inline constexpr Loss cross_entropy{"cross_entropy", cross_entropy_loss, kI64};
/// Mean of (result - target)².
inline constexpr Loss mse{"mse", mse_loss, kF32};

}  // namespace ingot::nn
