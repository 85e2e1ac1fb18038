// A profile in words, and as a trace.
#include <algorithm>
#include <cmath>

#include "ingot/base/memory.h"
#include "ingot/base/text.h"
#include "ingot/graph/plan.h"

namespace ingot {
namespace {

std::string per_cent(double share) { return formatted("%.*f %%", share > 0 && share < 0.0995 ? 1 : 0, 100 * share); }

std::string microseconds(double us) { return formatted("%.*f", us < 10 ? 2 : us < 1000 ? 1 : 0, us); }

std::string operations(double flops) {
  if (flops >= 1e9) return formatted("%.2f G", flops / 1e9);
  if (flops >= 1e6) return formatted("%.2f M", flops / 1e6);
  if (flops >= 1e3) return formatted("%.1f k", flops / 1e3);
  return formatted("%.0f  ", flops);
}

// Eighths of a character, ten characters for the whole.
std::string bar(double share) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * 80));
  std::string text;
  for (int i = 0; i < eighths / 8; i++) text += "█";
  return text + kEighths[eighths % 8];
}

struct Column {
  const char* title;
  bool right;
};
using Columns = std::vector<Column>;
using Row = std::vector<std::string>;

Row row_of(const StepProfile& s, size_t index) {
  return {std::to_string(index),
          std::string(s.barrier ? "|" : " ") + (s.critical ? "*" : " "),
          shortened(valid_utf8(s.name), 44),
          s.kind,
          std::to_string(s.workers),
          microseconds(s.us),
          s.barrier ? microseconds(s.wait_us) : "",
          per_cent(s.share),
          bar(s.share),
          s.flops > 0 ? operations(s.flops) : "",
          s.bytes > 0 ? format_bytes(static_cast<uint64_t>(s.bytes)) : "",
          s.roofline > 0 ? per_cent(s.roofline) : ""};
}

// Columns as wide as their widest cell; those without any cell are left out.
std::string lined_up(const Columns& columns, const std::vector<Row>& rows) {
  std::string text;
  std::vector<int> widths;
  for (size_t c = 0; c < columns.size(); c++) {
    int width = 0;
    for (const Row& r : rows) width = std::max(width, text_width(r[c]));
    widths.push_back(width == 0 ? 0 : std::max(width, text_width(columns[c].title)));
  }
  const auto add = [&](const auto& cell) {
    std::string line;
    for (size_t c = 0; c < columns.size(); c++)
      if (widths[c] > 0) line += (c == 0 ? " " : "  ") + padded(cell(c), widths[c], columns[c].right);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add([&](size_t c) { return std::string(columns[c].title); });
  for (const Row& r : rows) add([&](size_t c) { return r[c]; });
  return text;
}

// Where the time goes, in a sentence or two.
std::string bottleneck(const Profile& p, const std::vector<size_t>& slowest) {
  std::vector<std::string> names;
  double sum = 0;
  size_t count = 0;
  for (const size_t i : slowest) {
    if (!p.steps[i].critical) continue;
    sum += p.steps[i].share;
    if (++count <= 4)
      names.push_back(shortened(valid_utf8(p.steps[i].name), 44) + " (" + per_cent(p.steps[i].share) + ")");
  }
  if (count > 4) names.push_back(std::to_string(count - 4) + " more");
  std::string text =
      "* " + per_cent(sum) + " of the time is in " +
      (p.steps.size() == 1 ? "its only step: "
                           : std::to_string(count) + " of " + std::to_string(p.steps.size()) + " steps: ") +
      listed(names) + ".\n";
  if (p.rest_share >= 0.005)
    text += "  " + per_cent(p.rest_share) + " is in no step" +
            (p.threads > 1 ? ": waking the workers, barriers.\n" : ": the looks at the clock, the walk itself.\n");
  if (p.threads == 1) return text;
  const auto longest = std::max_element(p.steps.begin(), p.steps.end(),
                                        [](const auto& a, const auto& b) { return a.wait_us < b.wait_us; });
  text += "| " + per_cent(p.wait_share) + " of the workers' time is waiting";
  if (longest != p.steps.end() && longest->wait_us > 0)
    text += ", longest at the barrier before step " + std::to_string(longest - p.steps.begin()) + " (" +
            microseconds(longest->wait_us) + " µs)";
  text += ".\n";
  if (p.wait_share > 0.5) text += "  Do other programs use the cores? Run it again when the machine is quiet.\n";
  return text;
}

// Nanoseconds as microseconds with a point, whatever the locale.
std::string json_us(int64_t ns) {
  return formatted("%lld.%03d", static_cast<long long>(ns / 1000), static_cast<int>(ns % 1000));
}

}  // namespace

std::string Profile::table(bool by_time) const {
  std::vector<size_t> order(steps.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::vector<size_t> slowest = order;
  std::stable_sort(slowest.begin(), slowest.end(), [&](size_t a, size_t b) { return steps[a].share > steps[b].share; });
  std::vector<Row> rows;
  double flops = 0, bytes = 0;
  for (const size_t i : by_time ? slowest : order) {
    rows.push_back(row_of(steps[i], i));
    flops += steps[i].flops;
    bytes += steps[i].bytes;
  }
  rows.push_back({"", "", "whole run", "", "", microseconds(us), "", "100 %", "", operations(flops),
                  format_bytes(static_cast<uint64_t>(bytes)), ""});
  std::string text =
      formatted("%s: %s µs per run, median of %d; %s without measuring; %d step%s on %d thread%s",
                valid_utf8(plan).c_str(), microseconds(us).c_str(), runs, microseconds(plain_us).c_str(),
                static_cast<int>(steps.size()), steps.size() == 1 ? "" : "s", threads, threads == 1 ? "" : "s");
  if (us > 0) text += formatted("; %.1f GFLOP/s", flops / us / 1000);
  const Columns columns = {{"step", true}, {"", false},     {"name", false}, {"kind", false},
                           {"×", true},    {"µs", true},    {"wait", true},  {"share", true},
                           {"", false},    {"FLOPs", true}, {"data", true},  {"of roofline", true}};
  text += "\n\n" + lined_up(columns, rows) + "\n";
  return steps.empty() ? text + "The plan has no steps.\n" : text + bottleneck(*this, slowest);
}

std::string Profile::by_op() const {
  struct Sum {
    std::string op;
    int count = 0;
    double us = 0, share = 0, flops = 0, bytes = 0;
  };
  std::vector<Sum> sums;
  for (const StepProfile& s : steps) {
    const size_t slash = s.name.rfind('/');
    const std::string op = valid_utf8(slash == std::string::npos ? s.name : s.name.substr(slash + 1));
    auto at = std::find_if(sums.begin(), sums.end(), [&](const Sum& sum) { return sum.op == op; });
    if (at == sums.end()) at = sums.insert(sums.end(), Sum{.op = op});
    at->count++;
    at->us += s.us;
    at->share += s.share;
    at->flops += s.flops;
    at->bytes += s.bytes;
  }
  std::stable_sort(sums.begin(), sums.end(), [](const Sum& a, const Sum& b) { return a.share > b.share; });
  std::vector<Row> rows;
  rows.reserve(sums.size());
  for (const Sum& s : sums)
    rows.push_back({shortened(s.op, 44), std::to_string(s.count), microseconds(s.us), per_cent(s.share), bar(s.share),
                    s.flops > 0 ? operations(s.flops) : "",
                    s.bytes > 0 ? format_bytes(static_cast<uint64_t>(s.bytes)) : "",
                    s.us > 0 ? formatted("%.1f", s.flops / s.us / 1000) : ""});
  return lined_up({{"op", false},
                   {"count", true},
                   {"µs", true},
                   {"share", true},
                   {"", false},
                   {"FLOPs", true},
                   {"data", true},
                   {"GFLOP/s", true}},
                  rows);
}

std::string Profile::chrome_trace() const {
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  text += R"({"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": ")" + json_escaped(plan) + "\"}}";
  for (int w = 0; w < threads; w++)
    text += formatted(
        ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": %d, "
        "\"args\": {\"name\": \"worker %d\"}}",
        w, w);
  for (const StepTrace& t : trace) {
    const StepProfile& s = steps[static_cast<size_t>(t.step)];
    const std::string name = t.wait ? "wait" : json_escaped(s.name);
    text += ",\n{\"name\": \"" + name + "\", \"cat\": \"" + (t.wait ? "wait" : json_escaped(s.kind)) + "\"";
    text += formatted(", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %s, \"dur\": %s, \"args\": {\"step\": %d",
                      t.worker, json_us(t.begin_ns).c_str(), json_us(t.end_ns - t.begin_ns).c_str(), t.step);
    if (t.wait) {
      text += ", \"before\": \"" + json_escaped(s.name) + "\"}}";
    } else {
      text += formatted(", \"flops\": %.0f, \"bytes\": %.0f, \"median_us\": %s, \"detail\": \"", s.flops, s.bytes,
                        json_us(static_cast<int64_t>(s.us * 1000)).c_str()) +
              json_escaped(s.detail) + "\"}}";
    }
  }
  return text + "\n]}\n";
}

}  // namespace ingot
