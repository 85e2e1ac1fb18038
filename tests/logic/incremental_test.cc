// Facts that come and go after run(): the result is that of an engine that begins anew with the facts of the moment.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/error_of.h"
#include "tests/logic/cases.h"
#include "tests/logic/random_rules.h"

namespace ingot::logic {
namespace {

using Fact = std::pair<std::string, std::vector<std::string>>;

// A program, an engine that lives on, and the given facts as they should be.
class Living {
 public:
  Living(std::string text, std::vector<std::string> given)
      : text_(std::move(text)), given_(std::move(given)), engine_(Program::parse(text_)) {
    engine_.run();
  }
  void toggle(const Fact& fact) {
    if (facts_.erase(fact) > 0) {
      engine_.remove(fact.first, fact.second);
    } else {
      facts_.insert(fact);
      engine_.add(fact.first, fact.second);
    }
  }
  const std::vector<std::string>& given() const { return given_; }
  const std::string& text() const { return text_; }
  const std::set<Fact>& facts() const { return facts_; }
  size_t arity(const std::string& name) const { return engine_.types(name).size(); }

  ::testing::AssertionResult as_anew() {
    engine_.run();
    Engine fresh(Program::parse(text_));
    for (const Fact& f : facts_) fresh.add(f.first, f.second);
    fresh.run();
    for (const std::string& r : engine_.relations())
      if (engine_.facts(r) != fresh.facts(r) || engine_.size(r) != fresh.size(r))
        return ::testing::AssertionFailure()
               << r << " has " << engine_.size(r) << " facts instead of " << fresh.size(r) << " in\n"
               << text_;
    const auto a = engine_.answers(), b = fresh.answers();
    for (size_t i = 0; i < a.size(); i++)
      if (a[i].rows != b[i].rows) return ::testing::AssertionFailure() << a[i].query << " in\n" << text_;
    return ::testing::AssertionSuccess();
  }

 private:
  std::string text_;
  std::vector<std::string> given_;
  Engine engine_;
  std::set<Fact> facts_;
};

// Random edits, some at once, compared after each batch.
void live(Living& l, uint64_t seed, int batches, int64_t values, int64_t scale = 1) {
  cases::Draw r(seed);
  for (int b = 0; b < batches; b++) {
    const int64_t edits = r(4) == 0 ? 1 + r(6) : 1;
    for (int64_t i = 0; i < edits; i++) {
      const std::string& name = l.given()[static_cast<size_t>(r(l.given().size()))];
      Fact fact{name, {}};
      for (size_t c = 0; c < l.arity(name); c++)
        fact.second.push_back(std::to_string(r(static_cast<uint64_t>(values)) * scale));
      if (!l.facts().empty() && r(3) == 0) {  // one that is there
        auto at = l.facts().begin();
        std::advance(at, r(l.facts().size()));
        fact = *at;
      }
      l.toggle(fact);
    }
    ASSERT_TRUE(l.as_anew()) << "seed " << seed << ", batch " << b;
  }
}

const char* const kPrograms[] = {
    "path(x, y) <- e(x, y). path(x, z) <- path(x, y), e(y, z).\nfar(x, y) <- path(x, y), not e(x, y). path(1, x)?",
    "path(x, y) <- e(x, y). path(x, z) <- path(x, y), path(y, z). end(x) <- f(x), not path(x, _).",
    "path(x, y) <- e(x, y). path(x, z) <- e(x, y), path(y, z). rel path(number, number).",  // and nothing reads it
    "s(x, y) <- e(p, x), e(p, y), x != y. s(x, y) <- s(a, b), e(a, x), e(b, y).",
    "odd(x) <- f(x). odd(y) <- even(x), e(x, y). even(y) <- odd(x), e(x, y). none(x) <- e(x, _), not odd(x), not "
    "even(x).",
    "t(x, y, z) <- e(x, y), e(y, z), e(x, z). u(x) <- t(x, x, _). v(x, y) <- t(x, _, y), not u(x), not e(y, x).",
    "n(x, c) <- c = count{ y : e(x, y) }. big(x) <- n(x, c), c > 2. small(x) <- e(x, _), not big(x).",
    "d(x, y, min(1)) <- e(x, y). d(x, z, min(a + 1)) <- d(x, y, a), e(y, z). near(x, y) <- d(x, y, a), a < 3.",
    "p(x) <- f(x). p(x) <- g(x). q(x) <- p(x), not h(x). r(x, y) <- q(x), q(y), e(x, y).",
    "p(1). p(2). p(y) <- p(x), e(x, y). q(x) <- f(x), not p(x). q(x + 1) <- p(x), x < 3. yes <- q(_), not p(0). no <- "
    "not yes, f(0).",
    "pt(v, o) <- e(v, o). pt(v, o) <- g2(v, w), pt(w, o). pt(v, o) <- h2(v, p), pt(p, q), pt(q, o).",
};

Living living(const std::string& text) {
  std::string all =
      "rel e(number, number). rel f(number). rel g(number). rel h(number). rel g2(number, number). rel h2(number, "
      "number).\n" +
      text;
  std::vector<std::string> given = {"e", "e", "f"};
  for (const char* name : {"g", "h", "g2", "h2"})
    if (text.find(std::string(name) + "(") != std::string::npos) given.emplace_back(name);
  return {all, given};
}

TEST(Incremental, EditsGiveWhatABeginningGives) {
  uint64_t seed = 1;
  for (const char* text : kPrograms)
    for (const int64_t scale : {1, 1'000'000'000}) {
      Living l = living(text);
      live(l, seed++, 60, 6, scale);
      if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST(Incremental, FactsOfRelationsWithRules) {  // given and derived: removed facts stay if a rule makes them
  for (uint64_t seed = 1; seed <= 4; seed++) {
    Living l(
        "rel e(number, number). rel path(number, number). rel p(number).\n"
        "path(x, y) <- e(x, y). path(x, z) <- path(x, y), e(y, z). p(x) <- path(x, x). q(x) <- p(x), not path(0, x).",
        {"e", "path", "p"});
    live(l, seed, 80, 5);
  }
}

TEST(Incremental, RandomProgramsAndRandomEdits) {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    cases::Draw r(seed * 7919);
    Living l(cases::random_rules(r), {"e", "f", "g2"});
    live(l, seed, 25, 5);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Incremental, OneEdgeOfALargeClosure) {
  const cases::Case c = cases::rnd100k();
  Engine e = c.engine();
  e.run();
  cases::Draw r(11);
  std::vector<std::vector<std::string>> gone;
  for (int i = 0; i < 20; i++) {
    const auto k = static_cast<size_t>(r(c.inputs[0].second.size() / 2)) * 2;
    gone.push_back({std::to_string(c.inputs[0].second[k]), std::to_string(c.inputs[0].second[k + 1])});
    e.remove("edge", gone.back());
    e.run();
    EXPECT_LT(e.size("path"), c.size);
  }
  for (const auto& edge : gone) {
    e.add("edge", edge);
    e.run();
  }
  EXPECT_EQ(e.size("path"), c.size);
}

// A chain: an edge at its end changes little, one in its middle half of all facts. Rounds are counted when all is computed.
TEST(Incremental, AChangeThatIsMostOfTheWorkIsComputedAnew) {
  Engine e(
      Program::parse("rel edge(number, number). far(x, y) <- edge(x, y). far(x, z) <- far(x, y), edge(y, z), x != z.\n"
                     "reached(y) <- far(_, y)."));
  cases::Facts edges;
  for (int64_t i = 0; i < 300; i++) edges.insert(edges.end(), {i, i + 1});
  e.add("edge", edges);
  e.run();
  const auto rounds = [&] { return e.profile()[1].rounds; };
  const int64_t all = rounds();
  ASSERT_EQ(e.size("far"), 45150u);
  e.remove("edge", {"299", "300"});
  e.run();
  EXPECT_EQ(e.size("far"), 44850u);
  EXPECT_EQ(e.size("reached"), 299u);
  EXPECT_EQ(rounds(), all);
  for (const bool there : {false, true}) {
    const std::vector<std::string> edge = {"150", "151"};
    const int64_t before = rounds();
    there ? e.add("edge", edge) : e.remove("edge", edge);
    e.run();
    EXPECT_EQ(e.size("far"), there ? 44850u : 150 * 151 / 2 + 148 * 149 / 2u);
    EXPECT_EQ(e.size("reached"), there ? 299u : 298u);
    EXPECT_GT(rounds(), before + 100);
  }
  e.add("edge", std::vector<std::string>{"299", "300"});
  const int64_t before = rounds();
  e.run();
  EXPECT_EQ(e.size("far"), 45150u);
  EXPECT_EQ(rounds(), before);
}

TEST(Incremental, TextsProbabilitiesAndRefusals) {
  Engine e(Program::parse(
      "rel likes(symbol, symbol). 0.5 :: mood. glad(x) <- likes(x, _), mood. sad(x) <- likes(_, x), not glad(x).\n"
      "rel best(number, number). best(1, min(3)) <- likes(_, _).\n"));
  EXPECT_REFUSED(e.remove("likes", (std::vector<std::string>{"a", "b"})), "after run()");
  e.run();
  e.add("likes", std::vector<std::string>{"ann", "bob"});
  e.run();
  EXPECT_EQ(e.probability("glad(ann)"), 0.5);
  EXPECT_EQ(e.probability("sad(bob)"), 1);
  e.add("likes", std::vector<std::string>{"bob", "ann"});
  e.remove("likes", {"ann", "bob"});
  e.run();
  EXPECT_EQ(e.probability("glad(ann)"), 0);
  EXPECT_EQ(e.probability("sad(ann)"), 1);
  EXPECT_EQ(e.probability("glad(bob)"), 0.5);
  EXPECT_REFUSED(e.remove("best", (std::vector<std::string>{"1", "3"})), "keeps best values");
}

}  // namespace
}  // namespace ingot::logic
