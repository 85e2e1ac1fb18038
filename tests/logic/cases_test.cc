// The cases whose counts are known: all ways to say closure, methods and rounds, rows and tuples.
#include "cases.h"

#include <gtest/gtest.h>

namespace ingot::logic {
namespace {

void expect(const cases::Case& c) {
  SCOPED_TRACE(c.name);
  Engine e = c.engine();
  e.run();
  EXPECT_EQ(e.size(c.result), c.size);
  if (c.sum >= 0) EXPECT_EQ(e.sum(c.result, static_cast<int>(e.types(c.result).size()) - 1), c.sum);
}

TEST(Cases, ClosuresHaveTheirCounts) {
  expect(cases::cycle(1000));
  expect(cases::cycle(4000));
  expect(cases::chain(4000));
  expect(cases::full(500));
  expect(cases::rnd2k());
  expect(cases::rnd10k());
  expect(cases::rnd100k());
  expect(cases::grid100());
}

TEST(Cases, OtherRecursionsHaveTheirCounts) {
  expect(cases::triangles());
  expect(cases::unreachable());
  expect(cases::paths_from_zero());
  expect(cases::components());
}

TEST(Cases, PointsToHasItsCountAndStaysBelowHundredMegabytes) {
  const cases::Case c = cases::points_to();
  Engine e = c.engine();
  e.run();
  EXPECT_EQ(e.size("pt"), c.size);
  EXPECT_LT(e.peak_bytes(), 100u << 20);
}

// The same closure by rounds: a rule that says nothing new keeps the method from being recognised.
TEST(Cases, RoundsGiveTheSameClosure) {
  for (const char* recursive : {"path(x, z) :- path(x, y), edge(y, z).", "path(x, z) :- edge(x, y), path(y, z).",
                                "path(x, z) :- path(x, y), path(y, z)."}) {
    cases::Case c = cases::rnd2k();
    c.program =
        std::string(".decl edge(x: number, y: number)\n.decl path(x: number, y: number)\npath(x, y) :- edge(x, y).\n") +
        recursive;
    Engine by_components = c.engine();
    by_components.run();
    EXPECT_EQ(by_components.size("path"), c.size);
    EXPECT_NE(by_components.plan().find("components"), std::string::npos);
    c.program += "\npath(x, y) :- edge(x, y), x = x + 0.\n";
    Engine by_rounds = c.engine();
    by_rounds.run();
    EXPECT_EQ(by_rounds.size("path"), c.size);
    EXPECT_EQ(by_rounds.plan().find("components"), std::string::npos) << by_rounds.plan();
  }
}

}  // namespace
}  // namespace ingot::logic
