// Theories that learn: by training steps and trainers, with networks inside, the same bits on any number of threads, and
// nothing allocated.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "ingot/base/threads.h"
#include "ingot/data/dataset.h"
#include "ingot/data/loader.h"
#include "ingot/graph/grad.h"
#include "ingot/io/io.h"
#include "ingot/logic/addition.h"
#include "ingot/logic/algebra.h"
#include "ingot/logic/fixpoint.h"
#include "ingot/logic/theory.h"
#include "ingot/nn/layers.h"
#include "ingot/nn/train_step.h"
#include "ingot/nn/trainer.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/logic/gradients.h"
#include "tests/ops/harness.h"
#include "tests/test_file.h"

namespace ingot::logic {
namespace {

const char* const kSmokers =
    "domain person = {ann, bob, cid, dan}. rel friends(person, person). param rel smokes(person).\n"
    "friends(ann, bob). friends(bob, cid).\n"
    "assert spreads: forall x, y where friends(x, y): smokes(x) -> smokes(y).\n"
    "assert ann: smokes(ann). assert dan: not smokes(dan).";

Theory smokers() {
  const nn::SeedScope seed(1);
  return Theory::parse(kSmokers);
}

TEST(TheoryTraining, LearnsWhatFollows) {
  Theory theory = smokers();
  auto step = nn::train_step(theory, [&] { return theory.results(); }, optim::Adam{.lr = 0.1f}, {});
  for (int i = 0; i < 300; i++) step();
  EXPECT_GT(step.plan().output("satisfaction").item<double>(), 0.95);
  const std::vector<double> truths = numbers(theory.ask("smokes(x)"));
  for (size_t i = 0; i < 3; i++) EXPECT_GT(truths[i], 0.9) << i;
  EXPECT_LT(truths[3], 0.1);
}

TEST(TheoryTraining, AllocatesNothingAndHasTheSameBitsOnAnyNumberOfThreads) {
  const int before = threads();
  std::vector<float> expected;
  for (const int n : {1, 2, 3}) {
    set_threads(n);
    const nn::SeedScope seed(1);
    Theory theory = Theory::parse(
        "semantics ltn. domain d: 150. param rel p(d, d). rel known(d, d). known(0, 1). known(1, 2). known(2, 3).\n"
        "reach(x, y) <- p(x, y). reach(x, z) <- reach(x, y), p(y, z).\n"
        "assert forall x, y where known(x, y): reach(x, y). assert forall x, y, z: p(x, y) and p(y, z) -> p(x, z).\n"
        "assert forall x: not reach(x, x).");
    for (const auto& t : theory.parameters()) add_into(t.tensor, t.tensor, -3.0);
    auto step = nn::train_step(theory, [&] { return theory.results(); }, optim::Adam{.lr = 0.1f}, {});
    step();
    const uint64_t calls = harness::malloc_calls();
    step();
    EXPECT_EQ(harness::malloc_calls(), calls);
    const std::vector<float> bits = theory.parameters()[0].tensor.to_vector<float>();
    if (n == 1) expected = bits;
    EXPECT_EQ(bits, expected) << n << " threads";
  }
  set_threads(before);
}

TEST(TheoryTraining, IsAModule) {
  Theory theory = smokers();
  ASSERT_EQ(theory.parameters().size(), 1u);
  EXPECT_EQ(theory.parameters()[0].name, "smokes");
  Theory twin = nn::clone(theory);
  copy_into(theory.parameters()[0].tensor, full({4}, 3));
  EXPECT_NE(twin.ask("smokes(ann)").item<float>(), theory.ask("smokes(ann)").item<float>());
  twin.load_state_dict(theory.state_dict());
  EXPECT_EQ(twin.ask("smokes(ann)").item<float>(), theory.ask("smokes(ann)").item<float>());
  EXPECT_REFUSED(const Theory copy(theory), "clone");
  EXPECT_REFUSED(theory.network("net", std::make_shared<nn::Linear>(1, 1)), "no neural predicate calls \"net\"");
  EXPECT_REFUSED(theory.set("smokes", zeros({4})), "is learned");
  EXPECT_REFUSED(theory.set("friends", zeros({4})), "[4, 4]");
  EXPECT_REFUSED(theory("smoke"), "did you mean \"smokes\"");
}

// Points inside a circle are known by a network, which learns from labels; batches come from a loader.
TEST(TheoryTraining, NetworksArePredicatesInATrainer) {
  const int64_t n = 100;
  const Tensor x = uniform({n, 2}, 3), inside = zeros({n});
  for (int64_t i = 0; i < n; i++) {
    const double a = x.at<float>({i, 0}) - 0.5, b = x.at<float>({i, 1}) - 0.5;
    inside.at<float>({i}) = a * a + b * b < 0.09 ? 1 : 0;
  }
  const nn::SeedScope seed(2);
  Theory theory = Theory::parse(
      "semantics ltn 2. domain point: batch. input tensor x[point, k: 2]. input rel y(point).\n"
      "neural inside(point) = sigmoid(net(x)).\n"
      "assert positive: forall p where y(p): inside(p). assert negative: forall p where not y(p): not inside(p).");
  theory.network("net", std::make_shared<nn::Sequential>(nn::Linear(2, 16), nn::ELU(), nn::Linear(16, 16), nn::ELU(),
                                                         nn::Linear(16, 1)));
  EXPECT_EQ(theory.parameters().size(), 6u);
  data::TensorDataset points(x, inside);
  data::Loader loader(points, {.batch = 50, .shuffle = true});
  nn::TrainerOptions options;
  options.epochs = 150;
  options.metrics = {{.name = "satisfaction"}};
  nn::Trainer trainer(
      theory, [&](const data::Batch& b) { return theory.results(b); }, optim::Adam{.lr = 1e-2f}, options);
  trainer.fit(loader);
  EXPECT_GT(trainer.history().back().train.metrics[0], 0.8);
  data::Batch all;
  all.x = x, all.y = inside;
  const Tensor said = theory("inside", all);
  int right = 0;
  for (int64_t i = 0; i < n; i++) right += (said.at<float>({i}) > 0.5) == (inside.at<float>({i}) > 0.5) ? 1 : 0;
  EXPECT_GE(right, 95);
}

TEST(TheoryTraining, MistakesOfNetworksGetASentence) {
  Theory t =
      Theory::parse("domain s: batch. input tensor x[s, 3]. neural p(s) = sigmoid(net(x)). assert forall a: p(a).");
  data::Batch b;
  b.set("x", zeros({4, 2}));
  t.network("net", std::make_shared<nn::Linear>(3, 2));
  EXPECT_REFUSED(t.results(b), "input \"x\" is [4, 2], the program says [4, 3]");
  b.set("x", zeros({4, 3}));
  EXPECT_REFUSED(t.results(b), "network \"net\" makes [4, 2], and \"p\" is [4]");
  EXPECT_REFUSED(t.results(), "no \"x\", which is an input");
}

// Fixpoints by themselves --------------------------------------------------------------------------------------------

TEST(Fixpoint, GradientsAreThoseOfTheSolution) {
  // x = f + A x: by the implicit function theorem what (1 - A)⁻¹ f has.
  const Tensor f = uniform({4, 1}, 1, 0, 1, 0, kF64), a = uniform({4, 4}, 2, 0, 0.2, 0, kF64);
  expect_gradients(
      [&](const std::vector<Tensor>& at) {
        return fixpoint([&](const Tensor& x) { return matmul(at[1], x); }, at[0], "real", {.epsilon = 1e-15});
      },
      {f, a});
  // The best proof of reachability, through the fixpoint and through its rounds.
  const Tensor edges = uniform({5, 5}, 3, 0.1, 0.9, 0, kF64);
  for (const char* algebra : {"max-product", "max-min", "noisy-or", "lukasiewicz"})
    for (const auto gradient : {LoopOptions::Gradient::kAdjoint, LoopOptions::Gradient::kRounds}) {
      const bool circles = std::string(algebra) == "max-min" && gradient == LoopOptions::Gradient::kAdjoint;
      if (circles) continue;
      SCOPED_TRACE(algebra);
      const Tensor e = std::string(algebra) == "noisy-or" ? edges * 0.3 : edges;
      expect_gradients(
          [&](const std::vector<Tensor>& at) {
            return fixpoint(
                [&](const Tensor& x) {
                  return contract({x, at[0]}, "xy,yz->xz", algebra);
                },
                at[0], algebra,
                {.gradient = gradient,
                 .epsilon = 1e-15,
                 .most = gradient == LoopOptions::Gradient::kRounds ? 60 : 1000});
          },
          {e});
    }
}

TEST(Fixpoint, IsOneStepWhoseBytesAreKnown) {
  const Tensor edges = to(bernoulli({40, 40}, 5, 0.05), kF32);
  Plan plan = compile(
      [&](const Tensor& e) {
        return fixpoint(
            [&](const Tensor& x) {
              return contract({x, e}, "xy,yz->xz", "max-product");
            },
            e, "max-product");
      },
      {{40, 40}});
  const size_t own = plan.bytes().own();
  EXPECT_GT(own, 40u * 40 * 4);
  const Tensor reached = plan(edges);
  EXPECT_EQ(plan.bytes().own(), own);
  const uint64_t calls = harness::malloc_calls();
  plan.run(edges);
  EXPECT_EQ(harness::malloc_calls(), calls);
  // Against Warshall's algorithm.
  std::vector<float> expected = edges.to_vector<float>();
  for (size_t k = 0; k < 40; k++)
    for (size_t i = 0; i < 40; i++)
      for (size_t j = 0; j < 40; j++)
        if (expected[i * 40 + k] > 0 && expected[k * 40 + j] > 0) expected[i * 40 + j] = 1;
  EXPECT_EQ(reached.to_vector<float>(), expected);
}

TEST(Fixpoint, WhatDoesNotEndIsRefused) {
  const Tensor a = full({2, 2}, 1.0);
  EXPECT_REFUSED(fixpoint([&](const Tensor& x) { return matmul(a, x); }, a, "real", {.most = 50, .name = "growth"}),
                 "growth");
  EXPECT_REFUSED(fixpoint([&](const Tensor& x) { return x; }, a, "p-mean"), "p-mean");
  EXPECT_REFUSED(fixpoint([&](std::span<const Tensor>) { return std::vector<Tensor>{}; }, {a}, "real"),
                 "0 relations of 1");
}

// Sums of written numbers ----------------------------------------------------------------------------------------------

// P(the sum is y) by going through all digits.
double by_enumeration(const Tensor& says, int64_t sample, int64_t sum) {
  const int64_t places = says.size(1), digits = places / 2;
  int64_t worlds = 1;
  for (int64_t p = 0; p < places; p++) worlds *= 10;
  double total = 0;
  for (int64_t w = 0; w < worlds; w++) {
    double p = 1;
    int64_t rest = w, value = 0, scale = 1;
    for (int64_t place = 0; place < places; place++, rest /= 10) {
      if (place == digits) scale = 1;
      p *= says.at<double>({sample, place, rest % 10});
      value += rest % 10 * scale;
      scale *= 10;
    }
    if (value == sum) total += p;
  }
  return total;
}

TEST(Addition, ProbabilitiesOfSumsAreThoseOfAllDigits) {
  for (const int64_t digits : {1, 2}) {
    Theory theory = Theory::parse(addition_program(digits, 1, 10), "addition", kF64);
    theory.network("net", [](Tensors x) { return x[0]; });
    const Tensor pictures = normal({3, 2 * digits, 1, 10}, 4, 0, 1, 0, kF64),
                 says = softmax(reshape(pictures, {3, 2 * digits, 10}));
    const Tensor sums = digits == 1 ? Tensor::from<int64_t>({7, 18, 0}) : Tensor::from<int64_t>({99, 4, 143});
    data::Batch batch;
    batch.set("pictures", pictures);
    batch.set("written", written_digits(sums, digits, kF64));
    const std::vector<double> right = numbers(theory("right", batch));
    double logs = 0;
    for (int64_t i = 0; i < 3; i++) {
      EXPECT_NEAR(right[static_cast<size_t>(i)], by_enumeration(says, i, sums.at<int64_t>({i})), 1e-15) << digits;
      logs += std::log(right[static_cast<size_t>(i)]) / 3;
    }
    EXPECT_NEAR(theory.results(batch)[0].tensor.item<double>(), -logs, 1e-12);
    expect_gradients(
        [&](const std::vector<Tensor>& at) {
          data::Batch moved = batch;
          moved.set("pictures", at[0]);
          return theory.results(moved)[0].tensor;
        },
        {pictures});
  }
  EXPECT_REFUSED(addition_program(0, 8, 8), "from 1 to 18");
  EXPECT_REFUSED(written_digits(Tensor::from<int64_t>({1000}), 2), "more than 3 digits");
}

// All sums of numbers that are certain, to 4 digits.
TEST(Addition, CarriesGoAllTheWay) {
  const int64_t digits = 4;
  Theory theory = Theory::parse(addition_program(digits, 1, 10), "addition");
  theory.network("net", [](Tensors x) { return x[0]; });
  const std::vector<std::pair<int64_t, int64_t>> pairs = {{9999, 1},    {5555, 4445}, {0, 0},
                                                          {9999, 9999}, {1234, 8766}, {9090, 909}};
  const auto n = std::ssize(pairs);
  Tensor pictures = full({n, 2 * digits, 1, 10}, -200.0);
  pictures = clone(pictures);
  Tensor sums = Tensor::empty({n}, kI64), wrong = Tensor::empty({n}, kI64);
  for (int64_t i = 0; i < n; i++) {
    auto [a, b] = pairs[static_cast<size_t>(i)];
    sums.at<int64_t>({i}) = a + b;
    wrong.at<int64_t>({i}) = a + b == 0 ? 1 : a + b - 1;
    for (int64_t p = 0; p < digits; p++, a /= 10, b /= 10)
      pictures.at<float>({i, p, 0, a % 10}) = pictures.at<float>({i, digits + p, 0, b % 10}) = 0;
  }
  for (const double v : numbers(theory("right", addition_batch(pictures, sums)))) EXPECT_EQ(v, 1);
  for (const double v : numbers(theory("right", addition_batch(pictures, wrong)))) EXPECT_EQ(v, 0);
}

// 1,797 real digits of 8 x 8 pixels: told nothing but sums of two, the network reads them.
TEST(Addition, DigitsAreReadFromSumsAlone) {
  const io::Csv table = io::load_csv(test_file("../data/digits.csv.gz"));
  const int64_t pairs = 700, held_back = 397;
  const Tensor pixels = multiply(contiguous(slice(table.values, 1, 0, 64)), 1.0 / 16);
  const Tensor labels = to(contiguous(select(table.values, 1, 64)), kI64);
  const Tensor pictures = reshape(contiguous(slice(pixels, 0, 0, 2 * pairs)), {pairs, 2, 8, 8}),
               sums = Tensor::empty({pairs}, kI64);
  for (int64_t i = 0; i < pairs; i++)
    sums.at<int64_t>({i}) = labels.at<int64_t>({2 * i}) + labels.at<int64_t>({2 * i + 1});
  const data::Batch all = addition_batch(pictures, sums);

  const nn::SeedScope seed(1);
  Theory theory = Theory::parse(addition_program(1, 8, 8));
  auto net = std::make_shared<nn::Sequential>(nn::Flatten(2), nn::Linear(64, 100), nn::ReLU(), nn::Linear(100, 10));
  theory.network("net", net);
  const int64_t size = 50;
  auto step = nn::train_step(theory,
                             [&](const Tensor& x, const Tensor& w) {
                               data::Batch b;
                               b.set("pictures", x), b.set("written", w);
                               return theory.results(b);
                             },
                             optim::Adam{.lr = 3e-3f}, {{size, 2, 8, 8}, {size, 2, 10}});
  for (int64_t epoch = 0; epoch < 40; epoch++)
    for (int64_t at = 0; at < pairs; at += size)
      step(contiguous(slice(all["pictures"], 0, at, at + size)), contiguous(slice(all["written"], 0, at, at + size)));
  const Tensor said = argmax(
      (*net)(reshape(contiguous(slice(pixels, 0, 2 * pairs, 2 * pairs + held_back)), {held_back, 1, 8, 8})), {-1});
  int64_t right = 0;
  for (int64_t i = 0; i < held_back; i++)
    right += reshape(said, {held_back}).at<int64_t>({i}) == labels.at<int64_t>({2 * pairs + i}) ? 1 : 0;
  EXPECT_GT(static_cast<double>(right) / static_cast<double>(held_back), 0.9);
}

}  // namespace
}  // namespace ingot::logic
