// The circuit of an automaton: its exam, what it does, what it is made of.
#include <fmt/format.h>

#include <algorithm>

#include "cli/page.h"
#include "cli/report_parts.h"
#include "ingot/io.h"
#include "ingot/ops.h"

namespace ingot::cli {
namespace {

constexpr int64_t kStrip = 12;         // frames of the film that are shown side by side
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

}  // namespace

std::string circuit_section(const ReportCircuit& c) {
  if (c.exam.rows.empty()) return {};
  std::string out = section(
      "exam", "Exam",
      c.passed ? "Passed: everything that is required is right." : "Not passed: something that is required is wrong.",
      html_table(c.exam) +
          (c.attempts.rows.size() > 1 ? "<h3>Attempts, each with other wires</h3>\n" + html_table(c.attempts) : ""));
  if (c.frames.defined()) out += section("film", "What it does", c.film_note, strip(c.frames) + animation(c.frames));
  std::string body;
  if (!c.svg.empty()) body += fmt::format("<div class=\"scroll circuit\">{}</div>\n", c.svg);
  body += "<h3>Functions of the gates</h3>\n" + histogram(c);
  body += folded("How it was made smaller, and how that was proved", html_table(c.passes));
  return out + section("circuit", "Circuit", c.note, body);
}

}  // namespace ingot::cli
