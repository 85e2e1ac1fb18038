// When a run is worth a team: the rule on times that are given.
#include "graph/company.h"

#include <gtest/gtest.h>

namespace ingot::graph {
namespace {

// Runs with a machine that takes `team` and `alone` ns; how many runs were made alone.
int alone_of(Company& company, int runs, int64_t team, int64_t alone) {
  int count = 0;
  for (int i = 0; i < runs; i++) {
    const bool by_itself = company.alone();
    company.took(by_itself, by_itself ? alone : team);
    count += by_itself ? 1 : 0;
  }
  return count;
}

TEST(Company, StaysTogetherWhereItPays) {
  Company company;
  EXPECT_EQ(alone_of(company, 1000, 600, 1000), 1) << "one probe";
  EXPECT_EQ(alone_of(company, 1000, 1400, 1000), 0) << "a little slower is noise";
}

TEST(Company, PartsOnABusyMachineAndComesBack) {
  Company company;
  alone_of(company, 100, 600, 1000);
  const int busy = alone_of(company, 5000, 50'000, 1000);
  EXPECT_GT(busy, 4850) << "few runs are spent on trying again";
  EXPECT_LT(alone_of(company, 5000, 600, 1000), 1100) << "the wait that was under way, and no other";
}

TEST(Company, FewSlowRunsAreNoise) {
  Company company;
  int count = 0;
  for (int i = 0; i < 200; i++) count += alone_of(company, 4, 600, 1000) + alone_of(company, 2, 50'000, 1000);
  EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace ingot::graph
