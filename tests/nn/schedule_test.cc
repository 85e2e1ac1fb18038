// Schedules, against PyTorch's and by their definition.
#include "ingot/nn/schedule.h"

#include <gtest/gtest.h>

#include <vector>

#include "ingot/base/error.h"

namespace ingot {
namespace {

void expect_factors(const schedule::Schedule& schedule, int64_t total, const std::vector<double>& factors) {
  for (size_t i = 0; i < factors.size(); i++)
    EXPECT_NEAR(schedule(static_cast<int64_t>(i), total), factors[i], 1e-12) << "update " << i;
}

// torch.optim.lr_scheduler: StepLR(3, 0.5), CosineAnnealingLR(10, eta_min=0.1), OneCycleLR(1.0, total_steps=10), from
// a rate of 1.
TEST(Schedule, SameFactorsAsPyTorch) {
  expect_factors(schedule::step(3, 0.5), 8, {1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25});
  expect_factors(schedule::cosine(0.1), 10,
                 {1.0, 0.9779754323328191, 0.9140576474687263, 0.8145033635316129, 0.6890576474687263, 0.55,
                  0.41094235253127376, 0.2854966364683872, 0.18594235253127372, 0.12202456766718092});
  expect_factors(schedule::one_cycle(), 10,
                 {0.04, 0.52, 1.0, 0.9504846320134737, 0.8117456539497631, 0.6112620219362893, 0.38874197806371075,
                  0.18825834605023697, 0.049519367986526286, 4e-06});
}

TEST(Schedule, WarmUpComesFirst) {
  expect_factors(schedule::constant(), 3, {1, 1, 1});
  expect_factors(schedule::warm_up(4), 10, {0.25, 0.5, 0.75, 1, 1, 1});
  expect_factors(schedule::warm_up(2, schedule::cosine()), 4, {0.5, 1, 1, 0.5, 0});
  expect_factors(schedule::warm_up(0), 3, {1, 1});
}

TEST(Schedule, ShortRunsAreFine) {
  for (const int64_t total : {1, 2, 3})
    for (int64_t i = 0; i < total; i++)
      for (const auto& s :
           {schedule::one_cycle(), schedule::cosine(), schedule::one_cycle(0), schedule::one_cycle(1)}) {
        EXPECT_GE(s(i, total), 0);
        EXPECT_LE(s(i, total), 1);
      }
}

TEST(Schedule, RefusesWithASentence) {
  EXPECT_THROW(schedule::step(0), Error);
  EXPECT_THROW(schedule::cosine(2), Error);
  EXPECT_THROW(schedule::warm_up(-1), Error);
  EXPECT_THROW(schedule::one_cycle(1.5), Error);
}

}  // namespace
}  // namespace ingot
