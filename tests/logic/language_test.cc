// What programs mean: both dialects, functions, aggregates, negation, best values.
#include <gtest/gtest.h>

#include "ingot/logic/program.h"
#include "tests/error_of.h"

namespace ingot::logic {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Engine computed(const std::string& text, Dialect dialect = Dialect::kRules) {
  Engine e(Program::parse(text, dialect));
  e.run();
  return e;
}
Engine souffle(const std::string& text) { return computed(text, Dialect::kSouffle); }

TEST(Language, FactsRulesAndNegation) {
  const Engine e = computed(R"(
    domain person = {ann, bob, cid}.
    rel parent(person, person).
    parent(ann, bob).  parent(bob, cid).
    ancestor(x, y) <- parent(x, y).
    ancestor(x, z) <- ancestor(x, y), parent(y, z).
    lonely(x) <- person(x), not ancestor(x, _).
    n_children(x, n) <- n = count{ y : parent(x, y) }.
    ancestor(ann, y)?   ancestor(cid, ann)?  ancestor(ann, cid)?)");
  EXPECT_EQ(e.facts("ancestor"), (Rows{{"ann", "bob"}, {"ann", "cid"}, {"bob", "cid"}}));
  EXPECT_EQ(e.facts("lonely"), (Rows{{"cid"}}));
  EXPECT_EQ(e.facts("n_children"), (Rows{{"ann", "1"}, {"bob", "1"}}));
  ASSERT_EQ(e.answers().size(), 3u);
  EXPECT_EQ(e.answers()[0].names, std::vector<std::string>{"y"});
  EXPECT_EQ(e.answers()[0].rows, (Rows{{"bob"}, {"cid"}}));
  EXPECT_TRUE(e.answers()[1].rows.empty());
  EXPECT_EQ(e.answers()[2].rows.size(), 1u);
}

TEST(Language, SouffleFunctions) {
  const Engine e = souffle(R"(
    .type Name <: symbol
    .decl in(n: number, s: Name)
    .decl out(k: symbol, v: symbol)
    .decl num(k: symbol, v: number)
    in(7, "seven"). in(-3, "minus three").
    out("cat", cat(s, "-", s)) :- in(7, s).
    out("sub", substr(s, 1, 3)) :- in(7, s).
    out("text", to_string(n)) :- in(n, "minus three").
    num("len", strlen(s)) :- in(7, s).
    num("number", to_number("0x1f")).
    num("div", n / 2) :- in(n, "minus three").
    num("mod", n % 2) :- in(n, "minus three").
    num("pow", 2 ^ 3 ^ 2).
    num("band", 12 band 10). num("bor", 12 bor 10). num("bxor", 12 bxor 10). num("shift", 1 bshl 5). num("not", bnot 0).
    num("max", max(3, 1, 2)). num("min", min(3, 1, 2)).
    num("ord", 1) :- ord("a") != ord("b").
    num("negative", -n) :- in(n, _), n > 0.
    num("wraps", 9223372036854775807 + 1).
    num("precedence", 2 + 3 * 4 - 1).
  )");
  EXPECT_TRUE(e.contains("out", {"cat", "seven-seven"}));
  EXPECT_TRUE(e.contains("out", {"sub", "eve"}));
  EXPECT_TRUE(e.contains("out", {"text", "-3"}));
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"len", "5"},
                                                                                   {"number", "31"},
                                                                                   {"div", "-1"},
                                                                                   {"mod", "-1"},
                                                                                   {"pow", "512"},
                                                                                   {"band", "8"},
                                                                                   {"bor", "14"},
                                                                                   {"bxor", "6"},
                                                                                   {"shift", "32"},
                                                                                   {"not", "-1"},
                                                                                   {"max", "3"},
                                                                                   {"min", "1"},
                                                                                   {"ord", "1"},
                                                                                   {"negative", "-7"},
                                                                                   {"wraps", "-9223372036854775808"},
                                                                                   {"precedence", "13"}})
    EXPECT_TRUE(e.contains("num", {key, value})) << key;
}

TEST(Language, FloatsUnsignedAndConversions) {
  const Engine e = souffle(R"(
    .decl f(x: float) .decl g(x: float, n: number, u: unsigned)
    f(0.5). f(-1.25). f(3).
    g(x * 2, ftoi(x), itou(7)) :- f(x), x > 0.
  )");
  EXPECT_EQ(e.facts("f"), (Rows{{"-1.25"}, {"0.5"}, {"3"}}));
  EXPECT_EQ(e.facts("g"), (Rows{{"1", "0", "7"}, {"6", "3", "7"}}));
}

TEST(Language, Aggregates) {
  const Engine e = souffle(R"(
    .decl e(x: number, y: number, w: number)
    e(1, 2, 5). e(1, 3, 5). e(2, 3, 7).
    .decl r(x: number, count: number, sum: number, least: number, most: number)
    .decl mean(x: number, m: float)
    .decl node(x: number)
    node(x) :- e(x, _, _). node(y) :- e(_, y, _).
    r(x, c, s, a, b) :- node(x), c = count : { e(x, _, _) }, s = sum w : { e(x, _, w) }, a = min w : { e(x, _, w) }, b = max w : { e(x, _, w) }.
    mean(x, m) :- node(x), m = mean w : { e(x, _, w) }.
    .decl total(n: number, many: number)
    total(1 + count : { e(_, _, _) }, count : { e(x, y, _), x < y }).
    .decl few(x: number)
    few(x) :- node(x), count : { e(x, _, _) } < 2.
  )");
  EXPECT_EQ(e.facts("r"), (Rows{{"1", "2", "10", "5", "5"}, {"2", "1", "7", "7", "7"}}));
  EXPECT_EQ(e.facts("mean"), (Rows{{"1", "5"}, {"2", "7"}}));
  EXPECT_EQ(e.facts("total"), (Rows{{"4", "3"}}));
  EXPECT_EQ(e.facts("few"), (Rows{{"2"}, {"3"}}));
}

// The one whose value is best, and of several the least; texts by their letters.
TEST(Language, ArgMinAndArgMax) {
  const Engine e = computed(R"(
    rel road(symbol, symbol, number).
    road("A", "C", 3). road("A", "B", 3). road("A", "D", 7). road("B", "D", 2).
    nearest(x, y) <- y = argmin{ d, c : road(x, c, d) }.
    farthest(x, y) <- y = argmax{ d, c : road(x, c, d) }.
    first(c) <- c = argmin{ x, d : road(x, _, d) }.
    none(c) <- c = argmin{ d, c2 : road("Z", c2, d) }.
    is_best("B") <- "B" = argmin{ d, c : road("A", c, d) }.
    half(x, y) <- y = argmax{ d * 0.5, c : f(x, c, d) }.  rel f(symbol, number, float). f("a", 4, 1.0). f("a", 5, 1.5).)");
  EXPECT_EQ(e.facts("nearest"), (Rows{{"A", "B"}, {"B", "D"}}));
  EXPECT_EQ(e.facts("farthest"), (Rows{{"A", "D"}, {"B", "D"}}));
  EXPECT_EQ(e.facts("first"), (Rows{{"3"}}));
  EXPECT_EQ(e.size("none"), 0u);
  EXPECT_EQ(e.size("is_best"), 1u);
  EXPECT_EQ(e.facts("half"), (Rows{{"a", "5"}}));
  EXPECT_REFUSED(computed("p(1). q(x) <- x = argmin{ y : p(y) }."), "what is compared and what is wanted");
}

TEST(Language, AlternativesRangesTestsOfText) {
  const Engine e = souffle(R"(
    .decl a(x: number) .decl b(x: number) .decl c(x: number) .decl s(x: symbol) .decl t(x: symbol)
    a(x) :- x = range(1, 6). b(x) :- x = range(10, 0, -4).
    c(x) :- (a(x), x > 4 ; b(x)), x != 10.
    s("alpha"). s("beta"). s("gamma").
    t(x) :- s(x), contains("et", x). t(x) :- s(x), match("g.*a", x). t(x) :- s(x), x < "alpine".
    .decl two, one(x: number)
    two(x), one(x) :- a(x), x < 3.
  )");
  EXPECT_EQ(e.facts("a"), (Rows{{"1"}, {"2"}, {"3"}, {"4"}, {"5"}}));
  EXPECT_EQ(e.facts("c"), (Rows{{"2"}, {"5"}, {"6"}}));
  EXPECT_EQ(e.size("t"), 3u);
  EXPECT_EQ(e.facts("two"), e.facts("one"));
}

TEST(Language, EquivalenceRelations) {
  const Engine e = souffle(".decl same(x: number, y: number) eqrel\nsame(1, 2). same(2, 3). same(7, 8).");
  EXPECT_EQ(e.size("same"), 9u + 4u);
}

TEST(Language, BestValuesByPathsAndByRounds) {
  const std::string edges = "e(1, 2, 4). e(1, 3, 1). e(3, 2, 1). e(2, 4, 1). e(4, 1, 10). ";
  const std::string rules = "d(x, y, min(w)) <- e(x, y, w). d(x, z, min(c + w)) <- d(x, y, c), e(y, z, w)";
  const Engine by_paths = computed(edges + rules + ".");
  const Engine by_rounds = computed(edges + rules + ", c < 1000.");
  EXPECT_NE(by_paths.plan().find("Dijkstra"), std::string::npos);
  EXPECT_EQ(by_rounds.plan().find("Dijkstra"), std::string::npos);
  EXPECT_TRUE(by_paths.contains("d", {"1", "4", "3"}));
  EXPECT_FALSE(by_paths.contains("d", {"1", "4", "5"}));
  EXPECT_EQ(by_paths.facts("d"), by_rounds.facts("d"));
  EXPECT_EQ(by_paths.size("d"), 16u);
  // Widest ways: the greatest of least capacities.
  const Engine widest =
      computed(edges + "w(x, y, max(c)) <- e(x, y, c). w(x, z, max(c)) <- w(x, y, a), e(y, z, b), c = min(a, b).");
  EXPECT_TRUE(widest.contains("w", {"1", "4", "1"}));
  EXPECT_TRUE(widest.contains("w", {"4", "2", "4"}));
}

TEST(Language, NumbersThatDoNotFitRowsChangeTheForm) {
  const Engine e = computed(R"(
    p(1, 1). p(x, y) <- p(x, z), y = z + 1, z < 10.
    p(x, y) <- p(z, y), x = z * 1000000007, z > 0, z < 10000000000.
    p(x, y) <- p(z, y), x = 0 - z, z > 0.)");
  EXPECT_EQ(e.size("p"), 10u * 6u);
  EXPECT_TRUE(e.contains("p", {"-1000000014000000049", "10"}));
}

TEST(Language, PropositionsAndEmptyRelations) {
  const Engine e = computed("rel q(number). rain. wet <- rain. dry <- not rain. hungry <- not q(_). wet?");
  EXPECT_EQ(e.size("wet"), 1u);
  EXPECT_EQ(e.size("dry"), 0u);
  EXPECT_EQ(e.size("hungry"), 1u);
  EXPECT_EQ(e.answers()[0].rows.size(), 1u);
}

TEST(Language, EnginesOfOneProgramAreApart) {
  const Program p =
      Program::parse("rel edge(symbol, symbol). path(x, y) <- edge(x, y). path(x, z) <- path(x, y), edge(y, z).");
  Engine a(p), b(p);
  a.add("edge", std::vector<std::string>{"one", "two"});
  a.add("edge", std::vector<std::string>{"two", "three"});
  b.add("edge", std::vector<std::string>{"three", "one"});
  a.run();
  b.run();
  EXPECT_EQ(a.facts("path"), (Rows{{"one", "two"}, {"one", "three"}, {"two", "three"}}));
  EXPECT_EQ(b.facts("path"), (Rows{{"three", "one"}}));
}

TEST(Language, APropositionEndsWithADot) {  // and no name of a component begins there
  Engine e(Program::parse("rain.\nwet(x) <- street(x), rain. street(1)."));
  e.run();
  EXPECT_EQ(e.size("wet"), 1u);
}

TEST(Language, LargeSecondNumbersTakeNoMemory) {  // neither columns nor components of as many nodes as the number says
  Engine e(Program::parse(
               "edge(0, 4000000000). edge(1, 0). path(x, y) <- edge(x, y). path(x, z) <- path(x, y), edge(y, z).\n"
               "into(x, z) <- edge(x, y), edge(z, y)."),
           {.memory_limit = uint64_t{1} << 20});
  e.run();
  EXPECT_EQ(e.size("path"), 3u);
  EXPECT_EQ(e.size("into"), 2u);
}

}  // namespace
}  // namespace ingot::logic
