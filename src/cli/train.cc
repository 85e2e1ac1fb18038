// `ingot train`: a job from its description to its folder.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/automaton.h"
#include "cli/commands.h"
#include "cli/job.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "cli/run_folder.h"
#include "cli/run_report.h"
#include "cli/sampling.h"
#include "cli/terminal.h"
#include "ingot/error.h"
#include "ingot/functions.h"
#include "ingot/ops.h"

namespace ingot::cli {
namespace {

// The first Ctrl-C lets the batch under way end and the state be saved; the second one ends the program at once.
std::atomic<nn::Trainer*> signalled_trainer = nullptr;
extern "C" void on_signal(int) {
  nn::Trainer* trainer = signalled_trainer;
  if (trainer == nullptr || trainer->stopping()) _exit(130);
  trainer->stop();
}

class StopOnSignal {
 public:
  explicit StopOnSignal(nn::Trainer& trainer) {
    signalled_trainer = &trainer;
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
  }
  ~StopOnSignal() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    signalled_trainer = nullptr;
  }
};

// How a run can end, as the program's exit code; kAgain never becomes one.
constexpr int kDone = 0, kExamFailed = 3, kInterrupted = 130, kAgain = -1;

constexpr const char* kExams = "exams";  // in a checkpoint: how many were taken

class Run {
 public:
  Run(Job& job, RunFolder folder, const TrainOptions& options)
      : job_(job),
        folder_(std::move(folder)),
        options_(options),
        names_(job.metric_names()),
        progress_(options.quiet  ? Show::kQuiet
                  : options.json ? Show::kJson
                                 : Show::kAuto,
                  job.description.settings("train").integer("epochs"), names_,
                  job.data.task.visible > 0 ? "hard" : "test"),
        checkpoint_seconds_(job.description.settings("output").number("checkpoint_seconds")) {}

  int operator()(bool resumed) {
    begin(resumed);
    bool finished = false;
    {
      const StopOnSignal stop(*job_.trainer);
      job_.trainer->on_batch = [this](const nn::BatchResult& b) { after_batch(b); };
      job_.trainer->on_epoch = [this](const nn::EpochResult& e) { after_epoch(e); };
      finished = fit();
    }
    progress_.clear();
    if (!finished) return interrupted();
    return finish();
  }

 private:
  void begin(bool resumed) {
    progress_.say(bold(printable(job_.description.name)) + "  " + printable(job_.data.about));
    progress_.say(fmt::format("{} parameters, folder {}", grouped(job_.model->parameter_count()), folder_.path()));
    nlohmann::ordered_json event = {{"event", "begin"}, {"folder", folder_.path()}, {"resumed", resumed}};
    if (const Settings s = job_.description.settings("train"); s.integer("restarts") > 0)
      event["attempt"] = s.integer("attempt");
    progress_.event(event.dump());
    if (resumed && folder_.has("checkpoint.safetensors")) {
      const io::SafeTensors file = io::load_safetensors(folder_.file("checkpoint.safetensors"));
      job_.trainer->load_state({file.tensors, file.metadata});
      if (const auto exams = file.metadata.find(kExams); exams != file.metadata.end())
        exams_taken_ = std::strtoll(exams->second.c_str(), nullptr, 10);
      if (const Settings s = job_.description.settings("train"); s.integer("epochs") < epochs_done())
        s.fail("epochs", fmt::format("the run has trained {} epochs already", epochs_done()));
      progress_.say(fmt::format("going on after epoch {}, update {}", epochs_done(), job_.trainer->updates().steps()));
    }
    const std::string attempts = folder_.attempts();
    exams_taken_ = std::max<int64_t>(exams_taken_, std::count(attempts.begin(), attempts.end(), '\n'));
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
      progress_.clear();
      if (!folder_.has("checkpoint.safetensors")) throw;
      const std::string what = e.what();
      const bool diverged = what.find("the loss is") != std::string::npos;
      throw Error(fmt::format("{}\n  To go on from the last checkpoint: {}{}", what, resume_command(),
                              diverged ? " --set optimizer.lr=… (a smaller one)" : ""));
    }
  }

  void after_batch(const nn::BatchResult& b) {
    progress_.batch(b);
    if (since_saved() >= checkpoint_seconds_) save();
  }

  // Metrics first and the checkpoint last: whatever is killed in between is done again, and comes out the same. Short
  // epochs share a checkpoint: what a second of work is worth, syncing files should not cost.
  void after_epoch(const nn::EpochResult& e) {
    folder_.add_metrics(e, names_);
    if (events_ != nullptr) add_events(e);
    if (e.best) keep_best();
    if (job_.data.task.rows > 0) reset_state(*job_.model);  // the next epoch begins at the beginning of a text
    if (since_saved() >= std::min(1.0, checkpoint_seconds_)) save();
    progress_.epoch(e);
    show_text(e);
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

  void keep_best() {
    const std::vector<NamedTensor> weights = job_.trainer->weights();
    if (best_.empty())
      for (const NamedTensor& w : weights) best_.push_back({w.name, clone(w.tensor)});
    else
      for (size_t i = 0; i < weights.size(); i++) copy_into(best_[i].tensor, weights[i].tensor);
    best_is_new_ = true;
  }

  void save() {
    if (best_is_new_) io::save_safetensors(folder_.file("best.safetensors"), best_, job_.metadata());
    best_is_new_ = false;
    nn::TrainingState state = job_.trainer->state();
    for (const auto& [key, value] : job_.metadata()) state.values[key] = value;
    state.values[kExams] = std::to_string(exams_taken_);
    io::save_safetensors(folder_.file("checkpoint.safetensors"), state.tensors, state.values);
    saved_ = Clock::now();
  }

  const nn::EpochResult* best_epoch() const {
    const nn::EpochResult* best = nullptr;
    for (const nn::EpochResult& e : job_.trainer->history())
      if (e.best) best = &e;
    return best;
  }
  int64_t epochs_done() const { return static_cast<int64_t>(job_.trainer->history().size()); }
  std::string resume_command() const { return fmt::format("ingot train {} --resume", folder_.path()); }

  int interrupted() {
    save();
    progress_.say(fmt::format("Stopped after update {}; everything is saved. To go on:\n  {}",
                              job_.trainer->updates().steps(), resume_command()));
    nlohmann::ordered_json event = {{"event", "interrupted"}, {"folder", folder_.path()}, {"resume", resume_command()}};
    progress_.event(event.dump());
    return kInterrupted;
  }

  int finish() {
    save();
    const bool restores = job_.keeps_best() && !job_.trainer->settled();  // what stays at 0 is no worse than the best
    if (restores) job_.trainer->restore_best();
    if (makes_circuit(job_) && examine() == kAgain) return kAgain;
    io::save_safetensors(folder_.file("model.safetensors"), job_.trainer->weights(), job_.metadata());
    const bool report = job_.description.settings("output").flag("report");
    if (report)
      io::write_file(
          folder_.file("report.html"),
          make_report(job_, options_.command, "", texts_, circuit_ ? &*circuit_ : nullptr, folder_.attempts()).html());
    progress_.say("");
    if (const nn::EpochResult* best = best_epoch(); best != nullptr) {
      const nn::Scores& scores = best->tested ? best->test : best->train;
      const std::string reached =
          names_.empty() ? fmt::format("loss {:.5f}", scores.loss) : metric_text(names_[0], scores.metrics[0]);
      progress_.say(fmt::format("best    {} after epoch {}", bold(reached), best->epoch));
    }
    progress_.say(
        fmt::format("model   {}{}", folder_.file("model.safetensors"), restores ? " (the best epoch's weights)" : ""));
    if (circuit_) say_circuit();
    if (report) progress_.say(fmt::format("report  {}", folder_.file("report.html")));
    nlohmann::ordered_json event = {{"event", "end"}, {"folder", folder_.path()}, {"epochs", epochs_done()}};
    if (circuit_) event["circuit"] = attempt_json();
    progress_.event(event.dump());
    return circuit_ && !circuit_->exam.passed() ? kExamFailed : kDone;
  }

  // The gates' circuit and its exam. If it fails and there are attempts left, this one is over.
  int examine() {
    if (job_.description.settings("train").number("ema") > 0) {  // the circuit is that of the averages
      std::vector<NamedTensor> averages;
      for (const NamedTensor& w : job_.trainer->weights()) averages.push_back({w.name, clone(w.tensor)});
      job_.model->load_state_dict(averages);
    }
    circuit_ = circuit_of(job_);
    const ExamTurn turn = exam_turn(job_, *circuit_, folder_.attempts(), exams_taken_);
    exam_number_ = turn.number, exams_taken_ = turn.taken;
    circuit_->exam = exam_of(job_, circuit_->simple, exam_number_);
    cli::save(job_, *circuit_, folder_);
    const Settings s = job_.description.settings("train");
    if (!turn.again) folder_.add_attempt(attempt_json().dump());
    save_exams_taken();
    if (circuit_->exam.passed() || s.integer("attempt") >= s.integer("restarts")) return kDone;
    progress_.say(fmt::format("attempt {} of {}: the circuit fails its exam ({}); once more with other wires",
                              s.integer("attempt") + 1, s.integer("restarts") + 1, exam_lines(circuit_->exam)[0]));
    nlohmann::ordered_json event = {{"event", "attempt"}, {"circuit", attempt_json()}};
    progress_.event(event.dump());
    return kAgain;
  }

  // The weights may be the best epoch's by now, and the checkpoint has the last one's: only the count is new.
  void save_exams_taken() const {
    const std::string path = folder_.file("checkpoint.safetensors");
    io::SafeTensors file = io::load_safetensors(path);
    file.metadata[kExams] = std::to_string(exams_taken_);
    io::save_safetensors(path, file.tensors, file.metadata);
  }

  nlohmann::ordered_json attempt_json() const {
    const Settings s = job_.description.settings("train");
    double seconds = 0;
    for (const nn::EpochResult& e : job_.trainer->history()) seconds += e.seconds;
    return {{"attempt", s.integer("attempt")},
            {"seed", s.integer("seed") + s.integer("attempt")},
            {"epochs", epochs_done()},
            {"updates", job_.trainer->updates().steps()},
            {"seconds", seconds},
            {"trained_gates", circuit_->trained},
            {"gates", circuit_->raw.gates.size()},
            {"active_gates", gates::active_gates(circuit_->raw)},
            {"simplified_gates", circuit_->simple.gates.size()},
            {"circuit", fingerprint(circuit_->raw)},
            {"exam_number", exam_number_},
            {"exam", nlohmann::ordered_json::parse(exam_json(circuit_->exam))}};
  }

  void say_circuit() {
    progress_.say(fmt::format("circuit {}: {} gates, simplified and proved equal; {}, {} active",
                              folder_.file("circuit-simple.json"), grouped(std::ssize(circuit_->simple.gates)),
                              trained_text(*circuit_), grouped(gates::active_gates(circuit_->raw))));
    const bool passed = circuit_->exam.passed();
    progress_.say(fmt::format("exam    {}", passed ? green("passed") : bold("not passed")));
    for (const std::string& line : exam_lines(circuit_->exam)) progress_.say("        " + line);
  }

  using Clock = std::chrono::steady_clock;
  Job& job_;
  RunFolder folder_;
  const TrainOptions& options_;
  std::vector<std::string> names_;
  Progress progress_;
  double checkpoint_seconds_;
  Clock::time_point saved_;
  std::vector<NamedTensor> best_;  // weights of the best epoch
  bool best_is_new_ = false;       // and not yet in its file
  std::vector<ReportText> texts_;
  std::optional<TrainedCircuit> circuit_;
  int64_t exams_taken_ = 0, exam_number_ = 0;
  std::unique_ptr<io::EventFile> events_;
};

// What a run that goes on may not change: where it stands would mean something else. (Its exams would, with other
// attempts; more restarts only go on from here.)
constexpr const char* kFixed[] = {"data",        "model",         "loss",       "optimizer.type",   "train.attempt",
                                  "train.batch", "train.batches", "train.seed", "train.accumulate", "train.restarts"};

void collect_values(const Value& v, const std::string& path, std::map<std::string, const Value*>& all) {
  if (v.type != Value::Type::kTable) {
    all[path] = &v;
    return;
  }
  for (const Entry& e : v.table) collect_values(e.value, path.empty() ? e.key : path + "." + e.key, all);
}

void check_changes(const Description& before, const Description& now) {
  std::map<std::string, const Value*> old_values, new_values;
  collect_values(before.root, "", old_values);
  collect_values(now.root, "", new_values);
  for (const auto& [path, value] : new_values) {
    const auto old = old_values.find(path);
    if (old != old_values.end() && to_toml_value(*old->second) == to_toml_value(*value)) continue;
    if (path == "train.restarts" &&
        now.settings("train").integer("restarts") >= before.settings("train").integer("restarts"))
      continue;
    for (const std::string fixed : kFixed)
      if (path == fixed || path.starts_with(fixed + "."))
        fail_at(value->place,
                fmt::format("a run goes on as it began, and \"{}\" cannot change — leave it out, or begin a "
                            "new run without --resume",
                            path));
  }
}

// Runs until an exam is passed or there are no attempts left. What is not an automaton has one.
int run_attempts(std::unique_ptr<Job> job, const RunFolder& folder, const TrainOptions& o, bool resumed) {
  for (;; resumed = false) {
    if (const int code = Run(*job, folder, o)(resumed); code != kAgain) return code;
    folder.forget_attempt();  // before config.toml says that the next one has begun
    Description next = job->description;
    set_value(next.root, fmt::format("train.attempt={}", next.settings("train").integer("attempt") + 1));
    job = std::make_unique<Job>(std::move(next));
  }
}

}  // namespace

int train(const TrainOptions& o) {
  if (!o.resume) {
    if (is_run(o.what))
      throw Error(fmt::format(
          "train: \"{0}\" is the folder of a run — `ingot train {0} --resume` goes on with it, `ingot train "
          "{0}/config.toml` repeats it",
          o.what));
    auto job = std::make_unique<Job>(load_description(o.what, o.sets));
    const RunFolder folder = RunFolder::create(o.out, job->description.name);
    return run_attempts(std::move(job), folder, o, false);
  }
  const bool run = is_run(o.what);
  const std::string name = run ? "" : load_description(o.what).name;
  const RunFolder folder = RunFolder::existing(run ? o.what : o.out, name);
  const std::string config = folder.file("config.toml");
  Description description = load_description(config, o.sets);
  if (!run && description.name != name)
    throw Error(
        fmt::format("train: the run in \"{}\" is one of \"{}\", not of \"{}\" — `ingot train {} --resume` goes "
                    "on with it",
                    folder.path(), description.name, name, folder.path()));
  check_changes(load_description(config), description);
  return run_attempts(std::make_unique<Job>(std::move(description)), folder, o, true);
}

}  // namespace ingot::cli
