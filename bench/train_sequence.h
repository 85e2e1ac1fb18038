// The sequence models of train_bench.cc, which includes this behind its own nets: an LSTM classifier and a transformer
// block, and the same in libtorch.
#pragma once

struct Lstm : Net {
  const Tensor *w_ih, *w_hh, *b_ih, *b_hh;
  std::unique_ptr<Linear> head;
  Lstm() {
    const double bound = 1 / std::sqrt(128.0);
    w_ih = add("lstm.weight_ih_l0", {512, 32}, -bound, bound);
    w_hh = add("lstm.weight_hh_l0", {512, 128}, -bound, bound);
    b_ih = add("lstm.bias_ih_l0", {512}, -bound, bound);
    b_hh = add("lstm.bias_hh_l0", {512}, -bound, bound);
    head = std::make_unique<Linear>(*this, "head", 128, 10);
  }
  Tensor loss(std::span<const Tensor> in) const {
    const auto [y, c, gates] = lstm_sequence(linear(in[0], *w_ih, *b_ih + *b_hh), *w_hh);
    return mean(softmax_cross_entropy((*head)(select(y, 0, -1)), in[1]));
  }
};

struct TorchLstm : torch::nn::Module {
  torch::nn::LSTM lstm = register_module("lstm", torch::nn::LSTM(torch::nn::LSTMOptions(32, 128)));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(128, 10));
  at::Tensor loss(const TorchBatch& in) { return torch::cross_entropy_loss(head(std::get<0>(lstm(in[0]))[-1]), in[1]); }
};

Batch sequences(int64_t steps, int64_t rows, int64_t columns, int64_t classes) {
  Tensor labels = Tensor::empty({rows}, kI64);
  fill_integers(labels.data<int64_t>(), rows, 0, 0, classes, {7, 0});
  return {normal({steps, rows, columns}, 5), labels};
}
