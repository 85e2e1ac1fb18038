#include "logic/door/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ingot/recipe/chart.h"
#include "ingot/recipe/page.h"

namespace ingot::logic::door {

using namespace recipe;

std::string curves_section(std::span<const nn::EpochResult> history, const std::vector<std::string>& metrics,
                           const std::string& loss, const std::string& test_name, const std::string& axis,
                           double per_period) {
  std::string charts;
  const auto add = [&](const std::string& name, auto value) {
    LineChart chart{.title = shortened(heading_of(name), 60), .x_name = axis, .may_be_log = false};
    Series train{"while learning", "train", {}}, test{test_name, "test", {}};
    bool tested = false;
    for (const nn::EpochResult& e : history) {
      chart.x.push_back(std::round(static_cast<double>(e.epoch) * per_period));
      train.y.push_back(value(e.train));
      test.y.push_back(e.tested ? value(e.test) : NAN);
      tested |= std::isfinite(test.y.back());
    }
    chart.series.push_back(std::move(train));
    if (tested) chart.series.push_back(std::move(test));
    charts += line_chart(chart);
  };
  for (size_t i = 0; i < metrics.size(); i++)
    add(metrics[i], [i](const nn::Scores& s) { return i < s.metrics.size() ? s.metrics[i] : NAN; });
  add(loss, [](const nn::Scores& s) { return s.loss; });
  return section("curves", "Learning", "", fmt::format("<div class=\"charts\">\n{}</div>\n", charts));
}

// Words of the language bold, comments and numbers in other colours.
std::string program_section(const std::string& text) {
  static constexpr const char* kWords[] = {"domain",  "rel",         "param", "tensor", "input", "neural", "assert",
                                           "forall",  "exists",      "where", "not",    "and",   "or",     "semantics",
                                           "algebra", "temperature", "in",    "batch",  "output"};
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::string html;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (text[i] == '#') {
      end = std::min(text.find('\n', i), text.size());
      html += "<span style=\"opacity:.6\">" + escaped_lines(text.substr(i, end - i)) + "</span>";
    } else if (is_letter(text[i])) {
      while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) end++;
      const std::string word = text.substr(i, end - i);
      const bool known = std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
      html += known ? "<b style=\"color:#7a5af5\">" + word + "</b>" : word;
    } else if (is_digit(text[i])) {
      while (end < text.size() &&
             (is_digit(text[end]) || (text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1]))))
        end++;
      html += "<span style=\"color:#c2571a\">" + text.substr(i, end - i) + "</span>";
    } else {
      html += escaped_lines(text.substr(i, 1));
    }
    i = end;
  }
  return section("program", "Program", "", "<pre>" + html + "</pre>\n");
}

}  // namespace ingot::logic::door
