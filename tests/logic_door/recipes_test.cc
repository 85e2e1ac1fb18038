// Recipes of rules that learn: run, cancelled and gone on with to the bit, examined, refused with a sentence.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "ingot/logic/door.h"
#include "ingot/recipe/own_run.h"
#include "ingot/recipe/recipe.h"
#include "ingot/recipe/system.h"
#include "tests/test_file.h"

namespace ingot::logic {
namespace {

namespace fs = std::filesystem;

class LogicRecipes : public ::testing::Test {
 protected:
  LogicRecipes() : folder_(fs::temp_directory_path() / ("ingot_logic_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~LogicRecipes() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  fs::path folder_;
};

class Stopper : public recipe::Progress {
 public:
  explicit Stopper(int after) : after_(after) {}
  void batch(const nn::BatchResult&) override { cancel = --after_ <= 0; }
  std::atomic<bool> cancel = false;

 private:
  int after_;
};

std::string weights_of(const std::string& run) {
  std::string bytes;
  for (const NamedTensor& t : io::load_safetensors(run + "/model.safetensors").tensors)
    bytes += t.name + std::string(static_cast<const char*>(t.tensor.raw()),
                                  static_cast<size_t>(t.tensor.numel()) * size_of(t.tensor.dtype()));
  return bytes;
}

double exam(const std::string& run, const std::string& key) {
  const recipe::Value all = recipe::parse_json(io::read_file(run + "/exam.json"));
  const recipe::Value* value = all.find(key);
  return value == nullptr ? -1 : value->number;
}

TEST_F(LogicRecipes, ReachWhatTheySay) {
  const auto satisfaction = [&](const char* name) {
    const recipe::Run run = Recipe::load(name, {&system()}).run(path(name));
    EXPECT_EQ(run.outcome, recipe::Outcome::kDone);
    return exam(path(name), "satisfaction");
  };
  EXPECT_GT(satisfaction("smokers"), 0.857);  // what the notebook of logic tensor networks reaches
  EXPECT_GT(satisfaction("xor-rules"), 0.99);
  EXPECT_GT(satisfaction("gnn"), 0.7);
  EXPECT_GT(satisfaction("family"), 0.85);
  const std::string page = io::read_file(path("smokers") + "/report.html");
  for (const char* words :
       {"forall x, y where known(x, y)", "Spreads", "cancer (learned)", "least true for", "0.9", "#7a5af5"})
    EXPECT_NE(page.find(words), std::string::npos) << words;
}

TEST_F(LogicRecipes, GoOnToTheBitWhereverTheyAreStopped) {
  for (const char* name : {"smokers", "digits-sum"}) {
    const auto short_recipe = [&] {
      Recipe r = Recipe::load(name, {&system()});
      r.set("output.checkpoint_seconds=0");
      return std::string(name) == "smokers" ? r.set("train.steps=130").set("train.periods=4")
                                            : r.set("train.epochs=2").set("sums.width=4");
    };
    const recipe::Run whole = short_recipe().run(path("whole"));
    ASSERT_EQ(whole.outcome, recipe::Outcome::kDone) << name;
    for (const char* file :
         {"config.toml", "metrics.csv", "metrics.jsonl", "model.safetensors", "exam.json", "report.html"})
      EXPECT_TRUE(fs::exists(path("whole") + "/" + file)) << file;
    Stopper first(2);
    recipe::Run run = short_recipe().run(path("parts"), first, {.cancel = &first.cancel});
    ASSERT_EQ(run.outcome, recipe::Outcome::kCancelled) << name;
    for (int stops = 1; run.outcome == recipe::Outcome::kCancelled; stops++) {
      Stopper next(1);
      run = recipe::resume_run(path("parts"), {}, next, {.cancel = &next.cancel}, {&system()});
      ASSERT_LT(stops, 100);
    }
    EXPECT_EQ(weights_of(path("whole")), weights_of(path("parts"))) << name;
    EXPECT_EQ(io::read_file(path("whole") + "/exam.json"), io::read_file(path("parts") + "/exam.json")) << name;
    ASSERT_EQ(run.history.size(), whole.history.size());
    for (size_t i = 0; i < run.history.size(); i++) {
      EXPECT_EQ(run.history[i].train.metrics, whole.history[i].train.metrics);
      EXPECT_EQ(run.history[i].test.metrics, whole.history[i].test.metrics);
    }
    const auto again = recipe::load_own_run(path("whole"), {&system()});
    ASSERT_NE(again, nullptr);
    again->examine();
    EXPECT_EQ(recipe::to_json(again->exam_record()) + "\n", io::read_file(path("whole") + "/exam.json")) << name;
    fs::remove_all(path("whole")), fs::remove_all(path("parts"));
  }
}

std::string refusal(const std::string& text) {
  try {
    Recipe::parse("mine.toml", text, {&system()}).run("/nowhere/run");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_F(LogicRecipes, RefuseWhatMakesNoSenseAndLeaveNoFolder) {
  const auto expect = [](const std::string& text, const std::string& mention) {
    EXPECT_NE(refusal(text).find(mention), std::string::npos) << refusal(text);
  };
  expect("[theory]\nprogram = \"rel p. p. assert q.\"\n", "nothing says what \"q\" is");
  expect("[theory]\nprogram = \"rel p. p. assert p.\"\n", "nothing to train");
  expect("[theory]\nprogram = \"param rel p.\"\n", "nothing is asserted");
  expect("[theory]\n", "\"program\" here or a \"file\"");
  expect("[theory]\nprogram = \"param rel p. assert p.\"\nsemantics = \"godle\"\n", "did you mean \"godel\"");
  expect("[theory]\nfacts = \"/nowhere\"\nprogram = 'domain d = \"p.csv\". param rel p(d). assert forall x: p(x).'\n",
         "/nowhere/p.csv");
  expect("[theory]\nfile = \"/nowhere.theory\"\n", "nowhere.theory");
  expect("[theory]\nprogram = \"domain s: 2. tensor x[s]. neural p(s) = net(x). assert forall a: p(a).\"\n",
         "handed over in C++");
  expect("[sums]\nof = \"letters\"\n", "\"mnist\" or \"digits\"");
  expect("[sums]\nof = \"digits\"\ndigits = 0\n", "digits");
  expect("[sums]\nof = \"mnist\"\nfolder = \"/nowhere\"\n", "ingot data get mnist");
  expect("[sums]\nof = \"digits\"\n[train]\nbatch = 5000\n", "sums to learn from");
  EXPECT_FALSE(fs::exists("/nowhere"));
}

TEST_F(LogicRecipes, TheDocumentHasAllTheirKeys) {
  const std::string all = recipe::Catalogue({&system()}).document();
  EXPECT_NE(io::read_file(test_file("../docs/toml.md")).find(all.substr(all.find("\n# Descriptions with"))),
            std::string::npos)
      << "run ./dev generate";
}

}  // namespace
}  // namespace ingot::logic
