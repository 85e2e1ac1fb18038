#include "ingot/recipe/seeds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ingot/base/error.h"

namespace ingot::recipe {
namespace {

TEST(Seeds, TheInterquartileMeanLeavesTheEndsOut) {
  EXPECT_EQ(interquartile_mean(std::vector<double>{8, 1, 7, 2, 6, 3, 5, 4}), 4.5);
  EXPECT_EQ(interquartile_mean(std::vector<double>{1000, 1, 2, 3, 4, 5, 6, 7, 8, -1000}),
            4.5);  // two of ten at each end
  EXPECT_EQ(interquartile_mean(std::vector<double>{3}), 3);
  EXPECT_THROW(interquartile_mean({}), Error);
  EXPECT_THROW(interquartile_mean(std::vector<double>{1, NAN, 3}), Error);
  EXPECT_THROW(bootstrap_interval(std::vector<double>{1, NAN, 3}), Error);
}

// Of n numbers with deviation 1, the mean of the middle half spreads by about 1.1 / √n.
TEST(Seeds, TheIntervalHoldsTheMeanAndIsAsWideAsItShouldBe) {
  std::vector<double> values(100);  // even: deviation 0.289
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<double>(i * 37 % 100) / 100;
  const Interval i = bootstrap_interval(values);
  EXPECT_LT(i.low, interquartile_mean(values));
  EXPECT_GT(i.high, interquartile_mean(values));
  EXPECT_NEAR(i.high - i.low, 2 * 1.96 * 0.0408, 0.02);  // the middle half of even numbers: √(1/12 · 2) / 10
  EXPECT_EQ(bootstrap_interval(values).low, i.low);
  const Interval same = bootstrap_interval(std::vector<double>(10, 500.0));
  EXPECT_EQ(same.low, 500);
  EXPECT_EQ(same.high, 500);
}

}  // namespace
}  // namespace ingot::recipe
