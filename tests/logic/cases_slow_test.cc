#include <gtest/gtest.h>

#include "cases.h"

namespace ingot::logic {
namespace {

TEST(CasesSlow, LargeOnesHaveTheirCounts) {
  for (const cases::Case& c : {cases::full(2000), cases::same_generation(), cases::all_pairs()}) {
    SCOPED_TRACE(c.name);
    Engine e = c.engine();
    e.run();
    EXPECT_EQ(e.size(c.result), c.size);
    if (c.sum >= 0) EXPECT_EQ(e.sum(c.result, 2), c.sum);
  }
}

}  // namespace
}  // namespace ingot::logic
