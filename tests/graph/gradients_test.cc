// gradients() against closed forms: of gradients, of values used many times, through stop_gradient and checkpoint.
#include "ingot/graph/grad.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ingot/base/error.h"
#include "ingot/ops/ops.h"
#include "tests/ops/harness.h"

namespace ingot {
namespace {

using harness::close;
using harness::values_of;

constexpr harness::Tolerance kDouble = {64, 64};

Tensor points() { return linspace(-2, 2, 41, kF64); }

TEST(Gradients, OfGradientsOfAPower) {
  Plan plan = compile(
      [](const Tensor& x) {
        const Tensor first = gradients(x * x * x, {x})[0];
        const Tensor second = gradients(first, {x})[0];
        return std::vector<Tensor>{first, second, gradients(second, {x})[0]};
      },
      {{{41}, kF64}});
  const Tensor x = points();
  plan.run(x);
  EXPECT_TRUE(close(plan.outputs()[0], 3.0 * x * x, kDouble, 1));
  EXPECT_TRUE(close(plan.outputs()[1], 6.0 * x, kDouble, 1));
  EXPECT_TRUE(close(plan.outputs()[2], full({41}, 6, kF64), kDouble, 1));
}

TEST(Gradients, OfGradientsOfTanh) {
  Plan plan = compile([](const Tensor& x) { return gradients(gradients(tanh(x), {x})[0], {x}); }, {{{41}, kF64}});
  const Tensor x = points(), t = tanh(x);
  EXPECT_TRUE(close(plan.run(x)[0], -2.0 * t * (1.0 - t * t), kDouble, 1));
}

// y = v · tanh(W x): its second derivative along x is -2 Σ vₖ tₖ (1 - tₖ²) wₖᵢ wₖⱼ.
TEST(Gradients, OfGradientsOfAnMlp) {
  const Tensor w = uniform({16, 5}, 1, -1, 1, 0, kF64), v = uniform({16}, 2, -1, 1, 0, kF64);
  for (const bool passes : {true, false}) {
    PlanOptions options;
    if (!passes)
      for (const char* name : pass_names()) options.without.emplace_back(name);
    Plan plan = compile(
        [&](const Tensor& x) {
          const Tensor y = sum(tanh(linear(x, w)) * v);
          const Tensor g = gradients(y, {x})[0];
          std::vector<Tensor> rows;
          for (int64_t i = 0; i < 5; i++) rows.push_back(gradients(select(g, 1, i), {x})[0]);
          return std::vector<Tensor>{g, concat(rows, 0)};
        },
        {{{1, 5}, kF64}}, options);
    const Tensor x = uniform({1, 5}, 3, -1, 1, 0, kF64), t = reshape(tanh(linear(x, w)), {16});
    plan.run(x);
    const Tensor slope = v * (1.0 - t * t), bend = -2.0 * v * t * (1.0 - t * t);
    EXPECT_TRUE(close(plan.outputs()[0], matmul(reshape(slope, {1, 16}), w), kDouble, 1));
    EXPECT_TRUE(close(plan.outputs()[1], matmul(transpose(w) * bend, w), kDouble, 1)) << passes;
  }
}

// The gradient's square norm, differentiated by the weights: what gradient penalties do.
TEST(Gradients, ThroughAGradientPenalty) {
  const Tensor w = uniform({4, 3}, 1, -1, 1, 0, kF64), x = uniform({6, 3}, 2, -1, 1, 0, kF64);
  const auto penalty = [&](const Tensor& in) { return sum(square(gradients(sum(sigmoid(linear(in, w))), {in})[0])); };
  Plan value = compile(penalty, {{{6, 3}, kF64}});
  Plan slope = compile([&](const Tensor& in) { return gradients(penalty(in), {w}); }, {{{6, 3}, kF64}});
  const Tensor g = clone(slope.run(x)[0]);
  for (int64_t i = 0; i < w.numel(); i++) {
    double* p = w.data<double>() + i;
    const double before = *p, h = 1e-5;
    *p = before + h;
    const double up = value.run(x)[0].item<double>();
    *p = before - h;
    const double down = value.run(x)[0].item<double>();
    *p = before;
    EXPECT_NEAR(g.data<double>()[i], (up - down) / (2 * h), 1e-7);
  }
}

TEST(Gradients, AddUpOverManyUses) {
  Plan plan = compile(
      [](const Tensor& x) {
        const Tensor y = x * 2.0;
        Tensor total = y;
        for (int k = 1; k <= 9; k++) total = total + y * static_cast<double>(k) + broadcast_to(sum(y), {3});
        return gradients(total, {x, y});
      },
      {{{3}, kF64}});
  plan.run(ones({3}, kF64));
  // Each y: itself, 1 … 9 times, and 9 times as part of a sum that three results read.
  EXPECT_EQ(values_of(plan.outputs()[1]), std::vector<double>(3, 1 + 45 + 27));
  EXPECT_EQ(values_of(plan.outputs()[0]), std::vector<double>(3, 2 * (1 + 45 + 27)));
}

TEST(Gradients, OfOneOperandTwice) {
  Plan plan = compile([](const Tensor& x) { return gradients(x * x + matmul(x, x), {x}); }, {{{2, 2}, kF64}});
  const Tensor x = Tensor::from(std::vector<double>{1, 2, 3, 4}, {2, 2}), one = ones({2, 2}, kF64);
  const Tensor expected = 2.0 * x + matmul(one, transpose(x)) + matmul(transpose(x), one);
  EXPECT_TRUE(close(plan.run(x)[0], expected, kDouble, 1));
}

TEST(Gradients, OfValuesOnTheWayAndOfTheResult) {
  Plan plan = compile(
      [](const Tensor& x) {
        const Tensor h = exp(x), y = sum(h * h);
        return gradients(y, {h, y, x});
      },
      {{{3}, kF64}});
  const Tensor x = linspace(0, 1, 3, kF64);
  plan.run(x);
  EXPECT_TRUE(close(plan.outputs()[0], 2.0 * exp(x), kDouble, 1));
  EXPECT_EQ(plan.outputs()[1].item<double>(), 1);
  EXPECT_TRUE(close(plan.outputs()[2], 2.0 * exp(2.0 * x), kDouble, 1));
}

TEST(Gradients, OfBoundViewsWithStrides) {
  const Tensor w = uniform({3, 4}, 1, -1, 1, 0, kF64), t = transpose(w);
  const ValueAndGrad r = value_and_grad([&] { return sum(square(t)); }, {t});
  EXPECT_TRUE(close(r.gradients[0], 2.0 * t, kDouble, 1));
}

// What one differentiates by may come from anywhere: the walk ends there.
TEST(Gradients, OfValuesThatNothingFlowsThrough) {
  const Tensor labels = Tensor::from(std::vector<int64_t>{2, 0}), w = uniform({2, 3}, 5), seed = full({}, 4, kI64);
  const std::pair<const char*, std::function<Tensor(const Tensor&)>> makers[] = {
      {"zeros",
       [](const Tensor&) {
         return zeros({2, 3});
       }},
      {"full",
       [](const Tensor&) {
         return full({2, 3}, 2);
       }},
      {"linspace",
       [](const Tensor&) {
         return reshape(linspace(0, 1, 6), {2, 3});
       }},
      {"uniform",
       [](const Tensor&) {
         return uniform({2, 3}, 7);
       }},
      {"uniform by a seed",
       [&](const Tensor&) {
         return uniform({2, 3}, seed);
       }},
      {"one_hot", [&](const Tensor&) { return one_hot(labels, 3); }},
      {"sign", [](const Tensor& x) { return sign(x * 9.0); }},
      {"stop_gradient", [](const Tensor& x) { return stop_gradient(exp(x)); }},
  };
  for (const auto& [name, make] : makers) {
    Plan plan = compile(
        [&, &maker = make](const Tensor& x) {
          const Tensor t = maker(x);
          const Tensor y = sum(square(t) * w);
          return std::vector<Tensor>{gradients(y, {t})[0], t * w * 2.0};
        },
        {{2, 3}});
    plan.run(uniform({2, 3}, 3));
    EXPECT_EQ(plan.outputs()[0].to_vector<float>(), plan.outputs()[1].to_vector<float>()) << name;
  }
  // And it does end there: nothing flows on to what a stopped value was made of.
  Plan stopped = compile(
      [&](const Tensor& x) {
        const Tensor t = stop_gradient(x);
        return gradients(sum(square(t) * w) + sum(x), {t, x});
      },
      {{2, 3}});
  EXPECT_EQ(stopped.run(ones({2, 3}))[1].to_vector<float>(), std::vector<float>(6, 1));
}

TEST(Gradients, StopAtStopGradient) {
  Plan plan = compile(
      [](const Tensor& x) {
        const Tensor y = sum(x * stop_gradient(x * x));
        return std::vector<Tensor>{y, gradients(y, {x})[0]};
      },
      {{{41}, kF64}});
  const Tensor x = points();
  plan.run(x);
  EXPECT_TRUE(close(plan.outputs()[0], sum(x * x * x), kDouble, 1));
  EXPECT_TRUE(close(plan.outputs()[1], x * x, kDouble, 1));
  EXPECT_TRUE(harness::same_bits(stop_gradient(x), x));  // outside a capture: x itself
  EXPECT_THROW(compile([](const Tensor& t) { return gradients(sum(stop_gradient(t)), {t}); }, {{3}}), Error);
}

TEST(Gradients, ValueAndGradOutsideACapture) {
  const Tensor w = linspace(1, 3, 3, kF64);
  const ValueAndGrad r = value_and_grad([&] { return sum(w * w * w); }, {w});
  EXPECT_EQ(r.value.item<double>(), 36);
  EXPECT_EQ(values_of(r.gradients[0]), (std::vector<double>{3, 12, 27}));
  EXPECT_FALSE(capturing());
}

// A parameter that is written between its use and the gradient: the rule must see what the forward pass saw, or say no.
TEST(Gradients, OfATensorThatIsWrittenMeanwhile) {
  const Tensor w = full({3}, 2, kF64), x = full({3}, 5, kF64);
  const auto f = [&](const Tensor& in) {
    const Tensor y = sum(w * w * in);
    copy_into(w, in);
    return gradients(y, {w});
  };
  try {
    Plan plan = compile(f, {{{3}, kF64}});
    EXPECT_EQ(values_of(plan.run(x)[0]), std::vector<double>(3, 2 * 2 * 5));
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("written"), std::string::npos) << e.what();
  }
}

// The rule's cos(a) is the same call as the one that reads what was written.
TEST(Gradients, RefuseACallThatIsSharedWithOneAfterTheWrite) {
  const Tensor a = full({4}, 0.5), b = zeros({4});
  const auto f = [&](const Tensor& x) {
    const Tensor y = sum(sin(a) * x);
    copy_into(a, x);
    copy_into(b, cos(a));
    return gradients(y, {a})[0];
  };
  EXPECT_THROW(compile(f, {{4}}), Error);
}

// ---------------------------------------------------------------------------------------------------------------------

// A deep chain in pieces of `piece` layers, each computed again in the backward pass.
Plan deep_chain(const std::vector<Tensor>& weights, size_t piece, const PlanOptions& options = {}) {
  return compile(
      [&, piece](const Tensor& x) {
        Tensor h = x;
        for (size_t k = 0; k < weights.size();) {
          const size_t end = std::min(weights.size(), k + (piece == 0 ? weights.size() : piece));
          const auto layers = [&, k, end](Tensor t) {
            for (size_t i = k; i < end; i++) t = tanh(linear(t, weights[i])) + t;
            return t;
          };
          h = piece == 0 ? layers(h) : checkpoint(layers, h);
          k = end;
        }
        return gradients(sum(square(h)), weights);
      },
      {{64, 32}}, options);
}

std::vector<Tensor> layers(int count) {
  std::vector<Tensor> weights;
  for (int i = 0; i < count; i++) weights.push_back(uniform({32, 32}, i + 1, -0.2, 0.2));
  return weights;
}

TEST(Checkpoint, SameGradientsFromASmallerArena) {
  const std::vector<Tensor> weights = layers(36);
  const Tensor x = uniform({64, 32}, 99, -1, 1);
  Plan plain = deep_chain(weights, 0);
  const size_t arena = plain.bytes().arena;
  plain.run(x);
  for (size_t piece : {3, 6, 9}) {
    Plan again = deep_chain(weights, piece);
    again.run(x);
    for (size_t i = 0; i < weights.size(); i++)
      ASSERT_TRUE(harness::same_bits(again.outputs()[i], plain.outputs()[i])) << "layer " << i << ", piece " << piece;
    EXPECT_LT(again.bytes().arena, arena * 6 / 10) << "piece " << piece;
  }
}

TEST(Checkpoint, WithoutPasses) {
  const std::vector<Tensor> weights = layers(8);
  const Tensor x = uniform({64, 32}, 99, -1, 1);
  Plan plain = deep_chain(weights, 0);
  plain.run(x);
  for (const char* pass : pass_names()) {
    Plan again = deep_chain(weights, 2, {.without = {pass}});
    again.run(x);
    for (size_t i = 0; i < weights.size(); i++)
      ASSERT_TRUE(close(again.outputs()[i], plain.outputs()[i], {0, 256}, 1)) << "layer " << i << ", no " << pass;
  }
}

TEST(Checkpoint, DrawsTheSameNumbersAgain) {
  const Tensor w = uniform({32, 32}, 1, -0.3, 0.3), x = uniform({16, 32}, 2, -1, 1);
  const auto build = [&](bool again) {
    return compile(
        [&, again](const Tensor& in, const Tensor& seed) {
          const auto layer = [&](const Tensor& t) { return tanh(dropout(linear(t, w), 0.5, seed)); };
          return gradients(sum(square(again ? checkpoint(layer, in) : layer(in))), {w, in});
        },
        {{16, 32}, {{}, kI64}});
  };
  Plan plain = build(false), again = build(true);
  for (int64_t seed : {1, 2}) {
    const Tensor s = full({}, static_cast<double>(seed), kI64);
    plain.run(x, s), again.run(x, s);
    for (size_t i = 0; i < 2; i++)
      EXPECT_TRUE(harness::same_bits(again.outputs()[i], plain.outputs()[i])) << "seed " << seed;
  }
}

TEST(Checkpoint, SecondDerivatives) {
  const auto build = [](bool again) {
    return compile(
        [again](const Tensor& x) {
          const auto f = [](const Tensor& t) { return sin(t * t) * stop_gradient(exp(t)); };
          return gradients(gradients(again ? checkpoint(f, x) : f(x), {x})[0], {x});
        },
        {{{41}, kF64}});
  };
  Plan plain = build(false), again = build(true);
  const Tensor x = points();
  EXPECT_TRUE(close(again.run(x)[0], plain.run(x)[0], kDouble, 1));
  // By hand: e^t stands still.
  const Tensor s = sin(x * x), c = cos(x * x);
  EXPECT_TRUE(close(plain.run(x)[0], (2.0 * c - 4.0 * x * x * s) * exp(x), kDouble, 1));
}

TEST(Checkpoint, OutsideACaptureItIsTheFunction) {
  EXPECT_EQ(checkpoint([](const Tensor& t) { return sum(t); }, ones({4})).item(), 4);
}

}  // namespace
}  // namespace ingot
