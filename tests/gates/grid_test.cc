#include "ingot/gates/grid.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "ingot/ops/functions.h"
#include "tests/error_of.h"

namespace ingot::gates {
namespace {

TEST(Grid, BitsAreWhereTheyWereSet) {
  Grid grid(2, 3, 5, 70);
  EXPECT_EQ(grid.row_words(), 2);
  grid.set(1, 2, 4, 69, true);
  grid.set(0, 1, 2, 3, true);
  EXPECT_TRUE(grid.get(1, 2, 4, 69));
  EXPECT_FALSE(grid.get(1, 2, 4, 68));
  EXPECT_EQ(grid.row(0, 1, 2)[0], 8U);
  EXPECT_EQ(grid.count(2), 1);
  grid.set(1, 2, 4, 69, false);
  EXPECT_EQ(grid.count(2), 0);
}

TEST(Grid, ToTensorsAndBack) {
  Grid grid(2, 3, 5, 70);
  grid.fill_random({.seed = 9}, 0.3);
  const Tensor tensor = grid.to_tensor();
  EXPECT_EQ(tensor.at<float>({1, 2, 3, 66}), grid.get(1, 2, 3, 66) ? 1.0F : 0.0F);
  EXPECT_EQ(Grid::from_tensor(tensor), grid);
  std::vector<float> drawn(2 * 3 * 5 * 70);
  fill_bernoulli(drawn.data(), static_cast<int64_t>(drawn.size()), 0, 0.3, {.seed = 9});
  EXPECT_EQ(tensor.to_vector<float>(), drawn);
}

TEST(Grid, BlocksAreClearedInside) {
  Grid grid(1, 2, 10, 100), full = grid;
  grid.fill_random({.seed = 1}, 1);
  EXPECT_EQ(grid.count(0), 1000);
  grid.clear_block(-5, 60, 8, 20);
  for (int64_t y = 0; y < 10; y++)
    for (int64_t x = 0; x < 100; x++) EXPECT_EQ(grid.get(0, 1, y, x), y >= 3 || x < 60 || x >= 80);
  grid.clear_block(8, 95, INT64_MAX, INT64_MAX);
  EXPECT_FALSE(grid.get(0, 0, 9, 99));
  EXPECT_TRUE(grid.get(0, 0, 7, 99));
  grid.clear_block(20, 200, 3, 3);
  EXPECT_EQ(grid.count(0), 1000 - 60 - 10);
}

TEST(Grid, RefusesWhatIsOutside) {
  EXPECT_REFUSED(Grid(1, 1, 0, 5), "at least 1");
  EXPECT_REFUSED(Grid(1, int64_t{1} << 30, 1 << 20, 5), "at most");
  EXPECT_REFUSED(Grid(1, 1, int64_t{1} << 40, 1), "whole words");
  EXPECT_REFUSED(Grid(1, 1, 1, INT64_MAX), "at most");
  if (sysconf(_SC_PHYS_PAGES) < (int64_t{64} << 30) / sysconf(_SC_PAGESIZE))  // else the next would be granted
    EXPECT_REFUSED(Grid(1, 1, int64_t{1} << 34, 64), "RAM and swap");
  Grid grid(1, 1, 4, 4);
  EXPECT_REFUSED(grid.get(0, 0, 0, 4), "column 4");
  EXPECT_REFUSED(grid.row(0, 1, 0), "channel 1");
  EXPECT_REFUSED(grid.clear_block(0, 0, -1, 2), "not negative");
  EXPECT_REFUSED(grid.fill_random({}, 1.5), "probability");
  EXPECT_REFUSED(Grid::from_tensor(zeros({2, 2})), "rank 2");
}

}  // namespace
}  // namespace ingot::gates
