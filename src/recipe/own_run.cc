// A run of a kind that runs itself: its pieces, and what all runs have around them.
#include "ingot/recipe/own_run.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "ingot/base/error.h"
#include "ingot/base/threads.h"
#include "ingot/io/io.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/description.h"
#include "ingot/recipe/page.h"
#include "ingot/recipe/terminal.h"
#include "recipe/own_runner.h"
#include "recipe/run_report.h"

namespace ingot::recipe {
namespace {

using Clock = std::chrono::steady_clock;

// Periods as numbers in a checkpoint: what they are called, their scores while training, and of the test.
class History {
 public:
  explicit History(size_t metrics) : metrics_(metrics) {}
  std::vector<nn::EpochResult> periods;

  Tensor tensor() const {
    Tensor out = Tensor::empty({std::ssize(periods), width()}, kF64);
    double* to = out.data<double>();
    for (const nn::EpochResult& e : periods) {
      for (const double v : {static_cast<double>(e.epoch), e.tested ? 1.0 : 0.0, e.best ? 1.0 : 0.0,
                             static_cast<double>(e.lr), e.seconds, e.samples_per_second})
        *to++ = v;
      to = put(put(to, e.train), e.test);
    }
    return out;
  }
  void load(const Tensor& saved) {
    if (saved.dtype() != kF64 || saved.rank() != 2 || saved.size(1) != width())
      throw Error(ErrorKind::kFile, "checkpoint: its history is of another kind of run");
    periods.clear();
    for (int64_t i = 0; i < saved.size(0); i++) {
      const double* row = saved.data<double>() + i * width();
      if (!(row[0] >= 0 && row[0] <= 0x1p40))
        throw Error(ErrorKind::kFile, "checkpoint: its history has no such period");
      nn::EpochResult& e = periods.emplace_back();
      e.epoch = static_cast<int64_t>(row[0]), e.tested = row[1] != 0, e.best = row[2] != 0;
      e.lr = static_cast<float>(row[3]), e.seconds = row[4], e.samples_per_second = row[5];
      e.train = get(row + kHead), e.test = get(row + kHead + 1 + metrics_);
    }
  }

 private:
  static constexpr int64_t kHead = 6;
  int64_t width() const { return kHead + 2 * static_cast<int64_t>(1 + metrics_); }
  double* put(double* to, const nn::Scores& s) const {
    *to++ = s.loss;
    for (size_t i = 0; i < metrics_; i++) *to++ = i < s.metrics.size() ? s.metrics[i] : NAN;
    return to;
  }
  nn::Scores get(const double* from) const {
    nn::Scores s{.loss = *from++};
    for (size_t i = 0; i < metrics_ && !std::isnan(from[i]); i++) s.metrics.push_back(from[i]);
    return s;
  }
  size_t metrics_;
};

class OwnRunner {
 public:
  OwnRunner(const Description& description, OwnRun& run, RunFolder& folder, Progress& progress,
            const RunOptions& options)
      : description_(description),
        run_(run),
        folder_(folder),
        progress_(progress),
        options_(options),
        info_(run.info()),
        history_(info_.metrics.size()) {}

  Run operator()(bool resumed) {
    begin(resumed);
    progress_.training(true);
    const bool finished = train();
    progress_.training(false);
    save();
    if (finished)
      finish();
    else
      cancelled();
    return {finished ? Outcome::kDone : Outcome::kCancelled, folder_.path(), history_.periods,
            finished ? run_.exam_score() : NAN, info_};
  }

 private:
  void begin(bool resumed) {
    progress_.begin(info_);
    progress_.say(bold(printable(description_.name)) + "  " + printable(run_.about()));
    progress_.say(fmt::format("{} parameters, folder {}", grouped(run_.parameter_count()), folder_.path()));
    progress_.event(record({{"event", "begin"}, {"folder", folder_.path()}, {"resumed", resumed}}));
    for (const NamedTensor& w : run_.weights()) best_.push_back({w.name, clone(w.tensor)});
    if (resumed && folder_.has(kCheckpoint)) load();
    folder_.keep_metrics(history_.periods.empty() ? 0 : history_.periods.back().epoch);  // some may have no line
    io::write_file(folder_.file("config.toml"), description_.toml());
    saved_ = Clock::now();
    if (description_.settings("output").flag("tensorboard"))
      events_ = std::make_unique<io::EventFile>(folder_.file("events.out.tfevents.1.ingot"));
  }

  void load() {
    io::SafeTensors file = io::load_safetensors(folder_.file(kCheckpoint));
    nn::TrainingState state{{}, file.metadata};
    for (const NamedTensor& t : file.tensors) {
      if (t.name == kHistory) history_.load(t.tensor);
      if (t.name.starts_with(kBest))
        for (const NamedTensor& b : best_)
          if (t.name == kBest + b.name) copy_into(b.tensor, t.tensor);
      state.tensors.push_back(t);
    }
    run_.load_state(state);
    progress_.say(fmt::format("going on after {} {}", info_.period,
                              history_.periods.empty() ? 0 : history_.periods.back().epoch));
  }

  bool train() {
    const double checkpoint_seconds = description_.settings("output").number("checkpoint_seconds");
    while (!run_.done()) {
      OwnPiece p = run_.work();
      refuse_divergence(p);
      progress_.batch({p.period, p.piece, p.pieces, p.scores.loss, p.scores, 0, p.per_second});
      if (p.ended) after_period(*p.ended);
      const double since = std::chrono::duration<double>(Clock::now() - saved_).count();
      if (since >= checkpoint_seconds || (p.ended && since >= std::min(1.0, checkpoint_seconds))) save();
      if (options_.cancel != nullptr && *options_.cancel && !run_.done()) return false;
    }
    return true;
  }

  // Before anything of it is saved: the last checkpoint is of a run that can go on.
  void refuse_divergence(const OwnPiece& p) {
    if (std::isfinite(p.scores.loss)) return;
    progress_.training(false);
    throw Error(ErrorKind::kNumeric,
                fmt::format("train: the loss is {} in {} {} — lower the learning rate, or clip gradients{}",
                            p.scores.loss, info_.period, p.period,
                            folder_.has(kCheckpoint)
                                ? fmt::format("\n  To go on from the last checkpoint: {}", resume_command())
                                : ""));
  }

  // Metrics first and the checkpoint last: what is killed in between is done again, and comes out the same.
  void after_period(nn::EpochResult e) {
    const auto score = [](const nn::EpochResult& r) { return r.test.metrics.empty() ? NAN : r.test.metrics[0]; };
    const nn::EpochResult* best = nullptr;
    for (const nn::EpochResult& r : history_.periods)
      if (r.best) best = &r;
    // What is no number is better than nothing; a later period that is as good is the better one.
    e.best = !run_.keeps_best() || !e.tested || best == nullptr || std::isnan(score(*best)) || score(e) >= score(*best);
    if (e.best) {
      const std::vector<NamedTensor> now = run_.weights();
      for (size_t i = 0; i < now.size(); i++) copy_into(best_[i].tensor, now[i].tensor);
    }
    history_.periods.push_back(e);
    folder_.add_metrics(e, info_.metrics);
    if (events_ != nullptr) add_events(e);
    progress_.epoch(e);
  }

  void add_events(const nn::EpochResult& e) {
    for (size_t i = 0; i < e.train.metrics.size(); i++) events_->scalar(info_.metrics[i], e.train.metrics[i], e.epoch);
    for (size_t i = 0; e.tested && i < e.test.metrics.size(); i++)
      events_->scalar(info_.test_name + "/" + info_.metrics[i], e.test.metrics[i], e.epoch);
  }

  io::Metadata metadata() const {
    return {{"ingot.description", description_.toml()}, {"ingot.name", description_.name}, {"ingot.own", "1"}};
  }

  void save() {
    nn::TrainingState state = run_.state();
    state.tensors.push_back({kHistory, history_.tensor()});
    for (const NamedTensor& b : best_) state.tensors.push_back({kBest + b.name, b.tensor});
    for (const auto& [key, value] : metadata()) state.values[key] = value;
    io::save_safetensors(folder_.file(kCheckpoint), state.tensors, state.values);
    saved_ = Clock::now();
  }

  std::string resume_command() const { return fmt::format("ingot train {} --resume", folder_.path()); }
  void cancelled() {
    progress_.say(fmt::format("Stopped; everything is saved. To go on:\n  {}", resume_command()));
    progress_.event(record({{"event", "interrupted"}, {"folder", folder_.path()}, {"resume", resume_command()}}));
  }

  void finish() {
    const std::vector<NamedTensor> weights = run_.weights();
    for (size_t i = 0; i < weights.size(); i++) copy_into(weights[i].tensor, best_[i].tensor);
    run_.examine();
    io::save_safetensors(folder_.file("model.safetensors"), weights, metadata());
    io::write_file(folder_.file("exam.json"), to_json(run_.exam_record()) + "\n");
    progress_.say("\n" + run_.exam_text());
    progress_.say(fmt::format("model   {}", folder_.file("model.safetensors")));
    if (description_.settings("output").flag("report")) {
      Report report = report_head(description_, run_.about(), options_.command);
      run_.report(report, history_.periods);
      io::write_file(folder_.file("report.html"), report.html());
      progress_.say(fmt::format("report  {}", folder_.file("report.html")));
    }
    Value event = record({{"event", "end"}, {"folder", folder_.path()}});
    event.set("exam", run_.exam_record());
    progress_.event(event);
  }

  static constexpr const char* kCheckpoint = "checkpoint.safetensors";
  static constexpr const char* kHistory = "history";
  static inline const std::string kBest = "best.";
  const Description& description_;
  OwnRun& run_;
  RunFolder& folder_;
  Progress& progress_;
  const RunOptions& options_;
  RunInfo info_;
  History history_;
  std::vector<NamedTensor> best_;
  Clock::time_point saved_;
  std::unique_ptr<io::EventFile> events_;
};

std::unique_ptr<OwnRun> begin_own(const Description& description) {
  const Settings train = description.settings("train");
  if (train.has("threads") && train.integer("threads") > 0) set_threads(static_cast<int>(train.integer("threads")));
  return description.catalogue->own_kind_of(description.root)->begin(description);
}

}  // namespace

Run run_own(const Description& description, const std::string& folder, Progress& progress, const RunOptions& options) {
  const auto run = begin_own(description);  // before there is a folder: what is refused leaves none
  RunFolder made = RunFolder::create(folder, description.name);
  return OwnRunner(description, *run, made, progress, options)(false);
}

Run resume_own(const Description& description, RunFolder folder, Progress& progress, const RunOptions& options) {
  const auto run = begin_own(description);
  return OwnRunner(description, *run, folder, progress, options)(true);
}

std::unique_ptr<OwnRun> load_own_run(const std::string& file_or_run, const Systems& systems,
                                     std::span<const std::string> sets) {
  const std::string path = is_run(file_or_run) ? file_or_run + "/model.safetensors" : file_or_run;
  if (!is_file(path)) return nullptr;
  const io::SafeTensors file = io::load_safetensors(path);
  const auto text = file.metadata.find("ingot.description");
  if (text == file.metadata.end() || file.metadata.count("ingot.own") == 0) return nullptr;
  const Description description =
      parse_trained(path, text->second, sets, std::make_shared<const Catalogue>(Systems(systems)));
  if (description.catalogue->own_kind_of(description.root) == nullptr) return nullptr;
  auto run = begin_own(description);
  for (const NamedTensor& w : run->weights()) {
    bool found = false;
    for (const NamedTensor& t : file.tensors) {
      if (t.name != w.name) continue;
      if (!(t.tensor.shape() == w.tensor.shape()) || t.tensor.dtype() != w.tensor.dtype())
        throw Error(ErrorKind::kFile,
                    fmt::format("\"{}\": \"{}\" is {}, not {}", path, t.name, describe(t.tensor), describe(w.tensor)));
      copy_into(w.tensor, t.tensor);
      found = true;
    }
    if (!found) throw Error(ErrorKind::kFile, fmt::format("\"{}\" has no \"{}\"", path, w.name));
  }
  return run;
}

}  // namespace ingot::recipe
