// What the model is, where the time of a step goes, what memory it takes, and how the run was set up.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ingot/recipe/page.h"
#include "recipe/report_parts.h"

namespace ingot::recipe {
namespace {

constexpr size_t kStepsShown = 12;

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_of("0123456789–") != std::string_view::npos &&
         text.find_first_not_of("0123456789.,+-−–%e ∞") == std::string_view::npos;
}

std::string step_row(const StepProfile& s, double longest) {
  const double gflops = s.us > 0 ? s.flops / s.us / 1000 : 0, gigabytes = s.us > 0 ? s.bytes / s.us / 1000 : 0;
  const bool computes = s.kind == "gemm" || gflops > 10;
  return fmt::format(
      "<tr{}><td class=\"step\" title=\"{}\"><span>{}</span><em>{}</em></td><td class=\"bar\"><i "
      "style=\"width:{:.1f}%\"></i></td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
      "<td class=\"n\">{}</td></tr>\n",
      s.critical ? " class=\"critical\"" : "", escaped(s.detail), escaped(s.name), escaped(s.kind),
      std::isfinite(s.share) && longest > 0 ? std::clamp(100 * s.share / longest, 0.0, 100.0) : 0.0,
      percentage(s.share, 1), microseconds(s.us),
      s.us > 0 ? fmt::format("{:.1f} {}", computes ? gflops : gigabytes, computes ? "GFLOP/s" : "GB/s") : "–",
      s.roofline > 0 ? percentage(s.roofline, 0) : "–");
}

struct Part {
  const char* name;
  size_t bytes;
};

// Key and value, comments and headings of TOML told apart, line by line.
std::string coloured_toml(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t first = line.find_first_not_of(" \t");
    const size_t equals = line.find('=');
    if (first == std::string_view::npos)
      out += "\n";
    else if (line[first] == '#' || line[first] == '[')
      out += fmt::format("<span class=\"{}\">{}</span>\n", line[first] == '#' ? "c" : "h", escaped(line));
    else if (equals != std::string_view::npos)
      out +=
          fmt::format("<span class=\"k\">{}</span>{}\n", escaped(line.substr(0, equals)), escaped(line.substr(equals)));
    else
      out += escaped(line) + "\n";
  }
  return out;
}

}  // namespace

std::string html_table(const ReportTable& table) {
  std::vector<bool> numbers(table.header.size(), true);
  if (!numbers.empty()) numbers[0] = false;  // it names the row
  for (const auto& row : table.rows)
    for (size_t c = 0; c < std::min(row.size(), numbers.size()); c++)
      numbers[c] = numbers[c] && (row[c].empty() || is_number(row[c]));
  const auto style = [&](size_t c) { return c < numbers.size() && numbers[c] ? " class=\"n\"" : ""; };
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (size_t c = 0; c < table.header.size(); c++)
    out += fmt::format("<th{}>{}</th>", style(c), escaped(table.header[c]));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (size_t c = 0; c < row.size(); c++) out += fmt::format("<td{}>{}</td>", style(c), escaped(row[c]));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string model_section(const Report& r) {
  if (r.model.rows.empty()) return {};
  return section("model", "Model", r.model_note, html_table(r.model));
}

std::string time_section(const Report& r) {
  if (!r.profile || r.profile->steps.empty()) return {};
  const Profile& p = *r.profile;
  std::vector<size_t> order(p.steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p.steps[a].us > p.steps[b].us; });
  const double longest = std::accumulate(p.steps.begin(), p.steps.end(), 0.0,
                                         [](double m, const StepProfile& s) { return std::max(m, s.share); });
  const auto table = [&](size_t from, size_t to) {
    std::string rows;
    for (size_t k = from; k < to; k++) rows += step_row(p.steps[order[k]], longest);
    return std::string(
               "<div class=\"scroll\"><table class=\"profile\">\n<thead><tr><th>step</th><th></th><th "
               "class=\"n\">share</th>"
               "<th class=\"n\">time</th><th class=\"n\">rate</th><th class=\"n\">of "
               "roofline</th></tr></thead>\n<tbody>\n") +
           rows + "</tbody></table></div>\n";
  };
  // A few more are shown rather than folded away.
  const size_t shown = order.size() <= kStepsShown + 3 ? order.size() : kStepsShown;
  double rest = 0;
  for (size_t k = shown; k < order.size(); k++) rest += p.steps[order[k]].share;
  std::string body = table(0, shown);
  if (shown < order.size())
    body += folded(fmt::format("{} more steps, {} of the time", order.size() - shown, percentage(rest, 1)),
                   table(shown, order.size()));
  if (!r.plan_svg.empty())
    body += folded("Picture of the plan", fmt::format("<div class=\"scroll plan\"><img alt=\"the plan as a graph\" "
                                                      "src=\"data:image/svg+xml;base64,{}\"/></div>\n",
                                                      base64(r.plan_svg)));
  std::string note = fmt::format(
      "One training step, forward, backward and update, is one plan of {} kernel calls: {} on {} thread{}.",
      p.steps.size(), microseconds(p.plain_us > 0 ? p.plain_us : p.us), p.threads, p.threads == 1 ? "" : "s");
  if (p.rest_share > 0.1)
    note += fmt::format(" {} of that is in no step: threads that wake up and wait.", percentage(p.rest_share, 0));
  return section("time", "Where the time goes", note, body);
}

size_t all_bytes(const PlanBytes& b) { return b.own() + b.parameters + b.gradients + b.state + b.inputs + b.bound; }

std::string memory_section(const Report& r) {
  if (!r.memory) return {};
  const PlanBytes& b = *r.memory;
  const Part parts[] = {{"parameters", b.parameters}, {"gradients", b.gradients}, {"optimiser state", b.state},
                        {"temporaries", b.arena},     {"scratch", b.scratch},     {"constants", b.constants},
                        {"results", b.outputs},       {"inputs", b.inputs},       {"other", b.bound}};
  const size_t total = all_bytes(b);
  if (total == 0) return {};
  std::string bar, key;
  for (size_t i = 0; i < std::size(parts); i++) {
    if (parts[i].bytes == 0) continue;
    const double share = static_cast<double>(parts[i].bytes) / static_cast<double>(total);
    const std::string size = byte_text(static_cast<double>(parts[i].bytes));
    bar += fmt::format("<i class=\"m{}\" style=\"flex-grow:{:.4f}\" title=\"{}: {}\"></i>", i, std::max(share, 0.002),
                       parts[i].name, size);
    key += fmt::format("<li><i class=\"m{}\"></i>{}<b>{}</b></li>\n", i, parts[i].name, size);
  }
  return section("memory", "Memory",
                 fmt::format("{} in all, known before the first step. Training allocates nothing more.",
                             byte_text(static_cast<double>(total))),
                 fmt::format("<div class=\"memory\">{}</div>\n<ul class=\"keys\">\n{}</ul>\n", bar, key));
}

std::string setting_section(const Report& r) {
  std::string body;
  if (!r.command.empty()) body += fmt::format("<pre class=\"command\">{}</pre>\n", escaped_lines(r.command));
  std::string facts;
  for (const ReportFact& f : r.machine)
    facts += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(f.label), escaped(f.value));
  if (!facts.empty()) body += fmt::format("<dl>\n{}</dl>\n", facts);
  if (!r.config.empty())
    body += folded("Configuration", fmt::format("<pre class=\"toml\">{}</pre>\n", coloured_toml(r.config)));
  if (body.empty()) return {};
  return section("setting", "How to repeat it", "", body);
}

}  // namespace ingot::recipe
