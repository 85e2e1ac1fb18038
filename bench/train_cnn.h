// The small image network of case c: two convolutions with pooling, two linear layers, on 28 x 28. Ours is made of nn's
// modules.
#pragma once
#include <torch/torch.h>

#include <span>
#include <vector>

#include "ingot/ingot.h"
#include "ingot/nn.h"

namespace ingot::bench {

struct Cnn {
  mutable nn::Sequential net{nn::Conv2d(1, 8, 3), nn::ReLU(),         nn::MaxPool2d(2), nn::Conv2d(8, 16, 3),
                             nn::ReLU(),          nn::MaxPool2d(2),   nn::Flatten(),    nn::Linear(16 * 5 * 5, 128),
                             nn::ReLU(),          nn::Linear(128, 10)};
  std::vector<Parameter> parameters() const { return net.named_parameters(); }
  Tensor forward(const Tensor& x) const { return net(x); }
  Tensor loss(std::span<const Tensor> in) const { return nn::cross_entropy_loss(forward(in[0]), in[1]); }
};

struct TorchCnn : torch::nn::Module {
  torch::nn::Conv2d conv1 = register_module("conv1", torch::nn::Conv2d(1, 8, 3));
  torch::nn::Conv2d conv2 = register_module("conv2", torch::nn::Conv2d(8, 16, 3));
  torch::nn::Linear linear1 = register_module("linear1", torch::nn::Linear(16 * 5 * 5, 128));
  torch::nn::Linear linear2 = register_module("linear2", torch::nn::Linear(128, 10));

  at::Tensor forward(at::Tensor x) {
    x = torch::max_pool2d(torch::relu(conv1(x)), 2);
    x = torch::max_pool2d(torch::relu(conv2(x)), 2);
    return linear2(torch::relu(linear1(x.flatten(1))));
  }
  at::Tensor loss(const std::vector<at::Tensor>& in) { return torch::cross_entropy_loss(forward(in[0]), in[1]); }
};

}  // namespace ingot::bench
