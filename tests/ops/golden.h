// Files of goldens: what tools/goldens.py wrote.
#pragma once
#include <sstream>
#include <string>
#include <vector>

#include "tests/ops/harness.h"

namespace ingot::harness {

struct Golden {
  std::string op;
  std::vector<std::string> attrs;  // "value real 1.5"
  std::vector<Tensor> in, out, dy, grad;
};

/// "f 2 3 4 v…", the rest of a line: a type, a shape, the elements; "none" gives an undefined tensor.
Tensor read_tensor(std::istringstream& line);
/// The cases of a file in tests/goldens.
std::vector<Golden> read_goldens(const std::string& file);
/// Names and texts of the attributes point into `texts`, which must stay.
Attrs read_attrs(const Golden& g, DType dtype, std::vector<std::string>& texts);
/// The tensors with those of f64 converted.
std::vector<Tensor> in_type(const std::vector<Tensor>& tensors, DType dtype);

}  // namespace ingot::harness
