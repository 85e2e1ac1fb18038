// Recipes that learn by playing: run, cancelled and gone on with to the bit, examined, refused with a sentence.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "ingot/recipe/model.h"
#include "ingot/recipe/own_run.h"
#include "ingot/recipe/recipe.h"
#include "ingot/recipe/seeds.h"
#include "ingot/rl/door.h"
#include "tests/test_file.h"

namespace ingot::rl {
namespace {

namespace fs = std::filesystem;

class RlRecipes : public ::testing::Test {
 protected:
  RlRecipes() : folder_(fs::temp_directory_path() / ("ingot_rl_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~RlRecipes() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  fs::path folder_;
};

Recipe short_recipe(const std::string& name) {
  if (name == "every switch")
    return short_recipe("cube2-dqn")
        .set("agent.shaping=0.5")
        .set("agent.bonus=0.1")
        .set("agent.pretrain=150")
        .set("agent.labels=\"exact\"")
        .set("agent.all_actions=true")
        .set("agent.n_step=1")
        .set("agent.learning_starts=512");
  Recipe r = Recipe::load(name, {&system()});
  r.set("train.periods=4").set("output.checkpoint_seconds=0");
  if (name == "cube2") return r.set("agent.walk_updates=60").set("network.hidden=[32, 16]").set("agent.exam_states=20");
  return r.set("train.steps=2000").set("train.test_episodes=2").set("train.exam_episodes=3").set("network.hidden=[16]");
}

// Stops the run after so many pieces.
class Stopper : public recipe::Progress {
 public:
  explicit Stopper(int after) : after_(after) {}
  void batch(const nn::BatchResult&) override { cancel = --after_ <= 0; }
  std::atomic<bool> cancel = false;

 private:
  int after_;
};

std::string weights_of(const std::string& run) {
  const io::SafeTensors file = io::load_safetensors(run + "/model.safetensors");
  std::string bytes;
  for (const NamedTensor& t : file.tensors)
    bytes += t.name + std::string(static_cast<const char*>(t.tensor.raw()), static_cast<size_t>(t.tensor.numel()) * 4);
  return bytes;
}

TEST_F(RlRecipes, GoOnToTheBitWhereverTheyAreStopped) {
  for (const char* name : {"cartpole", "cube2", "cube2-dqn", "every switch"}) {
    const recipe::Run whole = short_recipe(name).run(path("whole"));
    ASSERT_EQ(whole.outcome, recipe::Outcome::kDone) << name;
    EXPECT_EQ(whole.history.size(), 4u);
    for (const char* file :
         {"config.toml", "metrics.csv", "metrics.jsonl", "model.safetensors", "exam.json", "report.html"})
      EXPECT_TRUE(fs::exists(path("whole") + "/" + file)) << file;

    Stopper first(2);
    recipe::Run run = short_recipe(name).run(path("parts"), first, {.cancel = &first.cancel});
    ASSERT_EQ(run.outcome, recipe::Outcome::kCancelled) << name;
    int stops = 1;
    for (; run.outcome == recipe::Outcome::kCancelled; stops++) {
      Stopper next(1);
      run = recipe::resume_run(path("parts"), {}, next, {.cancel = &next.cancel}, {&system()});
      ASSERT_LT(stops, 100);
    }
    EXPECT_GT(stops, 2) << name;
    EXPECT_EQ(weights_of(path("whole")), weights_of(path("parts"))) << name;
    EXPECT_EQ(io::read_file(path("whole") + "/exam.json"), io::read_file(path("parts") + "/exam.json")) << name;
    ASSERT_EQ(run.history.size(), 4u);
    for (size_t i = 0; i < 4; i++) {
      EXPECT_EQ(run.history[i].test.metrics, whole.history[i].test.metrics);
      EXPECT_EQ(run.history[i].best, whole.history[i].best);
    }
    fs::remove_all(path("whole")), fs::remove_all(path("parts"));
  }
}

TEST_F(RlRecipes, TheDocumentHasAllTheirKeys) {
  const std::string all = recipe::Catalogue({&system()}).document();
  EXPECT_NE(io::read_file(test_file("../docs/toml.md")).find(all.substr(all.find("\n# Descriptions with"))),
            std::string::npos)
      << "run ./dev generate";
}

TEST_F(RlRecipes, AreExaminedFromTheirFolder) {
  short_recipe("cartpole").run(path("run"));
  const auto run = recipe::load_own_run(path("run"), {&system()});
  ASSERT_NE(run, nullptr);
  run->examine();
  EXPECT_EQ(recipe::to_json(run->exam_record()) + "\n", io::read_file(path("run") + "/exam.json"));
  EXPECT_THROW(load_model(path("run"), {&system()}), Error) << "it takes no samples";
}

TEST_F(RlRecipes, PqnIsAnAgentLikeAnyOther) {
  Recipe r = Recipe::parse("mine.toml",
                           "[agent]\ntype = \"pqn\"\n[environment]\ntype = \"cartpole\"\n[network]\nhidden = [16]\n"
                           "[train]\nsteps = 4096\nperiods = 2\ntest_episodes = 2\nexam_episodes = 2\n",
                           {&system()});
  const recipe::Run run = r.run(path("pqn"));
  EXPECT_EQ(run.outcome, recipe::Outcome::kDone);
  EXPECT_NE(io::read_file(path("pqn") + "/metrics.csv").find("charts/SPS,train_losses/q_values,train_charts/UPS"),
            std::string::npos);
  const std::vector<double>& last = run.history.back().train.metrics;
  EXPECT_NEAR(last[5] / last[3], 2 * 8 / (32.0 * 32), 1e-6) << "updates and steps a second: 16 of a rollout of 1,024";
}

TEST_F(RlRecipes, ManySeedsAreBandsOverSteps) {
  recipe::Progress silent;
  const recipe::SeedsRun all = recipe::run_seeds(short_recipe("cartpole"), 3, path("seeds"), silent);
  ASSERT_EQ(all.runs.size(), 3U);
  EXPECT_TRUE(fs::exists(path("seeds") + "/seed-3/report.html"));
  EXPECT_NE(io::read_file(path("seeds") + "/seeds.json").find("interquartile_mean"), std::string::npos);
  const std::string page = io::read_file(path("seeds") + "/report.html");
  for (const char* words : {"Episodic return", "Episodic length", "class=\"band train\"", "class=\"band test\"",
                            "data-x=\"steps\"", "over 3 seeds"})
    EXPECT_NE(page.find(words), std::string::npos) << words;
}

std::string refusal(const std::string& text) {
  try {
    Recipe::parse("mine.toml", text, {&system()}).run("/nowhere/run");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_F(RlRecipes, RefuseWhatMakesNoSenseAndLeaveNoFolder) {
  EXPECT_NE(refusal("[agent]\ntype = \"dqn\"\n[environment]\ntype = \"cube3\"\n").find("learned by values"),
            std::string::npos);
  EXPECT_NE(refusal("[agent]\ntype = \"value\"\n[environment]\ntype = \"cartpole\"\n").find("no puzzle"),
            std::string::npos);
  EXPECT_NE(refusal("[agent]\ntype = \"dqn\"\nn_steps = 3\n[environment]\ntype = \"cartpole\"\n").find("n_step"),
            std::string::npos);
  EXPECT_NE(refusal("[agent]\ntype = \"dqn\"\ncapacity = 8\n[environment]\ntype = \"cartpole\"\n").find("capacity"),
            std::string::npos);
  EXPECT_NE(
      refusal("[agent]\ntype = \"dqn\"\n[environment]\ntype = \"cartpole\"\n[model]\nlayers = []\n").find("model"),
      std::string::npos);
  EXPECT_NE(refusal("[agent]\ntype = \"dqn\"\n[environment]\ntype = \"cube2\"\nencoding = \"canonical\"\n")
                .find("not which move is best"),
            std::string::npos);
  EXPECT_NE(refusal("[agent]\ntype = \"dqn\"\n[environment]\ntype = \"cube2\"\nencoding = \"x\"\n").find("encoding"),
            std::string::npos);
  const std::string dqn = "[agent]\ntype = \"dqn\"\n", cartpole = "[environment]\ntype = \"cartpole\"\n",
                    cube = "[environment]\ntype = \"cube2\"\n";
  EXPECT_NE(refusal(dqn + "shaping = 1.0\n" + cartpole).find("potential"), std::string::npos);
  EXPECT_NE(refusal(dqn + "bonus = 1.0\n" + cartpole).find("counted"), std::string::npos);
  EXPECT_NE(refusal(dqn + "pretrain = 5\n" + cartpole).find("is of cube2"), std::string::npos);
  EXPECT_NE(refusal(dqn + "labels = \"x\"\n" + cube).find("\"walks\" or \"exact\""), std::string::npos);
  EXPECT_NE(refusal(dqn + cube + "[network]\nnet = \"x\"\n").find("\"layers\" or \"attention\""), std::string::npos);
  EXPECT_NE(refusal(dqn + cartpole + "[network]\nnet = \"attention\"\n").find("does not say which"), std::string::npos);
  EXPECT_NE(refusal(dqn + cube + "[network]\nnet = \"attention\"\nheads = 7\n").find("divide"), std::string::npos);
  EXPECT_FALSE(fs::exists("/nowhere"));
}

TEST_F(RlRecipes, PeriodsShorterThanAStepLeaveTheirLinesWhenGoneOnWith) {
  const auto recipe = [] {
    return short_recipe("cartpole").set("agent.environments=16").set("train.steps=800").set("train.periods=200");
  };
  recipe().run(path("whole"));
  Stopper first(20);
  recipe().run(path("parts"), first, {.cancel = &first.cancel});
  recipe::Progress silent;
  const recipe::Run run = recipe::resume_run(path("parts"), {}, silent, {}, {&system()});
  EXPECT_LT(run.history.size(), 200u) << "some are skipped";
  const auto lines = [&](const char* name) {
    const std::string text = io::read_file(path(name) + "/metrics.csv");
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines("parts"), lines("whole"));
  EXPECT_EQ(lines("parts"), std::ssize(run.history) + 1);
}

TEST_F(RlRecipes, ALossThatIsNoNumberEndsTheRun) {
  Stopper stop(2);
  short_recipe("cartpole").set("agent.learning_starts=64").run(path("run"), stop, {.cancel = &stop.cancel});
  const std::string file = path("run") + "/checkpoint.safetensors";
  const io::SafeTensors saved = io::load_safetensors(file);
  for (const NamedTensor& t : saved.tensors)
    if (t.name == "online") *t.tensor.data<float>() = NAN;  // as too high a rate would leave it
  io::save_safetensors(file, saved.tensors, saved.metadata);
  const std::string before = io::read_file(file);
  recipe::Progress silent;
  try {
    recipe::resume_run(path("run"), {}, silent, {}, {&system()});
    FAIL() << "it went on";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kNumeric) << e.what();
    EXPECT_NE(std::string(e.what()).find("lower the learning rate"), std::string::npos) << e.what();
  }
  EXPECT_EQ(io::read_file(file), before) << "what cannot go on is not saved";
  EXPECT_FALSE(fs::exists(path("run") + "/model.safetensors"));
}

TEST_F(RlRecipes, AGoneOnRunKeepsItsSettings) {
  Stopper stop(1);
  short_recipe("cartpole").run(path("run"), stop, {.cancel = &stop.cancel});
  const std::string set = "agent.lr=0.5";
  recipe::Progress silent;
  EXPECT_THROW(recipe::resume_run(path("run"), std::span(&set, 1), silent, {}, {&system()}), Error);
}

}  // namespace
}  // namespace ingot::rl
