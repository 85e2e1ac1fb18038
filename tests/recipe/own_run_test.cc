// A kind of job that runs itself: whose weights are kept when a test has no number to tell.
#include "ingot/recipe/own_run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "ingot/io/io.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe.h"

namespace ingot::recipe {
namespace {

constexpr double kScores[] = {NAN, 0.25, 0.75, 0.75, 0.5, NAN};  // of the tests after each period
constexpr int64_t kPeriods = std::size(kScores);

// Its one weight counts periods.
class Counting : public OwnRun {
 public:
  std::string about() const override { return "counts"; }
  int64_t parameter_count() override { return 1; }
  RunInfo info() const override { return {.epochs = kPeriods, .metrics = {"score"}}; }
  OwnPiece work() override {
    add_into(count_, count_, 1.0);
    nn::EpochResult ended{
        .epoch = ++period_, .train = {.loss = 1}, .test = {1, {kScores[period_ - 1]}}, .tested = true};
    ended.train.metrics = {0};
    return {.period = period_, .scores = ended.train, .ended = ended};
  }
  bool done() const override { return period_ == kPeriods; }
  nn::TrainingState state() override { return {{{"count", count_}}, {}}; }
  void load_state(const nn::TrainingState&) override {}
  std::vector<NamedTensor> weights() override { return {{"count", count_}}; }
  void examine() override {}
  std::string exam_text() const override { return ""; }
  Value exam_record() const override { return record({}); }
  double exam_score() const override { return 0; }
  void report(Report&, std::span<const nn::EpochResult>) override {}

 private:
  Tensor count_ = zeros({1});
  int64_t period_ = 0;
};

const Section kSections[] = {
    {"counting", "A test's.", {}},
    {"train", "A test's.", {{"seed", Kind::kInteger, "1", "of nothing"}, {"threads", Kind::kInteger, "1", "at work"}}}};
const JobKind kJobs[] = {
    {.name = "counting", .about = "a test's", .sections = kSections, .begin = [](const Description&) {
       return std::unique_ptr<OwnRun>(new Counting);
     }}};
const System kCounts{.name = "counts", .about = "a test's", .jobs = kJobs};

TEST(OwnRun, KeepsTheWeightsOfTheBestNumberThereWas) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("ingot_own_" + std::to_string(getpid()))).string();
  std::filesystem::remove_all(folder);
  const recipe::Run run = Recipe::parse("count.toml", "[counting]\n", {&kCounts}).run(folder);
  ASSERT_EQ(run.history.size(), kPeriods);
  ASSERT_NE(run.best(), nullptr);
  EXPECT_EQ(run.best()->epoch, 4) << "as good as the one before, and later; what is no number is no better";
  EXPECT_EQ(io::load_safetensors(folder + "/model.safetensors").tensors.at(0).tensor.at<float>({0}), 4);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ingot::recipe
