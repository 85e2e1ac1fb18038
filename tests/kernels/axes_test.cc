// A walk with ordered and merged axes comes to the same places as the one it was made of.
#include "kernels/axes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace ingot::kernels {
namespace {

struct Space {
  int rank = 0;
  int64_t size[6], a[6], b[6];
};

// The offsets of both operands at every place, in the order of the walk.
std::vector<std::array<int64_t, 2>> places(const Space& s) {
  int64_t count = 1;
  for (int i = 0; i < s.rank; i++) count *= s.size[i];
  std::vector<std::array<int64_t, 2>> all;
  for (int64_t flat = 0; flat < count; flat++) {
    std::array<int64_t, 2> at = {0, 0};
    int64_t rest = flat;
    for (int i = s.rank - 1; i >= 0; rest /= s.size[i--]) {
      at[0] += rest % s.size[i] * s.a[i];
      at[1] += rest % s.size[i] * s.b[i];
    }
    all.push_back(at);
  }
  return all;
}

TEST(Axes, MergedWalksComeToTheSamePlacesInTheSameOrder) {
  std::mt19937 random(1);
  int merged = 0;
  for (int trial = 0; trial < 2000; trial++) {
    Space s;
    s.rank = static_cast<int>(random() % 6);
    for (int i = s.rank - 1; i >= 0; i--) {
      s.size[i] = random() % 5;  // 0 and 1 are among them
      const bool follows = i + 1 < s.rank && random() % 3 > 0;
      s.a[i] = follows ? s.a[i + 1] * s.size[i + 1] : static_cast<int64_t>(random() % 7) - 3;
      s.b[i] = follows && random() % 4 > 0 ? s.b[i + 1] * s.size[i + 1] : static_cast<int64_t>(random() % 7) - 3;
    }
    Space m = s;
    m.rank = merge_axes(s.rank, m.size, m.a, m.b);
    EXPECT_LE(m.rank, s.rank);
    EXPECT_EQ(places(m), places(s)) << trial;
    merged += m.rank < s.rank;
  }
  EXPECT_GT(merged, 500);
}

TEST(Axes, ContiguousAxesBecomeOne) {
  Space s{3, {2, 3, 4}, {12, 4, 1}, {12, 4, 1}};
  EXPECT_EQ(merge_axes(s.rank, s.size, s.a, s.b), 1);
  EXPECT_EQ(s.size[0], 24);
  EXPECT_EQ(s.a[0], 1);
  Space broadcast{2, {2, 3}, {3, 1}, {0, 0}};  // one element repeated goes along with anything
  EXPECT_EQ(merge_axes(broadcast.rank, broadcast.size, broadcast.a, broadcast.b), 1);
  Space rows{2, {2, 3}, {3, 1}, {5, 1}};
  EXPECT_EQ(merge_axes(rows.rank, rows.size, rows.a, rows.b), 2);
}

TEST(Axes, OrderPutsTheLargestStepOutermost) {
  Space s{4, {2, 3, 4, 5}, {1, -40, 2, 8}, {60, 20, 5, 1}};
  const auto before = places(s);
  int64_t* const steps[] = {s.a, s.b};
  order_axes(s.rank, s.size, steps, 2);
  EXPECT_EQ(s.a[0], -40);
  EXPECT_EQ(s.a[1], 8);
  EXPECT_EQ(s.a[2], 2);
  EXPECT_EQ(s.a[3], 1);
  auto after = places(s);
  auto sorted = before;
  std::sort(sorted.begin(), sorted.end());
  std::sort(after.begin(), after.end());
  EXPECT_EQ(after, sorted);
}

}  // namespace
}  // namespace ingot::kernels
