// Measuring a plan on one and several workers.
#include <gtest/gtest.h>

#include "ingot/base/text.h"
#include "tests/graph/profile_net.h"

namespace ingot {
namespace {

class ProfileThreads : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_threads(std::max(before_, GetParam())); }
  void TearDown() override { set_threads(before_); }

 private:
  const int before_ = threads();
};

TEST_P(ProfileThreads, TimesAndShares) {
  Net net;
  Plan plan = net.compile(GetParam());
  const Profile p = plan.profile(20);
  ASSERT_EQ(static_cast<int>(p.steps.size()), plan.step_count());
  EXPECT_EQ(p.threads, plan.threads());
  EXPECT_EQ(p.runs, 20);
  EXPECT_GT(p.us, 0);
  EXPECT_GT(p.plain_us, 0);
  double sum = p.rest_share;
  bool critical = false;
  for (const StepProfile& s : p.steps) {
    EXPECT_GT(s.us, 0) << s.name;
    EXPECT_GE(s.wait_us, 0) << s.name;
    EXPECT_GE(s.share, 0) << s.name;
    EXPECT_GT(s.bytes, 0) << s.name;
    EXPECT_GT(s.roofline, 0) << s.name;
    EXPECT_LE(s.workers, GetParam());
    sum += s.share;
    critical = critical || s.critical;
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_TRUE(critical);
  EXPECT_GE(p.wait_share, 0);
  EXPECT_LE(p.wait_share, 1);
}

TEST_P(ProfileThreads, TraceHasEveryStepInOrder) {
  Net net;
  Plan plan = net.compile(GetParam());
  const Profile p = plan.profile(3);
  std::vector<int> seen(p.steps.size());
  int64_t last = 0;
  int worker = 0;
  for (const StepTrace& t : p.trace) {
    if (t.worker != worker) worker = t.worker, last = 0;
    EXPECT_GE(t.begin_ns, last);
    EXPECT_GE(t.end_ns, t.begin_ns);
    EXPECT_LT(t.worker, p.threads);
    last = t.end_ns;
    if (!t.wait) seen[static_cast<size_t>(t.step)]++;
  }
  for (size_t i = 0; i < seen.size(); i++) EXPECT_GE(seen[i], 1) << p.steps[i].name;
  const std::string json = p.chrome_trace();
  EXPECT_TRUE(Json::valid(json)) << json;
  EXPECT_EQ(json, valid_utf8(json));
}

TEST_P(ProfileThreads, LeavesTheUsersMemoryAsItWas) {
  Net net;
  Plan plan = net.compile(GetParam());
  const auto all = [&] {
    std::vector<float> v;
    for (const Tensor& t : {net.w1, net.b1, net.w2, net.b2})
      for (const float x : t.to_vector<float>()) v.push_back(x);
    return v;
  };
  const std::vector<float> before = all();
  const Tensor x = uniform({128, 96}, 5), label = full({128}, 3, kI64);
  const Tensor* inputs[] = {&x, &label};
  plan.profile(3, inputs);
  EXPECT_EQ(all(), before);
  plan.run(x, label);
  EXPECT_NE(all(), before);
}

// A plan laid out for more workers than there are meets before every step.
TEST(ProfileTeam, SmallerThanPlanned) {
  const int before = threads();
  set_threads(3);
  Net net;
  Plan plan = net.compile(3);
  set_threads(2);
  const Profile p = plan.profile(5);
  double sum = p.rest_share;
  for (const StepProfile& s : p.steps) {
    EXPECT_LE(s.workers, 2);
    sum += s.share;
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  set_threads(before);
}

INSTANTIATE_TEST_SUITE_P(Profile, ProfileThreads, testing::Values(1, 2, 3));

}  // namespace
}  // namespace ingot
