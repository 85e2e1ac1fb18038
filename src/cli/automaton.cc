#include "cli/automaton.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/gate_classifier.h"
#include "cli/page.h"
#include "ingot/circuit_io.h"

namespace ingot::cli {
namespace {

constexpr uint64_t kExamStream = 0x6578616d;  // of the boards of exams
constexpr int64_t kLifeSide = 48;             // of the board that a film of Life shows
constexpr size_t kManyGates = 6000;           // beyond, gates are not replaced in random orders: it would take minutes
constexpr size_t kMostDrawn = 600;            // gates that a picture of a circuit can show

// The objects of a text of JSON lines.
std::vector<nlohmann::json> parsed_lines(const std::string& lines) {
  std::vector<nlohmann::json> out;
  for (size_t begin = 0, end; (end = lines.find('\n', begin)) != std::string::npos; begin = end + 1)
    if (auto json = nlohmann::json::parse(lines.substr(begin, end - begin), nullptr, false); json.is_object())
      out.push_back(std::move(json));
  return out;
}

// What the report and the GIF show: twice the trained steps, of Life a while.
Tensor film_of(const Job& job, const TrainedCircuit& circuit) {
  const gates::CellRule& rule = *circuit.simple.cell;
  const bool life = job.data.boards->kind == BoardTask::Kind::kLife;
  const int64_t steps = life ? 80 : std::min<int64_t>(2 * rule.steps, 120);
  return film(circuit.simple, start_board(*job.data.boards, rule, 1), steps + 1, {1, 2});
}

ReportTable attempts_table(const std::string& lines) {
  ReportTable table{{"attempt", "seed", "updates", "seconds", "exam"}, {}};
  for (const nlohmann::json& json : parsed_lines(lines)) {
    if (!json.contains("exam") || json["exam"]["items"].empty()) continue;
    const auto& first = json["exam"]["items"][0];
    table.rows.push_back({std::to_string(json.value("attempt", 0) + 1), std::to_string(json.value("seed", 0)),
                          grouped(json.value("updates", int64_t{0})), figure(json.value("seconds", 0.0)),
                          fmt::format("{}, {} of {}", json["exam"].value("passed", false) ? "passed" : "not passed",
                                      first.value("right", 0), first.value("of", 0))});
  }
  return table;
}

}  // namespace

gates::Automaton* automaton_of(nn::Sequential& model) {
  return model.size() == 1 ? dynamic_cast<gates::Automaton*>(&model[0]) : nullptr;
}

bool makes_circuit(Job& job) {
  return (automaton_of(*job.model) != nullptr && job.data.boards) || is_gate_classifier(job);
}

namespace {

gates::Circuit rule_of(const Job& job, const gates::Automaton& automaton) {
  const Task& task = job.data.task;
  gates::Circuit circuit = automaton.circuit();
  gates::CellRule& rule = *circuit.cell;
  rule.visible = static_cast<int32_t>(task.visible);
  rule.height = static_cast<int32_t>(task.input[1]), rule.width = static_cast<int32_t>(task.input[2]);
  rule.steps = static_cast<int32_t>(automaton.options().steps);
  return circuit;
}

}  // namespace

TrainedCircuit circuit_of(Job& job) {
  const gates::Automaton* automaton = automaton_of(*job.model);
  TrainedCircuit out;
  out.raw = automaton != nullptr ? rule_of(job, *automaton) : classifier_circuit(job);
  out.trained = automaton != nullptr ? automaton->gates.count() : std::ssize(out.raw.gates);
  out.raw.name = job.description.name;
  gates::SimplifyOptions options;
  if (out.raw.gates.size() > kManyGates) options.rounds = 0;
  gates::Simplified simplified = gates::simplify(out.raw, options);
  out.simple = std::move(simplified.circuit), out.passes = std::move(simplified.passes);
  return out;
}

ExamTurn exam_turn(const Job& job, const TrainedCircuit& circuit, const std::string& attempts, int64_t taken) {
  const Settings s = job.description.settings("train");
  const std::vector<nlohmann::json> before = parsed_lines(attempts);
  if (!before.empty() && before.back().value("attempt", int64_t{-1}) == s.integer("attempt") &&
      before.back().value("circuit", "") == fingerprint(circuit.raw))
    return {before.back().value("exam_number", taken), true, taken};
  return {taken == 0 && s.integer("restarts") == 0 ? 0 : taken + 1, false, taken + 1};
}

gates::Exam exam_of(Job& job, const gates::Circuit& circuit, int64_t number) {
  if (!circuit.cell) return examine_classifier(job, circuit);
  const Settings s = job.description.settings("train");
  const BoardTask& task = *job.data.boards;
  const RandomKey key{static_cast<uint64_t>(s.integer("seed") + s.integer("attempt")),
                      kExamStream + static_cast<uint64_t>(number)};
  switch (task.kind) {
    case BoardTask::Kind::kLife: return gates::examine_life(circuit);
    case BoardTask::Kind::kCheckerboard: return gates::examine_checkerboard(circuit, number, key);
    case BoardTask::Kind::kGrow: return gates::examine_growth(circuit, task.picture, task.seed, number, key);
  }
  return {};
}

std::string trained_text(const TrainedCircuit& circuit) {
  const int64_t all = std::ssize(circuit.raw.gates);
  return fmt::format(
      "{} gates trained{}", grouped(circuit.trained),
      all == circuit.trained ? "" : fmt::format(" ({} with the kernels repeated per channel)", grouped(all)));
}

std::string fingerprint(const gates::Circuit& circuit) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : gates::to_binary(circuit)) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

void save(const Job& job, const TrainedCircuit& circuit, const RunFolder& folder) {
  gates::save_circuit(folder.file("circuit.json"), circuit.raw);
  gates::save_circuit(folder.file("circuit-simple.json"), circuit.simple);
  io::write_file(folder.file("exam.json"), exam_json(circuit.exam) + "\n");
  if (!circuit.simple.cell) return;
  constexpr int64_t kPixels = 512, kMostPerCell = 16;  // along the longer side of the film
  const Tensor frames = film_of(job, circuit);
  const int64_t scale = std::clamp<int64_t>(kPixels / std::max(frames.size(1), frames.size(2)), 1, kMostPerCell);
  io::save_gif(folder.file("rollout.gif"), frames, {.last_seconds = 1.5, .scale = scale});
}

std::string exam_json(const gates::Exam& exam) {
  nlohmann::ordered_json out = {{"passed", exam.passed()}, {"items", nlohmann::ordered_json::array()}};
  for (const gates::ExamItem& item : exam.items)
    out["items"].push_back({{"question", item.question},
                            {"right", item.right},
                            {"of", item.of},
                            {"required", item.required},
                            {"note", item.note}});
  return out.dump();
}

std::vector<std::string> exam_lines(const gates::Exam& exam) {
  std::vector<std::string> lines;
  for (const gates::ExamItem& item : exam.items)
    lines.push_back(fmt::format("{} of {} {}{}", grouped(item.right), grouped(item.of), item.question,
                                item.note.empty() ? "" : fmt::format(" ({})", item.note)));
  return lines;
}

gates::Grid start_board(const BoardTask& task, const gates::CellRule& rule, uint64_t seed) {
  const bool life = task.kind == BoardTask::Kind::kLife;
  const int64_t height = life ? kLifeSide : rule.height, width = life ? kLifeSide : rule.width;
  return gates::seed_grid(rule.channels, height, width, task.seed, {seed, kExamStream + 1}, life ? 0.3 : 0.5);
}

Tensor board_pixels(const gates::Grid& grid, int64_t sample, int64_t visible) {
  Tensor out = Tensor::empty({grid.height(), grid.width(), 3}, kU8);
  uint8_t* to = out.data<uint8_t>();
  for (int64_t y = 0; y < grid.height(); y++)
    for (int64_t x = 0; x < grid.width(); x++)
      for (int64_t colour = 0; colour < 3; colour++)
        *to++ = grid.get(sample, visible >= 3 ? colour : 0, y, x) ? 255 : 24;
  return out;
}

Tensor film(const gates::Circuit& rule, gates::Grid start, int64_t count, RandomKey fire) {
  gates::Runner runner(rule);
  Tensor out = Tensor::empty({count, start.height(), start.width(), 3}, kU8);
  const auto bytes = static_cast<size_t>(start.height() * start.width() * 3);
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) runner.step(start, 1, fire, i - 1);
    std::memcpy(out.data<uint8_t>() + static_cast<size_t>(i) * bytes,
                board_pixels(start, 0, rule.cell->visible).data<uint8_t>(), bytes);
  }
  return out;
}

ReportCircuit report_circuit(const Job& job, const TrainedCircuit& circuit, const std::string& attempts) {
  ReportCircuit out;
  out.passed = circuit.exam.passed();
  out.exam.header = {"question", "right", "of", "", ""};
  for (const gates::ExamItem& item : circuit.exam.items)
    out.exam.rows.push_back({item.question, grouped(item.right), grouped(item.of),
                             !item.required          ? "told, not required"
                             : item.right == item.of ? "passed"
                                                     : "not passed",
                             item.note});
  out.attempts = attempts_table(attempts);
  if (circuit.simple.cell) {
    const gates::CellRule& rule = *circuit.simple.cell;
    out.frames = film_of(job, circuit);
    out.film_note = fmt::format("{} steps of the simplified circuit; it was trained on {} x {} cells for {}.",
                                out.frames.size(0) - 1, rule.height, rule.width,
                                rule.steps == 1 ? "one step" : fmt::format("{} steps", rule.steps));
  }
  for (int f = 0; f < gates::kFunctions; f++) out.functions.emplace_back(gates::name(static_cast<gates::Function>(f)));
  out.before = gates::function_counts(circuit.raw), out.after = gates::function_counts(circuit.simple);
  out.passes.header = {"pass", "gates", "seconds", "proof"};
  for (const gates::PassResult& p : circuit.passes)
    out.passes.rows.push_back({p.pass, grouped(p.gates), figure(p.seconds), p.proof});
  out.note = fmt::format("{}, {} active; {} after simplification.", trained_text(circuit),
                         grouped(gates::active_gates(circuit.raw)), grouped(std::ssize(circuit.simple.gates)));
  if (circuit.simple.gates.size() <= kMostDrawn) out.svg = gates::to_svg(circuit.simple);
  return out;
}

}  // namespace ingot::cli
