// Sweeps: which combinations are trained, in what order they are told, and what is refused before anything is.
#include "ingot/recipe/sweep.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "ingot/io/io.h"
#include "tests/error_of.h"

namespace ingot::recipe {
namespace {

namespace fs = std::filesystem;

TEST(Sweep, AnAxisIsAKeyAndItsValues) {
  const SweepAxis plain = sweep_axis("agent.lr=0.001,0.0003");
  EXPECT_EQ(plain.key, "agent.lr");
  EXPECT_EQ(plain.values, (std::vector<std::string>{"0.001", "0.0003"}));
  EXPECT_EQ(sweep_axis("network.hidden=[64, 64],[128]").values, (std::vector<std::string>{"[64, 64]", "[128]"}));
  EXPECT_EQ(sweep_axis("a=\"x,y\",\"z\"").values, (std::vector<std::string>{"\"x,y\"", "\"z\""}));
  EXPECT_EQ(sweep_axis("a.b=1").values, (std::vector<std::string>{"1"}));
  for (const char* bad : {"", "a", "=1", "a=", "a=1,,2", "a=1,"}) EXPECT_REFUSED(sweep_axis(bad), "sweep");
}

class SweepRun : public testing::Test {
 protected:
  SweepRun() : folder_(fs::temp_directory_path() / ("ingot_sweep_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
  }
  ~SweepRun() override { fs::remove_all(folder_); }
  std::string folder() const { return folder_.string(); }
  Sweep run(const Recipe& recipe, const std::vector<std::string>& axes, int64_t seeds, const RunOptions& o = {}) const {
    std::vector<SweepAxis> parsed;
    for (const std::string& axis : axes) parsed.push_back(sweep_axis(axis));
    Progress silent;
    return run_sweep(recipe, parsed, seeds, folder(), silent, o);
  }

 private:
  fs::path folder_;
};

Recipe small() {
  return Recipe::parse("small.toml", R"(
[data]
type = "digits"
[model]
layers = [{ type = "flatten" }, { type = "linear" }]
[train]
epochs = 1
batch = 128
)");
}

// A rate of a billionth learns nothing: it is last, whatever else is changed, and its row says so in every file.
TEST_F(SweepRun, TrainsEveryCombinationAndTellsTheBestFirst) {
  const Sweep all = run(small(), {"optimizer.lr=1e-9,0.01", "train.batch=64,128"}, 2);
  EXPECT_EQ(all.outcome, Outcome::kDone);
  EXPECT_EQ(all.keys, (std::vector<std::string>{"optimizer.lr", "train.batch"}));
  ASSERT_EQ(all.rows.size(), 4U);
  for (size_t i = 0; i < 4; i++) {
    EXPECT_EQ(all.rows[i].values[0], i < 2 ? "0.01" : "1e-9");
    EXPECT_EQ(all.rows[i].scores.size(), 2U);
    if (i > 0) EXPECT_GE(all.rows[i - 1].score, all.rows[i].score);
    EXPECT_TRUE(fs::exists(all.rows[i].folder + "/seed-1/report.html"));
  }
  EXPECT_NE(all.rows[0].values[1], all.rows[1].values[1]);
  const std::string text = all.table(), csv = io::read_file(folder() + "/sweep.csv");
  EXPECT_LT(text.find("0.01"), text.find("1e-9"));
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "\"optimizer.lr\",\"train.batch\",result,seconds,folder,failure");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  EXPECT_NE(io::read_file(folder() + "/sweep.json").find("\"optimizer.lr\""), std::string::npos);
  EXPECT_NE(io::read_file(folder() + "/report.html").find("Best first"), std::string::npos);
}

// Of a loss, less is better.
TEST_F(SweepRun, OfALossTheLeastIsBest) {
  const Recipe regression = Recipe::load("regression").set("train.epochs=2");
  const Sweep all = run(regression, {"optimizer.lr=1e-9,0.01"}, 1);
  ASSERT_EQ(all.rows.size(), 2U);
  EXPECT_EQ(all.rows[0].values[0], "0.01");
  EXPECT_LT(all.rows[0].score, all.rows[1].score);
}

TEST_F(SweepRun, WhatDivergesIsARowThatSaysSo) {
  const Sweep all = run(small(), {"optimizer.lr=1e38,0.01"}, 1);
  ASSERT_EQ(all.rows.size(), 2U);
  EXPECT_EQ(all.rows[0].values[0], "0.01");
  EXPECT_NE(all.rows[1].failure.find("the loss is"), std::string::npos) << all.rows[1].failure;
  EXPECT_NE(all.table().find("failed"), std::string::npos);
}

TEST_F(SweepRun, RefusesBeforeItBegins) {
  EXPECT_REFUSED(run(small(), {"train.batch=64,none"}, 1), "train.batch");
  EXPECT_REFUSED(run(small(), {"train.no_such_key=64"}, 1), "no_such_key");
  EXPECT_REFUSED(run(small(), {"train.batch=64", "train.batch=32"}, 1), "twice");
  EXPECT_REFUSED(run(small(), {"train.seed=1,2"}, 3), "train.seed");
  EXPECT_REFUSED(run(small(), {}, 1), "no key");
  EXPECT_FALSE(fs::exists(folder())) << "what is refused leaves no folder";
}

TEST_F(SweepRun, EndsWhenItIsCancelled) {
  const std::atomic<bool> cancel = true;
  const Sweep all = run(small(), {"train.batch=64,128"}, 1, {.cancel = &cancel});
  EXPECT_EQ(all.outcome, Outcome::kCancelled);
  EXPECT_TRUE(all.rows.empty());
}

}  // namespace
}  // namespace ingot::recipe
