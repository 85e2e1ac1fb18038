// What was made before somebody changed what it stands on: plans whose parameters a step took, steps whose modes changed.
#include <gtest/gtest.h>

#include "ingot/base/memory.h"
#include "ingot/ingot.h"
#include "ingot/nn.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

const Tensor kX = uniform({8, 4}, 1, -1, 1), kY = uniform({8, 2}, 2, -1, 1);

nn::Sequential small() {
  const nn::SeedScope seed(3);
  return nn::Sequential{nn::Linear(4, 8), nn::Dropout(0.5), nn::Linear(8, 2)};
}
TrainStep step_of(nn::Layer& net) { return nn::train_step(net, nn::mse, optim::Sgd{.lr = 0.1f}, {{8, 4}, {8, 2}}); }

Plan acting(nn::Layer& net) {
  net.eval();
  Plan plan = compile([&](const Tensor& x) { return net(x); }, {{8, 4}}, {.name = "act"});
  net.train();
  return plan;
}

TEST(StalePlan, SaysThatAStepTookTheParameters) {
  nn::Sequential net = small();
  Plan act = acting(net);
  act.run(kX);
  TrainStep step = step_of(net);
  EXPECT_REFUSED(act.run(kX), "is no longer where it was when the plan was compiled");
  Plan after = acting(net);
  const Tensor before = after(kX);
  step(kX, kY);
  EXPECT_NE(after(kX).to_vector<float>(), before.to_vector<float>()) << "one made after the step follows it";
}

TEST(StalePlan, SaysThatATrainerOrASlabDid) {
  nn::Sequential net = small();
  Plan act = acting(net);
  {
    nn::Trainer trainer(net, nn::mse, optim::Sgd{});
    EXPECT_REFUSED(act.run(kX), "is no longer where it was");
    act = acting(net);
    act.run(kX);
  }
  act.run(kX);  // the trainer is gone, the memory is still the net's
  const ParameterSlab slab(net.trainable_parameters());
  EXPECT_REFUSED(act.run(kX), "is no longer where it was");
}

TEST(StalePlan, SaysThatTheModuleWasConverted) {
  nn::Sequential net = small();
  Plan act = acting(net);
  net.to(kF32);  // is
  act.run(kX);
  net.to(kF64);
  EXPECT_REFUSED(act.run(kX), "is no longer where it was when the plan was compiled");
}

TEST(StalePlan, APlanCacheFollows) {
  nn::Sequential net{nn::Linear(4, 2)};
  PlanCache act([&](const Tensor& x) { return net(x); }, 1);
  const Tensor before = act(kX);
  TrainStep step = step_of(net);
  EXPECT_EQ(act(kX).to_vector<float>(), before.to_vector<float>());
  step(kX, kY);
  EXPECT_NE(act(kX).to_vector<float>(), before.to_vector<float>());
}

TEST(StaleModes, EvaluationModeIsNoticed) {
  nn::Sequential net = small();
  TrainStep step = step_of(net);
  step(kX, kY);
  net.eval();
  EXPECT_REFUSED(step(kX, kY), "train step: \"1\" (Dropout) is in evaluation mode");
  EXPECT_REFUSED(step(kX, kY), "call train() before you go on");
  net.train();
  step(kX, kY);
  net[1].eval();
  EXPECT_REFUSED(step(kX, kY), "\"1\" (Dropout)");
  TrainStep in_evaluation = [&] {
    nn::Sequential& other = *new nn::Sequential(small());  // the step outlives what is known of the model
    std::unique_ptr<nn::Sequential> owner(&other);
    other.eval();
    return step_of(other);
  }();
  in_evaluation(kX, kY);
}

// Modes that no layer asks for change nothing.
TEST(StaleModes, ModesThatNobodyAsksForAreNot) {
  nn::Sequential net{nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2)};
  TrainStep step = step_of(net);
  net.eval();
  step(kX, kY);
}

TEST(StaleModes, FreezingIsNoticed) {
  nn::Sequential net = small();
  TrainStep step = step_of(net);
  step(kX, kY);
  net[0].freeze();
  EXPECT_REFUSED(step(kX, kY), "\"0\" (Linear) was frozen after the step was made");
  net[0].freeze(false);
  step(kX, kY);
}

TEST(StaleModes, ThawingIsNoticed) {
  nn::Sequential net = small();
  net[0].freeze();
  TrainStep step = step_of(net);
  step(kX, kY);
  net[0].freeze(false);
  EXPECT_REFUSED(step(kX, kY), "\"0\" (Linear) was frozen when the step was made and is no more");
}

TEST(StaleModes, FreezingAfterTheParametersWereCollectedIsNoticed) {
  nn::Sequential net = small();
  const ParameterSlab slab(net.trainable_parameters());
  net[2].freeze();
  const auto loss = [&](const Tensor& x, const Tensor& y) { return nn::mse_loss(net(x), y); };
  EXPECT_REFUSED(TrainStep(loss, slab, optim::Sgd{}, {{8, 4}, {8, 2}}),
                 "\"2\" (Linear) was frozen after its parameters had joined");
}

// A module with a forward of its own that is no Layer: nobody sees it called, but the step is given the model.
TEST(StaleModes, OfAModuleWithItsOwnForward) {
  struct Scale : nn::Module {
    Tensor factor = ones({2});
    void parts(nn::Parts& p) override { p("factor", factor); }
  } net;
  auto step =
      nn::train_step(net, [&](const Tensor& y) { return mean(square(y * net.factor)); }, optim::Sgd{}, {{8, 2}});
  step(kY);
  net.freeze();
  EXPECT_REFUSED(step(kY), "the Scale was frozen after the step was made");
}

TEST(StaleModes, ATrainerNotices) {
  nn::Sequential net = small();
  const data::TensorDataset set(kX, kY);
  data::Loader loader(set, {.batch = 8});
  nn::Trainer trainer(net, nn::mse, optim::Sgd{}, {.epochs = 100});
  trainer.on_epoch = [&](const nn::EpochResult&) { trainer.stop(); };
  trainer.fit(loader, &loader);
  net.eval();  // as after any use of the net; a trainer trains
  trainer.fit(loader, &loader);
  net[0].freeze();
  EXPECT_REFUSED(trainer.fit(loader), "\"0\" (Linear) was frozen after the step was made");
}

TEST(Predictions, AreKept) {
  nn::Sequential net = small();
  nn::Trainer trainer(net, nn::mse, optim::Sgd{});
  const Tensor first = trainer.predict(kX), second = trainer.predict(zeros({8, 4}));
  EXPECT_NE(first.to_vector<float>(), second.to_vector<float>());
}

TEST(StaleModes, LookingTakesNoMemory) {
  nn::Sequential net = small();
  TrainStep step = step_of(net);
  step(kX, kY);
  const uint64_t before = memory_stats().allocations;
  for (int i = 0; i < 3; i++) {
    net.eval();
    net.train();
    step(kX, kY);
  }
  EXPECT_EQ(memory_stats().allocations, before);
}

}  // namespace
}  // namespace ingot
