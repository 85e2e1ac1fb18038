#include "rl/door/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ingot/recipe/chart.h"
#include "ingot/recipe/page.h"

namespace ingot::rl::door {

using namespace recipe;

std::string curves_section(std::span<const nn::EpochResult> history, const std::vector<std::string>& metrics,
                           const std::string& loss, double per_period, const std::string& unit) {
  std::string charts;
  const auto add = [&](const std::string& name, auto value) {
    LineChart chart{.title = heading_of(name.substr(name.rfind('/') + 1)), .x_name = unit, .may_be_log = false};
    Series train{"while learning", "train", {}}, test{"greedy", "test", {}};
    bool tested = false;
    for (const nn::EpochResult& e : history) {
      chart.x.push_back(std::round(static_cast<double>(e.epoch) * per_period));
      train.y.push_back(value(e.train));
      test.y.push_back(e.tested ? value(e.test) : NAN);
      tested |= std::isfinite(test.y.back());
    }
    const bool trained = std::any_of(train.y.begin(), train.y.end(), [](double v) { return std::isfinite(v); });
    if (trained) chart.series.push_back(std::move(train));
    if (tested) chart.series.push_back(std::move(test));
    if (!chart.series.empty()) charts += line_chart(chart);
  };
  for (size_t i = 0; i < metrics.size(); i++)
    add(metrics[i], [i](const nn::Scores& s) { return i < s.metrics.size() ? s.metrics[i] : NAN; });
  add(loss, [](const nn::Scores& s) { return s.loss; });
  return section("curves", "Learning", "", fmt::format("<div class=\"charts\">\n{}</div>\n", charts));
}

}  // namespace ingot::rl::door
