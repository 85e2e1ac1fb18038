#include "gates/door/circuit_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "gates/door/report_circuit.h"
#include "gates/door/trained_circuit.h"
#include "ingot/base/error.h"
#include "ingot/base/numbers.h"
#include "ingot/io/io.h"
#include "ingot/ops/functions.h"
#include "ingot/recipe/page.h"
#include "ingot/recipe/progress.h"
#include "ingot/recipe/terminal.h"

namespace ingot::gates::door {
namespace {

using namespace recipe;

constexpr const char* kExams = "exams";  // in a checkpoint: how many were taken

int64_t attempt_of(const Description& d) { return d.settings("train").integer_or("attempt", 0); }
int64_t restarts_of(const Description& d) { return d.settings("train").integer_or("restarts", 0); }
// Seeds are any 64 bits: behind the largest comes the smallest.
int64_t job_seed(const Description& d) {
  return static_cast<int64_t>(static_cast<uint64_t>(d.settings("train").integer("seed")) +
                              static_cast<uint64_t>(attempt_of(d)));
}

// attempts.jsonl: a line per exam that was taken. Lines are added, and never changed.
class Attempts {
 public:
  explicit Attempts(const RunFolder& folder) : path_(folder.file("attempts.jsonl")) {}
  std::string lines() const { return is_file(path_) ? io::read_file(path_) : ""; }
  void add(const Value& line) const { io::write_file(path_, lines() + to_json(line) + "\n"); }

 private:
  std::string path_;
};

/// Which exam of its run a circuit takes: exams are counted over attempts and over runs that go on, and each is
/// stricter than the last. The only one of a run without restarts is 0.
struct ExamTurn {
  int64_t number = 0;
  bool again = false;  // the circuit has taken it: nothing was trained since, and it comes out the same
  int64_t taken = 0;   // exams of this run, with this one
};

ExamTurn exam_turn(const Description& d, const Circuit& circuit, const std::string& attempts, int64_t taken) {
  if (const std::vector<Value> before = parse_json_lines(attempts); !before.empty()) {
    const Value& last = before.back();
    const Value *attempt = last.find("attempt"), *known = last.find("circuit"), *number = last.find("exam_number");
    if (attempt != nullptr && attempt->integer == attempt_of(d) && known != nullptr &&
        known->text == fingerprint(circuit))
      return {number != nullptr ? number->integer : taken, true, taken};
  }
  return {taken == 0 && restarts_of(d) == 0 ? 0 : taken + 1, false, taken + 1};
}

int64_t exams_in(const std::string& text) {
  constexpr int64_t kMost = 1'000'000;
  int64_t exams = 0;
  if (!parse_number(text, exams) || exams < 0 || exams > kMost)
    throw Error(ErrorKind::kFile,
                fmt::format("checkpoint: {} exams were taken, it says — it is damaged", in_quotes(text)));
  return exams;
}

class CircuitRun : public KindOfRun {
 public:
  CircuitRun(Job& job, RunFolder& folder, Progress& progress)
      : job_(job), folder_(folder), progress_(progress), attempts_(folder) {
    const std::string lines = attempts_.lines();
    exams_taken_ = std::count(lines.begin(), lines.end(), '\n');
  }

  std::string test_name() const override { return on_boards() ? "hard" : "test"; }

  void restore(const io::Metadata& checkpoint) override {
    if (const auto exams = checkpoint.find(kExams); exams != checkpoint.end())
      exams_taken_ = std::max(exams_taken_, exams_in(exams->second));
  }
  void save(io::Metadata& checkpoint) const override { checkpoint[kExams] = std::to_string(exams_taken_); }

  void begin_event(Value& event) const override {
    if (restarts_of(job_.description) > 0) event.set("attempt", attempt_of(job_.description));
  }
  void end_event(Value& event) const override {
    if (circuit_) event.set("circuit", attempt_record());
  }

  // The gates' circuit and its exam. If it fails and there are attempts left, this one is over.
  Outcome finish() override {
    if (!makes_circuit(job_)) return Outcome::kDone;
    if (job_.description.settings("train").number("ema") > 0) {  // the circuit is that of the averages
      std::vector<NamedTensor> averages;
      for (const NamedTensor& w : job_.trainer->weights()) averages.push_back({w.name, clone(w.tensor)});
      job_.model->load_state_dict(averages);
    }
    circuit_ = circuit_of(job_);
    const ExamTurn turn = exam_turn(job_.description, circuit_->raw, attempts_.lines(), exams_taken_);
    exam_number_ = turn.number, exams_taken_ = turn.taken;
    circuit_->exam = exam_of(job_, circuit_->simple, exam_number_);
    door::save(job_, *circuit_, folder_);
    if (!turn.again) attempts_.add(attempt_record());
    save_exams_taken();
    if (circuit_->exam.passed()) return Outcome::kDone;
    const int64_t attempt = attempt_of(job_.description), restarts = restarts_of(job_.description);
    if (attempt >= restarts) return Outcome::kFailed;
    progress_.say(fmt::format("attempt {} of {}: the circuit fails its exam ({}); once more with other wires",
                              attempt + 1, restarts + 1, exam_lines(circuit_->exam)[0]));
    progress_.event(record({{"event", "attempt"}, {"circuit", attempt_record()}}));
    return Outcome::kAgain;
  }

  Description next() const override {
    Description d = job_.description;
    set_value(d.root, fmt::format("train.attempt={}", attempt_of(d) + 1));
    return d;
  }

  void report(Report& report) const override {
    if (on_boards()) {
      report.test_name = "hard gates", report.test_where = "with hard gates";
      report.scatters.clear();  // bits are no numbers to plot
    }
    if (circuit_) report.sections.push_back(circuit_sections(report_circuit(job_, *circuit_, attempts_.lines())));
  }

  void say_end() const override {
    if (!circuit_) return;
    progress_.say(fmt::format("circuit {}: {} gates, simplified and proved equal; {}, {} active",
                              printable(folder_.file("circuit-simple.json")),
                              grouped(std::ssize(circuit_->simple.gates)), trained_text(*circuit_),
                              grouped(active_gates(circuit_->raw))));
    progress_.say(fmt::format("exam    {}", circuit_->exam.passed() ? green("passed") : bold("not passed")));
    for (const std::string& line : exam_lines(circuit_->exam)) progress_.say("        " + line);
  }

 private:
  bool on_boards() const { return boards_of(job_.data) != nullptr; }

  // The weights may be the best epoch's by now, and the checkpoint has the last one's: only the count is new.
  void save_exams_taken() const {
    const std::string path = folder_.file("checkpoint.safetensors");
    io::SafeTensors file = io::load_safetensors(path);
    save(file.metadata);
    io::save_safetensors(path, file.tensors, file.metadata);
  }

  Value attempt_record() const {
    const std::vector<nn::EpochResult>& history = job_.trainer->history();
    double seconds = 0;
    for (const nn::EpochResult& e : history) seconds += e.seconds;
    return record({{"attempt", attempt_of(job_.description)},
                   {"seed", job_seed(job_.description)},
                   {"epochs", history.size()},
                   {"updates", job_.trainer->updates().steps()},
                   {"seconds", seconds},
                   {"trained_gates", circuit_->trained},
                   {"gates", circuit_->raw.gates.size()},
                   {"active_gates", active_gates(circuit_->raw)},
                   {"simplified_gates", circuit_->simple.gates.size()},
                   {"circuit", fingerprint(circuit_->raw)},
                   {"exam_number", exam_number_},
                   {"exam", exam_record(circuit_->exam)}});
  }

  Job& job_;
  RunFolder& folder_;
  Progress& progress_;
  Attempts attempts_;
  std::optional<TrainedCircuit> circuit_;
  int64_t exams_taken_ = 0, exam_number_ = 0;
};

bool has_layer(const Description& d, std::string_view type) {
  const std::vector<Value>& layers = d.settings("model").value("layers").list;
  return std::any_of(layers.begin(), layers.end(), [&](const Value& layer) { return Settings(layer).type() == type; });
}

// Training ends after so many epochs in a row with a test loss of 0.
std::function<bool(const std::vector<nn::EpochResult>&)> enough_zeros(const Description& d) {
  const auto wanted = static_cast<ptrdiff_t>(d.settings("train").integer_or("zeros", 0));
  if (wanted == 0) return {};
  return [wanted](const std::vector<nn::EpochResult>& all) {
    const auto right = [](const nn::EpochResult& e) { return (e.tested ? e.test : e.train).loss == 0; };
    return std::ssize(all) >= wanted && std::all_of(all.end() - wanted, all.end(), right);
  };
}

std::unique_ptr<KindOfRun> start(Job& job, RunFolder& folder, Progress& progress) {
  return std::make_unique<CircuitRun>(job, folder, progress);
}

constexpr JobKind kJobs[] = {
    {"automaton", "a cellular automaton: its rule becomes a circuit that takes an exam",
     [](const Description& d) { return has_layer(d, "automaton"); }, job_seed, enough_zeros, start},
    {"gates", "a network of gates that votes: its circuit must decide as the model does",
     [](const Description& d) { return has_layer(d, "gate_network"); }, job_seed, enough_zeros, start},
};

}  // namespace

std::span<const recipe::JobKind> circuit_jobs() { return kJobs; }

std::span<const recipe::SectionKeys> circuit_keys() {
  static const SectionKeys all[] = {
      {"train",
       {{"zeros", Kind::kInteger, nullptr,
         "of gates: epochs in a row with a test loss of 0 before it stops, which circuits can reach; else never", 0},
        {.name = "restarts",
         .kind = Kind::kInteger,
         .initial = nullptr,
         .doc = "of gates: how often what fails its exam begins anew, with the next seed; each exam is stricter than "
                "the last, so that trying often does not pass it",
         .least = 0,
         .most = 1000,
         .change = Change::kUpwards},
        {.name = "attempt",
         .kind = Kind::kInteger,
         .initial = nullptr,
         .doc = "of gates: which of those this is; it is added to the seed",
         .least = 0,
         .most = 1000,
         .change = Change::kFixed}}}};
  return all;
}

}  // namespace ingot::gates::door
