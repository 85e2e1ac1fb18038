// More threads, the same facts in the same order.
#include <gtest/gtest.h>

#include "ingot/base/threads.h"
#include "tests/logic/cases.h"

namespace ingot::logic {
namespace {

TEST(LogicThreads, BestPathsAreTheSameOnAnyNumber) {
  const int before = threads();
  cases::Draw r(3);
  cases::Facts edges;
  for (int i = 0; i < 900; i++) edges.insert(edges.end(), {r(150), r(150), 1 + r(50)});
  const auto program = Program::parse(cases::all_pairs().program, Dialect::kSouffle);
  std::vector<std::vector<std::string>> expected;
  for (const int n : {1, 2, 3}) {
    set_threads(n);
    Engine e(program);
    e.add("e", edges);
    e.run();
    if (n == 1) expected = e.facts("d");
    EXPECT_EQ(e.facts("d"), expected) << n << " threads";
  }
  EXPECT_GT(expected.size(), 10000u);
  set_threads(before);
}

}  // namespace
}  // namespace ingot::logic
