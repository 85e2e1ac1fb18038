#include "logic/door/theory_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/numbers.h"
#include "ingot/logic/theory.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/description.h"
#include "ingot/recipe/page.h"
#include "ingot/recipe/terminal.h"
#include "logic/door/curves.h"

namespace ingot::logic::door {
namespace {

using namespace recipe;

constexpr int64_t kPieceSteps = 16;
constexpr int64_t kMostCells = 400;  // of a table on the page

Theory theory_of(const Description& d) {
  const Settings s = d.settings("theory");
  const nn::SeedScope seed(d.settings("train").integer("seed"));
  if (s.has("program") == s.has("file")) s.fail("a theory is a \"program\" here or a \"file\"");
  const TheoryOptions options{.folder = s.text("facts"), .semantics = s.text("semantics")};
  if (s.has("file")) return Theory::load(s.text("file"), options);
  return Theory::parse(s.text("program"), d.name, options);
}

// Truths and numbers of a relation or a tensor, with the names of what they are about.
std::string table_of(const Theory& theory, const std::string& name, const Tensor& t) {
  const std::vector<std::string> domains = theory.domains_of(name);
  const auto label = [&](int axis, int64_t i) {
    const std::string& domain = domains[static_cast<size_t>(axis)];
    return domain.empty() ? std::to_string(i) : theory.members(domain)[static_cast<size_t>(i)];
  };
  const Tensor x = contiguous(to(t, kF64));
  ReportTable table;
  const int64_t columns = t.rank() >= 2 ? t.size(-1) : 1, rows = t.numel() / std::max<int64_t>(columns, 1);
  table.header.emplace_back(name);
  if (t.rank() >= 2)
    for (int64_t c = 0; c < columns; c++) table.header.push_back(label(t.rank() - 1, c));
  else
    table.header.emplace_back("");
  for (int64_t r = 0; r < rows; r++) {
    std::string first;
    const int named = t.rank() >= 2 ? t.rank() - 1 : t.rank();
    int64_t rest = r;
    for (int a = named - 1; a >= 0; a--) {
      first.insert(0, label(a, rest % t.size(a)) + (first.empty() ? "" : ", "));
      rest /= t.size(a);
    }
    std::vector<std::string> cells = {first};
    for (int64_t c = 0; c < columns; c++) cells.push_back(fmt::format("{:.3f}", x.data<double>()[r * columns + c]));
    table.rows.push_back(std::move(cells));
  }
  return html_table(table);
}

class TheoryRun final : public OwnRun {
 public:
  explicit TheoryRun(const Description& d)
      : name_(d.name),
        steps_(d.settings("train").integer("steps")),
        periods_(std::min(d.settings("train").integer("periods"), steps_)),
        theory_(theory_of(d)),
        step_(made(d)) {
    for (const NamedTensor& r : theory_.results()) names_.push_back(r.name);
  }

  std::string about() const override {
    return fmt::format("{}, {} steps", counted(std::ssize(theory_.assertions()), "assertion"), grouped(steps_));
  }
  int64_t parameter_count() override { return theory_.parameter_count(); }
  RunInfo info() const override {
    return {.epochs = periods_,
            .metrics = metrics(),
            .test_name = "now",
            .period = "period",
            .unit = "steps",
            .axis = "steps",
            .axis_per_period = per_period()};
  }

  OwnPiece work() override {
    const auto begun = std::chrono::steady_clock::now();
    const int64_t before = step_.steps(), period = before * periods_ / steps_;
    const int64_t end_of_period = ((period + 1) * steps_ + periods_ - 1) / periods_;
    const int64_t end = std::min(before + kPieceSteps, end_of_period);
    while (step_.steps() < end) step_();
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    done_ += end - before;
    const int64_t first = (period * steps_ + periods_ - 1) / periods_;
    OwnPiece piece{period + 1, (end - first + kPieceSteps - 1) / kPieceSteps,
                   (end_of_period - first + kPieceSteps - 1) / kPieceSteps};
    piece.per_second = static_cast<double>(done_) / std::max(seconds_, 1e-9);
    piece.scores = scores(step_.plan().outputs());
    if (end == end_of_period) {
      nn::EpochResult& e = piece.ended.emplace();
      e.epoch = period + 1, e.train = piece.scores, e.lr = step_.lr();
      e.seconds = seconds_, e.samples_per_second = piece.per_second;
      seconds_ = 0, done_ = 0;
    }
    return piece;
  }
  bool done() const override { return step_.steps() >= steps_; }
  nn::TrainingState state() override {
    nn::TrainingState state;
    state.tensors = theory_.state_dict();
    for (NamedTensor& t : state.tensors) t.name = "theory." + t.name;
    if (step_.state().defined()) state.tensors.push_back({"optimizer", step_.state()});
    state.values["steps"] = std::to_string(step_.steps());
    return state;
  }
  void load_state(const nn::TrainingState& state) override {
    std::vector<NamedTensor> weights;
    for (const NamedTensor& t : state.tensors) {
      if (t.name.starts_with("theory.")) weights.push_back({t.name.substr(7), t.tensor});
      if (t.name != "optimizer") continue;
      if (!step_.state().defined() || !(t.tensor.shape() == step_.state().shape()) ||
          t.tensor.dtype() != step_.state().dtype())
        throw Error(ErrorKind::kFile, "checkpoint: it is of another optimiser or theory");
      copy_into(step_.state(), t.tensor);
    }
    theory_.load_state_dict(weights);
    const auto steps = state.values.find("steps");
    int64_t n = 0;
    if (steps == state.values.end() || !parse_number(steps->second, n) || n < 0 || n > steps_)
      throw Error(ErrorKind::kFile, "checkpoint: it does not say after which step it was made");
    step_.set_steps(n);
  }
  std::vector<NamedTensor> weights() override { return theory_.state_dict(); }
  bool keeps_best() const override { return false; }

  void examine() override {
    exam_ = theory_.results();
    for (NamedTensor& t : exam_) t.tensor = clone(t.tensor);
    answers_.clear();
    for (const std::string& q : theory_.questions()) answers_.push_back({q, clone(theory_.ask(q))});
  }
  std::string exam_text() const override {
    std::string text = fmt::format("exam    satisfaction {}", bold(fmt::format("{:.4f}", exam_score())));
    for (size_t i = 2; i < exam_.size(); i++)
      text +=
          fmt::format("\n        {:.4f}  {}", exam_[i].tensor.item<double>(), printable(shortened(exam_[i].name, 90)));
    for (const NamedTensor& a : answers_)
      text +=
          fmt::format("\n        {}? {}", printable(a.name),
                      a.tensor.numel() == 1 ? fmt::format("{:.4f}", a.tensor.item<double>()) : numbers_of(a.tensor));
    return text;
  }
  Value exam_record() const override {
    Value truths = record({});
    for (size_t i = 2; i < exam_.size(); i++) truths.set(exam_[i].name, exam_[i].tensor.item<double>());
    Value out = record({{"satisfaction", exam_score()}, {"loss", exam_[0].tensor.item<double>()}});
    out.set("truths", truths);
    return out;
  }
  double exam_score() const override { return exam_[1].tensor.item<double>(); }
  void report(Report& report, std::span<const nn::EpochResult> history) override {
    double seconds = 0;
    for (const nn::EpochResult& e : history) seconds += e.seconds;
    report.verdict = {{fmt::format("{:.3f}", exam_score()), "satisfaction of all assertions"},
                      {duration(seconds), fmt::format("for {} steps", grouped(steps_))},
                      {grouped(parameter_count()), "numbers learned"}};
    ReportTable truths{{"assertion", "weight", "truth"}, {}};
    for (size_t i = 0; i < theory_.assertions().size(); i++) {
      const Assertion& a = theory_.assertions()[i];
      truths.rows.push_back({a.name == a.text ? a.text : a.name + ": " + a.text, fmt::format("{:g}", a.weight),
                             fmt::format("{:.4f}", exam_[i + 2].tensor.item<double>())});
    }
    report.sections.push_back(section("truths", "Assertions", "how true each of them is now", html_table(truths)));
    std::string why;
    for (const Assertion& a : theory_.assertions()) why += proof(a.name);
    for (const std::string& q : theory_.questions()) why += proof(q);
    report.sections.push_back(
        section("why", "Why", "where assertions are least true; the best proofs of the best answers", why));
    report.sections.push_back(program_section(theory_.text()));
    report.sections.push_back(curves_section(history, metrics(), "loss", "now", "steps", per_period()));
    std::string tables;
    const auto learned = theory_.learned();
    for (const std::string& name : theory_.names()) {
      const bool is_learned = std::find(learned.begin(), learned.end(), name) != learned.end();
      const Tensor t = theory_(name);
      if (t.numel() > kMostCells) continue;
      tables += folded(name + (is_learned ? " (learned)" : ""), table_of(theory_, name, t), is_learned);
    }
    report.sections.push_back(section("relations", "Relations and tensors", "", tables));
    report.plan_svg = step_.plan().svg();
  }

 private:
  TrainStep made(const Description& d) {
    const Settings s = d.settings("train");
    if (!theory_.networks().empty())
      throw Error(ErrorKind::kArgument,
                  "network " + in_quotes(theory_.networks()[0]) +
                      " is not known here — a recipe trains tables; networks are handed over in C++ (Theory::network)");
    theory_.require_learnable();
    const auto lr = static_cast<float>(s.number("lr"));
    TrainStep step =
        nn::train_step(theory_, [this] { return theory_.results(); }, optim::Adam{.lr = lr}, {}, {.name = name_});
    return step;
  }
  // What cannot be explained says why not.
  std::string proof(const std::string& what) const {
    std::string text;
    try {
      text = theory_.explain(what);
    } catch (const Error& e) {
      text = e.what();
    }
    return folded(what, "<pre>" + escaped_lines(text) + "</pre>\n", false);
  }
  double per_period() const { return static_cast<double>(steps_) / static_cast<double>(periods_); }
  std::vector<std::string> metrics() const { return {names_.begin() + 1, names_.end()}; }
  nn::Scores scores(std::span<const Tensor> results) const {
    nn::Scores s{results[0].item<double>(), {}};
    for (size_t i = 1; i < names_.size(); i++) s.metrics.push_back(results[i].item<double>());
    return s;
  }
  static std::string numbers_of(const Tensor& t) {
    const Tensor x = contiguous(to(t, kF64));
    std::string text;
    for (int64_t i = 0; i < std::min<int64_t>(x.numel(), 24); i++)
      text += fmt::format("{}{:.3f}", i == 0 ? "" : " ", x.data<double>()[i]);
    return x.numel() > 24 ? text + " …" : text;
  }

  std::string name_;
  int64_t steps_, periods_;
  Theory theory_;
  TrainStep step_;
  std::vector<std::string> names_;
  double seconds_ = 0;
  int64_t done_ = 0;  // steps since the period began, or the run went on
  std::vector<NamedTensor> exam_, answers_;
};

}  // namespace

std::span<const Section> theory_sections() {
  static const Section all[] = {
      {"theory",
       "what is said, and what is to be learned",
       {{"program", Kind::kText, nullptr, "the program itself, in three quotes"},
        {"file", Kind::kPath, nullptr, "or a file that has it"},
        {"facts", Kind::kPath, "\".\"", "where the files of facts are that it names"},
        {"semantics", Kind::kText, "\"\"", "in place of the program's: godel, ltn 4, …"}},
       {},
       nullptr,
       Change::kFixed},
      {"train",
       "how long",
       {{"steps", Kind::kInteger, "1000", "of Adam, over all assertions", 1, 1e9, nullptr, Change::kFixed},
        {"lr", Kind::kNumber, "0.01", "its rate", 0, 10, nullptr, Change::kFixed},
        {"periods", Kind::kInteger, "50", "lines of metrics", 1, 100000, nullptr, Change::kFixed},
        {"seed", Kind::kInteger, "1", "of the tables that are learned", 0, 1e15, nullptr, Change::kFixed},
        {"threads", Kind::kInteger, "0", "worker threads; 0: INGOT_THREADS, or all cores", 0, 256}}}};
  return all;
}

std::unique_ptr<OwnRun> begin_theory(const Description& d) {
  try {
    return std::make_unique<TheoryRun>(d);
  } catch (const Error& e) {
    d.settings("theory").fail(e);
  }
}

}  // namespace ingot::logic::door
