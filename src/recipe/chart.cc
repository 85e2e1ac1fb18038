#include "ingot/recipe/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ingot/recipe/page.h"

namespace ingot::recipe {
namespace {

constexpr double kWidth = 400, kHeight = 240, kLeft = 46, kRight = 16, kTop = 16, kBottom = 36;
constexpr size_t kMostPoints = 400;  // of a curve: more than pixels would not show

// From values to places in the drawing.
struct Scale {
  double low, high, from, to;
  bool log = false;
  double operator()(double v) const {
    const double share = log ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low);
    return from + share * (to - from);
  }
  bool shows(double v) const { return std::isfinite(v) && (!log || v > 0); }
};

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void include(double v) {
    if (!std::isfinite(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  bool empty() const { return low > high; }
};

// A value's text on an axis whose ticks are `step` apart.
std::string tick_text(double v, double step, bool as_percent) {
  if (as_percent) v *= 100, step *= 100;
  const double size = std::max(std::fabs(v), step);
  std::string text;
  if (size >= 1e5 || step < 1e-4) {
    text = fmt::format("{:.3g}", v + 0.0);
  } else {
    const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 6);
    text = fmt::format("{:.{}f}", v + 0.0, decimals);
  }
  if (text[0] == '-') text.replace(0, 1, "−");
  return as_percent ? text + " %" : text;
}

struct Drawing {
  std::string svg;
  void line(double x1, double y1, double x2, double y2, std::string_view style) {
    svg += fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>)", x1, y1, x2, y2, style);
  }
  void text(double x, double y, std::string_view style, std::string_view words) {
    svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" class="{}">{}</text>)", x, y, style, escaped(words));
  }
  void dot(double x, double y, double r, std::string_view style) {
    svg += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{}" class="{}"/>)", x, y, r, style);
  }
};

// Evenly spaced members of 0 … n - 1 with the last and `must`.
std::vector<size_t> thinned(size_t n, int must) {
  std::vector<size_t> kept;
  const size_t stride = std::max<size_t>(1, (n + kMostPoints - 1) / kMostPoints);
  for (size_t i = 0; i < n; i++)
    if (i % stride == 0 || i + 1 == n || static_cast<int>(i) == must) kept.push_back(i);
  return kept;
}

Scale vertical_scale(const LineChart& c, std::vector<double>& ticks) {
  Range all, positive;
  for (const Series& s : c.series)
    for (const std::vector<double>* values : {&s.y, &s.low, &s.high})
      for (const double v : *values) {
        all.include(v);
        if (v > 0) positive.include(v);
      }
  Scale y{all.low, all.high, kHeight - kBottom, kTop};
  if (c.may_be_log && !c.percent && !positive.empty() && all.low > 0 && positive.high / positive.low > 100) {
    y.log = true;
    y.low /= 1.15, y.high *= 1.15;
    ticks = log_ticks(y.low, y.high);
    return y;
  }
  double room = 0.06 * (y.high - y.low);
  if (!(room > 1e-9 * std::fabs(y.high))) room = y.high == 0 ? 1 : 0.1 * std::fabs(y.high);  // a flat curve
  const bool from_zero = y.low >= 0 && y.low < 0.25 * y.high;  // near enough to show where nothing is
  y.low = from_zero ? 0 : y.low - room;
  y.high = c.percent && y.high <= 1 ? std::min(1.0, y.high + room) : y.high + room;
  ticks = nice_ticks(y.low, y.high, 5);
  return y;
}

void draw_axes(Drawing& d, const Scale& x, const Scale& y, const std::vector<double>& x_ticks,
               const std::vector<double>& y_ticks, bool as_percent, const std::string& x_name) {
  const double y_step = y_ticks.size() > 1 ? y_ticks[1] - y_ticks[0] : std::max(std::fabs(y.high) / 10, 1e-3);
  for (const double v : y_ticks) {
    d.line(kLeft, y(v), kWidth - kRight, y(v), "grid");
    d.text(kLeft - 7, y(v) + 4, "left", y.log ? fmt::format("{:g}", v) : tick_text(v, y_step, as_percent));
  }
  const double x_step = x_ticks.size() > 1 ? x_ticks[1] - x_ticks[0] : 1;
  for (const double v : x_ticks) {
    d.line(x(v), kHeight - kBottom, x(v), kHeight - kBottom + 4, "axis");
    d.text(x(v), kHeight - kBottom + 17, "middle", tick_text(v, x_step, false));
  }
  d.line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "axis");
  d.text((kLeft + kWidth - kRight) / 2, kHeight - 3, "middle name", x_name);
}

void draw_curve(Drawing& d, const LineChart& c, const Series& s, const Scale& x, const Scale& y,
                const std::vector<size_t>& kept) {
  std::string path;
  bool down = false;  // is the pen?
  size_t run = 0;
  for (size_t k = 0; k <= kept.size(); k++) {
    const bool here = k < kept.size() && kept[k] < s.y.size() && y.shows(s.y[kept[k]]);
    if (!here) {
      if (run == 1) {  // a value between gaps
        const size_t i = kept[k - 1];
        d.dot(x(c.x[i]), y(s.y[i]), 3.5, "dot " + s.style);
      }
      run = 0;
      down = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", down ? "L" : "M", x(c.x[kept[k]]), y(s.y[kept[k]]));
    down = true;
    run++;
  }
  if (!path.empty()) d.svg += fmt::format(R"(<path d="{}" class="curve {}"/>)", path, s.style);
}

// Forth along the upper edge and back along the lower one, without a gap.
void draw_band(Drawing& d, const LineChart& c, const Series& s, const Scale& x, const Scale& y,
               const std::vector<size_t>& kept) {
  std::string forth, back;
  for (const size_t i : kept) {
    if (i >= s.low.size() || i >= s.high.size() || !y.shows(s.low[i]) || !y.shows(s.high[i])) continue;
    forth += fmt::format("{}{:.1f} {:.1f}", forth.empty() ? "M" : "L", x(c.x[i]), y(s.high[i]));
    back.insert(0, fmt::format("L{:.1f} {:.1f}", x(c.x[i]), y(s.low[i])));
  }
  if (!forth.empty()) d.svg += fmt::format(R"(<path d="{}{}Z" class="band {}"/>)", forth, back, s.style);
}

std::string value_text(double v, bool as_percent) { return as_percent ? percentage(v) : figure(v); }

void draw_best(Drawing& d, const LineChart& c, const Scale& x, const Scale& y) {
  if (c.best < 0 || c.best_series >= c.series.size()) return;
  const auto i = static_cast<size_t>(c.best);
  const Series& s = c.series[c.best_series];
  if (i >= s.y.size() || i >= c.x.size() || !y.shows(s.y[i])) return;
  const double px = x(c.x[i]), py = y(s.y[i]);
  d.line(px, kTop, px, kHeight - kBottom, "best");
  d.dot(px, py, 5, "ring " + s.style);
  const bool right = px > (kLeft + kWidth) / 2;
  // Curves that end in a peak leave room below it, those that end in a valley above: the middle is free of both.
  const double middle = (kTop + kHeight - kBottom) / 2;
  const double text_y = c.peak ? std::max(py + 30, middle) : std::min(py - 22, middle);
  d.text(right ? px - 9 : px + 9, text_y, right ? "halo right" : "halo",
         fmt::format("best {} · {} {:g}", value_text(s.y[i], c.percent), c.x_name, c.x[i]));
}

// "0.97", or with its band "0.97 (0.95 to 0.98)".
std::string point_text(const Series& s, size_t i, bool as_percent) {
  std::string text = value_text(i < s.y.size() ? s.y[i] : std::nan(""), as_percent);
  if (i < s.low.size() && i < s.high.size() && std::isfinite(s.low[i]) && std::isfinite(s.high[i]))
    text += fmt::format(" ({} to {})", value_text(s.low[i], as_percent), value_text(s.high[i], as_percent));
  return text;
}

// What the page's script shows under the pointer: places and texts.
std::string hover_data(const LineChart& c, const Scale& x, const Scale& y, const std::vector<size_t>& kept) {
  const auto list = [&](auto&& item) {
    std::string out;
    for (const size_t i : kept) {
      if (!out.empty()) out += ',';
      out += item(i);
    }
    return fmt::format("[{}]", out);
  };
  std::string series;
  for (const Series& s : c.series) {
    const auto at = [&](size_t i) { return i < s.y.size() ? s.y[i] : std::nan(""); };
    series += fmt::format("{}{{\"y\":{},\"t\":{}}}", series.empty() ? "" : ",", list([&](size_t i) {
                            return y.shows(at(i)) ? fmt::format("{:.1f}", y(at(i))) : std::string("null");
                          }),
                          list([&](size_t i) { return fmt::format("\"{}\"", point_text(s, i, c.percent)); }));
  }
  return fmt::format("{{\"x\":{},\"l\":{},\"s\":[{}]}}",
                     list([&](size_t i) { return fmt::format("{:.1f}", x(c.x[i])); }),
                     list([&](size_t i) { return fmt::format("{:g}", c.x[i]); }), series);
}

std::string figure_of(const std::string& title, const std::string& legend, const std::string& attributes,
                      const std::string& svg) {
  return fmt::format(
      "<figure class=\"chart\"><figcaption><b>{}</b>{}</figcaption>\n"
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\"{}>{}</svg></figure>\n",
      escaped(title), legend, kWidth, kHeight, escaped(title), attributes, svg);
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int count, bool whole) {
  if (!(high > low) || !std::isfinite(high - low))
    return std::isfinite(low) ? std::vector<double>{low} : std::vector<double>{};
  const double rough = (high - low) / std::max(1, count);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * 0.999) {
      step = factor * power;
      break;
    }
  if (whole) step = std::max(1.0, std::round(step));
  std::vector<double> ticks;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && ticks.size() < 100; k++)
    ticks.push_back(k * step);
  return ticks;
}

std::vector<double> log_ticks(double low, double high) {
  std::vector<double> ticks;
  if (!(low > 0) || !(high > low) || !std::isfinite(high)) return ticks;
  const double first = std::floor(std::log10(low)), last = std::ceil(std::log10(high));
  const bool few = std::log10(high / low) < 3.5;
  const double stride = std::max(1.0, std::ceil((last - first) / 8));
  for (double e = first; e <= last; e += stride)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double v = factor * std::pow(10, e);
      if ((factor == 1 || few) && v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9)) ticks.push_back(v);
    }
  return ticks;
}

std::string line_chart(const LineChart& c) {
  Range values, xs;
  std::string legend;
  for (const Series& s : c.series) {
    for (const double v : s.y) values.include(v);
    if (c.series.size() > 1)
      legend += fmt::format("<span class=\"key {}\"><i></i>{}</span>", escaped(s.style), escaped(s.name));
  }
  for (const double v : c.x) xs.include(v);
  Drawing d;
  if (values.empty() || xs.empty()) {
    d.text(kWidth / 2, kHeight / 2, "middle", c.x.empty() ? "nothing measured" : "no finite values");
    return figure_of(c.title, legend, "", d.svg);
  }
  const double side = xs.low == xs.high ? 0.5 : 0;
  const Scale x{xs.low - side, xs.high + side, kLeft + 6, kWidth - kRight - 6};
  std::vector<double> y_ticks;
  const Scale y = vertical_scale(c, y_ticks);
  if (y.log) legend += "<span class=\"key\">logarithmic scale</span>";
  std::vector<double> x_ticks = nice_ticks(xs.low, xs.high, 7, true);
  draw_axes(d, x, y, x_ticks, y_ticks, c.percent, c.x_name);
  const std::vector<size_t> kept = thinned(c.x.size(), c.best);
  for (const Series& s : c.series) draw_band(d, c, s, x, y, kept);
  for (const Series& s : c.series) draw_curve(d, c, s, x, y, kept);
  draw_best(d, c, x, y);
  d.svg += "<g class=\"pointer\">";
  d.line(0, kTop, 0, kHeight - kBottom, "cross");
  for (const Series& s : c.series) d.dot(0, 0, 4, "dot " + s.style);
  d.svg += "</g>";
  std::string names;
  for (const Series& s : c.series) names += fmt::format("{}{}", names.empty() ? "" : "|", s.name);
  return figure_of(c.title, legend,
                   fmt::format(" data-x=\"{}\" data-names=\"{}\" data-hover=\"{}\"", escaped(c.x_name), escaped(names),
                               escaped(hover_data(c, x, y, kept))),
                   d.svg);
}

std::string scatter_chart(const std::string& title, const std::vector<double>& x, const std::vector<double>& y) {
  const size_t n = std::min(x.size(), y.size());
  Range all;
  std::vector<size_t> good;
  for (size_t i = 0; i < n; i++)
    if (std::isfinite(x[i]) && std::isfinite(y[i])) {
      good.push_back(i);
      all.include(x[i]);
      all.include(y[i]);
    }
  Drawing d;
  if (all.empty()) {
    d.text(kWidth / 2, kHeight / 2, "middle", "no finite values");
    return figure_of(title, "", "", d.svg);
  }
  double room = 0.04 * (all.high - all.low);
  if (room == 0) room = all.high == 0 ? 1 : 0.1 * std::fabs(all.high);
  const double low = all.low - room, high = all.high + room;
  const Scale sx{low, high, kLeft, kWidth - kRight}, sy{low, high, kHeight - kBottom, kTop};
  draw_axes(d, sx, sy, nice_ticks(low, high, 6), nice_ticks(low, high, 5), false, "true");
  d.line(sx(low), sy(low), sx(high), sy(high), "diagonal");
  const size_t stride = std::max<size_t>(1, good.size() / 1500);
  for (size_t k = 0; k < good.size(); k += stride) d.dot(sx(x[good[k]]), sy(y[good[k]]), 2.6, "point");
  d.text(kLeft + 6, kTop + 10, "name", "predicted");
  return figure_of(title, "", "", d.svg);
}

}  // namespace ingot::recipe
