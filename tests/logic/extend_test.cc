// A program that goes on: what is known stays, and the result is that of the whole program.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "tests/error_of.h"
#include "tests/logic/random_rules.h"

namespace ingot::logic {
namespace {

using Words = std::vector<std::string>;

void expect_same(Engine& grown, Engine& anew, const std::string& text) {
  ASSERT_EQ(grown.relations(), anew.relations()) << text;
  for (const std::string& r : anew.relations()) EXPECT_EQ(grown.facts(r), anew.facts(r)) << r << " in\n" << text;
}

// A random program line by line, with facts between, asked on the way.
TEST(Extend, StatementByStatementAsTheWholeProgram) {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    cases::Draw r(seed);
    const std::string program = cases::random_rules(r);
    std::vector<std::string> lines;
    for (size_t i = 0, end = 0; i < program.size(); i = end + 1) {
      end = program.find('\n', i);
      lines.push_back(program.substr(i, end - i));
    }
    // Whole layers at once, so that nothing is used before it is there.
    std::string text = lines[0] + "\n";
    Engine grown(Program::parse(text));
    grown.run();
    for (size_t i = 1; i < lines.size();) {
      std::string more;
      for (const char layer = lines[i][1]; i < lines.size() && lines[i][1] == layer; i++) more += lines[i] + "\n";
      for (int64_t k = 0; k < r(4); k++)
        more += "e(" + std::to_string(r(6)) + ", " + std::to_string(r(6)) + "). f(" + std::to_string(r(6)) + ").\n";
      text += "\n" + more;
      grown.extend(more);
      Engine anew(Program::parse(text));
      anew.run();
      expect_same(grown, anew, text);
      const std::string query = "e(x, y), not f(x)?";
      Engine asked(Program::parse(text + query));
      asked.run();
      EXPECT_EQ(grown.ask(query)[0].rows, asked.answers()[0].rows) << text;
      expect_same(grown, anew, text);
    }
  }
}

TEST(Extend, TakesOverWhatDoesNotChange) {
  Engine e(
      Program::parse("rel e(number, number). e(1, 2). e(2, 3). p(x, y) <- e(x, y). p(x, z) <- p(x, y), e(y, z).\n"
                     "f(7). g(x) <- f(x). n(x, c) <- c = count{ y : e(x, y) }."));
  e.add("e", Words{"3", "4"});  // which no statement says
  e.run();
  const auto rounds = [&](const std::string& rule) {
    for (const RuleProfile& p : e.profile())
      if (p.rule.starts_with(rule)) return p.facts;
    return uint64_t{999};
  };
  ASSERT_EQ(rounds("p(x, y)"), 6u);
  EXPECT_EQ(e.ask("p(1, x), not f(x)?")[0].rows.size(), 3u);
  EXPECT_EQ(rounds("g(x)"), 1u);
  e.extend("f(8). h(x) <- p(x, _), not n(x, 5).");
  EXPECT_EQ(rounds("p(x, y)"), 6u);  // as it was computed then
  EXPECT_EQ(rounds("g(x)"), 2u);
  EXPECT_EQ(e.size("h"), 3u);
  e.extend("e(4, 1).");
  EXPECT_EQ(e.size("p"), 16u);  // with what add() said
  e.remove("e", {"4", "1"});
  e.run();
  EXPECT_EQ(e.size("p"), 6u);
  e.extend("e(0, 1).");  // and what remove() took stays away
  EXPECT_EQ(e.size("p"), 10u);
}

TEST(Extend, TextsKeepTheirNumbers) {
  Engine e(Program::parse("rel likes(symbol, symbol). likes(\"ann\", \"tea\")."));
  e.add("likes", Words{"bob", "rum"});
  e.run();
  EXPECT_EQ(e.ask("likes(x, \"rum\")?")[0].rows, (std::vector<std::vector<std::string>>{{"bob"}}));
  EXPECT_TRUE(e.ask("likes(x, \"milk\")?")[0].rows.empty());
  e.extend("drinker(x) <- likes(x, _). likes(\"cid\", \"milk\").");
  EXPECT_EQ(e.size("drinker"), 3u);
  EXPECT_EQ(e.ask("explain drinker(\"bob\")?")[0].explanation,
            "drinker(\"bob\")   by line 2\n└─ likes(\"bob\", \"rum\")   given\n");
}

TEST(Extend, ProbabilitiesAreThoseOfTheLongerProgram) {
  Engine e(Program::parse("0.5 :: e(1, 2). e(2, 3). p(x, y) <- e(x, y). p(x, z) <- p(x, y), e(y, z)."));
  e.run();
  EXPECT_EQ(e.ask("p(1, 3)?")[0].probabilities, std::vector<double>{0.5});
  e.extend("0.5 :: e(1, 3).");
  EXPECT_NEAR(e.probability("p(1, 3)"), 0.75, 1e-15);
  e.extend("0.1 :: e(3, 4). apart(x) <- e(x, _), not p(x, 4).");
  EXPECT_NEAR(e.probability("p(1, 4)"), 0.075, 1e-15);
  EXPECT_NEAR(e.ask("apart(1)?")[0].probabilities[0], 0.75 * 0.9, 1e-15);
}

TEST(Extend, MistakesAndStopsChangeNothing) {
  std::atomic<bool> cancel{false};
  Engine e(Program::parse("rel e(number, number). e(1, 2). p(x, y) <- e(x, y). p(x, z) <- p(x, y), e(y, z)."),
           {.cancel = &cancel});
  e.run();
  EXPECT_REFUSED(e.extend("q(x) <- r(x)."), "nothing says what \"r\" is");
  EXPECT_REFUSED(e.ask("p(1, x, y)?"), "has 2 columns");
  EXPECT_REFUSED(e.ask("e(7, 8)."), "there is no query");
  cancel = true;
  EXPECT_REFUSED(e.extend("n(0). n(y) <- n(x), y = x + 1, x < 100000000."), "stopped");
  EXPECT_REFUSED(e.ask("p(x, y), p(y, z)?"), "stopped");
  cancel = false;
  EXPECT_EQ(e.size("p"), 1u);
  e.extend("e(2, 3).");
  EXPECT_EQ(e.size("p"), 3u);
  EXPECT_EQ(e.ask("p(1, x)?")[0].rows.size(), 2u);
}

}  // namespace
}  // namespace ingot::logic
