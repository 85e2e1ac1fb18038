#include "tests/exchange/onnx_networks.h"

#include "ingot/nn/attention.h"
#include "ingot/nn/layers.h"
#include "ingot/nn/recurrent.h"

namespace ingot::onnx {

std::vector<TestNetwork> test_networks() {
  using namespace nn;
  const SeedScope seed(3);
  std::vector<TestNetwork> all;
  const auto add = [&](const char* name, auto net, const InputSpec& input, int64_t batch_axis = 0) {
    all.push_back({name, std::make_shared<decltype(net)>(std::move(net)), input, batch_axis});
  };
  add("mlp", Sequential{Linear(5, 7), ReLU(), Linear(7, 7), Tanh(), Linear(7, 3), Softmax()}, {2, 5});
  add("activations",
      Sequential{Linear(6, 8), LeakyReLU(), ELU(), SELU(), Softplus(), SiLU(), GELU(), Sigmoid(), HardSigmoid(),
                 ReLU6()},
      {2, 6});
  add("gelus", Sequential{Linear(6, 8), GELU(true), Linear(8, 8), GELU(false), LogSoftmax()}, {2, 3, 6});
  add("convolutions",
      Sequential{Conv2d(2, 6, 3, {.padding = {1, 1}}), BatchNorm2d(6), ReLU(), MaxPool2d(2),
                 Conv2d(6, 6, 3, {.padding = {2, 2}, .dilation = {2, 2}, .groups = 2}), AvgPool2d(2),
                 ConvTranspose2d(6, 4, 2, {.stride = {2, 2}}), GlobalAvgPool(), Linear(4, 3)},
      {2, 2, 12, 12});
  add("lines",
      Sequential{Conv1d(3, 4, 3), BatchNorm1d(4), MaxPool1d(2), ConvTranspose1d(4, 5, 3, {.stride = {2}}),
                 AdaptiveAvgPool1d(1), Flatten(), Linear(5, 2)},
      {2, 3, 14});
  add("norms",
      Sequential{Conv2d(2, 4, 1), GroupNorm(2, 4), InstanceNorm2d(4), Flatten(), LayerNorm(64), RMSNorm(64),
                 Linear(64, 2)},
      {2, 2, 4, 4});
  add("lstm", Sequential{LSTM(4, 6, {.layers = 2, .bidirectional = true}), Linear(12, 3)}, {7, 2, 4}, 1);
  add("gru", Sequential{GRU(4, 6, {.layers = 2, .bidirectional = true, .batch_first = true}), Linear(12, 3)},
      {2, 7, 4});
  add("transformer", Sequential{Embedding(10, 8), TransformerBlock(8, 2), LayerNorm(8), Linear(8, 5)}, {{2, 6}, kI64});
  return all;
}

}  // namespace ingot::onnx
