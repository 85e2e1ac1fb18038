#include <gtest/gtest.h>

#include "ingot/rl/door.h"

namespace ingot::rl {
namespace {

TEST(RlSystem, HasAName) { EXPECT_STREQ(system().name, "rl"); }

}  // namespace
}  // namespace ingot::rl
