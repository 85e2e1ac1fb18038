// A tensor and what it is called.
#pragma once
#include <string>

#include "ingot/base/tensor.h"

namespace ingot {

/// A tensor with a name: a result of a plan, a parameter, an entry of a file.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace ingot
