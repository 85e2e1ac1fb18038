// What a theory gives as its reasons: proofs whose leaves come to the truth that they prove, assertions where they fail.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "ingot/logic/theory.h"
#include "ingot/nn/layers.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/logic/gradients.h"
#include "tests/ops/harness.h"

namespace ingot::logic {
namespace {

const std::string kReach = " reach(x, y) <- edge(x, y).\nreach(x, z) <- reach(x, y), edge(y, z).\n";

TEST(TheoryExplain, ProofsAreTrees) {
  const Theory t = Theory::parse(
      "semantics product. domain d = {a, b, c, far}. rel edge(d, d). rel gap(d).\n"
      "0.9 :: edge(a, b). 0.5 :: edge(b, c). 0.1 :: edge(a, c). 0.9 :: edge(c, a).\n" +
      kReach + "odd(x) <- reach(x, x), not edge(x, far), x != b.\ngap(x + 1) <- odd(x).");
  EXPECT_EQ(t.explain("reach(a, c)"),
            "reach(a, c)   0.45   by line 4\n"
            "├─ reach(a, b)   0.9   by line 3\n"
            "│  └─ edge(a, b)   0.9   given\n"
            "└─ edge(b, c)   0.5   given\n");
  EXPECT_EQ(t.explain("reach(a, far)?"), "reach(a, far)   0   nothing says so\n");
  EXPECT_EQ(t.explain("edge(b, x)"), "edge(b, c)   0.5   given\n");  // the best answer
  const std::string odd = t.explain("odd(a)");
  EXPECT_NE(odd.find("├─ not edge(a, far)   1\n└─ a != b\n"), std::string::npos) << odd;
  EXPECT_EQ(t.explain("gap(b)").substr(0, 44), "gap(b)   0.405   by line 6\n└─ odd(a)   0");
  EXPECT_REFUSED(t.explain("rech(a, b)"), "did you mean \"reach\"");
}

// Random graphs with circles: the proof ends, and its leaves are worth what it proves.
TEST(TheoryExplain, LeavesComeToTheTruth) {
  struct Case {
    const char* pragma;
    double (*product)(double, double);
    double one;
  };
  const Case cases[] = {{"semantics product.", [](double a, double b) { return a * b; }, 1},
                        {"semantics godel.", [](double a, double b) { return std::min(a, b); }, 1},
                        {"semantics lukasiewicz.", [](double a, double b) { return std::max(0.0, a + b - 1); }, 1},
                        {"semantics boolean.", [](double a, double b) { return a * b; }, 1},
                        {"semantics ltn. algebra min-plus.", [](double a, double b) { return a + b; }, 0}};
  harness::Random random(4);
  for (const Case& c : cases)
    for (int round = 0; round < 20; round++) {
      const int n = 6;
      std::string text = std::string(c.pragma) + " domain d: 6. rel edge(d, d). rel reach(d, d).\n";
      const bool boolean = std::string(c.pragma) == "semantics boolean.", lengths = c.one == 0;
      for (int i = 0; i < 12; i++) {
        const double weight = boolean   ? 1
                              : lengths ? 1 + static_cast<double>(random.below(9))
                                        : 0.05 * static_cast<double>(1 + random.below(20));
        text += std::to_string(weight) + " :: edge(" + std::to_string(random.below(n)) + ", " +
                std::to_string(random.below(n)) + ").\n";
      }
      // Not linear, so that circles tempt.
      text += random.chance(0.5) ? kReach : " reach(x, y) <- edge(x, y). reach(x, z) <- reach(x, y), reach(y, z).";
      const Theory t = Theory::parse(text, "t", kF64);
      const Tensor reach = t("reach");
      for (int64_t x = 0; x < n; x++)
        for (int64_t y = 0; y < n; y++) {
          const double truth = reach.at<double>({x, y});
          const std::string proof = t.explain("reach(" + std::to_string(x) + ", " + std::to_string(y) + ")");
          if (truth == (lengths ? INFINITY : 0.0)) {
            EXPECT_NE(proof.find("nothing says so"), std::string::npos) << proof;
            continue;
          }
          double leaves = c.one;
          int64_t at = x;
          std::istringstream lines(proof);
          for (std::string line; std::getline(lines, line);) {
            const size_t edge = line.find("edge(");
            if (edge == std::string::npos) continue;
            EXPECT_TRUE(line.ends_with("given")) << proof;
            EXPECT_EQ(line[edge + 5] - '0', at) << proof;  // a way, step by step
            at = line[edge + 8] - '0';
            leaves = c.product(leaves, std::stod(line.substr(line.find(')') + 1)));
          }
          EXPECT_EQ(at, y) << proof;
          EXPECT_NEAR(leaves, truth, 2e-4 * std::max(1.0, truth)) << c.pragma << "\n" << text << proof;
        }
    }
}

TEST(TheoryExplain, WhereProofsAddUpTheBestIsShown) {
  const Theory t = Theory::parse(
      "semantics probability. domain d: 3. rel p(d). rel q(d, d). 0.5 :: p(0). 0.3 :: p(1). 0.9 :: q(0, 2). 1 :: q(1, "
      "2).\n"
      "r(y) <- p(x), q(x, y).",
      "t", kF64);
  EXPECT_EQ(t.explain("r(2)"),
            "r(2)   0.75, by all its proofs; the best:\n"
            "r(2)   0.45   by line 2\n├─ p(0)   0.5   given\n└─ q(0, 2)   0.9   given\n");
}

TEST(TheoryExplain, NamesWhereTruthsComeFrom) {
  Theory t = Theory::parse(
      "semantics product. domain s: batch. domain c = {yes, no}. input tensor x[s, 2]. input rel seen(s).\n"
      "neural says(s, c) = softmax(net(x)). param rel odd(c). tensor e[c]. e[i] = odd[i] * odd[i].\n"
      "r(a) <- says(a, k), odd(k), e(k), seen(a). both <- first, second. rel first. rel second. 0.5 :: first. 0.25 :: "
      "second.");
  t.network("net", [](Tensors x) { return x[0]; });
  copy_into(t.parameters()[0].tensor, Tensor::from<float>({3, -3}));
  data::Batch b;
  b.set("x", zeros({2, 2})), b.set("seen", full({2}, 0.75));
  // The truest of both samples, which are equal: the first.
  const std::string r = t.explain("r(a)", b);
  for (const char* line : {"says(0, yes)   0.5   said by network \"net\"", "odd(yes)   0.9526   learned",
                           "e[yes]   0.9074   computed in line 2", "seen(0)   0.75   in the batch"})
    EXPECT_NE(r.find(line), std::string::npos) << r;
  EXPECT_EQ(t.explain("r(1)", b).substr(0, 12), "r(1)   0.324");
  EXPECT_REFUSED(t.explain("r(2)", b), "2");
  EXPECT_EQ(t.explain("both", b), "both   0.125   by line 3\n├─ first   0.5   given\n└─ second   0.25   given\n");
  EXPECT_REFUSED(t.explain("r(a)"), "which is an input");
}

TEST(TheoryExplain, AssertionsShowWhereTheyFail) {
  const Theory t = Theory::parse(
      "semantics product. domain p = {ann, bob, cid}. rel friends(p, p). rel smokes(p).\n"
      "friends(ann, bob). friends(bob, cid). 0.9 :: smokes(ann). 0.3 :: smokes(bob). 0.6 :: smokes(cid).\n"
      "assert spreads: forall x, y where friends(x, y): smokes(x) -> smokes(y).\n"
      "assert exists x: smokes(x).\nassert known: smokes(ann) and not smokes(bob).",
      "t", kF64);
  EXPECT_EQ(t.explain("spreads"),
            "0.3333   spreads: forall x, y where friends(x, y): smokes(x) -> smokes(y)\n"
            "least true for\n  0.3333   x = ann, y = bob\n  1        x = bob, y = cid\n");
  EXPECT_EQ(t.explain("exists x: smokes(x)"),
            "0.972   exists x: smokes(x)\ntruest for\n  0.9      x = ann\n  0.6      x = cid\n  0.3      x = bob\n");
  EXPECT_EQ(t.explain("known"),
            "0.63   known: smokes(ann) and not smokes(bob)\n  0.9      smokes(ann)\n  0.3      smokes(bob)\n");
  EXPECT_REFUSED(t.explain("spread"), "no relation, tensor or assertion \"spread\" — did you mean \"spreads\"?");
  EXPECT_EQ(t.explain("smokes(x) and not smokes(ann)").substr(0, 7), "0.09   ");
}

TEST(TheoryExplain, LongProofsAreCut) {
  std::string text = "semantics boolean. domain d: 400. rel edge(d, d). rel on(d). on(0).\n";
  for (int i = 0; i + 1 < 400; i++) text += "edge(" + std::to_string(i) + ", " + std::to_string(i + 1) + ").\n";
  const Theory t = Theory::parse(text + "on(y) <- on(x), edge(x, y).");
  const std::string proof = t.explain("on(399)");
  EXPECT_NE(proof.find("…"), std::string::npos);
  EXPECT_LT(std::count(proof.begin(), proof.end(), '\n'), 510);
}

}  // namespace
}  // namespace ingot::logic
