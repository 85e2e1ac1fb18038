// Deep Q-learning: targets by hand, weights in the loss, a whole run against PyTorch, no allocation, the same bits.
#include "ingot/rl/dqn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/base/threads.h"
#include "ingot/ops/functions.h"
#include "tests/ops/harness.h"
#include "tests/rl/corridor.h"
#include "tests/test_file.h"

namespace ingot::rl {
namespace {

DqnOptions small() {
  return {.net = {.hidden = {32, 24}},
          .n_step = 2,
          .discount = 0.9,
          .tau = 0.05,
          .lr = 1e-3f,
          .lr_end = 1e-3f,
          .environments = 3,
          .batch = 16,
          .capacity = 600,
          .learning_starts = 60,
          .updates_per_step = 0.5,
          .total_steps = 3'000,
          .exploration = 0.5,
          .seed = 11};
}

void fill_batch(const DqnUpdate::Batch& b, int64_t actions) {
  copy_into(b.state, normal(b.state.shape(), 1));
  copy_into(b.next, normal(b.next.shape(), 2));
  copy_into(b.reward, normal(b.reward.shape(), 3, 0, 2));
  copy_into(b.discount, uniform(b.discount.shape(), 4));
  copy_into(b.weight, uniform(b.weight.shape(), 5));
  fill_integers(b.action.data<int64_t>(), b.action.numel(), 0, 0, actions, {6, 0});
}

// y = r + discount · Q'(next, a): a is the best action of the online network (double) or of the target network.
TEST(DqnUpdate, TargetsAreThoseOfTheDefinition) {
  for (const bool double_q : {false, true})
    for (const bool dueling : {false, true}) {
      DqnOptions o = small();
      o.net.dueling = dueling, o.double_q = double_q;
      DqnUpdate update({5, 0}, 3, o);
      fill_batch(update.batch(), 3);
      for (const NamedTensor& p : update.target().parameters())  // networks that differ
        copy_into(p.tensor, p.tensor + normal(p.tensor.shape(), 7, 0, 0.3));
      const DqnUpdate::Batch& b = update.batch();
      const Tensor online = update.online()(b.next), target = update.target()(b.next), now = update.online()(b.state);
      update.run();
      for (int64_t i = 0; i < o.batch; i++) {
        int64_t best = 0;
        const Tensor& chooser = double_q ? online : target;
        for (int64_t a = 1; a < 3; a++)
          if (chooser.at<float>({i, a}) > chooser.at<float>({i, best})) best = a;
        const float y = b.reward.at<float>({i}) + b.discount.at<float>({i}) * target.at<float>({i, best});
        EXPECT_NEAR(update.targets().at<float>({i}), y, 1e-5);
        EXPECT_NEAR(update.td_errors()[static_cast<size_t>(i)], y - now.at<float>({i, b.action.at<int64_t>({i, 0})}),
                    1e-5);
      }
    }
}

TEST(DqnUpdate, DuelingHeadsAreCentred) {
  const nn::SeedScope seed(1);
  QNet net({4, 0}, 3, {.hidden = {8}});
  std::vector<NamedTensor> parts = net.parameters();
  const auto named = [&](const std::string& name) -> const Tensor& {
    for (const NamedTensor& p : parts)
      if (p.name == name) return p.tensor;
    throw Error("no " + name);
  };
  const Tensor x = normal({2, 4}, 1), before = net(x);
  copy_into(named("advantage.bias"), named("advantage.bias") + 5.0);  // the same for all actions: no difference
  EXPECT_LT(max(abs(net(x) - before)).item<float>(), 1e-5);
  copy_into(named("value.bias"), named("value.bias") + 2.0);
  EXPECT_LT(max(abs(net(x) - before - 2.0)).item<float>(), 1e-5);
}

TEST(DqnUpdate, NoWeightNoGradient) {
  DqnOptions o = small();
  o.tau = 0;
  DqnUpdate a({5, 0}, 3, o), b({5, 0}, 3, o);
  fill_batch(a.batch(), 3), fill_batch(b.batch(), 3);
  for (DqnUpdate* u : {&a, &b}) u->batch().weight.at<float>({4}) = 0;
  b.batch().reward.at<float>({4}) = 1000;  // whatever it says
  b.batch().action.at<int64_t>({4, 0}) = (b.batch().action.at<int64_t>({4, 0}) + 1) % 3;
  EXPECT_EQ(a.run(), b.run());
  const auto pa = a.online().parameters(), pb = b.online().parameters();
  for (size_t i = 0; i < pa.size(); i++) EXPECT_EQ(pa[i].tensor.to_vector<float>(), pb[i].tensor.to_vector<float>());
  EXPECT_NE(a.td_errors()[4], b.td_errors()[4]);

  for (float& w : std::span(a.batch().weight.data<float>(), 16)) w = 0;
  DqnUpdate fresh({5, 0}, 3, o);
  fill_batch(fresh.batch(), 3);
  for (float& w : std::span(fresh.batch().weight.data<float>(), 16)) w = 0;
  const std::vector<float> before = fresh.online().parameters()[0].tensor.to_vector<float>();
  EXPECT_EQ(fresh.run(), 0);
  EXPECT_EQ(fresh.online().parameters()[0].tensor.to_vector<float>(), before);
}

TEST(DqnUpdate, TheTargetNetworkFollowsOrIsCopied) {
  DqnOptions o = small();
  o.copy_every = 3;
  DqnUpdate update({5, 0}, 3, o);
  fill_batch(update.batch(), 3);
  const std::vector<float> begin = update.target().parameters()[0].tensor.to_vector<float>();
  update.run(), update.run();
  EXPECT_EQ(update.target().parameters()[0].tensor.to_vector<float>(), begin);
  update.run();
  EXPECT_EQ(update.target().parameters()[0].tensor.to_vector<float>(),
            update.online().parameters()[0].tensor.to_vector<float>());
  o.copy_every = 0, o.tau = 0.25;
  DqnUpdate follows({5, 0}, 3, o);
  fill_batch(follows.batch(), 3);
  follows.run();
  const std::vector<float> lead = follows.online().parameters()[0].tensor.to_vector<float>();
  const std::vector<float> now = follows.target().parameters()[0].tensor.to_vector<float>();
  for (size_t i = 0; i < now.size(); i++) EXPECT_NEAR(now[i], 0.75f * begin[i] + 0.25f * lead[i], 1e-7);
}

// An input that is one at few places gives the same Q values as floats and as indices.
TEST(QNet, HotIndicesAreTheSameNetwork) {
  const nn::SeedScope seed(3);
  QNet dense({12, 0}, 4, {.hidden = {16, 8}, .residual = 1}), hot({12, 3}, 4, {.hidden = {16, 8}, .residual = 1});
  const auto from = dense.parameters(), to = hot.parameters();
  for (size_t i = 0; i < from.size(); i++) copy_into(to[i].tensor, i == 0 ? transpose(from[i].tensor) : from[i].tensor);
  const Tensor x = zeros({2, 12}), indices = Tensor::from(std::vector<int32_t>{1, 5, 9, 0, 7, 11}, {2, 3});
  for (int64_t i = 0; i < 6; i++) x.at<float>({i / 3, indices.at<int32_t>({i / 3, i % 3})}) = 1;
  EXPECT_LT(max(abs(dense(x) - hot(indices))).item<float>(), 1e-5);
}

TEST(Dqn, LearnsTheCorridor) {
  Dqn<Corridor> agent({}, small());
  while (agent.status().steps < 3'000) agent.step();
  EXPECT_GT(agent.evaluate(50, 9).total, 0.6) << "from any cell straight to the end";
  EXPECT_LT(agent.evaluate(50, 9).length, 5);
}

// tools/golden_dqn.py is the same run in PyTorch: its own environment, replay, random numbers and network.
TEST(Dqn, AWholeRunIsPyTorchs) {
  std::ifstream file(test_file("goldens/dqn.txt"));
  ASSERT_TRUE(file.good());
  std::string line;
  int runs = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    DqnOptions o = small();
    words >> name >> o.net.dueling >> o.double_q >> o.prioritised >> o.huber >> o.n_step;
    o.dtype = kF64, o.environments = 2, o.total_steps = 2'000, o.epsilon_start = 0.5;  // an update a step
    Dqn<Corridor> agent({.length = 8, .limit = 12}, o);
    for (const NamedTensor& p : agent.network().parameters()) {  // the numbers that the script begins with
      int64_t k = 0;
      for (double& v : std::span(p.tensor.data<double>(), static_cast<size_t>(p.tensor.numel())))
        v = 0.3 * std::sin(static_cast<double>(++k) * 1.7 + static_cast<double>(p.name.size()));
    }
    nn::copy_parameters(agent.learner().target(), agent.network());
    std::getline(file, line);
    std::istringstream losses(line);
    double expected = 0;
    for (int i = 0; losses >> expected; i++) {
      while (agent.status().updates <= i) agent.step();
      ASSERT_EQ(agent.status().updates, i + 1);
      ASSERT_NEAR(agent.status().td_loss, expected, 1e-5 * std::max(expected, 1e-2)) << name << ", update " << i;
    }
    EXPECT_EQ(agent.status().updates, 500);
    runs++;
  }
  EXPECT_EQ(runs, 4);
}

TEST(Dqn, AllocatesNothing) {
  DqnOptions o = small();
  o.total_steps = 1'000'000;
  for (const bool prioritised : {false, true}) {
    o.prioritised = prioritised;
    Dqn<Corridor> agent({}, o);
    for (int i = 0; i < 100; i++) agent.step();
    const uint64_t mallocs = harness::malloc_calls(), tensors = memory_stats().allocations;
    for (int i = 0; i < 10'000; i++) agent.step();
    EXPECT_EQ(harness::malloc_calls(), mallocs);
    EXPECT_EQ(memory_stats().allocations, tensors);
    EXPECT_GT(agent.status().updates, 10'000);
  }
}

TEST(Dqn, GoesOnToTheBitFromWhatWasSaved) {
  Dqn<Corridor> whole({}, small()), first({}, small()), second({}, small());
  for (int i = 0; i < 300; i++) whole.step();
  for (int i = 0; i < 150; i++) first.step();
  second.load_state(first.state());
  for (int i = 150; i < 300; i++) second.step();
  EXPECT_EQ(whole.status().td_loss, second.status().td_loss);
  EXPECT_EQ(whole.status().recent.total, second.status().recent.total);
  const auto a = whole.network().parameters(), b = second.network().parameters();
  for (size_t i = 0; i < a.size(); i++) EXPECT_EQ(a[i].tensor.to_vector<float>(), b[i].tensor.to_vector<float>());
  DqnOptions other = small();
  other.net.hidden = {32, 32};
  Dqn<Corridor> stranger({}, other);
  EXPECT_THROW(stranger.load_state(first.state()), Error);
}

TEST(Dqn, RefusesWhatCannotBe) {
  DqnOptions o = small();
  o.tau = 2;
  EXPECT_THROW(Dqn<Corridor>({}, o), Error);
  o = small(), o.net.hidden = {};
  EXPECT_THROW(Dqn<Corridor>({}, o), Error);
  o = small(), o.capacity = 8;
  EXPECT_THROW(Dqn<Corridor>({}, o), Error);
  o = small(), o.exploration = 0;
  EXPECT_THROW(Dqn<Corridor>({}, o), Error);
}

}  // namespace
}  // namespace ingot::rl
