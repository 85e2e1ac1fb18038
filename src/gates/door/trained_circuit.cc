#include "gates/door/trained_circuit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gates/door/gate_classifier.h"
#include "ingot/gates/circuit_io.h"
#include "ingot/recipe/page.h"

namespace ingot::gates::door {
namespace {

using namespace recipe;

constexpr uint64_t kExamStream = 0x6578616d;  // of the boards of exams
constexpr int64_t kLifeSide = 48;             // of the board that a film of Life shows
constexpr size_t kManyGates = 6000;           // beyond, gates are not replaced in random orders: it would take minutes

// The automaton that a model is; nullptr if it is another one.
gates::Automaton* automaton_of(nn::Sequential& model) {
  return model.size() == 1 ? dynamic_cast<gates::Automaton*>(&model[0]) : nullptr;
}

gates::Circuit rule_of(const Job& job, const gates::Automaton& automaton) {
  const Task& task = job.data.task;
  gates::Circuit circuit = automaton.circuit();
  gates::CellRule& rule = *circuit.cell;
  rule.visible = static_cast<int32_t>(task.target[0]);
  rule.height = static_cast<int32_t>(task.input[1]), rule.width = static_cast<int32_t>(task.input[2]);
  rule.steps = static_cast<int32_t>(automaton.options().steps);
  return circuit;
}

// What an automaton begins with, [1, channels, height, width]; `seed` draws random bits.
gates::Grid start_board(const BoardTask& task, const gates::CellRule& rule, uint64_t seed) {
  const bool life = task.kind == BoardTask::Kind::kLife;
  const int64_t height = life ? kLifeSide : rule.height, width = life ? kLifeSide : rule.width;
  return gates::seed_grid(rule.channels, height, width, task.seed, {seed, kExamStream + 1}, life ? 0.3 : 0.5);
}

// The visible channels of a sample as pixels u8 [height, width, 3]: one channel in black and white, three as colours.
Tensor board_pixels(const gates::Grid& grid, int64_t sample, int64_t visible) {
  Tensor out = Tensor::empty({grid.height(), grid.width(), 3}, kU8);
  uint8_t* to = out.data<uint8_t>();
  for (int64_t y = 0; y < grid.height(); y++)
    for (int64_t x = 0; x < grid.width(); x++)
      for (int64_t colour = 0; colour < 3; colour++)
        *to++ = grid.get(sample, visible >= 3 ? colour : 0, y, x) ? 255 : 24;
  return out;
}

// The first `count` states of a rule, u8 [count, height, width, 3].
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

}  // namespace

Tensor film_of(const recipe::Job& job, const TrainedCircuit& circuit) {
  const BoardTask* boards = boards_of(job.data);
  const gates::CellRule& rule = *circuit.simple.cell;
  const bool life = boards->kind == BoardTask::Kind::kLife;
  const int64_t steps = life ? 80 : std::min<int64_t>(2 * rule.steps, 120);
  return film(circuit.simple, start_board(*boards, rule, 1), steps + 1, {1, 2});
}

bool makes_circuit(recipe::Job& job) {
  return (automaton_of(*job.model) != nullptr && boards_of(job.data) != nullptr) || is_gate_classifier(job);
}

TrainedCircuit circuit_of(recipe::Job& job) {
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

gates::Exam exam_of(recipe::Job& job, const gates::Circuit& circuit, int64_t number) {
  if (!circuit.cell) return examine_classifier(job, circuit);
  const Settings s = job.description.settings("train");
  const BoardTask& task = *boards_of(job.data);
  const RandomKey key{static_cast<uint64_t>(s.integer("seed")) + static_cast<uint64_t>(s.integer_or("attempt", 0)),
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

void save(const recipe::Job& job, const TrainedCircuit& circuit, const recipe::RunFolder& folder) {
  gates::save_circuit(folder.file("circuit.json"), circuit.raw);
  gates::save_circuit(folder.file("circuit-simple.json"), circuit.simple);
  io::write_file(folder.file("exam.json"), to_json(exam_record(circuit.exam)) + "\n");
  if (!circuit.simple.cell) return;
  constexpr int64_t kPixels = 512, kMostPerCell = 16;  // along the longer side of the film
  const Tensor frames = film_of(job, circuit);
  const int64_t scale = std::clamp<int64_t>(kPixels / std::max(frames.size(1), frames.size(2)), 1, kMostPerCell);
  io::save_gif(folder.file("rollout.gif"), frames, {.last_seconds = 1.5, .scale = scale});
}

recipe::Value exam_record(const gates::Exam& exam) {
  Value items = empty_list();
  for (const gates::ExamItem& item : exam.items)
    items.add(record({{"question", item.question},
                      {"right", item.right},
                      {"of", item.of},
                      {"required", item.required},
                      {"note", item.note}}));
  return record({{"passed", exam.passed()}, {"items", items}});
}

std::vector<std::string> exam_lines(const gates::Exam& exam) {
  std::vector<std::string> lines;
  for (const gates::ExamItem& item : exam.items)
    lines.push_back(fmt::format("{} of {} {}{}", grouped(item.right), grouped(item.of), item.question,
                                item.note.empty() ? "" : fmt::format(" ({})", item.note)));
  return lines;
}

}  // namespace ingot::gates::door
