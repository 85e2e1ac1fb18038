// A layer that is called but that no parts() lists: neither trained nor saved, and therefore named.
#include <gtest/gtest.h>

#include "ingot/graph/grad.h"
#include "ingot/ingot.h"
#include "ingot/nn.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

const Tensor kX = uniform({8, 4}, 1, -1, 1), kY = uniform({8, 2}, 2, -1, 1);
const std::vector<InputSpec> kSpecs{{8, 4}, {8, 2}};

struct Forgetful : nn::Layer {
  nn::Linear first{4, 6}, second{6, 2};
  void parts(nn::Parts& p) override { p("first", first); }
  Tensor forward(const Tensor& x) override { return second(relu(first(x))); }
};

TEST(Forgotten, TheStepNamesTheLayer) {
  Forgetful net;
  const std::string text = error_of([&] { nn::train_step(net, nn::mse, optim::Sgd{}, kSpecs); });
  EXPECT_NE(text.find("the Linear is called, and its parameters (weight [2, 6], bias [2])"), std::string::npos) << text;
  EXPECT_NE(text.find("list it in parts()"), std::string::npos) << text;
  EXPECT_REFUSED(
      nn::train_step(
          net, [&](const Tensor& x, const Tensor& y) { return nn::mse_loss(net(x), y); }, optim::Sgd{}, kSpecs),
      "list it in parts()");
}

// Inside another module it has no name, but a place.
TEST(Forgotten, TheStepSaysWhereItIsCalled) {
  nn::Sequential net{nn::Linear(4, 4), Forgetful()};
  EXPECT_REFUSED(nn::train_step(net, nn::mse, optim::Sgd{}, kSpecs), "the Linear in \"1\" is called");
}

TEST(Forgotten, SoDoesATrainer) {
  Forgetful net;
  const data::TensorDataset set(kX, kY);
  data::Loader loader(set, {.batch = 8});
  nn::Trainer trainer(net, nn::mse, optim::Sgd{}, {.epochs = 1});
  EXPECT_REFUSED(trainer.fit(loader), "list it in parts()");
}

TEST(Forgotten, AndTheSummary) {
  Forgetful net;
  const nn::Summary s = nn::summary(net, {8, 4});
  ASSERT_EQ(s.unlisted.size(), 1u);
  EXPECT_EQ(s.unlisted[0], "Linear (14 parameters, called in Forgetful)");
  EXPECT_NE(s.text().find("neither trained nor saved"), std::string::npos);
  EXPECT_TRUE(nn::summary(net.first, {8, 4}).unlisted.empty());
}

// Who trains some parameters of a layer has not forgotten it.
TEST(Forgotten, NotIfSomeOfItIsTrained) {
  nn::Linear net(4, 2);
  std::vector<Parameter> biases = net.trainable_parameters();
  std::erase_if(biases, [](const Parameter& p) { return p.name != "bias"; });
  const ParameterSlab slab(biases);
  const Tensor before = clone(net.weight);
  TrainStep step([&](const Tensor& x, const Tensor& y) { return nn::mse_loss(net(x), y); }, slab, optim::Sgd{}, kSpecs);
  const float first = step(kX, kY);
  EXPECT_LT(step(kX, kY), first);
  EXPECT_EQ(net.weight.to_vector<float>(), before.to_vector<float>());
}

// On purpose: frozen, or where no gradient goes.
TEST(Forgotten, TeachersAndTargetsAreNot) {
  nn::Sequential net{nn::Linear(4, 2)}, teacher = nn::clone(net), target = nn::clone(net);
  const auto against = [&](nn::Layer& other, bool stop) {
    return [&net, &other, stop](const Tensor& x, const Tensor& y) {
      const Tensor said = other(x);
      return nn::mse_loss(net(x), y + (stop ? stop_gradient(said) : said));
    };
  };
  EXPECT_REFUSED(nn::train_step(net, against(teacher, false), optim::Sgd{}, kSpecs), "freeze() it");
  teacher.freeze();
  nn::train_step(net, against(teacher, false), optim::Sgd{}, kSpecs)(kX, kY);
  nn::train_step(net, against(target, true), optim::Sgd{}, kSpecs)(kX, kY);
}

// Two networks that are trained by steps of their own may call each other.
TEST(Forgotten, WhatAnotherStepTrainsIsNot) {
  nn::Sequential generator{nn::Linear(4, 2)}, judge{nn::Linear(2, 1)};
  const ParameterSlab g(generator.trainable_parameters()), j(judge.trainable_parameters());
  TrainStep learn_to_judge([&](const Tensor& x) { return mean(judge(generator(x))); }, j, optim::Sgd{}, {{8, 4}});
  TrainStep learn_to_make([&](const Tensor& x) { return -mean(judge(generator(x))); }, g, optim::Sgd{}, {{8, 4}});
  learn_to_judge(kX);
  learn_to_make(kX);
}

}  // namespace
}  // namespace ingot
