// Which tensors of a file are weights: those that ops use as weights, by themselves or after being moved around.
#pragma once
#include <string>
#include <vector>

#include "exchange/onnx/schema.h"

namespace ingot::onnx {

struct Weight {
  std::string name;
  const Literal* literal;
  bool trained;  // else it is a running average
  Tensor tensor;
};

/// In the order of the file; `constants` are names of those that are not to be trained.
std::vector<Weight> find_weights(const File& file, const std::vector<std::string>& constants);

}  // namespace ingot::onnx
