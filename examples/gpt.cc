// A small GPT learns a sentence by heart, character by character, and says it again.
#include <ingot/ingot.h>

#include <cstdio>
#include <string>

using namespace ingot;

constexpr int64_t kContext = 32, kWidth = 64, kBatch = 8;

struct Gpt : nn::Layer {
  nn::Embedding tokens{128, kWidth};
  nn::LearnedPositions positions{kContext, kWidth};
  nn::TransformerBlock first{kWidth, 4, {.causal = true}}, second{kWidth, 4, {.causal = true}};
  nn::LayerNorm norm{kWidth};
  nn::Linear head{kWidth, 128, false};
  void parts(nn::Parts& p) override {
    p("tokens", tokens), p("positions", positions), p("first", first), p("second", second), p("norm", norm);
    p("head", head);
  }
  Tensor forward(const Tensor& text) override { return head(norm(second(first(positions(tokens(text)))))); }
};

int main() {
  const std::string text = "the quick brown fox jumps over the lazy dog, and the dog sleeps on. ";
  const auto piece = [&](size_t start) {  // kContext characters, and the ones that follow them
    std::vector<int64_t> now, next;
    for (size_t i = start; i < start + kContext; i++) {
      now.push_back(text[i % text.size()]);
      next.push_back(text[(i + 1) % text.size()]);
    }
    return std::pair(Tensor::from(now), Tensor::from(next));
  };
  nn::set_seed(1);
  Gpt net;
  auto step = nn::train_step(net, nn::cross_entropy, optim::Adam{.lr = 2e-3f},
                             {{{kBatch, kContext}, kI64, "text"}, {{kBatch, kContext}, kI64, "next"}});
  float loss = 0;
  for (size_t i = 0; i < 150; i++) {
    std::vector<Tensor> now, next;
    for (size_t b = 0; b < kBatch; b++) {
      const auto [a, z] = piece(i * 29 + b * 7);
      now.push_back(a), next.push_back(z);
    }
    loss = step(stack(now), stack(next));
    if (i % 30 == 0) std::printf("step %3zu  loss %.3f\n", i, loss);
  }
  net.eval();
  std::string said = text.substr(0, kContext);
  for (int i = 0; i < 40; i++) {
    std::vector<int64_t> now(said.end() - kContext, said.end());
    const Tensor scores = select(select(net(Tensor::from(now, {1, kContext})), 0, 0), 0, kContext - 1);
    said += static_cast<char>(argmax(scores).item<int64_t>());
  }
  std::printf("loss %.3f\n%s\n", loss, said.c_str());
  return loss < 0.5f ? 0 : 1;
}
