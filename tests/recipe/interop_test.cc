// Models that PyTorch wrote (tools/golden_interop.py): the same numbers here, and the same file back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "ingot/io/io.h"
#include "ingot/nn.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/test_file.h"

namespace ingot {
namespace {

const std::string kFolder = test_file("goldens/interop/");

// Loads the weights, compares what the model makes of x, and saves what it then has.
void expect_the_same(const std::string& name, nn::Layer& model) {
  const io::SafeTensors weights = io::load_safetensors(kFolder + name + ".safetensors");
  model.load_state_dict(weights.tensors);
  model.eval();
  const io::SafeTensors values = io::load_safetensors(kFolder + name + "_values.safetensors");
  const Tensor &x = values["x"], &y = values["y"];
  EXPECT_LT(max(abs(model(x) - y)).item(), 2e-6f);
  Plan plan = compile([&](const Tensor& in) { return model(in); }, {InputSpec(x.shape(), x.dtype())}, {.frozen = true});
  EXPECT_LT(max(abs(plan.run(x)[0] - y)).item(), 2e-6f);

  const std::string path = testing::TempDir() + "ingot_interop_" + std::to_string(::getpid()) + name + ".safetensors";
  io::save_safetensors(path, model.state_dict());
  EXPECT_EQ(io::read_file(path), io::read_file(kFolder + name + ".safetensors"));
  std::filesystem::remove(path);
}

struct Tagger : nn::Layer {
  nn::Embedding embedding{11, 6};
  nn::LSTM lstm{6, 5, {.layers = 2, .bidirectional = true, .batch_first = true}};
  nn::Linear out{10, 4};
  void parts(nn::Parts& p) override { p("embedding", embedding), p("lstm", lstm), p("out", out); }
  Tensor forward(const Tensor& x) override { return out(lstm(embedding(x))); }
};

struct Mixer : nn::Layer {
  nn::LayerNorm norm{8};
  nn::MultiheadAttention attention{8, 2};
  nn::GRU gru{8, 3, {.batch_first = true}};
  void parts(nn::Parts& p) override { p("norm", norm), p("attention", attention), p("gru", gru); }
  Tensor forward(const Tensor& x) override { return gru(x + attention(norm(x))); }
};

TEST(Interop, Recurrent) {
  Tagger tagger;
  expect_the_same("tagger", tagger);
}

TEST(Interop, Attention) {
  Mixer mixer;
  expect_the_same("mixer", mixer);
}

TEST(Interop, Cnn) {
  nn::Sequential net{nn::Conv2d(1, 4, 3, {.padding = {1, 1}}, /*with_bias=*/false),
                     nn::BatchNorm2d(4),
                     nn::ReLU(),
                     nn::MaxPool2d(2),
                     nn::Conv2d(4, 6, 3),
                     nn::BatchNorm2d(6),
                     nn::ReLU(),
                     nn::Flatten(),
                     nn::Dropout(0.5),
                     nn::Linear(24, 10)};
  expect_the_same("cnn", net);
}

}  // namespace
}  // namespace ingot
