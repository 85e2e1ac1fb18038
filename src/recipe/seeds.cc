#include "ingot/recipe/seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ingot/base/error.h"
#include "ingot/base/random.h"
#include "ingot/io/io.h"
#include "ingot/recipe/chart.h"
#include "ingot/recipe/page.h"
#include "recipe/run_report.h"

namespace ingot::recipe {

double interquartile_mean(std::span<const double> values) {
  if (values.empty()) throw Error("interquartile mean: of no values");
  for (size_t i = 0; i < values.size(); i++)  // they have no place in an order
    if (std::isnan(values[i]))
      throw Error(ErrorKind::kNumeric, "interquartile mean: result " + std::to_string(i + 1) + " of " +
                                           std::to_string(values.size()) + " is no number — that run has failed");
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto cut = static_cast<ptrdiff_t>(sorted.size() / 4);
  return std::accumulate(sorted.begin() + cut, sorted.end() - cut, 0.0) /
         static_cast<double>(std::ssize(sorted) - 2 * cut);
}

Interval bootstrap_interval(std::span<const double> values, int64_t resamples) {
  if (resamples < 1) throw Error("bootstrap interval: of no resamples");
  const auto n = static_cast<int64_t>(values.size());
  std::vector<int64_t> drawn(values.size());
  std::vector<double> sample(values.size()), means;
  for (int64_t k = 0; k < resamples; k++) {
    fill_integers(drawn.data(), n, k * n, 0, n, {.seed = 95});
    for (size_t i = 0; i < sample.size(); i++) sample[i] = values[static_cast<size_t>(drawn[i])];
    means.push_back(interquartile_mean(sample));
  }
  std::sort(means.begin(), means.end());
  const auto at = [&](double share) { return means[static_cast<size_t>(share * static_cast<double>(resamples - 1))]; };
  return {at(0.025), at(0.975)};
}

namespace {

// The middle and the band of what value(epoch) is in each run; a point where some run has no number is left out.
template <class ValueOf>
Series band(const std::vector<Run>& runs, const std::string& name, const std::string& style, const ValueOf& value) {
  constexpr int64_t kResamples = 1'000;
  Series s{name, style, {}};
  for (size_t i = 0; i < runs[0].history.size(); i++) {
    std::vector<double> values;
    for (const Run& run : runs)
      if (i < run.history.size() && std::isfinite(value(run.history[i]))) values.push_back(value(run.history[i]));
    const bool all = values.size() == runs.size();
    const Interval interval = all ? bootstrap_interval(values, kResamples) : Interval{NAN, NAN};
    s.y.push_back(all ? interquartile_mean(values) : NAN);
    s.low.push_back(interval.low), s.high.push_back(interval.high);
  }
  return s;
}

Report seeds_report(const SeedsRun& all, const Description& d, const std::string& command) {
  const std::vector<double> scores = all.scores();
  const Interval interval = bootstrap_interval(scores);
  Report report = report_head(d, fmt::format("{} seeds from {} on", scores.size(), all.first_seed), command);
  report.title += ", many seeds";
  report.verdict = {{figure(interquartile_mean(scores)), "interquartile mean"},
                    {fmt::format("{} to {}", figure(interval.low), figure(interval.high)), "its 95 % interval"},
                    {std::to_string(scores.size()), "seeds"}};
  report.sections.push_back(all.curves());
  ReportTable table{{"seed", "result", "folder"}, {}};
  for (size_t i = 0; i < scores.size(); i++)
    table.rows.push_back(
        {std::to_string(all.first_seed + static_cast<int64_t>(i)), figure(scores[i]), all.runs[i].folder});
  report.sections.push_back(section("seeds", "Seed by seed", "", html_table(table)));
  return report;
}

}  // namespace

std::vector<double> SeedsRun::scores() const {
  std::vector<double> all;
  for (const Run& run : runs) all.push_back(run.score());
  return all;
}

std::string SeedsRun::curves() const {
  std::string charts;
  const RunInfo& info = runs.at(0).info;
  const auto add = [&](const std::string& name, auto value) {
    LineChart chart{.title = heading_of(name.substr(name.rfind('/') + 1)),
                    .x_name = info.axis,
                    .percent = is_share(name),
                    .may_be_log = false};
    for (const nn::EpochResult& e : runs[0].history)
      chart.x.push_back(std::round(static_cast<double>(e.epoch) * info.axis_per_period));
    const auto train = [&](const nn::EpochResult& e) { return value(e.train); };
    const auto test = [&](const nn::EpochResult& e) { return e.tested ? value(e.test) : NAN; };
    for (Series& s : std::vector{band(runs, "training", "train", train), band(runs, info.test_name, "test", test)})
      if (std::any_of(s.y.begin(), s.y.end(), [](double v) { return std::isfinite(v); }))
        chart.series.push_back(std::move(s));
    if (!chart.series.empty()) charts += line_chart(chart);
  };
  for (size_t i = 0; i < info.metrics.size(); i++)
    add(info.metrics[i], [i](const nn::Scores& s) { return i < s.metrics.size() ? s.metrics[i] : NAN; });
  add("loss", [](const nn::Scores& s) { return s.loss; });
  return section(
      "curves", "Over seeds",
      fmt::format("Lines are interquartile means over {} seeds, bands their 95 % bootstrap intervals.", runs.size()),
      fmt::format("<div class=\"charts\">\n{}</div>\n", charts));
}

SeedsRun run_seeds(const Recipe& recipe, int64_t seeds, const std::string& folder, Progress& progress,
                   const RunOptions& options) {
  if (seeds < 1) throw Error("seeds: so many runs must be 1 or more");
  const Description d = recipe.description();
  SeedsRun all{.folder = folder.empty() ? fmt::format("runs/{}-seeds", d.name) : folder,
               .first_seed = d.settings("train").integer("seed")};
  if (all.first_seed > std::numeric_limits<int64_t>::max() - seeds)
    throw Error(fmt::format("seeds: there are no {} from {} on — begin with a smaller one", seeds, all.first_seed));
  for (int64_t i = 0; i < seeds; i++) {
    Recipe one = recipe;
    one.set(fmt::format("train.seed={}", all.first_seed + i));
    all.runs.push_back(one.run(fmt::format("{}/seed-{}", all.folder, all.first_seed + i), progress, options));
    all.outcome = all.runs.back().outcome;
    if (all.outcome == Outcome::kCancelled) return all;
  }
  all.outcome = Outcome::kDone;
  const std::vector<double> scores = all.scores();
  const Interval interval = bootstrap_interval(scores);
  Value result =
      record({{"event", "seeds"}, {"first_seed", all.first_seed}, {"interquartile_mean", interquartile_mean(scores)}});
  result.set("low", interval.low), result.set("high", interval.high), result.set("scores", scores);
  io::write_file(all.folder + "/seeds.json", to_json(result) + "\n");
  io::write_file(all.folder + "/report.html", seeds_report(all, d, options.command).html());
  progress.event(result);
  return all;
}

}  // namespace ingot::recipe
