// Recipes from C++: a run, cancelled and gone on with, and the model that it leaves.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "ingot/base/threads.h"
#include "ingot/io/io.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe.h"
#include "ingot/recipe/terminal.h"
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
  void say(const std::string& text) override { said += text + "\n"; }
  void event(const Value& e) override {
    if (events.empty()) first = e;
    last = e;
    events.push_back(e.find("event")->text);
  }
  void batch(const nn::BatchResult& b) override { cancel = cancel || (b.epoch == 2 && b.batch == 3 && cancels); }
  void epoch(const nn::EpochResult& e) override { done.push_back(e.epoch); }
  int64_t epochs = 0;
  std::string said;
  Value first, last;  // events
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
  EXPECT_DOUBLE_EQ(e.scores.metrics[0], run.best()->test.metrics[0]);
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
  EXPECT_EQ(load_model(path("half")).evaluate().scores.loss, half.history[0].test.loss) << "the best so far";
  Progress silent;
  const recipe::Run rest = resume_run(path("half"), {}, silent);
  EXPECT_EQ(rest.outcome, Outcome::kDone);
  EXPECT_EQ(rest.history.size(), 3U);
  EXPECT_EQ(io::read_file(path("half") + "/model.safetensors"), io::read_file(path("whole") + "/model.safetensors"));
}

// A layer that lets everything through for 24 batches of training, and nothing after that.
struct Tiring : nn::Layer {
  static inline int made = 0;
  Tensor age = zeros({1});
  void parts(nn::Parts& p) override { p.buffer("age", age); }
  Tensor forward(const Tensor& x) override {
    if (training()) add_into(age, age, 1.0);
    return x * ingot::to(less(age, 24.5), kF32);
  }
};
const LayerType kTiring[] = {{{"tiring", "forgets everything"}, [](const LayerRequest&) -> nn::LayerPtr {
                                Tiring::made++;
                                return std::make_shared<Tiring>();
                              }}};
const System kTiringSystem{.name = "tiring", .about = "a test's", .layers = kTiring};

Recipe tiring_recipe() {
  return Recipe::parse("small.toml", kSmall, {&kTiringSystem})
      .set(R"(model.layers=[{type="flatten"},{type="linear"},{type="tiring"}])")
      .set("optimizer.lr=0.01")
      .set("output.report=false");
}

// 12 batches an epoch: the third is the bad one.
TEST_F(RecipeRun, KeepsTheBestWeightsAndSaysSo) {
  Heard heard;
  const recipe::Run run = tiring_recipe().run(path("run"), heard);
  ASSERT_EQ(run.history.size(), 3U);
  ASSERT_LT(run.best()->epoch, 3);
  const double best = run.best()->test.metrics[0], last = run.history[2].test.metrics[0];
  ASSERT_LT(last, 0.3);
  ASSERT_GT(best, 0.5);
  Model model = load_model(path("run"), {&kTiringSystem});
  EXPECT_EQ(model.path(), path("run") + "/model.safetensors");
  EXPECT_EQ(model.evaluate().scores.metrics[0], best);
  EXPECT_FALSE(fs::exists(path("run") + "/best.safetensors")) << "once is enough";
  const std::string after = " after epoch " + std::to_string(run.best()->epoch);
  EXPECT_NE(heard.said.find("best    " + bold(metric_text("accuracy", best)) + after), std::string::npos) << heard.said;
  EXPECT_NE(heard.said.find("model.safetensors (the weights" + after + ")"), std::string::npos) << heard.said;
  EXPECT_EQ(heard.last.find("best_epoch")->integer, run.best()->epoch);

  // It goes on from the last epoch, and the best of all stays.
  Progress silent;
  const std::string more[] = {"train.epochs=4"};
  const recipe::Run longer = resume_run(path("run"), more, silent, {}, {&kTiringSystem});
  EXPECT_EQ(longer.best()->epoch, run.best()->epoch);
  EXPECT_LT(longer.history[3].test.metrics[0], 0.3);
  EXPECT_EQ(load_model(path("run"), {&kTiringSystem}).evaluate().scores.metrics[0], best);
}

TEST_F(RecipeRun, WithoutATestTheLastWeightsAreKept) {
  Heard heard;
  const recipe::Run run = tiring_recipe().set("data.held_back=0").set("train.batch=256").run(path("run"), heard);
  EXPECT_EQ(run.best()->epoch, 3);
  EXPECT_NE(heard.said.find("while training epoch 3"), std::string::npos) << heard.said;
  EXPECT_EQ(load_model(path("run"), {&kTiringSystem}).net().buffers()[0].tensor.item<float>(), 3 * 8);
}

TEST_F(RecipeRun, EvaluationMakesNoSecondModel) {
  tiring_recipe().run(path("run"));
  const int before = Tiring::made;
  Model model = load_model(path("run"), {&kTiringSystem});
  EXPECT_EQ(Tiring::made, before + 1);
  model.evaluate();
  EXPECT_EQ(Tiring::made, before + 1);
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

int64_t batch_in(const std::string& config) { return load_description(config).settings("train").integer("batch"); }

TEST_F(RecipeRun, AutoBatchIsANumberFromThenOn) {
  const Recipe recipe = Recipe::parse("small.toml", kSmall).set("train.batch=auto").set("train.epochs=2");
  Heard heard;
  EXPECT_EQ(recipe.run(path("auto"), heard).outcome, Outcome::kDone);
  const int64_t batch = batch_in(path("auto") + "/config.toml");
  EXPECT_GE(batch, 8);
  EXPECT_GE(1438 / batch, 16) << "updates enough in an epoch";
  EXPECT_EQ(batch & (batch - 1), 0) << "a power of two";
  const Value begin = heard.first;
  EXPECT_EQ(begin.find("batch")->integer, batch);
  ASSERT_NE(begin.find("batch_reason"), nullptr);
  const std::string& why = begin.find("batch_reason")->text;
  EXPECT_NE(why.find("per sample"), std::string::npos) << why;
  EXPECT_NE(io::read_file(path("auto") + "/report.html").find(why), std::string::npos);
  EXPECT_NE(heard.said.find("batch " + std::to_string(batch) + ": " + why), std::string::npos) << heard.said;

  // The same bits as with the number, and when it goes on on a machine with other caches.
  const std::string number = "train.batch=" + std::to_string(batch);
  Recipe::parse("small.toml", kSmall).set(number).set("train.epochs=2").run(path("number"));
  EXPECT_EQ(io::read_file(path("auto") + "/model.safetensors"), io::read_file(path("number") + "/model.safetensors"));
  Heard stopped;
  stopped.cancels = true;
  recipe.run(path("half"), stopped, {.cancel = &stopped.cancel});
  EXPECT_EQ(batch_in(path("half") + "/config.toml"), batch);
  const std::string again[] = {"train.batch=auto"};
  Progress silent;
  EXPECT_NE(error_of([&] { resume_run(path("half"), again, silent); }).find("\"train.batch\" cannot change"),
            std::string::npos);
  Heard rest;
  resume_run(path("half"), {}, rest);
  EXPECT_EQ(rest.first.find("batch_reason"), nullptr) << "nothing is chosen a second time";
  EXPECT_EQ(io::read_file(path("half") + "/model.safetensors"), io::read_file(path("auto") + "/model.safetensors"));
}

TEST(AutoBatch, FollowsTheBytesAndTheSamples) {
  const auto job = [](const std::vector<std::string>& sets) {
    std::vector<std::string> all{"train.batch=auto"};
    all.insert(all.end(), sets.begin(), sets.end());
    return std::make_unique<Job>(parse_description("small.toml", kSmall, all));
  };
  const auto batch = [&](const std::vector<std::string>& sets) {
    const auto made = job(sets);
    const int64_t number = made->description.settings("train").integer("batch");
    EXPECT_EQ(made->train->input().shape[0], number);
    return number;
  };
  const std::string wide = R"(model.layers=[{type="flatten"},{type="linear",out=32768},{type="relu"},{type="linear"}])";
  const std::string often = "train.batches=4";  // of as many samples as one likes
  EXPECT_LT(batch({often, wide}), batch({often})) << "more bytes, fewer samples";
  EXPECT_LE(batch({often}), 1438) << "no more than there are";
  EXPECT_LE(batch({}), 1438 / 16);
  EXPECT_EQ(batch({"data.held_back=0.9"}), 8) << "some samples, however few there are";
  EXPECT_NE(job({})->batch_reason.find("but there are 1,438 samples"), std::string::npos) << job({})->batch_reason;

  const int before = threads();
  set_threads(1);
  const int64_t one = batch({often});
  set_threads(2);
  EXPECT_EQ(batch({often}), one) << "a run comes to the same at any thread count";
  set_threads(before);
}

// Rows of a text that goes on from batch to batch: both parts must have room for them.
TEST_F(RecipeRun, AutoBatchFitsAText) {
  std::string text;
  for (int i = 0; i < 4000; i++) text += std::to_string(i);
  io::write_file(path("text.txt"), text);
  const std::string toml = R"(
[data]
type = "text"
file = "text.txt"
length = 16
[model]
layers = [{ type = "embedding", width = 8 }, { type = "gru", hidden = 16 }, { type = "linear" }]
[train]
epochs = 1
batch = "auto"
[output]
report = false
sample_length = 0
)";
  io::write_file(path("text.toml"), toml);
  for (const char* rows : {"data.continuous=true", "data.continuous=false"})
    for (const char* held_back : {"data.held_back=0.1", "data.held_back=0.05"}) {
      const std::string sets[] = {rows, held_back};
      const Job job(load_description(path("text.toml"), sets));
      const int64_t batch = job.description.settings("train").integer("batch");
      EXPECT_GE(job.train->batches(), 16) << rows;
      EXPECT_GE(job.test->batches(), 1) << rows;
      EXPECT_EQ(job.data.task.rows, job.data.shuffle ? 0 : batch);
    }
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
