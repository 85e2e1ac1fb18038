// Modules: their parts, their names, and training them.
#include <gtest/gtest.h>

#include <cmath>

#include "ingot/base/error.h"
#include "ingot/ingot.h"
#include "ingot/nn.h"

namespace ingot {
namespace {

struct TwoInputs : nn::Module {
  nn::Linear hidden{5, 16}, out{16, 2, /*with_bias=*/false};
  Tensor steps = zeros({1});
  void parts(nn::Parts& p) override {
    p("hidden", hidden);
    p("out", out);
    p.buffer("steps", steps);
  }
  Tensor forward(const Tensor& a, const Tensor& b) { return out(relu(hidden(concat({a, b}, 1)))); }
};

std::vector<std::string> names(const auto& list) {
  std::vector<std::string> all;
  for (const auto& p : list) all.push_back(p.name);
  return all;
}

TEST(Module, NamesItsParts) {
  nn::Sequential net{nn::Linear(4, 8), nn::ReLU(), nn::Sequential(nn::LayerNorm(8), nn::Linear(8, 3, false))};
  EXPECT_EQ(names(net.named_parameters()),
            (std::vector<std::string>{"0.weight", "0.bias", "2.0.weight", "2.0.bias", "2.1.weight"}));
  EXPECT_EQ(net.parameter_count(), 4 * 8 + 8 + 8 + 8 + 8 * 3);
  TwoInputs two;
  EXPECT_EQ(names(two.named_parameters()), (std::vector<std::string>{"hidden.weight", "hidden.bias", "out.weight"}));
  EXPECT_EQ(names(two.buffers()), (std::vector<std::string>{"steps"}));
}

TEST(Module, ModesReachAllInside) {
  nn::Sequential net{nn::Linear(2, 2), nn::Sequential(nn::ReLU())};
  EXPECT_TRUE(net[1].training());
  net.eval();
  EXPECT_FALSE(net.training());
  EXPECT_FALSE(net[0].training());
  EXPECT_FALSE(static_cast<nn::Sequential&>(net[1])[0].training());
  net.train();
  EXPECT_TRUE(static_cast<nn::Sequential&>(net[1])[0].training());
}

TEST(Module, TheSameSeedMakesTheSameModel) {
  nn::set_seed(7);
  nn::Linear a(3, 4), b(3, 4);
  nn::set_seed(7);
  nn::Linear c(3, 4);
  EXPECT_EQ(a.weight.to_vector<float>(), c.weight.to_vector<float>());
  EXPECT_EQ(a.bias.to_vector<float>(), c.bias.to_vector<float>());
  EXPECT_NE(a.weight.to_vector<float>(), b.weight.to_vector<float>());
  for (const float w : a.weight.to_vector<float>()) EXPECT_LE(std::abs(w), 1 / std::sqrt(3.0f));
}

TEST(Module, SeedScopesNestAndEnd) {
  nn::set_seed(7);
  const std::vector<float> expected[] = {nn::Linear(3, 4).weight.to_vector<float>(),
                                         nn::Linear(3, 4).weight.to_vector<float>()};
  nn::set_seed(7);
  EXPECT_EQ(nn::Linear(3, 4).weight.to_vector<float>(), expected[0]);
  {
    const nn::SeedScope outer(7);
    {
      const nn::SeedScope inner(8);
      EXPECT_NE(nn::Linear(3, 4).weight.to_vector<float>(), expected[0]);
    }
    EXPECT_EQ(nn::Linear(3, 4).weight.to_vector<float>(), expected[0]);
  }
  EXPECT_EQ(nn::Linear(3, 4).weight.to_vector<float>(), expected[1]) << "as if there had been no scope";
}

TEST(Module, QueriesTakeConstModules) {
  const TwoInputs two;
  EXPECT_EQ(two.parameter_count(), 5 * 16 + 16 + 16 * 2);
  EXPECT_EQ(names(two.parameters()), (std::vector<std::string>{"hidden.weight", "hidden.bias", "out.weight"}));
  EXPECT_EQ(two.state_dict().size(), 4u);
  EXPECT_TRUE(two.carried_tensors().empty());
}

TEST(Module, TrainsAClassifierWithoutAllocating) {
  nn::set_seed(1);
  nn::Sequential net{nn::Linear(8, 32), nn::ReLU(), nn::Linear(32, 4)};
  auto step = nn::train_step(net, nn::cross_entropy, optim::Adam{.lr = 1e-2f}, {{64, 8}, {64}}, {.name = "classifier"});
  const Tensor x = normal({64, 8}, 2), labels = argmax(matmul(x, normal({8, 4}, 3)), {1});
  const float first = step(x, labels);
  const uint64_t before = memory_stats().allocations;
  float last = first;
  for (int i = 0; i < 200; i++) last = step(x, labels);
  EXPECT_EQ(memory_stats().allocations, before);
  EXPECT_LT(last, 0.1f * first);
  EXPECT_NE(step.plan().dump().find("0/linear"), std::string::npos) << step.plan().dump();
  // The model itself has learned: its tensors look into the slab.
  const Tensor right = equal(argmax(net(x), {1}), labels);
  int hits = 0;
  for (const bool hit : right.to_vector<bool>()) hits += hit;
  EXPECT_GE(hits, 60);
}

TEST(Module, TrainsAConvolutionalNet) {
  nn::set_seed(1);
  nn::Sequential net{nn::Conv2d(1, 4, 3),       nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                     nn::Linear(4 * 5 * 5, 16), nn::Tanh(), nn::Linear(16, 1)};
  auto step = nn::train_step(net, nn::mse, optim::Sgd{.lr = 0.02f, .momentum = 0.9f}, {{16, 1, 12, 12}, {16, 1}});
  const Tensor x = normal({16, 1, 12, 12}, 2), y = reshape(mean(x, {1, 2, 3}) * 5.0, {16, 1});
  const float first = step(x, y);
  float last = first;
  for (int i = 0; i < 150; i++) last = step(x, y);
  EXPECT_LT(last, 0.1f * first);
}

TEST(Module, ErrorsAreSentences) {
  EXPECT_THROW(nn::Linear(0, 4), Error);
  EXPECT_THROW(nn::Conv2d(3, 4, 3, {.groups = 2}), Error);
  nn::Sequential net{nn::Linear(8, 2)};
  EXPECT_THROW(nn::train_step(net, nn::mse, optim::Adam{}, {{4, 8}}), Error);
  nn::Sequential empty{nn::ReLU()};
  EXPECT_THROW(nn::train_step(empty, nn::mse, optim::Adam{}, {{4, 8}, {4, 8}}), Error);
}

}  // namespace
}  // namespace ingot
