// `ingot train`.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <memory>

#include "cli/commands.h"
#include "cli/progress.h"
#include "ingot/base/error.h"
#include "ingot/recipe/recipe.h"
#include "ingot/recipe/run_folder.h"
#include "ingot/recipe/seeds.h"
#include "ingot/recipe/sweep.h"

namespace ingot::cli {
namespace {

struct TrainOptions {
  std::string what;               // a recipe, a file, or the folder of a run
  std::vector<std::string> sets;  // "train.epochs=3"
  std::string out;                // the run's folder; empty: runs/NAME
  bool resume = false, json = false, quiet = false;
  int64_t seeds = 1;
  std::vector<std::string> sweeps;  // "optimizer.lr=0.001,0.0003"
};

// The first signal lets the batch under way end and the state be saved. Whoever ends a session often sends several, so
// only a second Ctrl-C of a person who does not want to wait ends the program at once; the last checkpoint is there.
std::atomic<bool> cancelled = false;
extern "C" void on_signal(int signal) {
  if (cancelled.exchange(true) && signal == SIGINT) _exit(kCancelled);
}
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// While it trains, Ctrl-C is a wish; what comes before and after can be had again, and just ends.
class TrainProgress : public ProgressBar {
 public:
  using ProgressBar::ProgressBar;
  ~TrainProgress() override { training(false); }
  void training(bool now) override {
    ProgressBar::training(now);
    for (const int signal : kSignals) {
      const auto before = std::signal(signal, now ? on_signal : SIG_DFL);
      if (signal == SIGHUP && before == SIG_IGN) std::signal(signal, SIG_IGN);  // nohup
    }
  }
};

// The folder that `train WHAT --resume` goes on with.
std::string folder_to_resume(const TrainOptions& o, const Systems& systems) {
  if (recipe::is_run(o.what)) return o.what;
  const std::string name = Recipe::load(o.what, systems).description().name;
  std::string folder = o.out.empty() ? recipe::last_run(name) : o.out;
  if (!recipe::is_run(folder)) return folder;
  const std::string there = Recipe::load(folder + "/config.toml", systems).description().name;
  if (there != name)
    throw Error(fmt::format(
        "train: the run in \"{0}\" is one of \"{1}\", not of \"{2}\" — `ingot train {0} --resume` goes on with it",
        folder, there, name));
  return folder;
}

int outcome_code(recipe::Outcome outcome) {
  return outcome == recipe::Outcome::kDone ? 0 : outcome == recipe::Outcome::kFailed ? kNo : kCancelled;
}

// The same with seed after seed, each in a folder of its own; and what they say together.
int train_seeds(const TrainOptions& o, const std::string& typed, const Systems& systems) {
  if (o.resume) throw Error("train: --seeds begins new runs — go on with one of them by its folder, without --seeds");
  TrainProgress progress(o.quiet ? Show::kQuiet : o.json ? Show::kJson : Show::kAuto);
  Recipe what = Recipe::load(o.what, systems);
  for (const std::string& set : o.sets) what.set(set);
  const recipe::SeedsRun all =
      recipe::run_seeds(what, o.seeds, o.out, progress, {.cancel = &cancelled, .command = typed});
  if (all.outcome == recipe::Outcome::kCancelled) return kCancelled;
  const std::vector<double> scores = all.scores();
  const recipe::Interval interval = recipe::bootstrap_interval(scores);
  std::string each;
  for (const double score : scores) each += fmt::format(" {:.4g}", score);
  progress.say(
      fmt::format("\n{} seeds from {}:{}, interquartile mean {:.4g}, 95 % interval {:.4g} to {:.4g}\nreport  {}",
                  o.seeds, all.first_seed, each, recipe::interquartile_mean(scores), interval.low, interval.high,
                  all.folder + "/report.html"));
  return 0;
}

// The same with every combination of values.
int train_sweep(const TrainOptions& o, const std::string& typed, const Systems& systems) {
  if (o.resume) throw Error("train: --sweep begins new runs — go on with one of them by its folder, without --sweep");
  TrainProgress progress(o.quiet ? Show::kQuiet : o.json ? Show::kJson : Show::kAuto);
  Recipe what = Recipe::load(o.what, systems);
  for (const std::string& set : o.sets) what.set(set);
  std::vector<recipe::SweepAxis> axes;
  for (const std::string& sweep : o.sweeps) axes.push_back(recipe::sweep_axis(sweep));
  const recipe::Sweep all =
      recipe::run_sweep(what, axes, o.seeds, o.out, progress, {.cancel = &cancelled, .command = typed});
  if (!all.rows.empty()) progress.say(fmt::format("\n{}report  {}/report.html", all.table(), all.folder));
  return outcome_code(all.outcome);
}

int train(const TrainOptions& o, const std::string& typed, const Systems& systems) {
  if (!o.sweeps.empty()) return train_sweep(o, typed, systems);
  if (o.seeds > 1) return train_seeds(o, typed, systems);
  TrainProgress progress(o.quiet ? Show::kQuiet : o.json ? Show::kJson : Show::kAuto);
  const recipe::RunOptions options{.cancel = &cancelled, .command = typed};
  recipe::Run run;
  if (o.resume) {
    run = recipe::resume_run(folder_to_resume(o, systems), o.sets, progress, options, systems);
  } else {
    if (recipe::is_run(o.what))
      throw Error(fmt::format(
          "train: \"{0}\" is the folder of a run — `ingot train {0} --resume` goes on with it, `ingot train "
          "{0}/config.toml` repeats it",
          o.what));
    Recipe what = Recipe::load(o.what, systems);
    for (const std::string& set : o.sets) what.set(set);
    run = what.run(o.out, progress, options);
  }
  return outcome_code(run.outcome);
}

}  // namespace

Command train_command(const Systems& systems, const std::string& typed) {
  auto o = std::make_shared<TrainOptions>();
  const auto key = [o](const char* option, const char* path, const char* type, const char* about) -> recipe::Option {
    const std::function<void(const std::string&)> set = [o, path](const std::string& value) {
      o->sets.push_back(fmt::format("{}={}", path, value));
    };
    return {option, set, about, type};
  };
  Command c{.name = "train", .about = "Train a recipe, or what a TOML file describes"};
  c.options = {
      {.name = "WHAT",
       .target = &o->what,
       .about = "a recipe, a file.toml, or the folder of a run to go on with",
       .required = true},
      recipe::set_option(o->sets, "change a key of the description: --set optimizer.lr=0.01"),
      key("--epochs", "train.epochs", "N", "passes over the data"),
      key("--batch", "train.batch", "N|auto", "samples per step; auto: as many as suit this machine"),
      key("--seed", "train.seed", "N", "of all that is random"),
      {.name = "--seeds",
       .target = &o->seeds,
       .about = "so many runs, seed after seed: the interquartile mean of their results, and its interval",
       .type = "N",
       .least = 1,
       .most = 1000},
      {.name = "--sweep",
       .target = &o->sweeps,
       .about = "a key and values to try, with every combination of several: --sweep optimizer.lr=0.001,0.0003",
       .type = "KEY=A,B"}};
  for (const recipe::System* system : systems)
    for (const recipe::TrainOption& t : system->train_options)
      c.options.push_back(key(t.option, t.key, t.type, t.about));
  c.options.insert(c.options.end(),
                   {key("--threads", "train.threads", "N", "worker threads (default: INGOT_THREADS, or all cores)"),
                    {"--out", &o->out, "the run's folder (default: runs/NAME, or runs/NAME-2, …)", "DIR"},
                    {"--resume", &o->resume, "go on with a run that was interrupted, to the bit as if it had not been"},
                    {"--tensorboard", std::function<void()>([o] { o->sets.emplace_back("output.tensorboard=true"); }),
                     "write events for TensorBoard, too"},
                    {"--json", &o->json, "print one line of JSON per epoch and nothing else"},
                    {"--quiet", &o->quiet, "print nothing"}});
  c.run = [o, systems, typed] { return train(*o, typed, systems); };
  for (const std::string& name : Recipe::names(systems)) c.words += (c.words.empty() ? "" : " ") + name;
  c.footer = [systems] {
    return recipes_help(systems) +
           "\nFor instance:\n"
           "  ingot train digits                          a recipe; `ingot recipes` has more on them\n"
           "  ingot train mnist --epochs 3 --seed 7\n"
           "  ingot train mine.toml --set optimizer.lr=0.01 --set model.layers.0.out=64\n"
           "  ingot train runs/mnist --resume             goes on where Ctrl-C, or a crash, stopped it\n\n" +
           exit_codes_help() + "Types of layers, losses and optimisers: `ingot recipes --keys`, docs/toml.md.";
  };
  return c;
}

}  // namespace ingot::cli
