// Layers and losses by the names of their goldens (tools/golden_layers.py).
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "ingot/nn.h"

namespace ingot {

struct Golden {
  std::string name;
  bool training = false;
  std::vector<NamedTensor> state, gradients, after;  // of the parameters; of the buffers that changed
  Tensor in, target, out, dy, grad;
};

/// The cases of a file in tests/goldens; tensors are f64 or i64.
std::vector<Golden> read_cases(const std::string& file);
/// A new layer for a case; null if the name is not known.
std::shared_ptr<nn::Layer> make_layer(const std::string& name);
std::vector<std::string> layer_names();

/// The layer of a case, with its state and mode, in a type; names and order of the state are those of the case.
std::shared_ptr<nn::Layer> layer_of(const Golden& g, DType dtype);
/// A real tensor in another type; any other as it is.
Tensor in_type(const Tensor& t, DType dtype);
/// Parameters as tensors with names.
std::vector<NamedTensor> parameters_of(nn::Module& m);
/// Same shape, and elements that differ by at most `tolerance` of their size and of the largest one's.
testing::AssertionResult close(const Tensor& found, const Tensor& expected, double tolerance);

}  // namespace ingot
