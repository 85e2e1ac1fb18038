#include "recipe/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include "ingot/base/machine.h"
#include "ingot/base/memory.h"
#include "ingot/base/threads.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/page.h"

namespace ingot::recipe {
namespace {

constexpr size_t kPictures = 40, kReconstructions = 16;
constexpr int kProfileRuns = 20;

bool is_picture(const Dims& shape) {
  return shape.size() == 3 && (shape[0] == 1 || shape[0] == 3) && shape[1] > 1 && shape[2] > 1;
}

// A sample of a batch as pixels between 0 and 1, with its normalisation taken back.
Tensor pixels_of(const Tensor& batch, int64_t row, const Task& task, bool normalised) {
  const Tensor one = contiguous(squeeze(slice(batch, 0, row, row + 1), {0}));
  Tensor out = Tensor::empty(one.shape());
  const int64_t inner = one.numel() / one.size(0);
  for (int64_t i = 0; i < one.numel(); i++) {
    const auto channel = static_cast<size_t>(task.mean.size() > 1 ? i / inner : 0);
    const float v = one.data<float>()[i];
    const float raw = normalised && !task.mean.empty() ? v * task.deviation[channel] + task.mean[channel] : v;
    out.data<float>()[i] = std::clamp(raw, 0.0F, 1.0F);
  }
  return out;
}

// Collects what the page shows from the batches of a test.
class Collector {
 public:
  Collector(const Job& job, Report& report)
      : task_(job.data.task),
        shown_(job.description.catalogue->loss(job.description.section("loss")).shown),
        report_(report) {
    const Task& task = task_;
    if (classifies()) {
      for (int64_t c = 0; c < task.classes; c++) report.confusion.classes.push_back(task.class_name(c));
      report.confusion.counts.resize(static_cast<size_t>(task.classes * task.classes));
    } else if (task.classes == 0 && !task.reconstructs) {
      report.scatters.resize(static_cast<size_t>(std::min<int64_t>(task.results(), 4)));
      for (size_t i = 0; i < report.scatters.size(); i++)
        report.scatters[i].name = report.scatters.size() == 1 ? "target" : fmt::format("target {}", i);
    }
  }

  void operator()(const data::Batch& batch, const Tensor& result) {
    const Tensor y = contiguous(result);
    for (int64_t row = 0; row < batch.size(); row++) {
      if (classifies()) label(batch, y, row);
      if (task_.reconstructs) reconstruction(batch, y, row);
      for (size_t i = 0; i < report_.scatters.size(); i++) number(batch, y, row, i);
    }
  }

  /// Wrong ones first: they teach more.
  void finish() {
    std::vector<ReportPicture> chosen(wrong_.begin(),
                                      wrong_.begin() + static_cast<ptrdiff_t>(std::min(wrong_.size(), kPictures / 2)));
    for (const ReportPicture& p : right_)
      if (chosen.size() < kPictures) chosen.push_back(p);
    report_.pictures = std::move(chosen);
  }

 private:
  bool classifies() const { return task_.classes > 0 && task_.target.empty() && task_.classes <= 100; }

  void label(const data::Batch& batch, const Tensor& y, int64_t row) {
    const float* logits = y.data<float>() + row * task_.classes;
    const int64_t truth = batch.y.data<int64_t>()[row];
    const int64_t said = std::max_element(logits, logits + task_.classes) - logits;
    report_.confusion.counts[static_cast<size_t>(truth * task_.classes + said)]++;
    std::vector<ReportPicture>& pictures = truth == said ? right_ : wrong_;
    if (!is_picture(task_.input) || pictures.size() >= kPictures) return;
    double sum = 0;
    for (int64_t c = 0; c < task_.classes; c++) sum += std::exp(static_cast<double>(logits[c] - logits[said]));
    pictures.push_back({.pixels = pixels_of(batch.x, row, task_, true),
                        .target = task_.class_name(truth),
                        .prediction = task_.class_name(said),
                        .probability = 1 / sum,
                        .correct = truth == said});
  }

  void reconstruction(const data::Batch& batch, const Tensor& y, int64_t row) {
    if (!is_picture(task_.input) || report_.reconstructions.size() >= kReconstructions) return;
    report_.reconstructions.push_back({pixels_of(batch.y, row, task_, false), pixels_of(y, row, task_, false), ""});
  }

  void number(const data::Batch& batch, const Tensor& y, int64_t row, size_t i) {
    const auto raw = [&](const Tensor& t) {
      const double v = t.data<float>()[static_cast<size_t>(row * task_.results()) + i];
      if (task_.target_mean.empty()) return v;
      const size_t column = task_.target_mean.size() > 1 ? i : 0;
      return v * task_.target_deviation[column] + task_.target_mean[column];
    };
    report_.scatters[i].truth.push_back(raw(batch.y));
    const double said = raw(y);
    report_.scatters[i].prediction.push_back(task_.target_mean.empty() && shown_ != nullptr ? shown_(said) : said);
  }

  const Task& task_;
  double (*shown_)(double);
  Report& report_;
  std::vector<ReportPicture> wrong_, right_;
};

void describe_model(Job& job, Report& report) {
  Dims shape{1};
  for (const int64_t size : job.data.task.input) shape.push_back(size);
  job.model->eval();  // layers that go on from batch to batch take any number of samples then
  const nn::Summary summary = nn::summary(*job.model, {shape, job.data.task.input_type, "x"});
  job.model->train();
  report.model.header = {"layer", "kind", "output", "parameters", "FLOPs"};
  for (const nn::SummaryRow& row : summary.rows)
    if (!row.path.empty())
      report.model.rows.push_back({row.path, row.kind, to_string(row.output), grouped(row.parameters),
                                   grouped(static_cast<int64_t>(row.flops))});
  report.model_note = fmt::format("{} parameters, {}, {} FLOPs per sample", grouped(summary.parameters),
                                  format_bytes(summary.bytes), grouped(static_cast<int64_t>(summary.flops)));
}

std::string now_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

}  // namespace

Report report_head(const Description& description, const std::string& about, const std::string& command) {
  const std::string said = description.said("about");
  const MachineInfo machine = machine_info();
  return {.title = description.name,
          .subtitle = (said.empty() ? "" : said + ". ") + about,
          .command = command,
          .date = now_text(),
          .config = description.toml(),
          .machine = {{machine.cpu, "processor"},
                      {machine.simd, "instructions"},
                      {std::to_string(threads()), "threads"},
                      {format_bytes(machine.ram_bytes), "memory"}}};
}

Report make_report(Job& job, const std::string& command, const std::vector<ReportText>& texts, const KindOfRun* kind) {
  Report report = report_head(job.description, job.data.about, command);
  report.metrics = job.metrics;
  report.epochs = job.trainer->history();
  report.loss_name = job.description.settings("loss").type();
  report.texts = texts;
  if (job.test != nullptr) {
    Collector collect(job, report);
    job.trainer->evaluate(*job.test, [&](const data::Batch& batch, const Tensor& result) { collect(batch, result); });
    collect.finish();
  }
  if (kind != nullptr) kind->report(report);
  describe_model(job, report);
  TrainStep& step = job.trainer->step_for(*job.train);
  const Plan& plan = step.plan();
  report.memory = plan.bytes();
  report.plan_svg = plan.svg();
  job.train->seek({});
  if (const data::Batch* batch = job.train->next(); batch != nullptr && batch->size() == job.train->input().shape[0]) {
    const Tensor* const inputs[] = {&batch->x, &batch->y};
    report.profile = step.profile(kProfileRuns, inputs);
  }
  if (!job.batch_reason.empty())
    report.machine.push_back(
        {fmt::format("{}: {}", job.description.settings("train").integer("batch"), job.batch_reason), "batch"});
  return report;
}

}  // namespace ingot::recipe
