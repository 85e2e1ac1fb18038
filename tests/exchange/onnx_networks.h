// Networks of every kind of layer, to be written as ONNX.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ingot/nn/module.h"

namespace ingot::onnx {

struct TestNetwork {
  std::string name;
  std::shared_ptr<nn::Layer> net;
  InputSpec input;
  int64_t batch_axis = 0;
};
/// Made anew at every call, with the same weights.
std::vector<TestNetwork> test_networks();

}  // namespace ingot::onnx
