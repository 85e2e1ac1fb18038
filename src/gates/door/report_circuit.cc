// The circuit of an automaton: its exam, what it does, what it is made of.
#include "gates/door/report_circuit.h"

#include <fmt/format.h>

#include <algorithm>

#include "ingot/gates/circuit_io.h"
#include "ingot/io/io.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/page.h"

namespace ingot::gates::door {
namespace {

using namespace recipe;

constexpr int64_t kStrip = 12;         // frames of the film that are shown side by side
constexpr size_t kMostDrawn = 600;     // gates that a picture of a circuit can show
constexpr int64_t kMostPixels = 1440;  // sum of the sides of a shown animation

std::string figure_of(const std::string& image, const std::string& caption) {
  return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", image, escaped(caption));
}

std::string strip(const Tensor& frames) {
  const int64_t count = frames.size(0), shown = std::min(count, kStrip);
  std::string out;
  for (int64_t k = 0; k < shown; k++) {
    const int64_t step = shown > 1 ? k * (count - 1) / (shown - 1) : 0;
    const Tensor pixels = permute(squeeze(slice(frames, 0, step, step + 1), {0}), {2, 0, 1});
    out += figure_of(picture(pixels, fmt::format("after {} steps", step)),
                     step == 0 ? "start" : fmt::format("step {}", step));
  }
  return fmt::format("<div class=\"gallery strip\">\n{}</div>\n", out);
}

std::string animation(const Tensor& frames) {
  const int64_t side = frames.size(1) + frames.size(2);
  const int64_t scale = std::clamp<int64_t>(kMostPixels / 3 / side, 1, 16);
  const std::string file = io::to_apng(frames, {.seconds = 0.12, .last_seconds = 1.5, .scale = scale});
  return fmt::format(
      "<img class=\"film\" src=\"data:image/png;base64,{}\" alt=\"the automaton at work\" width=\"{}\" "
      "height=\"{}\"/>\n",
      base64(file), frames.size(2) * scale, frames.size(1) * scale);
}

// How many gates have each function, before and after.
std::string histogram(const ReportCircuit& c) {
  std::string rows;
  const auto largest = [](const std::vector<int64_t>& counts) {
    return std::max<double>(1, static_cast<double>(*std::max_element(counts.begin(), counts.end())));
  };
  const double most_before = largest(c.before), most_after = largest(c.after);
  for (size_t i = 0; i < c.functions.size(); i++) {
    const auto cell = [](int64_t count, double most) {
      const double width = 100 * static_cast<double>(count) / most;
      return fmt::format("<td class=\"n\">{}</td><td class=\"bar\">{}</td>", grouped(count),
                         count > 0 ? fmt::format("<i style=\"width:{:.1f}%\"></i>", width) : "");
    };
    if (c.before[i] + c.after[i] > 0)
      rows += fmt::format("<tr><td>{}</td>{}{}</tr>\n", escaped(c.functions[i]), cell(c.before[i], most_before),
                          cell(c.after[i], most_after));
  }
  return fmt::format(
      "<div class=\"scroll\"><table class=\"profile\"><thead><tr><th>function</th><th class=\"n\">trained</th><th></th>"
      "<th class=\"n\">simplified</th><th></th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      rows);
}

// Of each exam that was taken: which attempt, with which seed, and how it went.
ReportTable attempts_table(const std::string& lines) {
  ReportTable table{{"attempt", "seed", "updates", "seconds", "exam"}, {}};
  for (const Value& line : parse_json_lines(lines)) {
    const Value* exam = line.find("exam");
    const Value* items = exam != nullptr ? exam->find("items") : nullptr;
    if (items == nullptr || items->list.empty()) continue;
    const auto number = [](const Value& v, const char* key) {
      const Value* found = v.find(key);
      return found != nullptr ? found->number : 0;
    };
    const auto whole = [&](const Value& v, const char* key) { return static_cast<int64_t>(number(v, key)); };
    const Value *passed = exam->find("passed"), &first = items->list[0];
    table.rows.push_back({std::to_string(whole(line, "attempt") + 1), std::to_string(whole(line, "seed")),
                          grouped(whole(line, "updates")), figure(number(line, "seconds")),
                          fmt::format("{}, {} of {}", passed != nullptr && passed->boolean ? "passed" : "not passed",
                                      whole(first, "right"), whole(first, "of"))});
  }
  return table;
}

}  // namespace

std::string circuit_sections(const ReportCircuit& c) {
  if (c.exam.rows.empty()) return {};
  std::string out = section(
      "exam", "Exam",
      c.passed ? "Passed: everything that is required is right." : "Not passed: something that is required is wrong.",
      html_table(c.exam) +
          (c.attempts.rows.size() > 1 ? "<h3>Attempts, each with other wires</h3>\n" + html_table(c.attempts) : ""));
  if (c.frames.defined()) out += section("film", "What it does", c.film_note, strip(c.frames) + animation(c.frames));
  std::string body;
  if (!c.svg.empty()) body += fmt::format("<div class=\"scroll wide\">{}</div>\n", c.svg);
  body += "<h3>Functions of the gates</h3>\n" + histogram(c);
  body += folded("How it was made smaller, and how that was proved", html_table(c.passes));
  return out + section("circuit", "Circuit", c.note, body);
}

ReportCircuit report_circuit(const recipe::Job& job, const TrainedCircuit& circuit, const std::string& attempts) {
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

}  // namespace ingot::gates::door
