// The theories of examples/logic: what they learn is what they are for.
#include <gtest/gtest.h>

#include <set>

#include "ingot/io/io.h"
#include "ingot/logic/program.h"
#include "ingot/logic/theory.h"
#include "ingot/nn/init.h"
#include "ingot/nn/layers.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/logic/gradients.h"
#include "tests/ops/harness.h"
#include "tests/test_file.h"

namespace ingot::logic {
namespace {

std::string example(const std::string& name) { return test_file("../examples/logic/" + name); }

TEST(TheoryExamples, EmbeddingsDeduceAtTemperature0AndShareAboveIt) {
  const nn::SeedScope seed(5);
  Theory theory = Theory::load(example("embedding.theory"));
  const Tensor emb = theory.parameters()[0].tensor;
  nn::init::normal(emb, 0, 1 / std::sqrt(128.0));
  for (int64_t k = 0; k < 128; k++)
    emb.at<float>({7, k}) = 0.8f * emb.at<float>({1, k}) + 0.6f * emb.at<float>({7, k});  // twin is like bob
  // Those of the exact engine but for the twin, about whom nothing is said.
  Engine engine(
      Program::parse("parent(ann, bob). parent(bob, cid). parent(cid, dan). parent(eve, fay). parent(fay, gus).\n"
                     "ancestor(x, y) <- parent(x, y). ancestor(x, z) <- ancestor(x, y), parent(y, z)."));
  engine.run();
  const auto people = theory.members("person");
  const Tensor exact = theory("ancestor");
  for (int64_t x = 0; x < 7; x++)
    for (int64_t y = 0; y < 7; y++)
      EXPECT_EQ(exact.at<float>({x, y}),
                engine.contains("ancestor", {people[static_cast<size_t>(x)], people[static_cast<size_t>(y)]}) ? 1 : 0)
          << x << " " << y;
  theory.set_temperature(0.2);
  const Tensor soft = theory("ancestor");
  EXPECT_GT(soft.at<float>({7, 2}), 0.5);                         // the twin's child, like bob's
  EXPECT_GT(soft.at<float>({7, 2}), 2 * soft.at<float>({5, 2}));  // and not fay's
  EXPECT_GT(soft.at<float>({1, 2}), soft.at<float>({7, 2}));
}

TEST(TheoryExamples, BracketsAreReadFromWhetherRowsAreWellFormed) {
  const io::Csv table = io::load_csv(test_file("../data/digits.csv.gz"));
  std::vector<int64_t> zeros_at, ones_at;
  for (int64_t i = 0; i < table.values.size(0); i++) {
    const float digit = table.values.at<float>({i, 64});
    if (digit == 0) zeros_at.push_back(i);
    if (digit == 1) ones_at.push_back(i);
  }
  const int64_t held_back = 40, rows = 400, places = 6;
  harness::Random random(1);
  Tensor pictures = Tensor::empty({rows, places, 64}), well = zeros({rows});
  for (int64_t r = 0; r < rows; r++) {
    int64_t depth = 0, left = 3;
    bool formed = true;
    for (int64_t p = 0; p < places; p++) {
      // Half of the rows well-formed, half of any form.
      const bool open = r % 2 == 0 ? left > 0 && (depth == 0 || random.chance(0.5)) : random.chance(0.5);
      left -= open ? 1 : 0, depth += open ? 1 : -1;
      formed = formed && depth >= 0;
      const auto& from = open ? zeros_at : ones_at;
      const int64_t picture = from[static_cast<size_t>(random.below(std::ssize(from) - held_back))];
      for (int64_t k = 0; k < 64; k++) pictures.at<float>({r, p, k}) = table.values.at<float>({picture, k}) / 16;
    }
    well.at<float>({r}) = formed && depth == 0 ? 1 : 0;
  }
  const nn::SeedScope seed(1);
  Theory theory = Theory::load(example("brackets.theory"));
  auto net = std::make_shared<nn::Sequential>(nn::Linear(64, 32), nn::ReLU(), nn::Linear(32, 2));
  theory.network("net", net);
  const int64_t size = 50;
  auto step = nn::train_step(theory,
                             [&](const Tensor& x, const Tensor& y) {
                               data::Batch b;
                               b.set("pictures", x), b.set("well", y);
                               return theory.results(b);
                             },
                             optim::Adam{.lr = 5e-3f}, {{size, places, 64}, {size}});
  for (int epoch = 0; epoch < 25; epoch++)
    for (int64_t at = 0; at < rows; at += size)
      step(contiguous(slice(pictures, 0, at, at + size)), contiguous(slice(well, 0, at, at + size)));
  int right = 0;
  for (const auto* from : {&zeros_at, &ones_at})
    for (size_t i = from->size() - static_cast<size_t>(held_back); i < from->size(); i++) {
      const Tensor x =
          multiply(contiguous(slice(slice(table.values, 0, (*from)[i], (*from)[i] + 1), 1, 0, 64)), 1.0 / 16);
      right += argmax((*net)(x), {1}).item<int64_t>() == (from == &ones_at ? 1 : 0) ? 1 : 0;
    }
  EXPECT_GE(right, 2 * held_back - 2);
}

TEST(TheoryExamples, RulesOfAGameAreLearnedFromScores) {
  const int64_t n = 256;
  // rock crushes scissors and lizard, …: move a beats a + 1 and a + 3 in this order, rock, scissors, …
  const std::set<std::pair<int64_t, int64_t>> wins = {{0, 2}, {0, 3}, {1, 0}, {1, 4}, {2, 1},
                                                      {2, 3}, {3, 1}, {3, 4}, {4, 0}, {4, 2}};
  harness::Random random(2);
  const Tensor first = zeros({n, 3, 5}), second = zeros({n, 3, 5}), score = zeros({n, 4});
  for (int64_t m = 0; m < n; m++) {
    int64_t won = 0;
    for (int64_t r = 0; r < 3; r++) {
      const int64_t a = random.below(5), b = random.below(5);
      first.at<float>({m, r, a}) = second.at<float>({m, r, b}) = 1;
      won += static_cast<int64_t>(wins.count({a, b}));
    }
    score.at<float>({m, won}) = 1;
  }
  const nn::SeedScope seed(1);
  Theory theory = Theory::load(example("game.theory"));
  data::Batch batch;
  batch.set("first", first), batch.set("second", second), batch.set("score", score);
  auto step = nn::train_step(theory, [&] { return theory.results(batch); }, optim::Adam{.lr = 0.1f}, {});
  for (int i = 0; i < 300; i++) step();
  const Tensor beats = theory("beats");
  for (int64_t a = 0; a < 5; a++)
    for (int64_t b = 0; b < 5; b++) EXPECT_EQ(beats.at<float>({a, b}) > 0.5, wins.count({a, b}) == 1) << a << " " << b;
}

TEST(TheoryExamples, ExclusiveOrIsLearned) {
  const nn::SeedScope seed(1);
  Theory theory = Theory::load(example("xor.theory"));
  auto step = nn::train_step(theory, [&] { return theory.results(); }, optim::Adam{.lr = 0.05f}, {});
  for (int i = 0; i < 400; i++) step();
  const std::vector<double> says = numbers(theory("says"));
  for (size_t n = 0; n < 4; n++) EXPECT_EQ(says[n] > 0.5, n == 1 || n == 2) << n << " " << says[n];
}

// Which missing parent explains what is known of ancestors? The gradient goes through the recursion.
TEST(TheoryExamples, ALinkIsFoundThroughARecursion) {
  const nn::SeedScope seed(1);
  Theory theory = Theory::parse(
      "semantics ltn. domain person = {ann, bob, cid, dan, eve, fay}.\n"
      "rel told(person, person). rel elder(person, person). rel younger(person, person). param rel link(person, "
      "person).\n"
      "told(ann, bob). told(bob, cid). told(dan, eve). told(eve, fay).\n"
      "elder(ann, fay). elder(bob, dan). elder(cid, eve).\n"
      "parent(x, y) <- told(x, y). parent(x, y) <- link(x, y).\n"
      "ancestor(x, y) <- parent(x, y). ancestor(x, z) <- ancestor(x, y), parent(y, z).\n"
      "assert known: forall x, y where elder(x, y): ancestor(x, y) and not parent(x, y).\n"
      "assert 0.3 :: few: forall^1 x, y: not link(x, y).");
  copy_into(theory.parameters()[0].tensor, full({6, 6}, -1.0) + theory.parameters()[0].tensor);
  auto step = nn::train_step(theory, [&] { return theory.results(); }, optim::Adam{.lr = 0.05f}, {});
  for (int i = 0; i < 600; i++) step();
  const Tensor link = theory("link");
  for (int64_t x = 0; x < 6; x++)
    for (int64_t y = 0; y < 6; y++)
      EXPECT_EQ(link.at<float>({x, y}) > 0.5, x == 2 && y == 3) << x << " " << y << " " << link.at<float>({x, y});
}

}  // namespace
}  // namespace ingot::logic
