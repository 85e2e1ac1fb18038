// Recipes from C++: a run, cancelled and gone on with, and the model that it leaves.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "ingot/io/io.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe.h"
#include "tests/error_of.h"

namespace ingot::recipe {
namespace {

namespace fs = std::filesystem;

const std::string kSmall = R"(
[data]
type = "digits"
[model]
layers = [{ type = "flatten" }, { type = "dropout", p = 0.1 }, { type = "linear" }]
[train]
epochs = 3
batch = 128
[output]
checkpoint_seconds = 0.0
)";

class RecipeRun : public testing::Test {
 protected:
  RecipeRun() : folder_(fs::temp_directory_path() / ("ingot_run_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RecipeRun() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  fs::path folder_;
};

struct Heard : Progress {
  void begin(const RunInfo& info) override { epochs = info.epochs; }
  void event(const Value& e) override { events.push_back(e.find("event")->text); }
  void batch(const nn::BatchResult& b) override { cancel = cancel || (b.epoch == 2 && b.batch == 3 && cancels); }
  void epoch(const nn::EpochResult& e) override { done.push_back(e.epoch); }
  int64_t epochs = 0;
  std::vector<std::string> events;
  std::vector<int64_t> done;
  bool cancels = false;
  std::atomic<bool> cancel = false;
};

TEST_F(RecipeRun, TellsWhatItDoesAndLeavesAModel) {
  Heard heard;
  const recipe::Run run = Recipe::parse("small.toml", kSmall).set("output.report=false").run(path("run"), heard);
  EXPECT_EQ(run.outcome, Outcome::kDone);
  EXPECT_EQ(run.folder, path("run"));
  EXPECT_EQ(heard.epochs, 3);
  EXPECT_EQ(heard.done, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(heard.events, (std::vector<std::string>{"begin", "end"}));
  ASSERT_NE(run.best(), nullptr);
  EXPECT_GT(run.best()->test.metrics[0], 0.5);

  Model model = load_model(path("run"));
  EXPECT_EQ(model.description().name, "small");
  const Evaluation e = model.evaluate();
  EXPECT_TRUE(e.held_back);
  EXPECT_EQ(e.metrics, std::vector<std::string>{"accuracy"});
  EXPECT_DOUBLE_EQ(e.scores.metrics[0], run.history.back().test.metrics[0]);
  EXPECT_EQ(model.evaluate().scores.loss, e.scores.loss) << "a second time";
}

TEST_F(RecipeRun, CancelledAndGoneOnWithItComesOutTheSame) {
  const Recipe recipe = Recipe::parse("small.toml", kSmall).set("output.report=false");
  EXPECT_EQ(recipe.run(path("whole")).outcome, Outcome::kDone);
  Heard heard;
  heard.cancels = true;
  const recipe::Run half = recipe.run(path("half"), heard, {.cancel = &heard.cancel});
  EXPECT_EQ(half.outcome, Outcome::kCancelled);
  EXPECT_EQ(half.history.size(), 1U);
  EXPECT_EQ(heard.events.back(), "interrupted");
  EXPECT_EQ(error_of([&] { load_model(path("half") + "/checkpoint.safetensors"); }).substr(0, 1), "\"");
  Progress silent;
  const recipe::Run rest = resume_run(path("half"), {}, silent);
  EXPECT_EQ(rest.outcome, Outcome::kDone);
  EXPECT_EQ(rest.history.size(), 3U);
  EXPECT_EQ(io::read_file(path("half") + "/model.safetensors"), io::read_file(path("whole") + "/model.safetensors"));
}

TEST_F(RecipeRun, PredictTakesPicturesAsTheyAre) {
  Recipe::parse("small.toml", kSmall).set("output.report=false").set("train.epochs=1").run(path("run"));
  Model model = load_model(path("run"));
  const Tensor grey = full({8, 8}, 255, kU8), colours = full({3, 8, 8}, 255, kU8), numbers = full({1, 8, 8}, 1.0);
  const Answer expected = model.predict(numbers);
  EXPECT_EQ(expected.probabilities.size(), 10U);
  EXPECT_EQ(expected.name, std::to_string(expected.label));
  for (const Tensor& picture : {grey, colours}) {
    const Answer answer = model.predict(picture);
    EXPECT_EQ(answer.label, expected.label);
    EXPECT_NEAR(answer.probability, expected.probability, 1e-6);
  }
  EXPECT_EQ(model.predict_rows(full({5, 1, 8, 8}, 1.0)).size(), 5U);
  EXPECT_NE(error_of([&] { model.predict(full({9, 8}, 1, kU8)); }).find("8 x 9 pixels"), std::string::npos);
  EXPECT_NE(error_of([&] { model.write({}); }).find("only a model of text writes"), std::string::npos);
}

template <class F>
ErrorKind kind_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.kind();
  }
  return ErrorKind::kInternal;
}

TEST_F(RecipeRun, WhatGoesWrongHasAKind) {
  EXPECT_EQ(kind_of([] { Recipe::load("nothing of that name"); }), ErrorKind::kFile);
  EXPECT_EQ(kind_of([&] { load_model(path("nothing")); }), ErrorKind::kFile);
  EXPECT_EQ(kind_of([&] { Recipe::parse("x.toml", kSmall).set("train.epochs=many").run(path("a")); }),
            ErrorKind::kArgument);
  EXPECT_EQ(kind_of([&] {
              Recipe::parse("x.toml", kSmall).set("optimizer.lr=1e38").set("output.report=false").run(path("b"));
            }),
            ErrorKind::kNumeric);
  EXPECT_FALSE(fs::exists(path("a"))) << "what is refused leaves no folder";
}

}  // namespace
}  // namespace ingot::recipe
