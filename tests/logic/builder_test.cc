#include "ingot/logic/builder.h"

#include <gtest/gtest.h>

#include "tests/error_of.h"

namespace ingot::logic {
namespace {

using Rows = std::vector<std::vector<std::string>>;

TEST(Builder, MeansWhatItsTextMeans) {
  Builder b;
  const auto edge = b.relation("edge", {Type::kNumber, Type::kNumber, Type::kNumber});
  const auto far = b.relation("far", {Type::kNumber, Type::kNumber, Type::kNumber});
  const auto start = b.relation("start", {Type::kNumber});
  const Variable x("x"), y("y"), z("z"), d("d"), w("w"), any("_");
  b.fact(edge(1, 2, 5));
  b.fact(edge(2, 3, 5));
  b.fact(edge(1, 3, 20));
  b.rule(far(x, y, least(d)), {edge(x, y, d)});
  b.rule(far(x, z, least(d + w)), {far(x, y, d), edge(y, z, w)});
  b.rule(start(x), {edge(x, any, any), !edge(any, x, any), x < 10});
  b.query({far(1, y, d), d > 5});
  Engine e(b.program());
  e.run();
  EXPECT_EQ(e.facts("far"), (Rows{{"1", "2", "5"}, {"1", "3", "10"}, {"2", "3", "5"}}));
  EXPECT_EQ(e.facts("start"), (Rows{{"1"}}));
  EXPECT_EQ(e.answers()[0].rows, (Rows{{"3", "10"}}));
  Engine again(Program::parse(b.text()));
  again.run();
  EXPECT_EQ(again.facts("far"), e.facts("far"));
}

TEST(Builder, ConstantsStayWhatTheyAre) {
  Builder b;
  const auto p = b.relation("p", {Type::kSymbol, Type::kFloat});
  b.fact(p("a \"b\" \\ \n c", 2.0));
  b.fact(p("", -0.5));
  Engine e(b.program());
  e.run();
  EXPECT_TRUE(e.contains("p", {"a \"b\" \\ \n c", "2"}));
  EXPECT_TRUE(e.contains("p", {"", "-0.5"}));
}

TEST(Builder, RefusesWhatIsNoName) {
  Builder b;
  EXPECT_REFUSED(b.relation("a b", {}), "is no name of a relation");
  EXPECT_REFUSED(b.relation("min", {}), "no function's");
  EXPECT_REFUSED(Variable("x)"), "is no name of a variable");
  const auto p = b.relation("p", {Type::kNumber});
  EXPECT_REFUSED(b.rule(p(1), {}), "use fact()");
  b.rule(p(Variable("x")), {p(Variable("y"))});
  EXPECT_REFUSED(b.program(), "builder:2:3");
}

}  // namespace
}  // namespace ingot::logic
