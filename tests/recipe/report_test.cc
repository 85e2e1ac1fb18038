// The page of a run: well formed whatever is put in, nothing loaded from elsewhere, nothing that was not measured.
#include "ingot/recipe/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "ingot/base/error.h"
#include "ingot/recipe/page.h"
#include "tests/error_of.h"
#include "tests/recipe/report_samples.h"
#include "tests/recipe/well_formed.h"

namespace ingot::recipe {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> digits() { return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; }

TEST(Report, TheCheckerSeesFaults) {
  EXPECT_EQ(fault_of("\n<a b=\"c\"><d/>&amp;</a>"), "");
  for (const char* bad : {"\n<a>", "\n<a></b>", "\n<a b=c></a>", "\na & b", "\n<a>1 < 2</a>", "\n<a b=\"<\"></a>"})
    EXPECT_NE(fault_of(bad), "") << bad;
}

TEST(Report, FullPageIsWellFormedAndLoadsNothing) {
  Report r = sample_report(20, digits());
  add_other_sections(r);
  const std::string page = r.html();
  EXPECT_EQ(fault_of(page), "");
  for (const char* id :
       {"curves", "texts", "reconstructions", "scatter", "samples", "confusion", "model", "time", "memory", "setting"})
    EXPECT_EQ(times(page, std::string("<section id=\"") + id + "\""), 1) << id;
  // Addresses: only the name of SVG's own namespace.
  EXPECT_EQ(times(page, "http"), times(page, "xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_EQ(times(page, "src=\""), times(page, "src=\"data:image/"));
  EXPECT_EQ(times(page, "@import") + times(page, "url("), 0);
  if (const char* path = std::getenv("INGOT_REPORT_OUT")) std::ofstream(path) << page;
}

TEST(Report, AnEmptyReportIsAPageWithoutSections) {
  const std::string page = Report{.title = "nothing"}.html();
  EXPECT_EQ(fault_of(page), "");
  EXPECT_EQ(times(page, "<section"), 0);
  EXPECT_EQ(times(page, "<h1>nothing</h1>"), 1);
}

TEST(Report, HostileNamesStayText) {
  const std::string evil = "</script><script>alert(\"1\")</script>'&\xff\x01 onload=\"x\"";
  Report r = sample_report(3, {evil, "b" + evil});
  add_other_sections(r);
  r.title = r.subtitle = r.status = r.command = r.date = r.config = r.model_note = r.loss_name = evil;
  r.metrics[0].name = evil;
  r.verdict = {{evil, evil}};
  r.machine = {{evil, evil}};
  r.model = {{evil}, {{evil}}};
  r.texts = {{evil, evil}};
  r.scatters[0].name = evil;
  r.reconstructions[0].label = evil;
  r.plan_svg = evil;
  r.profile->steps[0].name = r.profile->steps[0].kind = r.profile->steps[0].detail = evil;
  const std::string page = r.html();
  EXPECT_EQ(fault_of(page), "");
  EXPECT_EQ(times(page, "<script"), 1);
  EXPECT_EQ(times(page, "onload=\""), 0);
  EXPECT_EQ(page.find('\x01'), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
}

TEST(Report, VerdictNamesTheBestEpochAndTheTime) {
  Report r = sample_report(3, digits());
  r.epochs[0].test.metrics = {0.5};
  r.epochs[1].test.metrics = {0.98611};
  r.epochs[2].test.metrics = {0.7};
  r.epochs[2].best = false;
  const std::string page = r.html();
  EXPECT_NE(page.find("<b>98.61 %</b><span>Accuracy on held-out data, epoch 2</span>"), std::string::npos);
  EXPECT_NE(page.find("<b>0.60 s</b><span>to train 3 epochs</span>"), std::string::npos);
  EXPECT_NE(page.find("<b>7,200</b><span>samples a second</span>"), std::string::npos);
  EXPECT_NE(page.find("best 98.61 % · epoch 2"), std::string::npos);
}

TEST(Report, WithoutMetricsItSpeaksOfTheLoss) {
  Report r = sample_report(4, digits());
  r.metrics.clear();
  r.epochs[2].test.loss = 0.0125;
  r.epochs[3].best = false;
  EXPECT_NE(r.html().find("<b>0.0125</b><span>Loss on held-out data, epoch 3</span>"), std::string::npos);
  for (auto& e : r.epochs) e.tested = false;
  EXPECT_NE(r.html().find("Loss on training data, epoch 3</span>"), std::string::npos);
  EXPECT_EQ(r.html().find("· epoch 3</text>"), std::string::npos) << "which is best, nobody has tested";
}

TEST(Report, ZeroAndOneEpochAndNothingFinite) {
  EXPECT_EQ(fault_of(sample_report(0, digits()).html()), "");
  EXPECT_EQ(sample_report(0, digits()).html().find("id=\"curves\""), std::string::npos);
  EXPECT_EQ(fault_of(sample_report(1, digits()).html()), "");
  Report r = sample_report(5, digits());
  for (auto& e : r.epochs) {
    e.train = {kNan, {kNan}};
    e.test = {std::numeric_limits<double>::infinity(), {}};
    e.lr = std::numeric_limits<float>::quiet_NaN();
    e.seconds = e.samples_per_second = kNan;
  }
  r.profile->steps[0].share = r.profile->steps[0].us = kNan;
  r.pictures[0].probability = kNan;
  const std::string page = r.html();
  EXPECT_EQ(fault_of(page), "");
  EXPECT_NE(page.find("no finite values"), std::string::npos);
  EXPECT_EQ(times(page, "nan"), 0);
  EXPECT_EQ(times(page, ">inf"), 0);
}

TEST(Report, OneClassAndAThousand) {
  EXPECT_EQ(fault_of(sample_report(2, {"only"}).html()), "");
  std::vector<std::string> many;
  for (int i = 0; i < 1000; i++) many.push_back("class " + std::to_string(i));
  const std::string page = sample_report(2, many).html();
  EXPECT_EQ(fault_of(page), "");
  EXPECT_LT(page.size(), 400'000U);
  EXPECT_NE(page.find("A pixel is the darkest of 4 × 4 cells."), std::string::npos);
  EXPECT_NE(page.find("Weakest classes"), std::string::npos);
}

TEST(Report, ManyEpochsStaySmall) {
  const std::string page = sample_report(5000, digits()).html();
  EXPECT_EQ(fault_of(page), "");
  EXPECT_LT(page.size(), 1'500'000U);
}

TEST(Report, WrongPicturesComeFirst) {
  Report r{.title = "pictures"};
  for (int i = 0; i < 4; i++)
    r.pictures.push_back({Tensor::from<uint8_t>({0, 255, 7, 9}, {2, 2}), "t", "p", 0.5, i < 2});
  const std::string page = r.html();
  EXPECT_EQ(times(page, "class=\"wrong\""), 2);
  EXPECT_LT(page.rfind("figure class=\"wrong\""), page.find("figure class=\"right\""));
}

TEST(Report, ConfusionCountsAndPairs) {
  Report r{.title = "confusion"};
  r.confusion = {{"cat", "dog"}, {7, 3, 1, 9}};
  const std::string page = r.html();
  EXPECT_NE(page.find("16 of 20 samples are right, 4 wrong."), std::string::npos);
  EXPECT_NE(page.find("<b>cat</b> taken for <b>dog</b><span>3 × (30.0 % of its class)</span>"), std::string::npos);
  r.confusion = {{"cat", "dog"}, {}};  // nothing counted
  EXPECT_EQ(r.html().find("id=\"confusion\""), std::string::npos);
}

TEST(Report, PicturesThatAreNoneGetASentence) {
  Report r{.title = "x"};
  r.pictures.push_back({Tensor::empty({2, 3, 4, 5}), "a", "b", 0.5, true});
  EXPECT_NE(error_of([&] { r.html(); }).find("[2, 3, 4, 5]"), std::string::npos);
  r.pictures[0].pixels = Tensor();
  EXPECT_NE(error_of([&] { r.html(); }).find("undefined"), std::string::npos);
}

}  // namespace
}  // namespace ingot::recipe
