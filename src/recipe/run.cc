// A run: a job from its description to its folder.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/job.h"
#include "ingot/recipe/page.h"
#include "ingot/recipe/recipe.h"
#include "ingot/recipe/run_folder.h"
#include "ingot/recipe/sampling.h"
#include "ingot/recipe/terminal.h"
#include "recipe/make_layers.h"
#include "recipe/own_runner.h"
#include "recipe/run_report.h"

namespace ingot::recipe {
namespace {

class OneRun {
 public:
  OneRun(Job& job, RunFolder& folder, Progress& progress, const RunOptions& options)
      : job_(job),
        folder_(folder),
        progress_(progress),
        options_(options),
        names_(job.metric_names()),
        kind_(job.kind != nullptr ? job.kind->start(job, folder, progress) : std::make_unique<KindOfRun>()),
        checkpoint_seconds_(job.description.settings("output").number("checkpoint_seconds")) {}

  Outcome operator()(bool resumed) {
    begin(resumed);
    job_.trainer->on_batch = [this](const nn::BatchResult& b) { after_batch(b); };
    job_.trainer->on_test_batch = [this] { stop_if_cancelled(); };
    job_.trainer->on_epoch = [this](const nn::EpochResult& e) { after_epoch(e); };
    progress_.training(true);
    const bool finished = fit();
    progress_.training(false);
    return finished ? finish() : cancelled();
  }
  /// After kAgain.
  Description next() const { return kind_->next(); }

  RunInfo info() const { return {job_.description.settings("train").integer("epochs"), names_, kind_->test_name()}; }

 private:
  void begin(bool resumed) {
    const Settings train = job_.description.settings("train");
    progress_.begin(info());
    progress_.say(bold(printable(job_.description.name)) + "  " + printable(job_.data.about));
    progress_.say(fmt::format("{} parameters, folder {}", grouped(job_.model->parameter_count()), path()));
    if (!job_.batch_reason.empty())
      progress_.say(fmt::format("batch {}: {}", train.integer("batch"), job_.batch_reason));
    Value event = record({{"event", "begin"}, {"folder", folder_.path()}, {"resumed", resumed}});
    event.set("batch", train.integer("batch"));
    if (!job_.batch_reason.empty()) event.set("batch_reason", job_.batch_reason);
    kind_->begin_event(event);
    progress_.event(event);
    if (resumed && folder_.has("checkpoint.safetensors")) {
      const io::SafeTensors file = io::load_safetensors(folder_.file("checkpoint.safetensors"));
      job_.trainer->load_state({file.tensors, file.metadata});
      kind_->restore(file.metadata);
      if (train.integer("epochs") < epochs_done())
        train.fail("epochs", fmt::format("the run has trained {} epochs already", epochs_done()));
      progress_.say(fmt::format("going on after epoch {}, update {}", epochs_done(), job_.trainer->updates().steps()));
    }
    folder_.keep_metrics(epochs_done());
    io::write_file(folder_.file("config.toml"), job_.description.toml());
    saved_ = Clock::now();
    if (job_.description.settings("output").flag("tensorboard"))
      events_ = std::make_unique<io::EventFile>(folder_.file("events.out.tfevents.1.ingot"));
  }

  bool fit() {
    try {
      return job_.trainer->fit(*job_.train, job_.test.get());
    } catch (const Error& e) {
      progress_.training(false);
      if (!folder_.has("checkpoint.safetensors")) throw;
      const bool diverged = e.kind() == ErrorKind::kNumeric;
      throw Error(e.kind(), fmt::format("{}\n  To go on from the last checkpoint: {}{}", e.what(), resume_command(),
                                        diverged ? " --set optimizer.lr=… (a smaller one)" : ""));
    }
  }

  void stop_if_cancelled() {
    if (options_.cancel != nullptr && *options_.cancel) job_.trainer->stop();
  }

  void after_batch(const nn::BatchResult& b) {
    progress_.batch(b);
    if (since_saved() >= checkpoint_seconds_) save();
    stop_if_cancelled();
  }

  // Metrics first and the checkpoint last: whatever is killed in between is done again, and comes out the same. Short
  // epochs share a checkpoint: what a second of work is worth, syncing files should not cost.
  void after_epoch(const nn::EpochResult& e) {
    folder_.add_metrics(e, names_);
    if (events_ != nullptr) add_events(e);
    best_is_new_ |= e.best;
    if (job_.data.task.rows > 0) reset_state(*job_.model);  // the next epoch begins at the beginning of a text
    if (since_saved() >= std::min(1.0, checkpoint_seconds_)) save();
    progress_.epoch(e);
    show_text(e);
    stop_if_cancelled();
  }

  void add_events(const nn::EpochResult& e) {
    const auto add = [&](const std::string& part, const nn::Scores& scores) {
      events_->scalar("loss/" + part, scores.loss, e.epoch);
      for (size_t i = 0; i < names_.size(); i++) events_->scalar(names_[i] + "/" + part, scores.metrics[i], e.epoch);
    };
    add("train", e.train);
    if (e.tested) add("test", e.test);
    events_->scalar("lr", e.lr, e.epoch);
  }

  // A language model shows what it can write by now.
  void show_text(const nn::EpochResult& e) {
    const Settings output = job_.description.settings("output");
    const Task& task = job_.data.task;
    if (task.vocabulary.empty() || output.integer("sample_length") == 0) return;
    const SamplingOptions options{.prompt = job_.sample_prompt(),
                                  .length = output.integer("sample_length"),
                                  .temperature = output.number("temperature"),
                                  .seed = e.epoch};
    const std::string text = sample_text(
        task, task.input[0], [&](const Tensor& x) { return job_.trainer->predict(x); }, options);
    texts_.push_back({fmt::format("epoch {}, loss {:.3f}", e.epoch, e.tested ? e.test.loss : e.train.loss), text});
    progress_.say(dim(printable_lines(options.prompt + text)) + "\n");
  }

  double since_saved() const { return std::chrono::duration<double>(Clock::now() - saved_).count(); }

  void save() {
    if (best_is_new_)
      io::save_safetensors(folder_.file("best.safetensors"), job_.trainer->best_weights(), job_.metadata());
    best_is_new_ = false;
    nn::TrainingState state = job_.trainer->state();
    for (const auto& [key, value] : job_.metadata()) state.values[key] = value;
    kind_->save(state.values);
    io::save_safetensors(folder_.file("checkpoint.safetensors"), state.tensors, state.values);
    saved_ = Clock::now();
  }

  int64_t epochs_done() const { return static_cast<int64_t>(job_.trainer->history().size()); }
  std::string resume_command() const { return fmt::format("ingot train {} --resume", path()); }
  // As a terminal may see them.
  std::string path() const { return printable(folder_.path()); }
  std::string shown(const char* name) const { return printable(folder_.file(name)); }

  Outcome cancelled() {
    save();
    progress_.say(fmt::format("Stopped after update {}; everything is saved. To go on:\n  {}",
                              job_.trainer->updates().steps(), resume_command()));
    progress_.event(record({{"event", "interrupted"}, {"folder", folder_.path()}, {"resume", resume_command()}}));
    return Outcome::kCancelled;
  }

  Outcome finish() {
    save();
    job_.trainer->restore_best();
    const Outcome outcome = kind_->finish();
    if (outcome == Outcome::kAgain) return outcome;
    io::save_safetensors(folder_.file("model.safetensors"), job_.trainer->weights(), job_.metadata());
    folder_.remove("best.safetensors");  // the model has them now
    const bool report = job_.description.settings("output").flag("report");
    if (report)
      io::write_file(folder_.file("report.html"), make_report(job_, options_.command, texts_, kind_.get()).html());
    const nn::EpochResult& best = *job_.trainer->best_epoch();
    say_end(best, report);
    Value event = record({{"event", "end"}, {"folder", folder_.path()}, {"epochs", epochs_done()}});
    event.set("best_epoch", best.epoch);
    kind_->end_event(event);
    progress_.event(event);
    return outcome;
  }

  void say_end(const nn::EpochResult& best, bool report) {
    progress_.say("");
    const nn::Scores& scores = best.tested ? best.test : best.train;
    const std::string reached =
        names_.empty() ? fmt::format("loss {:.5f}", scores.loss) : metric_text(names_[0], scores.metrics[0]);
    progress_.say(best.tested ? fmt::format("best    {} after epoch {}", bold(reached), best.epoch)
                              : fmt::format("last    {} while training epoch {}", bold(reached), best.epoch));
    progress_.say(fmt::format("model   {} (the weights after epoch {})", shown("model.safetensors"), best.epoch));
    kind_->say_end();
    if (report) progress_.say(fmt::format("report  {}", shown("report.html")));
  }

  using Clock = std::chrono::steady_clock;
  Job& job_;
  RunFolder& folder_;
  Progress& progress_;
  const RunOptions& options_;
  std::vector<std::string> names_;
  std::unique_ptr<KindOfRun> kind_;
  double checkpoint_seconds_;
  Clock::time_point saved_;
  bool best_is_new_ = false;  // and not yet in its file
  std::vector<ReportText> texts_;
  std::unique_ptr<io::EventFile> events_;
};

// Runs once, or, where a kind of job wants it, until it is done.
Run run_job(std::unique_ptr<Job> job, RunFolder folder, Progress& progress, const RunOptions& options, bool resumed) {
  for (;; resumed = false) {
    OneRun run(*job, folder, progress, options);
    const Outcome outcome = run(resumed);
    if (outcome != Outcome::kAgain) return {outcome, folder.path(), job->trainer->history(), NAN, run.info()};
    folder.forget_checkpoint();  // before config.toml says that the next one has begun
    auto next = std::make_unique<Job>(run.next());
    job = std::move(next);
  }
}

}  // namespace

Description KindOfRun::next() const { throw Error(ErrorKind::kInternal, "recipe: this kind of job has no next run"); }

const nn::EpochResult* Run::best() const { return nn::best_epoch(history); }

double Run::score() const {
  if (!std::isnan(exam) || best() == nullptr) return exam;
  const nn::Scores& s = best()->tested ? best()->test : best()->train;
  return s.metrics.empty() ? s.loss : s.metrics[0];
}

Recipe Recipe::parse(const std::string& name, std::string text, Systems systems) {
  Recipe out;
  out.name_ = name, out.text_ = std::move(text);
  out.catalogue_ = std::make_shared<Catalogue>(std::move(systems));
  return out;
}

Recipe Recipe::load(const std::string& recipe_or_file, Systems systems) {
  Recipe out;
  out.name_ = recipe_or_file;
  out.catalogue_ = std::make_shared<Catalogue>(std::move(systems));
  out.text_ = description_text(out.name_, *out.catalogue_);
  return out;
}

Recipe& Recipe::set(const std::string& assignment) {
  sets_.push_back(assignment);
  return *this;
}

Description Recipe::description() const { return parse_description(name_, text_, sets_, catalogue_); }

Run Recipe::run(const std::string& folder, Progress& progress, const RunOptions& options) const {
  if (const Description d = description(); d.catalogue->own_kind_of(d.root) != nullptr)
    return run_own(d, folder, progress, options);
  auto job = std::make_unique<Job>(description());  // before there is a folder: what is refused leaves none
  RunFolder made = RunFolder::create(folder, job->description.name);
  return run_job(std::move(job), std::move(made), progress, options, false);
}

Run Recipe::run(const std::string& folder) const {
  Progress silent;
  return run(folder, silent);
}

std::vector<std::string> Recipe::names(const Systems& systems) { return Catalogue(systems).recipe_names(); }

Run resume_run(const std::string& folder, std::span<const std::string> sets, Progress& progress,
               const RunOptions& options, Systems systems) {
  RunFolder existing = RunFolder::existing(folder);
  const auto catalogue = std::make_shared<Catalogue>(std::move(systems));
  const std::string config = existing.file("config.toml");
  Description description = load_description(config, sets, catalogue);
  // What the run began with is what its checkpoint says: config.toml is there to be edited.
  const std::string checkpoint = existing.file("checkpoint.safetensors");
  if (is_file(checkpoint)) {
    const io::Metadata said = io::safetensors_info(checkpoint).metadata;
    if (const auto text = said.find("ingot.description"); text != said.end())
      description.check_changes(parse_trained(checkpoint, text->second, {}, catalogue));
  }
  description.check_changes(load_description(config, {}, catalogue));
  if (catalogue->own_kind_of(description.root) != nullptr)
    return resume_own(description, std::move(existing), progress, options);
  return run_job(std::make_unique<Job>(std::move(description)), std::move(existing), progress, options, true);
}

}  // namespace ingot::recipe
