// Facts and rules with probabilities, against the enumeration of all worlds: each world is a program without probabilities.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "ingot/base/text.h"
#include "ingot/logic/program.h"
#include "tests/error_of.h"
#include "tests/logic/cases.h"

namespace ingot::logic {
namespace {

struct Coin {
  double probability;
  std::string fact;
};

// A program whose coins are facts.
struct Uncertain {
  std::vector<Coin> coins;
  std::string rest;

  std::string text() const {
    std::string all = rest;
    for (const Coin& c : coins) all += formatted("%.17g", c.probability) + " :: " + c.fact + ".\n";
    return all;
  }
  // The probabilities of facts, one world after the other; coin `fixed` is `value` in all of them.
  std::map<std::string, double> enumerated(const std::vector<std::string>& facts, int fixed = -1,
                                           bool value = false) const {
    std::map<std::string, double> sums;
    for (uint32_t world = 0; world < (1u << coins.size()); world++) {
      if (fixed >= 0 && ((world >> fixed & 1) != 0) != value) continue;
      double p = 1;
      std::string program = rest;
      for (size_t i = 0; i < coins.size(); i++) {
        const bool on = (world >> i & 1) != 0;
        if (static_cast<int>(i) != fixed) p *= on ? coins[i].probability : 1 - coins[i].probability;
        if (on) program += coins[i].fact + ".\n";
      }
      Engine e(Program::parse(program));
      e.run();
      for (const std::string& fact : facts) sums[fact] += p * e.probability(fact);
    }
    return sums;
  }
};

Engine computed(const std::string& text, int proofs = -1) {
  Engine e(Program::parse(text), {.proofs = proofs});
  e.run();
  return e;
}

const char* const kReach =
    "rel edge(number, number).\npath(x, y) <- edge(x, y).\npath(x, z) <- path(x, y), edge(y, z).\n";

TEST(Uncertain, ClosedForms) {
  const Engine e = computed(std::string(kReach) +
                            "0.9 :: edge(1, 2). 0.8 :: edge(2, 4). 0.7 :: edge(1, 3). 0.6 :: edge(3, 4). edge(4, 5).\n"
                            "far(x) <- path(x, 5), not path(x, 3).\n");
  EXPECT_DOUBLE_EQ(e.probability("path(1, 2)"), 0.9);
  const double both = 1 - (1 - 0.9 * 0.8) * (1 - 0.7 * 0.6);
  EXPECT_NEAR(e.probability("path(1, 4)"), both, 1e-15);
  EXPECT_NEAR(e.probability("path(1, 5)"), both, 1e-15);
  EXPECT_DOUBLE_EQ(e.probability("path(4, 5)"), 1);
  EXPECT_DOUBLE_EQ(e.probability("path(5, 1)"), 0);
  EXPECT_NEAR(e.probability("far(1)"), 0.3 * 0.9 * 0.8, 1e-15);
}

TEST(Uncertain, ReachabilityOfRandomGraphsIsTheSumOfWorlds) {
  for (uint64_t seed = 1; seed <= 6; seed++) {
    cases::Draw r(seed);
    Uncertain u{{},
                std::string(kReach) +
                    "node(0). node(1). node(2). node(3).\n"
                    "cut(x, y) <- node(x), node(y), not path(x, y).\n"
                    "round(x) <- path(x, x), not cut(x, 0).\nend(x) <- node(x), not path(x, _).\n"};
    for (int64_t x = 0; x < 4; x++)
      for (int64_t y = 0; y < 4; y++)
        if (r(10) < 5 && u.coins.size() < 7)
          u.coins.push_back(
              {static_cast<double>(1 + r(99)) / 100, "edge(" + std::to_string(x) + ", " + std::to_string(y) + ")"});
    const Engine e = computed(u.text()), best = computed(u.text(), 1000);
    for (const auto& [fact, probability] :
         u.enumerated({"path(0, 3)", "path(2, 1)", "cut(0, 3)", "cut(1, 1)", "round(2)", "end(1)"})) {
      EXPECT_NEAR(e.probability(fact), probability, 1e-12) << seed << ": " << fact;
      EXPECT_NEAR(best.probability(fact), probability, 1e-12) << seed << ": " << fact;
    }
  }
}

TEST(Uncertain, SlopesAreTheDifferenceOfTheCoinsTwoSides) {
  const Uncertain u{
      {{0.9, "edge(1, 2)"}, {0.8, "edge(2, 4)"}, {0.7, "edge(1, 3)"}, {0.6, "edge(3, 4)"}, {0.5, "edge(3, 2)"}},
      std::string(kReach) + "far(x) <- path(x, 4), not path(x, 3).\n"};
  const Engine e = computed(u.text());
  for (const std::string fact : {"path(1, 4)", "far(1)"}) {
    const std::vector<Slope> slopes = e.slopes(fact);
    EXPECT_EQ(slopes.size(), 5u);
    for (const Slope& s : slopes)
      for (size_t c = 0; c < u.coins.size(); c++)
        if (u.coins[c].fact == s.statement) {
          EXPECT_DOUBLE_EQ(s.probability, u.coins[c].probability);
          const int coin = static_cast<int>(c);
          const double sides = u.enumerated({fact}, coin, true)[fact] - u.enumerated({fact}, coin, false)[fact];
          EXPECT_NEAR(s.slope, sides, 1e-12) << fact << " by " << s.statement;
        }
  }
}

TEST(Uncertain, FewProofsAreALowerBoundThatGrows) {
  const std::string text = std::string(kReach) +
                           "0.9 :: edge(1, 2). 0.8 :: edge(2, 9). 0.7 :: edge(1, 3). 0.6 :: edge(3, 9). "
                           "0.5 :: edge(1, 4). 0.4 :: edge(4, 9). 0.3 :: edge(2, 3).\n";
  const double exact = computed(text).probability("path(1, 9)");
  EXPECT_NEAR(computed(text, 1).probability("path(1, 9)"), 0.9 * 0.8, 1e-15);
  EXPECT_NEAR(computed(text, 2).probability("path(1, 9)"), 1 - (1 - 0.72) * (1 - 0.42), 1e-15);
  double last = 0;
  for (int k = 1; k <= 4; k++) {
    const double p = computed(text, k).probability("path(1, 9)");
    EXPECT_GT(p, last);
    EXPECT_LE(p, exact + 1e-15);
    last = p;
  }
  EXPECT_NEAR(last, exact, 1e-15);
  EXPECT_NEAR(computed("semantics proofs 1.\n" + text).probability("path(1, 9)"), 0.72, 1e-15);
}

TEST(Uncertain, RulesHaveProbabilitiesOfTheirOwn) {
  const Engine e = computed(
      "stress(ann). 0.2 :: stress(bob). friend(ann, bob). friend(bob, cid).\n"
      "0.3 :: smokes(x) <- stress(x).\n0.4 :: smokes(y) <- friend(x, y), smokes(x).\n"
      "raw(1, 2, 0.25). raw(2, 3, 0.5). w :: edge(x, y) <- raw(x, y, w).\nway(x, z) <- edge(x, y), edge(y, z).\n");
  EXPECT_NEAR(e.probability("smokes(ann)"), 0.3, 1e-15);
  const double bob = 1 - (1 - 0.2 * 0.3) * (1 - 0.4 * 0.3);
  EXPECT_NEAR(e.probability("smokes(bob)"), bob, 1e-15);
  EXPECT_NEAR(e.probability("smokes(cid)"), 0.4 * bob, 1e-15);
  EXPECT_NEAR(e.probability("way(1, 3)"), 0.125, 1e-15);
}

TEST(Uncertain, AnswersAndExplanationsSayHowProbable) {
  const Engine e =
      computed(std::string(kReach) + "0.5 :: edge(1, 2). 0.25 :: edge(2, 3). edge(3, 4). path(1, x)? path(3, x)?\n");
  const std::vector<Answer> a = e.answers();
  ASSERT_EQ(a.size(), 2u);
  EXPECT_EQ(a[0].probabilities, (std::vector<double>{0.5, 0.125, 0.125}));
  const std::string proof = e.explain("path(1, 3)");
  EXPECT_EQ(proof,
            "path(1, 3)   probability 0.125\n"
            "Its most probable proof, 0.125:\n"
            "path(1, 3)   by line 3\n"
            "├─ path(1, 2)   by line 2\n"
            "│  └─ edge(1, 2)   given, probability 0.5\n"
            "└─ edge(2, 3)   given, probability 0.25\n"
            "It fails most probably, 0.75: there is no edge(2, 3)\n"
            "Slopes by the probabilities that matter most:\n"
            "    0.500000   edge(2, 3)\n"
            "    0.250000   edge(1, 2)\n");
  EXPECT_NE(e.explain("path(2, 1)").find("There is no path(2, 1)"), std::string::npos);
}

TEST(Uncertain, WhatHasNoMeaningIsRefused) {
  const auto error = [](const std::string& text) { return error_of([&] { Program::parse(text); }); };
  EXPECT_NE(error("1.5 :: p(1).").find("is no probability"), std::string::npos);
  EXPECT_NE(error("0.5 :: p(1). n(c) <- c = count{ x : p(x) }.").find("another value in every world"),
            std::string::npos);
  EXPECT_NE(error("0.5 :: p(1, 2). b(x, min(d)) <- p(x, d).").find("best value of uncertain"), std::string::npos);
  EXPECT_NE(error("0.5 :: p(1). 0.6 :: p(1).").find("there already, in line 1"), std::string::npos);
  EXPECT_NE(error("0.5 :: p(1). p(1).").find("there already"), std::string::npos);
  EXPECT_NE(error("0.5 :: p(x) <- q(x) ; r(x). q(1). r(2).").find("one probability for several"), std::string::npos);
  EXPECT_NE(error("semantics proof 3.").find("did you mean"), std::string::npos);
  EXPECT_NE(error("0.5 :: p(1). q(x) <- p(x), not q(x).").find("its own negation"), std::string::npos);
  Engine e(Program::parse("raw(1, 1.5). w :: p(x) <- raw(x, w)."));
  e.run();
  EXPECT_NE(error_of([&] { e.probability("p(1)"); }).find("1.5 is no probability"), std::string::npos);
}

TEST(Uncertain, WorkIsBounded) {  // all paths of a complete graph: too many decisions, but few proofs are had
  std::string text = kReach;
  for (int x = 0; x < 12; x++)
    for (int y = 0; y < 12; y++)
      if (x != y) text += formatted("0.5 :: edge(%d, %d). ", x, y);
  Engine e(Program::parse(text), {.memory_limit = uint64_t{8} << 20});
  e.run();
  EXPECT_REFUSED(e.probability("path(0, 11)"), "logic: ");
  EXPECT_GE(computed(text, 3).probability("path(0, 11)"), 0.5);
}

}  // namespace
}  // namespace ingot::logic
