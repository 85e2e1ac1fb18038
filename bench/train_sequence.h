// The sequence models of train_bench.cc, which includes this behind its own nets: an LSTM classifier and a transformer
// block, through nn's modules, and the same in libtorch.
#pragma once

struct LstmNet : nn::Module {
  nn::LSTM lstm{32, 128};
  nn::Linear head{128, 10};
  void parts(nn::Parts& p) override { p("lstm", lstm), p("head", head); }
  std::vector<Parameter> parameters() { return trainable_parameters(); }
  Tensor loss(std::span<const Tensor> in) {
    return mean(softmax_cross_entropy(head(select(lstm(in[0]), 0, -1)), in[1]));
  }
};

struct TorchLstm : torch::nn::Module {
  torch::nn::LSTM lstm = register_module("lstm", torch::nn::LSTM(torch::nn::LSTMOptions(32, 128)));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(128, 10));
  at::Tensor loss(const TorchBatch& in) { return torch::cross_entropy_loss(head(std::get<0>(lstm(in[0]))[-1]), in[1]); }
};

struct AttentionNet : nn::Module {
  nn::TransformerBlock block{128, 4};
  void parts(nn::Parts& p) override { p("block", block); }
  std::vector<Parameter> parameters() { return trainable_parameters(); }
  Tensor loss(std::span<const Tensor> in) { return nn::mse_loss(block(in[0]), in[1]); }
};

// The same block as fast as libtorch does it: one projection for q, k and v, one copy that puts heads first, products
// of all heads in one call with the scale inside, softmax; no mask, no dropout, no weights returned. (Its own
// TransformerEncoderLayer does the same with more copies.)
struct TorchAttention : torch::nn::Module {
  at::Tensor in_weight = register_parameter("in_weight", torch::empty({384, 128}));
  at::Tensor in_bias = register_parameter("in_bias", torch::empty({384}));
  torch::nn::Linear out = register_module("out", torch::nn::Linear(128, 128));
  torch::nn::Linear linear1 = register_module("linear1", torch::nn::Linear(128, 512));
  torch::nn::Linear linear2 = register_module("linear2", torch::nn::Linear(512, 128));
  torch::nn::LayerNorm norm1 = register_module("norm1", TorchDqn::norm(128));
  torch::nn::LayerNorm norm2 = register_module("norm2", TorchDqn::norm(128));
  bool one_copy;
  explicit TorchAttention(bool one) : one_copy(one) {}

  at::Tensor attend(const at::Tensor& x) {
    const int64_t batch = x.size(0), length = x.size(1);
    const auto heads = torch::linear(x, in_weight, in_bias).view({batch, length, 3, 4, 32}).permute({2, 0, 3, 1, 4});
    const double scale = 1 / std::sqrt(32.0);
    at::Tensor y;
    if (one_copy) {
      const auto qkv = heads.reshape({3, batch * 4, length, 32}).unbind(0);
      const auto none = torch::empty({1, 1, 1}).expand({batch * 4, length, length});
      const auto scores = torch::baddbmm(none, qkv[0], qkv[1].transpose(1, 2), 0, scale);
      y = torch::bmm(torch::softmax(scores, -1), qkv[2]).view({batch, 4, length, 32});
    } else {
      y = torch::matmul(torch::softmax(torch::matmul(heads[0] * scale, heads[1].transpose(-2, -1)), -1), heads[2]);
    }
    return out(y.transpose(1, 2).reshape({batch, length, 128}));
  }
  at::Tensor loss(const TorchBatch& in) {
    const auto x = in[0] + attend(norm1(in[0]));
    return torch::mse_loss(x + linear2(torch::gelu(linear1(norm2(x)))), in[1]);
  }
};

Batch sequences(int64_t steps, int64_t rows, int64_t columns, int64_t classes) {
  Tensor labels = Tensor::empty({rows}, kI64);
  fill_integers(labels.data<int64_t>(), rows, 0, 0, classes, {7, 0});
  return {normal({steps, rows, columns}, 5), labels};
}
