// Gates that learn: the relaxations, wirings, layers and automata.
#include "ingot/gates/layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ingot/base/memory.h"
#include "ingot/gates/boards.h"
#include "ingot/graph/grad.h"
#include "ingot/nn.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot::gates {
namespace {

// The published architectures and how many gates they have (facts: perception + update).
AutomatonOptions life() {
  return {.channels = 1,
          .perception = {8, 4, 2, 1},
          .update = widths(17, 128, {64, 32, 16, 8, 4, 2, 1}),
          .steps = 1,
          .border = Border::kWrap};
}
AutomatonOptions checkerboard() { return {.update = widths(10, 256, {128, 64, 32, 16, 8, 8})}; }

TEST(Automaton, PublishedGateCounts) {
  const auto count = [](const AutomatonOptions& o) { return Automaton(o).gates.count(); };
  EXPECT_EQ(count(life()), 240 + 2303);
  EXPECT_EQ(count(checkerboard()), 224 + 2816);
  EXPECT_EQ(count({.update = widths(14, 256, {128, 64, 32, 16, 8, 8}), .steps = 50, .fire_rate = 0.6}), 224 + 3840);
  EXPECT_EQ(count({.channels = 128, .kernels = 4, .perception = {8, 4, 2, 1}, .update = widths(8, 512, {256, 128})}),
            60 + 4480);
  EXPECT_EQ(count({.channels = 64, .kernels = 4, .update = widths(8, 512, {256, 128, 64})}), 56 + 4544);
}

TEST(Gates, FunctionsAtTheCorners) {
  for (const Form form : {Form::kSoftmax, Form::kLight})
    for (int f = 0; f < kFunctions; f++) {
      Gates gate(1, {.form = form});
      for (int64_t k = 0; k < gate.logits.size(1); k++)
        gate.logits.data<float>()[k] = (form == Form::kSoftmax ? k == f : (f >> (3 - k) & 1) != 0) ? 40.0F : -40.0F;
      EXPECT_EQ(gate.functions(), (std::vector<Function>{static_cast<Function>(f)}));
      for (const bool training : {true, false}) {
        gate.train(training);
        const Tensor w = gate.coefficients();
        for (const int a : {0, 1})
          for (const int b : {0, 1}) {
            const float* c = w.data<float>();
            const auto x = static_cast<float>(a), y = static_cast<float>(b);
            EXPECT_NEAR(c[0] + c[1] * x + c[2] * y + c[3] * x * y, value(static_cast<Function>(f), a != 0, b != 0),
                        1e-6)
                << name(static_cast<Function>(f)) << a << b;
          }
      }
    }
}

TEST(Gates, BeginAsWires) {
  for (const Form form : {Form::kSoftmax, Form::kLight}) {
    const Gates gates(5, {.form = form});
    EXPECT_EQ(gates.functions(), std::vector<Function>(5, Function::kA));
  }
}

TEST(Gates, HardeningRisesAndFalls) {
  Gates gates(3, {.hardening = {.most = 0.5, .below = 0.1, .over = 10}});
  for (int i = 0; i < 50; i++) gates.observe(100);
  EXPECT_EQ(gates.hardness(), 0);
  for (int i = 0; i < 60; i++) gates.observe(1);
  EXPECT_NEAR(gates.hardness(), 0.5, 1e-6);
  for (int i = 0; i < 60; i++) gates.observe(50);  // too hard: it falls again
  EXPECT_EQ(gates.hardness(), 0);
  EXPECT_NEAR(Gates(3, {.hardening = {.most = 0.25}}).hardness(), 0.25, 1e-6);
}

TEST(Gates, HardeningDrawsAnewAndLearnsThroughTheMixture) {
  nn::set_seed(3);
  Gates gates(2000, {.pass = 1, .hardening = {.most = 0.5}});
  const auto hard = [&] {
    const Tensor w = gates.coefficients();
    std::vector<bool> is;
    for (int64_t g = 0; g < gates.count(); g++) is.push_back(w.data<float>()[4 * g + 1] == 1);
    return is;
  };
  const std::vector<bool> first = hard(), second = hard();
  EXPECT_NEAR(static_cast<double>(std::count(first.begin(), first.end(), true)), 1000, 100);
  EXPECT_NE(first, second);
  // With all gates hard, the gradient is still the mixture's.
  Gates hard_ones(5, {.pass = 1, .hardening = {.most = 1}}), mixtures(5, {.pass = 1});
  const auto gradient = [](Gates& g) {
    const Tensor weights = uniform({5, 4}, 1), seed = Tensor::from<int64_t>({5}, {});
    return value_and_grad(
               [&] {
                 const nn::RandomScope scope(seed);
                 return sum(multiply(g.coefficients(), weights));
               },
               {g.logits})
        .gradients[0];
  };
  const Tensor of_hard = gradient(hard_ones), of_mixtures = gradient(mixtures);
  for (int64_t k = 0; k < of_hard.numel(); k++)
    EXPECT_NEAR(of_hard.data<float>()[k], of_mixtures.data<float>()[k], 1e-6);
}

TEST(Gates, HardeningInEitherPrecision) {
  nn::set_seed(3);
  Gates gates(4, {.hardening = {.most = 0.5, .below = 0.5, .over = 2}});
  for (const DType type : {kF64, kF32}) {
    gates.to(type);
    for (int i = 0; i < 100; i++) gates.observe(100);
    for (int i = 0; i < 100; i++) gates.observe(1);
    EXPECT_NEAR(gates.hardness(), 0.5, 1e-6);
    EXPECT_EQ(gates.coefficients().dtype(), type);
  }
}

// Gumbel noise: functions are drawn with the probabilities of the mixture, and learn through it.
TEST(Gates, GumbelDrawsFunctions) {
  nn::set_seed(4);
  for (const Form form : {Form::kSoftmax, Form::kLight}) {
    Gates gates(4000, {.form = form, .pass = 1, .gumbel = 1});
    const Tensor w = gates.coefficients();
    // Of a softmax, "a" has e / (e + 15); of four lines, each is as likely to stay as its sigmoid says.
    const double line = 1 / (1 + std::exp(-1.0)),
                 share = form == Form::kSoftmax ? std::exp(1.0) / (std::exp(1.0) + 15) : std::pow(line, 4);
    int64_t passes = 0;
    for (int64_t g = 0; g < gates.count(); g++) {
      const float* c = w.data<float>() + 4 * g;
      for (int k = 0; k < 4; k++) EXPECT_NEAR(c[k], std::round(c[k]), 1e-5);
      passes += std::round(c[0]) == 0 && std::round(c[1]) == 1 && std::round(c[2]) == 0 && std::round(c[3]) == 0;
    }
    EXPECT_NEAR(static_cast<double>(passes) / 4000, share, 0.03);
  }
  EXPECT_REFUSED(Gates(1, {.gumbel = 1, .hardening = {.most = 0.5}}), "at once");
}

TEST(GroupSum, AddsGroups) {
  GroupSum votes(2, 0.5);
  const Tensor y = votes(Tensor::from<float>({1, 2, 3, 4, 5, 6}, {1, 6}));
  EXPECT_EQ(y.shape(), (Dims{1, 2}));
  EXPECT_FLOAT_EQ(y.data<float>()[0], 12);
  EXPECT_FLOAT_EQ(y.data<float>()[1], 30);
  EXPECT_REFUSED(GroupSum(0, 1), "at least one class");
  EXPECT_REFUSED(GroupSum(4, 1)(zeros({1, 6})), "multiple of 4");
}

TEST(Wires, NeighboursAndCentre) {
  Wires w = neighbour_wires({1, 1});
  EXPECT_EQ(w.b, std::vector<int32_t>(8, 4));
  std::sort(w.a.begin(), w.a.end());
  EXPECT_EQ(w.a, (std::vector<int32_t>{0, 1, 2, 3, 5, 6, 7, 8}));
}

// Before training every gate is a wire: the published hard losses of epoch 0.
TEST(Automaton, PublishedLossesBeforeTraining) {
  const auto loss = [](const AutomatonOptions& options, const Tensor& picture, Seed seed) {
    nn::set_seed(23);
    Automaton rule(options);
    rule.eval();
    const Tensor start = unsqueeze(seed_board(options.channels, picture.size(1), picture.size(2), seed), 0);
    return squared_error_sum()(rule(start), unsqueeze(picture, 0)).item<double>();
  };
  const double of_lizard = loss({.channels = 128,
                                 .kernels = 4,
                                 .perception = {8, 4, 2, 1},
                                 .update = widths(8, 512, {256, 128}),
                                 .steps = 12,
                                 .border = Border::kWrap},
                                lizard(), Seed::kCentre);
  EXPECT_GE(of_lizard, 119);
  EXPECT_LE(of_lizard, 121);
  EXPECT_EQ(loss({.channels = 64, .kernels = 4, .update = widths(8, 512, {256, 128, 64}), .steps = 15}, letter_g(),
                 Seed::kZeros),
            109);
}

TEST(Wires, UniqueAsPublished) {
  const Wires w = unique_wires(8, 11, {1, 2});
  std::set<std::pair<int, int>> pairs;
  for (size_t i = 0; i < w.a.size(); i++) pairs.insert({w.a[i], w.b[i]});
  EXPECT_EQ(pairs, (std::set<std::pair<int, int>>{
                       {0, 1}, {2, 3}, {4, 5}, {6, 7}, {1, 2}, {3, 4}, {5, 6}, {0, 2}, {1, 3}, {2, 4}, {3, 5}}));
  EXPECT_REFUSED(unique_wires(8, 3, {}), "every signal is read");
  EXPECT_REFUSED(unique_wires(4, 7, {}), "no pair twice");
  EXPECT_NE(unique_wires(8, 8, {1, 2}).a, unique_wires(8, 8, {2, 2}).a);
}

TEST(Wires, RandomReadsAllEvenly) {
  for (const auto& [in, out] : {std::pair<int, int>{10, 20}, {7, 11}, {784, 8000}, {2, 3}}) {
    const Wires w = random_wires(in, out, {5, 6});
    std::vector<int> uses(static_cast<size_t>(in));
    for (size_t g = 0; g < w.a.size(); g++) {
      EXPECT_NE(w.a[g], w.b[g]);
      uses[static_cast<size_t>(w.a[g])]++, uses[static_cast<size_t>(w.b[g])]++;
    }
    const auto [least, most] = std::minmax_element(uses.begin(), uses.end());
    EXPECT_LE(*most - *least, 4) << in << " to " << out;
  }
}

// In evaluation mode the network is its circuit, on every corner.
TEST(GateNetwork, IsItsCircuit) {
  nn::set_seed(11);
  GateNetwork net(6, {12, 9, 5});
  net.gates.logits = normal(net.gates.logits.shape(), 4, 0, 3);
  net.eval();
  const Circuit circuit = net.circuit();
  check(circuit);
  for (int bits = 0; bits < 64; bits++) {
    std::vector<bool> in;
    std::vector<float> x;
    for (int k = 0; k < 6; k++) in.push_back((bits >> k & 1) != 0), x.push_back(static_cast<float>(bits >> k & 1));
    const Tensor y = net(Tensor::from(x, {1, 6}));
    const std::vector<bool> expected = evaluate(circuit, in);
    for (int64_t o = 0; o < 5; o++) EXPECT_EQ(y.data<float>()[o] != 0, expected[static_cast<size_t>(o)]);
  }
}

// The same for an automaton, cell by cell, on both borders.
TEST(Automaton, IsItsCircuit) {
  for (const Border border : {Border::kZero, Border::kWrap}) {
    nn::set_seed(12);
    Automaton rule({.channels = 2, .kernels = 3, .update = {12, 8, 4, 2}, .steps = 1, .border = border});
    rule.gates.logits = normal(rule.gates.logits.shape(), 5, 0, 3);
    rule.eval();
    const Circuit circuit = rule.circuit();
    check(circuit);
    const int64_t h = 4, w = 5;
    const Tensor state = to(bernoulli({1, 2, h, w}, 9, 0.5), kF32), next = rule(state);
    for (int64_t y = 0; y < h; y++)
      for (int64_t x = 0; x < w; x++) {
        std::vector<bool> in;
        for (int64_t c = 0; c < 2; c++)
          for (int64_t dy = -1; dy <= 1; dy++)
            for (int64_t dx = -1; dx <= 1; dx++) {
              int64_t row = y + dy, column = x + dx;
              if (border == Border::kWrap) row = (row + h) % h, column = (column + w) % w;
              const bool inside = row >= 0 && row < h && column >= 0 && column < w;
              in.push_back(inside && state.data<float>()[(c * h + row) * w + column] != 0);
            }
        const std::vector<bool> expected = evaluate(circuit, in);
        for (int64_t c = 0; c < 2; c++)
          EXPECT_EQ(next.data<float>()[(c * h + y) * w + x] != 0, expected[static_cast<size_t>(c)]);
      }
  }
}

// Gradients of whole rollouts by every parameter against central differences, in f64.
TEST(Automaton, GradientsAgreeWithDifferences) {
  for (const Form form : {Form::kSoftmax, Form::kLight})
    for (const Border border : {Border::kZero, Border::kWrap})
      for (const double fire : {1.0, 0.6}) {
        nn::set_seed(21);
        Automaton rule({.channels = 2,
                        .kernels = 2,
                        .update = {6, 4, 2},
                        .steps = 3,
                        .border = border,
                        .fire_rate = fire,
                        .gates = {.form = form, .pass = 1}});
        rule.to(kF64);
        rule.gates.logits = add(rule.gates.logits, normal(rule.gates.logits.shape(), 6, 0, 1, 0, kF64));
        const Tensor state = uniform({2, 2, 3, 4}, 7, 0, 1, 0, kF64), target = uniform({2, 1, 3, 4}, 8, 0, 1, 0, kF64);
        const Tensor seed = Tensor::from<int64_t>({77}, {});
        const auto loss = [&] {
          const nn::RandomScope scope(seed);
          return squared_error_sum()(rule(state), target);
        };
        const Tensor logits = rule.gates.logits, d = value_and_grad(loss, {logits}).gradients[0];
        const double step = 1e-5;
        for (int64_t k = 0; k < logits.numel(); k += 7) {
          double* at = logits.data<double>() + k;
          const double before = *at;
          *at = before + step;
          const double above = *loss().data<double>();
          *at = before - step;
          const double below = *loss().data<double>();
          *at = before;
          EXPECT_NEAR(d.data<double>()[k], (above - below) / (2 * step), 1e-8);
        }
      }
}

TEST(Automaton, TrainsWithoutAllocating) {
  nn::set_seed(1);
  Automaton rule(life());
  auto step = nn::train_step(rule, squared_error_sum(), optim::AdamW{.lr = 0.05F}, {{4, 1, 3, 3}, {4, 1, 3, 3}});
  const Tensor x = to(bernoulli({4, 1, 3, 3}, 1, 0.5), kF32), y = to(bernoulli({4, 1, 3, 3}, 2, 0.5), kF32);
  step(x, y);
  const auto before = memory_stats().allocations;
  step(x, y);
  EXPECT_EQ(memory_stats().allocations, before);
}

TEST(Automaton, RefusesWhatDoesNotFit) {
  EXPECT_REFUSED(Automaton({.channels = 3, .update = {64, 2}}), "gate per channel");
  EXPECT_REFUSED(Automaton({.perception = {4, 2}, .update = {8}}), "eight gates");
  Automaton rule({.channels = 2, .kernels = 2, .update = {6, 4, 2}});
  EXPECT_REFUSED(rule(zeros({1, 3, 4, 4})), "[batch, 2, height, width]");
}

}  // namespace
}  // namespace ingot::gates
