// The page of a run: well formed whatever is put in, nothing loaded from elsewhere, nothing that was not measured.
#include "cli/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "cli/page.h"
#include "ingot/error.h"
#include "tests/cli/report_samples.h"
#include "tests/error_of.h"

namespace ingot::cli {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// What is wrong with the nesting and quoting of `page`, read as strict XML after its first line; empty if nothing is.
std::string fault_of(const std::string& page) {
  std::vector<std::string> open;
  size_t i = page.find('\n');
  while (i < page.size()) {
    if (page[i] == '&') {
      const size_t end = page.find(';', i);
      const std::string name = page.substr(i, end - i + 1);
      if (name != "&amp;" && name != "&lt;" && name != "&gt;" && name != "&quot;")
        return "bare & at " + page.substr(i, 30);
    }
    if (page[i] != '<') {
      i++;
      continue;
    }
    const std::string here = page.substr(i, 60);
    const bool closes = page[++i] == '/';
    if (closes) i++;
    const size_t name_end = page.find_first_of(" />\n", i);
    const std::string name = page.substr(i, name_end - i);
    if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") != std::string::npos)
      return "no tag: " + here;
    i = name_end;
    while (page[i] != '>' && page[i] != '/') {  // attributes
      if (page[i] == ' ' || page[i] == '\n') {
        i++;
        continue;
      }
      const size_t equals = page.find('=', i);
      if (equals == std::string::npos || page[equals + 1] != '"' ||
          page.substr(i, equals - i).find_first_of(" <>\"/") != std::string::npos)
        return "attribute without quotes: " + here;
      const size_t quote = page.find('"', equals + 2);
      if (page.substr(equals + 2, quote - equals - 2).find('<') != std::string::npos) return "< in attribute: " + here;
      i = quote + 1;
    }
    const bool empty = page[i] == '/';
    i = page.find('>', i) + 1;
    if (closes) {
      if (open.empty() || open.back() != name) return "closes what is not open: " + here;
      open.pop_back();
    } else if (!empty) {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

std::vector<std::string> digits() { return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; }

int times(const std::string& text, const std::string& what) {
  int n = 0;
  for (size_t i = text.find(what); i != std::string::npos; i = text.find(what, i + 1)) n++;
  return n;
}

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
  for (const char* id : {"curves", "texts", "reconstructions", "scatter", "samples", "confusion", "model", "time",
                         "memory", "setting", "exam", "film", "circuit"})
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
  r.circuit.note = r.circuit.film_note = r.circuit.exam.rows[0][0] = r.circuit.functions[0] = evil;
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
  r.epochs[2].test.metrics = {kNan};
  const std::string page = r.html();
  EXPECT_NE(page.find("<b>98.61 %</b><span>Accuracy on held-out data, epoch 2</span>"), std::string::npos);
  EXPECT_NE(page.find("<b>0.60 s</b><span>to train 3 epochs</span>"), std::string::npos);
  EXPECT_NE(page.find("<b>7,200</b><span>samples a second</span>"), std::string::npos);
  EXPECT_NE(page.find("best 98.61 % · epoch 2"), std::string::npos);
}

TEST(Report, WithoutMetricsTheLowestLossIsBest) {
  Report r = sample_report(4, digits());
  r.metrics.clear();
  r.epochs[2].test.loss = 0.0125;
  EXPECT_NE(r.html().find("<b>0.0125</b><span>Loss on held-out data, epoch 3</span>"), std::string::npos);
  for (auto& e : r.epochs) e.tested = false;
  r.epochs[1].train.loss = 0.0001;
  EXPECT_NE(r.html().find("Loss on training data, epoch 2</span>"), std::string::npos);
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
}  // namespace ingot::cli
