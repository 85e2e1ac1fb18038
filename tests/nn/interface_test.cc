// What users write, in the forms they write it in.
#include <gtest/gtest.h>

#include "ingot/ingot.h"
#include "ingot/nn.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

const Tensor kX = uniform({8, 4}, 1, -1, 1), kY = uniform({8, 1}, 2, -1, 1);

struct Line {
  Tensor w = ones({4, 1});
  ParameterSlab slab{{{"w", &w}}};
  auto loss() const {
    return [this](const Tensor& x, const Tensor& y) { return mean(square(matmul(x, w) - y)); };
  }
};

TEST(Interface, AStepTakesUpdatesThatAreSharedOrItsOwn) {
  Line a, b, c, d;
  Updates updates(b.slab, optim::Sgd{.lr = 0.1f});
  TrainStep own(a.loss(), a.slab, optim::Sgd{.lr = 0.1f}, {{8, 4}, {8, 1}});
  TrainStep shared(b.loss(), updates, {{8, 4}, {8, 1}});
  TrainStep moved(c.loss(), Updates(c.slab, optim::Sgd{.lr = 0.1f}, {.ema = 0.9}), {{8, 4}, {8, 1}});
  Updates listed(d.slab, optim::Sgd{.lr = 0.1f});
  TrainStep list(d.loss(), {&listed}, {{8, 4}, {8, 1}}, {.name = "list"});
  const float loss = own(kX, kY);
  EXPECT_EQ(shared(kX, kY), loss);
  EXPECT_EQ(moved(kX, kY), loss);
  EXPECT_EQ(list(kX, kY), loss);
  EXPECT_EQ(a.w.to_vector<float>(), c.w.to_vector<float>());
  EXPECT_TRUE(moved.updates().averages().defined());
}

// Ops whose names modules have as well are found inside of them.
TEST(Interface, OpsAreFoundInsideModules) {
  struct Casting : nn::Layer {
    Tensor forward(const Tensor& x) override { return to(to(x, kF64), kF32); }
  } casting;
  EXPECT_EQ(casting(kX).to_vector<float>(), kX.to_vector<float>());
  struct Skipping : nn::Sequential {
    Skipping() : Sequential(nn::Linear(4, 4)) {}
    Tensor forward(const Tensor& x) override { return add(add(x, Sequential::forward(x)), 1.0); }
  } skipping;
  EXPECT_EQ(skipping(kX).shape(), kX.shape());
}

// The type of targets is the loss's if none is given; given, it stays.
TEST(Interface, TargetsKeepTheTypeThatWasGiven) {
  const nn::SeedScope seed(1);
  nn::Sequential wide{nn::Linear(4, 1)};
  wide.to(kF64);
  auto step = nn::train_step(wide, nn::mse, optim::Sgd{}, {{{8, 4}, kF64}, {{8, 1}, kF64}});
  step(to(kX, kF64), to(kY, kF64));
  nn::Sequential narrow{nn::Linear(4, 3)};
  auto classes = nn::train_step(narrow, nn::cross_entropy, optim::Sgd{}, {{8, 4}, {8}});
  classes(kX, zeros({8}, kI64));
  nn::Sequential again{nn::Linear(4, 3)};
  auto labels = nn::train_step(again, nn::cross_entropy, optim::Sgd{}, {{8, 4}, {{8}, kI32}});
  labels(kX, zeros({8}, kI32));
  nn::Sequential soft{nn::Linear(4, 3)};
  auto shares = nn::train_step(soft, nn::cross_entropy, optim::Sgd{}, {{8, 4}, {{8, 3}, kF32}});
  shares(kX, full({8, 3}, 1.0 / 3));
}

TEST(Interface, WhatIsNotThereIsAnError) {
  nn::Sequential net{nn::Linear(4, 1)};
  EXPECT_REFUSED(net[99], "layer 99 of 1");
  EXPECT_REFUSED(net.add(std::shared_ptr<nn::Linear>()), "a null pointer");
  EXPECT_REFUSED(net.add(nullptr), "a null pointer");
  EXPECT_REFUSED(nn::LayerPtr(nullptr), "a null pointer");
  nn::LayerPtr pointer(std::make_shared<nn::Linear>(4, 1));
  const nn::LayerPtr taken = std::move(pointer);
  EXPECT_REFUSED(pointer->forward(kX), "a null pointer");       // NOLINT: what a moved one says
  EXPECT_REFUSED(net.add(std::move(pointer)), "null pointer");  // NOLINT
  EXPECT_EQ(net.size(), 1u);
  Line line;
  EXPECT_REFUSED(line.slab.name(1), "parameter 1 of 1");
  EXPECT_REFUSED(line.slab.value(1), "parameter 1 of 1");
  EXPECT_REFUSED(line.slab.gradient(7), "parameter 7 of 1");
}

}  // namespace
}  // namespace ingot
