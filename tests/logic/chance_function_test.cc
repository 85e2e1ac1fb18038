// Probabilities by rules as parts of plans: those of the engine, with its slopes, for any weights, and they learn.
#include "ingot/logic/chance_function.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "ingot/base/text.h"
#include "ingot/logic/program.h"
#include "ingot/nn/module.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/logic/gradients.h"
#include "tests/ops/harness.h"

namespace ingot::logic {
namespace {

const std::string kWays =
    "way(x, y) <- link(x, y). way(x, z) <- way(x, y), link(y, z).\nrel apart(number, number). "
    "apart(x, y) <- link(x, _), link(_, y), not way(x, y).\n";

std::string with_links(const std::vector<std::pair<int, int>>& links, const std::vector<double>& weights) {
  std::string text = "rel link(number, number).\n";
  for (size_t i = 0; i < links.size(); i++)
    text += formatted("%.17g", weights[i]) + " :: link(" + std::to_string(links[i].first) + ", " +
            std::to_string(links[i].second) + ").\n";
  return text + kWays;
}

TEST(ChanceFunction, IsTheEngineForAnyWeights) {
  harness::Random random(3);
  for (int round = 0; round < 12; round++) {
    std::vector<std::pair<int, int>> links;
    for (int i = 0; i < 5; i++)
      for (int j = 0; j < 5; j++)
        if (i != j && random.chance(0.4)) links.emplace_back(i, j);
    if (links.empty()) continue;
    std::vector<double> weights(links.size(), 0.5);
    Engine engine(Program::parse(with_links(links, weights)));
    engine.run();
    const std::vector<std::string> facts = {"way(0, 1)", "way(1, 4)", "apart(0, 3)", "way(2, 2)", "apart(3, 3)"};
    const auto chances = [&]() -> std::optional<ChanceFunction> {
      try {
        return engine.chance_function(facts);
      } catch (const Error&) {  // no way to any of them
        return std::nullopt;
      }
    }();
    if (!chances) continue;
    // Two samples with weights of their own: two programs.
    const auto coins = std::ssize(chances->coins());
    const Tensor w = uniform({2, coins}, static_cast<uint64_t>(round), 0.05, 0.95, 0, kF64);
    const Tensor p = (*chances)(w);
    for (int64_t s = 0; s < 2; s++) {
      for (size_t i = 0; i < links.size(); i++) {
        const std::string name =
            "link(" + std::to_string(links[i].first) + ", " + std::to_string(links[i].second) + ")";
        const auto& all = chances->coins();
        if (std::find(all.begin(), all.end(), name) != all.end()) weights[i] = w.at<double>({s, chances->coin(name)});
      }
      Engine own(Program::parse(with_links(links, weights)));
      own.run();
      for (size_t f = 0; f < facts.size(); f++) {
        EXPECT_NEAR(p.at<double>({s, static_cast<int64_t>(f)}), own.probability(facts[f]), 1e-12) << facts[f];
        for (const Slope& slope : own.slopes(facts[f])) {
          const Tensor at = clone(select(w, 0, s));
          const int64_t coin = chances->coin(slope.statement);
          at.at<double>({coin}) = 1;
          const double one = (*chances)(at).at<double>({static_cast<int64_t>(f)});
          at.at<double>({coin}) = 0;
          EXPECT_NEAR(slope.slope, one - (*chances)(at).at<double>({static_cast<int64_t>(f)}), 1e-12);
        }
      }
    }
    expect_gradients([&](const std::vector<Tensor>& at) { return (*chances)(at[0]); }, {w});
  }
}

TEST(ChanceFunction, KeptProofsAreALowerBound) {
  const std::string text =
      "0.9 :: link(1, 2). 0.8 :: link(2, 4). 0.7 :: link(1, 3). 0.6 :: link(3, 4). 0.5 :: link(3, 2).\n" + kWays;
  std::vector<double> p;
  for (const int proofs : {1, 2, 0}) {
    Engine e(Program::parse(text), {.proofs = proofs});
    e.run();
    const ChanceFunction c = e.chance_function({"way(1, 4)"});
    p.push_back(c(c.weights(kF64)).item<double>());
    EXPECT_NEAR(p.back(), e.probability("way(1, 4)"), 1e-15);
  }
  EXPECT_NEAR(p[0], 0.72, 1e-12);
  EXPECT_LT(p[0], p[1]);
  EXPECT_LT(p[1], p[2]);
}

TEST(ChanceFunction, CertainAndImpossibleFactsAreConstants) {
  Engine e(Program::parse("link(1, 2). 0.5 :: link(2, 3). 0.25 :: late(x) <- link(x, _).\n" + kWays));
  e.run();
  const ChanceFunction c = e.chance_function({"way(1, 2)", "way(3, 1)", "way(1, 3)", "late(2)"});
  EXPECT_EQ(c.facts().size(), 4u);
  EXPECT_EQ(numbers(c(c.weights())), (std::vector<double>{1, 0, 0.5, 0.125}));
  EXPECT_EQ(c.coins().size(), 2u);
  EXPECT_REFUSED(e.chance_function({"way(1, 2)"}), "no statement with a probability leads to");
  EXPECT_REFUSED(c(zeros({3})), "the weights are [3], and there are 2 coins");
  EXPECT_REFUSED(c.coin("link(2, 4)"), "did you mean \"link(2, 3)\"");
  EXPECT_REFUSED(e.chance_function({"wy(1, 2)"}), "did you mean \"way\"");
}

// Links' probabilities from nothing but how often there was a way: labelled queries teach the weights of facts.
class Links : public nn::Module {
 public:
  explicit Links(int64_t n) : logits(clone(zeros({n}))) {}
  void parts(nn::Parts& p) override { p("logits", logits); }
  Tensor logits;
};

TEST(ChanceFunction, WeightsAreLearnedFromWhatFollows) {
  const std::vector<std::pair<int, int>> links = {{0, 1}, {1, 2}, {0, 2}, {2, 3}, {1, 3}};
  const std::vector<double> truth = {0.9, 0.3, 0.2, 0.7, 0.5};
  Engine world(Program::parse(with_links(links, truth))),
      blank(Program::parse(with_links(links, {.5, .5, .5, .5, .5})));
  world.run(), blank.run();
  const std::vector<std::string> facts = {"way(0, 1)", "way(1, 2)", "way(0, 2)", "way(2, 3)", "way(1, 3)", "way(0, 3)"};
  Tensor seen = Tensor::empty({6});
  for (int64_t i = 0; i < 6; i++)
    seen.at<float>({i}) = static_cast<float>(world.probability(facts[static_cast<size_t>(i)]));
  const ChanceFunction chances = blank.chance_function(facts);
  Links model(5);
  auto step = nn::train_step(model, [&] { return sum(square(chances(sigmoid(model.logits)) - seen)); },
                             optim::Adam{.lr = 0.05f}, {});
  for (int i = 0; i < 1500; i++) step();
  const uint64_t calls = harness::malloc_calls();
  step();
  EXPECT_EQ(harness::malloc_calls(), calls);
  for (size_t i = 0; i < links.size(); i++) {
    const std::string name = "link(" + std::to_string(links[i].first) + ", " + std::to_string(links[i].second) + ")";
    EXPECT_NEAR(1 / (1 + std::exp(-model.logits.at<float>({chances.coin(name)}))), truth[i], 0.02) << name;
  }
}

}  // namespace
}  // namespace ingot::logic
