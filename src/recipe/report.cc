#include "ingot/recipe/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ingot/recipe/chart.h"
#include "ingot/recipe/page.h"
#include "recipe/report_parts.h"

namespace ingot::recipe {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double metric_of(const nn::Scores& scores, size_t m) { return m < scores.metrics.size() ? scores.metrics[m] : kNone; }

// Shares are read as percentages; other metrics as they are.
bool is_share(const nn::Metric& metric) {
  return metric.name.find("accuracy") != std::string::npos || metric.name.starts_with("top");
}

bool any_tested(const Report& r) {
  return std::any_of(r.epochs.begin(), r.epochs.end(), [](const nn::EpochResult& e) { return e.tested; });
}

// The score of an epoch that decides: the first metric, or the loss; on held-out data if there is any.
double deciding_score(const Report& r, const nn::EpochResult& e, bool tested) {
  if (tested && !e.tested) return kNone;
  const nn::Scores& scores = tested ? e.test : e.train;
  return r.metrics.empty() ? scores.loss : metric_of(scores, 0);
}

// The epoch that the trainer took for the best, if it has a score to show.
int best_epoch(const Report& r) {
  const nn::EpochResult* best = nn::best_epoch(r.epochs);
  if (best == nullptr || !std::isfinite(deciding_score(r, *best, any_tested(r)))) return -1;
  return static_cast<int>(best - r.epochs.data());
}

std::vector<ReportFact> verdict_of(const Report& r) {
  if (!r.verdict.empty() || r.epochs.empty()) return r.verdict;
  std::vector<ReportFact> facts;
  const bool tested = any_tested(r);
  if (const int best = best_epoch(r); best >= 0) {
    const nn::EpochResult& e = r.epochs[static_cast<size_t>(best)];
    const double score = deciding_score(r, e, tested);
    facts.push_back({!r.metrics.empty() && is_share(r.metrics[0]) ? percentage(score) : figure(score),
                     fmt::format("{} {}, epoch {}", heading_of(r.metrics.empty() ? r.loss_name : r.metrics[0].name),
                                 tested ? r.test_where : "on training data", e.epoch)});
  }
  double seconds = 0, samples = 0;
  for (const nn::EpochResult& e : r.epochs) {
    seconds += e.seconds;
    samples += e.seconds * e.samples_per_second;
  }
  facts.push_back({duration(seconds), fmt::format("to train {} epoch{}", grouped(static_cast<int64_t>(r.epochs.size())),
                                                  r.epochs.size() == 1 ? "" : "s")});
  if (seconds > 0 && std::isfinite(samples) && samples > 0)
    facts.push_back({grouped(std::llround(samples / seconds)), "samples a second"});
  if (r.memory)
    facts.push_back({byte_text(static_cast<double>(all_bytes(*r.memory))), "of memory, known before the first step"});
  return facts;
}

// How a sentence begins.
std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string head(const Report& r) {
  std::string out =
      fmt::format("<header>\n<div class=\"brand\">{}<span>Ingot training report</span></div>\n<h1>{}</h1>\n",
                  kReportLogo, escaped(r.title));
  if (!r.subtitle.empty()) out += fmt::format("<p class=\"lead\">{}</p>\n", escaped(capitalised(r.subtitle)));
  if (!r.status.empty()) out += fmt::format("<p class=\"status\">{}</p>\n", escaped(r.status));
  const std::vector<ReportFact> verdict = verdict_of(r);
  if (!verdict.empty()) {
    out += "<div class=\"verdict\">\n";
    for (const ReportFact& f : verdict)
      out += fmt::format("<div><b>{}</b><span>{}</span></div>\n", escaped(f.value), escaped(f.label));
    out += "</div>\n";
  }
  return out + "</header>\n";
}

// Training and held-out values of one quantity over the epochs.
template <class Value>
LineChart curves(const Report& r, std::string title, Value value) {
  LineChart chart{.title = std::move(title)};
  const bool tested = any_tested(r);
  Series train{"training", "train", {}}, test{r.test_name, "test", {}};
  for (const nn::EpochResult& e : r.epochs) {
    chart.x.push_back(static_cast<double>(e.epoch));
    train.y.push_back(value(e.train));
    test.y.push_back(e.tested ? value(e.test) : kNone);
  }
  chart.series.push_back(std::move(train));
  if (tested) chart.series.push_back(std::move(test));
  chart.best_series = chart.series.size() - 1;
  return chart;
}

std::string epoch_table(const Report& r) {
  const bool tested = any_tested(r);
  ReportTable table{{"epoch", r.loss_name}, {}};
  if (tested) table.header.push_back(fmt::format("{} ({})", r.loss_name, r.test_name));
  for (const nn::Metric& m : r.metrics) {
    table.header.push_back(m.name);
    if (tested) table.header.push_back(fmt::format("{} ({})", m.name, r.test_name));
  }
  for (const char* name : {"learning rate", "seconds", "samples/s"}) table.header.emplace_back(name);
  for (const nn::EpochResult& e : r.epochs) {
    std::vector<std::string> row = {fmt::format("{}", e.epoch), figure(e.train.loss)};
    if (tested) row.push_back(figure(e.tested ? e.test.loss : kNone));
    for (size_t m = 0; m < r.metrics.size(); m++) {
      const auto text = [&](double v) { return is_share(r.metrics[m]) ? percentage(v) : figure(v); };
      row.push_back(text(metric_of(e.train, m)));
      if (tested) row.push_back(text(e.tested ? metric_of(e.test, m) : kNone));
    }
    row.push_back(figure(e.lr));
    row.push_back(figure(e.seconds));
    row.push_back(std::isfinite(e.samples_per_second) ? grouped(std::llround(e.samples_per_second)) : "–");
    table.rows.push_back(std::move(row));
  }
  return folded("Every epoch in numbers", html_table(table));
}

std::string curves_section(const Report& r) {
  if (r.epochs.empty()) return {};
  const int best = any_tested(r) ? best_epoch(r) : -1;
  std::string charts;
  for (size_t m = 0; m < r.metrics.size(); m++) {
    LineChart c = curves(r, heading_of(r.metrics[m].name), [m](const nn::Scores& s) { return metric_of(s, m); });
    c.percent = is_share(r.metrics[m]);
    c.peak = r.metrics[m].higher_is_better;
    if (m == 0) c.best = best;
    charts += line_chart(c);
  }
  LineChart loss = curves(r, heading_of(r.loss_name), [](const nn::Scores& s) { return s.loss; });
  if (r.metrics.empty()) loss.best = best;
  charts += line_chart(loss);

  const bool lr_changes = std::any_of(r.epochs.begin(), r.epochs.end(),
                                      [&](const nn::EpochResult& e) { return e.lr != r.epochs.front().lr; });
  if (lr_changes) {
    LineChart lr{.title = "Learning rate", .may_be_log = false};
    lr.series = {{"learning rate", "plain", {}}};
    for (const nn::EpochResult& e : r.epochs) {
      lr.x.push_back(static_cast<double>(e.epoch));
      lr.series[0].y.push_back(e.lr);
    }
    charts += line_chart(lr);
  }
  return section("curves", "Training", "", fmt::format("<div class=\"charts\">\n{}</div>\n{}", charts, epoch_table(r)));
}

}  // namespace

std::string Report::html() const {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n";
  page += fmt::format("<title>{} · Ingot</title>\n", escaped(title));
  page += fmt::format("<link rel=\"icon\" href=\"data:image/svg+xml;base64,{}\"/>\n", base64(kReportLogo));
  page += fmt::format("<style>{}</style>\n</head>\n<body>\n<main>\n", kReportStyle);
  page += head(*this);
  page += curves_section(*this);
  for (const std::string& each : sections) page += each;
  page += texts_section(texts);
  page += reconstructions_section(reconstructions);
  page += scatter_section(scatters);
  page += pictures_section(pictures);
  page += confusion_section(confusion);
  page += model_section(*this);
  page += time_section(*this);
  page += memory_section(*this);
  page += setting_section(*this);
  page += fmt::format("</main>\n<footer>{}{}Made by Ingot. This page is one file and loads nothing.</footer>\n",
                      escaped(date), date.empty() ? "" : " · ");
  page += fmt::format("<script>{}</script>\n</body>\n</html>\n", kReportScript);
  return page;
}

}  // namespace ingot::recipe
