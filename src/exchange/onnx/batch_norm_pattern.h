// Batch norm in evaluation is a composition of element-wise ops; others know it as one op, which trains when it is told to.
#pragma once
#include <optional>

#include "ingot/graph/captured.h"

namespace ingot::onnx {

/// Values of a captured function; weight and bias may be missing (-1).
struct BatchNormPattern {
  int x, mean, variance, weight, bias;
  double eps;
};

/// Is node `last` the end of what batch_norm_inference() calls?
std::optional<BatchNormPattern> find_batch_norm(const Captured& graph, size_t last);

}  // namespace ingot::onnx
