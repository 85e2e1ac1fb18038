#include "ingot/recipe/seeds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/recipe/chart.h"

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

Run run_of(double level) {
  Run run;
  run.info = {.metrics = {"charts/episodic_return"}, .test_name = "greedy", .axis = "steps", .axis_per_period = 250};
  for (int64_t i = 1; i <= 4; i++)
    run.history.push_back(
        {.epoch = i,
         .train = {.loss = i == 2 && level > 3 ? NAN : 1.0, .metrics = {level + static_cast<double>(i)}},
         .test = {NAN, {level}},
         .tested = true});
  run.exam = level;
  return run;
}

TEST(Seeds, CurvesAreBandsOverThem) {
  SeedsRun all{.folder = "runs/x", .first_seed = 7};
  for (const double level : {1.0, 2.0, 3.0, 4.0}) all.runs.push_back(run_of(level));
  EXPECT_EQ(all.scores(), (std::vector<double>{1, 2, 3, 4}));
  const std::string page = all.curves();
  const auto count = [&](const std::string& what) {
    int n = 0;
    for (size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) n++;
    return n;
  };
  EXPECT_EQ(count("<figure"), 2);  // the return and the loss
  EXPECT_EQ(count("class=\"band train\""), 2);
  EXPECT_EQ(count("class=\"band test\""), 1) << "there is no loss of a test";
  EXPECT_NE(page.find("Episodic return"), std::string::npos);
  EXPECT_NE(page.find("data-x=\"steps\""), std::string::npos);
  EXPECT_NE(page.find("[250,500,"), std::string::npos) << page;
  EXPECT_NE(page.find("&quot;3.500 ("), std::string::npos) << "the middle of 2, 3, 4, 5, and its band";
  EXPECT_NE(page.find("&quot;–"), std::string::npos) << "no loss where one run has none";
}

// A band is a closed path: forth along its upper edge, back along the lower one.
TEST(Seeds, ABandIsDrawnAroundItsCurveAndFits) {
  LineChart chart{.title = "x", .x = {1, 2, 3}};
  chart.series.push_back({"a", "train", {1, 2, 3}, {0, 1, NAN}, {2, 300, 4}});
  const std::string svg = line_chart(chart);
  const size_t at = svg.find("class=\"band train\"");
  ASSERT_NE(at, std::string::npos);
  const std::string path = svg.substr(svg.rfind("<path", at), at - svg.rfind("<path", at));
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 1);
  EXPECT_EQ(std::count(path.begin(), path.end(), 'L'), 3) << "two points of three: " << path;
  EXPECT_NE(path.find('Z'), std::string::npos);
  EXPECT_NE(svg.find(">300<"), std::string::npos) << "the axis has room for it";
  EXPECT_LT(at, svg.find("class=\"curve train\"")) << "the curve lies on it";
}

}  // namespace
}  // namespace ingot::recipe
