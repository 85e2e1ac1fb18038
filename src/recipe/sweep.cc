#include "ingot/recipe/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "ingot/recipe/page.h"
#include "recipe/run_report.h"

namespace ingot::recipe {

SweepAxis sweep_axis(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw Error(fmt::format("sweep: \"{}\" is no key with values — write it as optimizer.lr=0.001,0.0003", text));
  SweepAxis axis{text.substr(0, equals), {""}};
  int depth = 0;
  bool quoted = false;
  for (const char c : text.substr(equals + 1)) {
    if (c == '"') quoted = !quoted;
    if (!quoted) depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (c == ',' && depth == 0 && !quoted)
      axis.values.emplace_back();
    else
      axis.values.back() += c;
  }
  for (const std::string& value : axis.values)
    if (value.find_first_not_of(' ') == std::string::npos)
      throw Error(fmt::format("sweep: \"{}\" has an empty value", text));
  return axis;
}

namespace {

// Which value of each axis combination number n has: the last axis changes fastest.
std::vector<std::string> combination(std::span<const SweepAxis> axes, size_t n) {
  std::vector<std::string> values(axes.size());
  for (size_t i = axes.size(); i-- > 0; n /= axes[i].values.size())
    values[i] = axes[i].values[n % axes[i].values.size()];
  return values;
}

Recipe with(Recipe recipe, std::span<const SweepAxis> axes, std::span<const std::string> values) {
  for (size_t i = 0; i < axes.size(); i++) recipe.set(axes[i].key + "=" + values[i]);
  return recipe;
}

void take(SweepRow& row, const SeedsRun& all) {
  row.scores = all.scores();
  for (const Run& run : all.runs)
    for (const nn::EpochResult& e : run.history) row.seconds += e.seconds;
  row.score = interquartile_mean(row.scores);
}

std::vector<std::vector<std::string>> cells_of(const Sweep& sweep) {
  std::vector<std::vector<std::string>> out;
  for (const SweepRow& row : sweep.rows) {
    std::vector<std::string> cells = row.values;
    cells.push_back(row.failure.empty() ? figure(row.score) : "failed");
    if (row.scores.size() > 1) {
      const auto [low, high] = std::minmax_element(row.scores.begin(), row.scores.end());
      cells.back() += fmt::format(" ({} to {})", figure(*low), figure(*high));
    }
    cells.push_back(fmt::format("{:.1f}", row.seconds));
    cells.push_back(row.folder);
    out.push_back(std::move(cells));
  }
  return out;
}

std::vector<std::string> header_of(const Sweep& sweep) {
  std::vector<std::string> header = sweep.keys;
  header.insert(header.end(), {"result", "seconds", "folder"});
  return header;
}

void write_files(const Sweep& sweep, int64_t seeds, const Description& d, const std::string& command,
                 Progress& progress) {
  const auto quoted = [](const std::string& cell) {
    std::string out = "\"";
    for (const char c : cell) out += c == '"' ? "\"\"" : std::string(1, c);
    return out + "\"";
  };
  std::string csv;
  for (const std::string& key : sweep.keys) csv += quoted(key) + ",";
  csv += "result,seconds,folder,failure\n";
  std::vector<Value> rows;
  for (const SweepRow& row : sweep.rows) {
    Value settings = record({});
    for (size_t i = 0; i < sweep.keys.size(); i++) {
      csv += quoted(row.values[i]) + ",";
      settings.set(sweep.keys[i], row.values[i]);
    }
    csv += fmt::format("{},{:.3f},{},{}\n", row.failure.empty() ? fmt::format("{}", row.score) : "", row.seconds,
                       quoted(row.folder), quoted(row.failure));
    Value one = record({{"folder", row.folder}, {"seconds", row.seconds}});
    one.set("settings", settings);
    if (row.failure.empty())
      one.set("result", row.score), one.set("scores", row.scores);
    else
      one.set("failure", row.failure);
    rows.push_back(std::move(one));
  }
  Value result = record({{"event", "sweep"}, {"folder", sweep.folder}});
  result.set("rows", rows);
  io::write_file(sweep.folder + "/sweep.csv", csv);
  io::write_file(sweep.folder + "/sweep.json", to_json(result) + "\n");
  Report report = report_head(d, fmt::format("{} settings, {} seeds each", sweep.rows.size(), seeds), command);
  report.title += ", a sweep";
  report.sections.push_back(section("sweep", "Best first", "Results are interquartile means over seeds.",
                                    html_table({header_of(sweep), cells_of(sweep)})));
  io::write_file(sweep.folder + "/report.html", report.html());
  progress.event(result);
}

}  // namespace

std::string Sweep::table() const {
  std::vector<std::vector<std::string>> lines = cells_of(*this);
  lines.insert(lines.begin(), header_of(*this));
  std::vector<size_t> widths(lines[0].size());
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); i++) widths[i] = std::max(widths[i], line[i].size());
  std::string out;
  for (const auto& line : lines) {
    for (size_t i = 0; i + 1 < line.size(); i++) out += fmt::format("{:<{}}  ", line[i], widths[i]);
    out += line.back() + "\n";
  }
  return out;
}

Sweep run_sweep(const Recipe& recipe, std::span<const SweepAxis> axes, int64_t seeds, const std::string& folder,
                Progress& progress, const RunOptions& options) {
  if (axes.empty()) throw Error("sweep: no key with values");
  const Description d = recipe.description();
  Sweep all{.folder = folder.empty() ? fmt::format("runs/{}-sweep", d.name) : folder};
  size_t count = 1;
  for (const SweepAxis& axis : axes) {
    if (std::find(all.keys.begin(), all.keys.end(), axis.key) != all.keys.end())
      throw Error(fmt::format("sweep: \"{}\" twice — give all its values at once", axis.key));
    if (axis.key == "train.seed" && seeds > 1) throw Error("sweep: either values of train.seed, or several seeds");
    all.keys.push_back(axis.key), count *= axis.values.size();
    if (count > 10'000) throw Error("sweep: more than 10,000 combinations — nobody waits for them");
  }
  for (size_t n = 0; n < count; n++)
    with(recipe, axes, combination(axes, n)).description();  // what is wrong says so now

  bool higher = true;
  for (size_t n = 0; n < count && all.outcome != Outcome::kCancelled; n++) {
    SweepRow row{.values = combination(axes, n), .folder = fmt::format("{}/{:0{}}", all.folder, n + 1, 3)};
    std::string settings;
    for (size_t i = 0; i < axes.size(); i++)
      settings += fmt::format("{}{}={}", i > 0 ? "  " : "", all.keys[i], row.values[i]);
    progress.say(fmt::format("{}{} of {}: {}", n > 0 ? "\n" : "", n + 1, count, settings));
    try {
      const SeedsRun runs = run_seeds(with(recipe, axes, row.values), seeds, row.folder, progress, options);
      if (runs.outcome == Outcome::kCancelled) {
        all.outcome = Outcome::kCancelled;
        break;
      }
      higher = !std::isnan(runs.runs[0].exam) || !runs.runs[0].info.metrics.empty();  // else it is a loss
      take(row, runs);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kNumeric) throw;
      row.failure = e.what();
      progress.say(row.failure);
    }
    all.rows.push_back(std::move(row));
  }
  std::stable_sort(all.rows.begin(), all.rows.end(), [higher](const SweepRow& a, const SweepRow& b) {
    if (a.failure.empty() != b.failure.empty()) return a.failure.empty();
    if (!a.failure.empty()) return false;
    return higher ? a.score > b.score : a.score < b.score;
  });
  if (!all.rows.empty()) write_files(all, seeds, d, options.command, progress);
  return all;
}

}  // namespace ingot::recipe
