// Gates whose wires learn: sums of signals in a network of gates, the layers of classifiers, and their circuits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ingot/base/memory.h"
#include "ingot/base/threads.h"
#include "ingot/gates/grid.h"
#include "ingot/gates/layers.h"
#include "ingot/gates/ops.h"
#include "ingot/gates/simplify.h"
#include "ingot/graph/grad.h"
#include "ingot/nn.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot::gates {
namespace {

// Two sums of four signals, a gate on them, and one more on it and an input.
Tensor summing_wires() {
  return Tensor::from<int32_t>({0, 1, 0, 2, 3, -2, 1, 2, 2, 4, 4, -4, 6, 8, 4, 9, 3, 5}, {6, 3});
}

TEST(Sums, AreWhatTheySay) {
  const Tensor x = uniform({70, 5}, 1, -1, 1, 0, kF64), w = uniform({6, 4}, 2, -1, 1, 0, kF64);
  const Tensor y = gate_network(x, w, summing_wires(), 1);
  for (int64_t r = 0; r < x.size(0); r++) {
    const double* in = x.data<double>() + 5 * r;
    const auto c = [&](int row, int k) { return w.data<double>()[4 * row + k]; };
    const auto gate = [&](int row, double a, double b) {
      return c(row, 0) + c(row, 1) * a + c(row, 2) * b + c(row, 3) * a * b;
    };
    const double first = gate(0, in[0], in[1]) + c(1, 1) * in[2] + c(1, 2) * in[3];
    const double second = gate(2, in[1], in[2]) + c(3, 1) * in[4] + c(3, 2) * in[4];
    EXPECT_NEAR(y.data<double>()[r], gate(5, gate(4, first, second), in[3]), 1e-12);
  }
}

TEST(Sums, GradientsAgreeWithDifferences) {
  const Tensor x = uniform({19, 5}, 1, -1, 1, 0, kF64), w = uniform({6, 4}, 2, -1, 1, 0, kF64);
  const Tensor weights = uniform({19, 1}, 3, -1, 1, 0, kF64);
  const auto loss = [&] { return sum(multiply(gate_network(x, w, summing_wires(), 1), weights)); };
  const auto gradients = value_and_grad(loss, {x, w}).gradients;
  for (size_t i = 0; i < 2; i++) {
    const Tensor& of = i == 0 ? x : w;
    for (int64_t k = 0; k < of.numel(); k++) {
      double* at = of.data<double>() + k;
      const double before = *at, step = 1e-6;
      *at = before + step;
      const double above = *loss().data<double>();
      *at = before - step;
      const double below = *loss().data<double>();
      *at = before;
      EXPECT_NEAR(gradients[i].data<double>()[k], (above - below) / (2 * step), 1e-8) << i << " " << k;
    }
  }
}

TEST(Sums, RefuseWhatDoesNotFit) {
  const Tensor x = zeros({2, 3}), w = zeros({4, 4});
  const auto run = [&](const std::vector<int32_t>& wires, int64_t outputs) {
    return gate_network(x, w, Tensor::from(wires, {static_cast<int64_t>(wires.size()) / 3, 3}), outputs);
  };
  EXPECT_REFUSED(run({0, 1, -1, 0, 1, 0}, 1), "there is none");
  EXPECT_REFUSED(run({0, 1, 0, 0, 1, -2}, 1), "outputs do not add");
  EXPECT_REFUSED(run({0, 1, 0, 0, 1, -2, 3, 4, 2}, 1), "nothing else may read it");
  EXPECT_REFUSED(run({0, 1, 0, 0, 1, -6, 4, 4, 2}, 1), "has row 5");
}

TEST(LearnedNetwork, GradientsAgreeWithDifferences) {
  nn::set_seed(5);
  LearnedNetwork net(7, {6, 4}, {.count = 4}, {.pass = 0, .noise = 1});
  net.to(kF64);
  const Tensor x = to(bernoulli({9, 7}, 1, 0.5), kF64), weights = uniform({9, 4}, 3, -1, 1, 0, kF64);
  const auto loss = [&] { return sum(multiply(net(x), weights)); };
  const auto gradients = value_and_grad(loss, {net.gates.logits, net.choices}).gradients;
  for (size_t i = 0; i < 2; i++) {
    const Tensor& of = i == 0 ? net.gates.logits : net.choices;
    double most = 0;
    for (int64_t k = 0; k < of.numel(); k++) {
      double* at = of.data<double>() + k;
      const double before = *at, step = 1e-5;
      *at = before + step;
      const double above = *loss().data<double>();
      *at = before - step;
      const double below = *loss().data<double>();
      *at = before;
      EXPECT_NEAR(gradients[i].data<double>()[k], (above - below) / (2 * step), 1e-8);
      most = std::max(most, std::abs(gradients[i].data<double>()[k]));
    }
    EXPECT_GT(most, 1e-3);
  }
}

// In evaluation mode the network is its circuit, on every corner, evaluated one by one and bit-packed.
TEST(LearnedNetwork, IsItsCircuit) {
  nn::set_seed(11);
  LearnedNetwork net(6, {12, 9, 5}, {.count = 4});
  net.gates.logits = normal(net.gates.logits.shape(), 4, 0, 3);
  net.eval();
  const Circuit circuit = net.circuit();
  check(circuit);
  EXPECT_EQ(circuit.gates.size(), 26U);
  std::vector<float> corners;
  for (int bits = 0; bits < 64; bits++)
    for (int k = 0; k < 6; k++) corners.push_back(static_cast<float>(bits >> k & 1));
  const Tensor x = Tensor::from(corners, {64, 6}), y = net(x), packed = Runner(circuit).evaluate(x);
  for (int bits = 0; bits < 64; bits++) {
    std::vector<bool> in;
    for (int k = 0; k < 6; k++) in.push_back((bits >> k & 1) != 0);
    const std::vector<bool> expected = evaluate(circuit, in);
    for (size_t o = 0; o < 5; o++) {
      EXPECT_EQ(y.data<float>()[static_cast<size_t>(bits) * 5 + o], expected[o] ? 1.0F : 0.0F);
      EXPECT_EQ(packed.data<float>()[static_cast<size_t>(bits) * 5 + o], expected[o] ? 1.0F : 0.0F);
    }
  }
}

TEST(LearnedNetwork, SameBitsAtAnyThreadCount) {
  nn::set_seed(2);
  LearnedNetwork net(40, {300, 200}, {.count = 6}, {.pass = 0, .noise = 1});
  const Tensor x = to(bernoulli({530, 40}, 1, 0.5), kF32), weights = uniform({530, 200}, 3);
  const int before = threads();
  std::vector<std::vector<Tensor>> results;
  for (const int n : {1, 2, 3}) {
    set_threads(n);
    results.push_back(
        value_and_grad([&] { return sum(multiply(net(x), weights)); }, {net.gates.logits, net.choices}).gradients);
  }
  set_threads(before);
  for (const auto& other : results)
    for (size_t i = 0; i < 2; i++)
      EXPECT_EQ(std::memcmp(other[i].raw(), results[0][i].raw(), static_cast<size_t>(other[i].numel()) * 4), 0);
}

TEST(LearnedNetwork, RefusesWhatDoesNotFit) {
  EXPECT_REFUSED(LearnedNetwork(8, {4}, {.count = 3}), "an even number");
  EXPECT_REFUSED(LearnedNetwork(8, {4, 9}, {.count = 6}), "as many signals as candidates");
  LearnedNetwork net(8, {4}, {.count = 2});
  EXPECT_REFUSED(net(zeros({2, 7})), "[batch, 8]");
  EXPECT_REFUSED(Runner(net.circuit()).evaluate(zeros({2, 7})), "[batch, 8]");
  EXPECT_REFUSED(LearnedNetwork(8, {4}, {.count = 2}, {.noise = -1}), "below 0");
}

// Both ends of a gate choose near one place, wherever that is; later layers choose among all signals.
TEST(LearnedNetwork, ChoosesNearby) {
  nn::set_seed(1);
  LearnedNetwork net(2 * 12 * 9, {300, 20}, {.count = 4, .height = 12, .width = 9, .reach = 2});
  for (int64_t round = 0; round < 4; round++) {
    std::vector<float> chosen;
    for (int64_t e = 0; e < net.choices.size(0); e++)
      for (int64_t k = 0; k < 4; k++) chosen.push_back(k == round ? 1.0F : 0.0F);
    net.choices = Tensor::from(chosen, {net.choices.size(0), 4});
    const Circuit circuit = net.circuit();
    std::vector<int> uses(216);
    for (size_t g = 0; g < 300; g++) {
      const Gate& gate = circuit.gates[g];
      const auto row = [](uint32_t signal) { return static_cast<int>(signal % 108 / 9); };
      const auto column = [](uint32_t signal) { return static_cast<int>(signal % 9); };
      EXPECT_LE(std::abs(row(gate.a) - row(gate.b)), 4);
      EXPECT_LE(std::abs(column(gate.a) - column(gate.b)), 4);
      uses[gate.a]++, uses[gate.b]++;
    }
    EXPECT_GT(std::count_if(uses.begin(), uses.end(), [](int n) { return n > 0; }), 130);
  }
  EXPECT_REFUSED(LearnedNetwork(216, {8}, {.count = 4, .height = 12, .width = 10, .reach = 2}), "are no pictures");
  EXPECT_REFUSED(LearnedNetwork(108, {8}, {.count = 6, .height = 12, .width = 9, .reach = 1}), "4 pixels in a corner");
}

TEST(Binarize, LevelByLevel) {
  Binarize bits({0.25, 0.75});
  const Tensor x = Tensor::from<float>({0, 0.5, 1, 0.25, 0.75, 0.8F}, {1, 2, 3}), y = bits(x);
  ASSERT_EQ(to_string(y.shape()), to_string(Dims{1, 12}));
  EXPECT_EQ(std::vector<float>(y.data<float>(), y.data<float>() + 12),
            (std::vector<float>{0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1}));
  EXPECT_REFUSED(Binarize({}), "at least one");
}

// Which of four groups of five bits has the most ones; the first of them if there are several.
class Classifier : public ::testing::Test {
 protected:
  static Tensor samples(int64_t count, int64_t seed) { return uniform({count, 4, 5}, seed); }
  static Tensor labels(const Tensor& x) { return argmax(sum(to(greater(x, 0.5), kF32), {2}), {1}); }
};

TEST_F(Classifier, CircuitIsAsGoodAsTheModel) {
  nn::set_seed(3);
  auto network =
      std::make_shared<LearnedNetwork>(20, std::vector<int64_t>{200, 200}, Candidates{.count = 8},
                                       GateOptions{.pass = 0, .noise = 1, .hardening = {.most = 0.9, .over = 300}});
  nn::Sequential model;
  model.add(Binarize({0.5})).add(network).add(GroupSum(4, 2));
  auto step =
      nn::train_step(model, nn::cross_entropy, optim::Adam{.lr = 0.1F, .beta2 = 0.99}, {{64, 4, 5}, {{64}, kI64, "y"}});
  uint64_t allocations = 0;
  for (int64_t i = 0; i < 400; i++) {
    const Tensor x = samples(64, 100 + i), y = labels(x);
    const auto before = memory_stats().allocations;
    const double loss = step(x, y);
    for (nn::Module* m : model.modules()) m->observe(loss);
    if (i > 0) allocations += memory_stats().allocations - before;
  }
  EXPECT_EQ(allocations, 0U);
  model.eval();
  const Tensor x = samples(1000, 7), y = labels(x);
  const auto right = [&](const Tensor& votes) {
    const Tensor said = argmax(votes, {1});
    int64_t count = 0;
    for (int64_t r = 0; r < 1000; r++) count += said.data<int64_t>()[r] == y.data<int64_t>()[r] ? 1 : 0;
    return count;
  };
  const int64_t expected = right(model(x));
  EXPECT_GT(expected, 800);
  const Circuit circuit = network->circuit();
  const Tensor bits = model[0](x);
  EXPECT_EQ(right(model[2](Runner(circuit).evaluate(bits))), expected);
  EXPECT_EQ(right(model[2](Runner(simplify(circuit, {.rounds = 0}).circuit).evaluate(bits))), expected);
}

}  // namespace
}  // namespace ingot::gates
