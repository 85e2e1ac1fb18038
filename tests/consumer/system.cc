// A stranger's system: an op, a layer on it, a kind of job and a command of its own, handed over to recipes.
#include <ingot/ingot.h>
#include <ingot/ops/own_op.h>
#include <ingot/recipe.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace ingot;
using namespace ingot::recipe;

// The op: x · volume, bent where it gets too loud.
struct Amplify {
  static constexpr int kInputs = 2;
  template <class T>
  static T run(T x, T volume, const T*) {
    return x * volume / (1 + std::abs(x * volume));
  }
};
const Op kAmplify = own_elementwise<Amplify>({.name = "amplify",
                                              .signature = "amplify(x, volume)",
                                              .doc = "x · volume / (1 + |x · volume|).",
                                              .weight = 5,
                                              .gradient = [](Gradient& g) {
                                                const Tensor bent = square(abs(g.in(0) * g.in(1)) + 1.0),
                                                             slope = g.dy() / bent;
                                                g.set(0, slope * g.in(1));
                                                g.set(1, slope * g.in(0));
                                              }});
const Op* const kOps[] = {&kAmplify};
Tensor amplify(const Tensor& x, const Tensor& volume) { return call(kAmplify, {x, volume}); }

// The layer: the op with a volume that is learned.
struct Louder : nn::Layer {
  explicit Louder(double start) : volume(full({1}, start)) {}
  void parts(nn::Parts& p) override { p("volume", volume); }
  Tensor forward(const Tensor& x) override { return amplify(x, volume); }
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

// The op is like any other: right, with a gradient, fused with its neighbours, and found by its name in a saved plan.
bool op_works() {
  const std::vector<float> x{-2, 0.5f, 3};
  const auto bent = [](double t, double volume) { return t * volume / (1 + std::abs(t * volume)); };
  Plan plan = compile(
      [](const Tensor& t, const Tensor& volume) {
        const Tensor y = amplify(t + 1.0, volume) * 3.0;
        return std::vector<Tensor>{y, gradients(sum(y), {volume})[0]};
      },
      {{3}, {1}});
  Plan again = Plan::from_bytes(plan.to_bytes());
  const auto results = again.run(Tensor::from(x), full({1}, 2));
  double slope = 0;
  for (size_t i = 0; i < x.size(); i++) {
    if (std::abs(results[0].to_vector<float>()[i] - 3 * bent(x[i] + 1, 2)) > 1e-5) return false;
    slope += 3 * (bent(x[i] + 1, 2.001) - bent(x[i] + 1, 1.999)) / 0.002;
  }
  const Plan alone = compile([](const Tensor& t) { return amplify(t + 1.0, full({1}, 2)) * 3.0; }, {{3}});
  return std::abs(results[1].item() - slope) < 1e-3 && alone.step_count() == 1 && find_op("amplify") == &kAmplify;
}

}  // namespace

int main(int, char** arguments) {
  const std::string folder = std::string(arguments[0]) + ".run";
  std::filesystem::remove_all(folder);
  Ear ear;
  const Run run = Recipe::load("loud", {&kSystem}).set("output.report=false").run(folder, ear);
  if (run.outcome != Outcome::kDone || !ear.said || !ear.loud || run.best()->test.metrics[0] < 0.5) return 1;
  auto model = load_model(folder, {&kSystem});
  if (model.predict(full({1, 8, 8}, 0)).probabilities.size() != 10) return 2;
  try {
    load_model(folder);
    return 3;
  } catch (const Error& error) {
    std::printf("refused without the system: %s\n", error.what());
  }
  if (!op_works()) return 4;
  return kSystem.commands[0]().run();
}
