// A stranger's system: an op, a layer, a kind of job and a command of its own, handed over to recipes.
#include <ingot/ingot.h>
#include <ingot/ops/own_op.h>
#include <ingot/recipe.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace {

using namespace ingot;
using namespace ingot::recipe;

// The op: loud, but not too loud.
struct Limit {
  static constexpr int kInputs = 1;
  template <class T>
  static T run(T x, const T*) {
    return x / (1 + std::abs(x) / 16);
  }
};
const Op kLimit = own_elementwise<Limit>(
    {.name = "limit", .signature = "limit(x)", .doc = "x / (1 + |x| / 16).", .gradient = [](Gradient& g) {
       g.set(0, divide(g.dy(), square(add(multiply(abs(g.in()), 1.0 / 16), 1.0))));
     }});
const Op* const kOps[] = {&kLimit};

// The layer: x multiplied by a number that is learned.
struct Louder : nn::Layer {
  explicit Louder(double start) : volume(full({1}, start)) {}
  void parts(nn::Parts& p) override { p("volume", volume); }
  Tensor forward(const Tensor& x) override { return call(kLimit, {x * volume}); }
  Tensor volume;
};

const LayerType kLayers[] = {
    {{"louder", "multiplies by what it learns", {{"start", Kind::kNumber, "1.0", "what it begins with", 0, 100}}},
     [](const LayerRequest& r) -> nn::LayerPtr { return std::make_shared<Louder>(r.s.number("start")); }}};

// The kind of job: it wants to have become louder, and says so.
class LouderRun : public KindOfRun {
 public:
  LouderRun(Job& job, Progress& progress) : job_(job), progress_(progress) {}
  Outcome finish() override {
    progress_.say("the volume is known");
    return job_.trainer->history().empty() ? Outcome::kFailed : Outcome::kDone;
  }
  void end_event(Value& event) const override { event.set("loud", true); }

 private:
  Job& job_;
  Progress& progress_;
};

const JobKind kJobs[] = {
    {"loud", "jobs with a louder layer",
     [](const Description& d) { return Settings(d.settings("model").value("layers").list[0]).type() == "louder"; },
     nullptr, nullptr,
     [](Job& job, RunFolder&, Progress& progress) -> std::unique_ptr<KindOfRun> {
       return std::make_unique<LouderRun>(job, progress);
     }}};

Command shout_command() {
  auto word = std::make_shared<std::string>("hello");
  return {.name = "shout", .about = "Says it louder", .options = {{"WORD", word.get(), "what to say"}}, .run = [word] {
            return std::printf("%s!\n", word->c_str()) > 0 ? 0 : 1;
          }};
}
constexpr Command (*kCommands[])() = {shout_command};

const EmbeddedFile kFiles[] = {{"loud.toml", R"toml(
about = "digits, louder"
[data]
type = "digits"
[model]
layers = [{ type = "louder", start = 2.0 }, { type = "flatten" }, { type = "linear" }]
[train]
epochs = 2
)toml"}};

const System kSystem{.name = "loud",
                     .about = "a stranger's",
                     .ops = kOps,
                     .layers = kLayers,
                     .jobs = kJobs,
                     .commands = kCommands,
                     .files = kFiles};

// What the run tells is heard.
struct Ear : Progress {
  void say(const std::string& text) override { said |= text == "the volume is known"; }
  void event(const Value& event) override { loud |= event.find("loud") != nullptr; }
  bool said = false, loud = false;
};

}  // namespace

int main(int, char** arguments) {
  const std::string folder = std::string(arguments[0]) + ".run";
  std::filesystem::remove_all(folder);
  Ear ear;
  const Run run = Recipe::load("loud", {&kSystem}).set("output.report=false").run(folder, ear);
  if (run.outcome != Outcome::kDone || !ear.said || !ear.loud || run.best()->test.metrics[0] < 0.5) return 1;
  if (find_op("limit") != &kLimit) return 4;
  auto model = load_model(folder, {&kSystem});
  if (model.predict(full({1, 8, 8}, 0)).probabilities.size() != 10) return 2;
  try {
    load_model(folder);
    return 3;
  } catch (const Error& error) {
    std::printf("refused without the system: %s\n", error.what());
  }
  return kSystem.commands[0]().run();
}
