#include "graph/ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/ops/harness.h"

namespace ingot::graph {
namespace {

void expect_line(const Ranks& ranks, const std::vector<int>& line) {
  for (size_t i = 1; i < line.size(); i++)
    ASSERT_TRUE(ranks.before(line[i - 1], line[i])) << line[i - 1] << " is not before " << line[i];
}

TEST(Ranks, FollowMovesAnywhere) {
  harness::Random random(3);
  Ranks ranks;
  std::vector<int> line;
  for (int i = 0; i < 200; i++) {
    ranks.add();
    line.push_back(i);
  }
  for (int move = 0; move < 2000; move++) {
    const int item = static_cast<int>(random.below(200)), other = static_cast<int>(random.below(200));
    ranks.move_before(item, other);
    if (item != other) {
      std::erase(line, item);
      line.insert(std::find(line.begin(), line.end(), other), item);
    }
    expect_line(ranks, line);
  }
  ranks.add();
  line.push_back(200);
  expect_line(ranks, line);
}

// Between two neighbours there is room for 32 halvings: after that items are spread.
TEST(Ranks, ManyIntoOnePlace) {
  Ranks ranks;
  const int count = 20000;
  for (int i = 0; i < count; i++) ranks.add();
  std::vector<int> line;
  for (int i = 2; i < count; i++) ranks.move_before(i, 1);  // 0, 2, 3, …, 1
  line.push_back(0);
  for (int i = 2; i < count; i++) line.push_back(i);
  line.push_back(1);
  expect_line(ranks, line);
  for (int i = 2; i < count; i++) ranks.move_before(i, i - 1 == 1 ? 0 : i - 1);  // and all the way back
  std::reverse(line.begin() + 1, line.end() - 1);
  std::rotate(line.begin(), line.begin() + 1, line.end() - 1);
  expect_line(ranks, line);
}

}  // namespace
}  // namespace ingot::graph
