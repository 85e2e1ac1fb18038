// Charts as inline SVG. Colours and fonts come from the page's style sheet, so that they follow light and dark.
#pragma once
#include <string>
#include <vector>

#include "ingot/base/export.h"

namespace ingot::recipe {

struct Series {
  std::string name;                         // in the legend
  std::string style;                        // a class of the style sheet: "train", "test", "plain"
  std::vector<double> y;                    // NaN: no value here
  std::vector<double> low = {}, high = {};  // a band around it, where both are numbers
};

struct LineChart {
  std::string title;
  std::string x_name = "epoch";
  std::vector<double> x = {};  // whole numbers, increasing
  std::vector<Series> series = {};
  bool percent = false;
  bool may_be_log = true;
  /// A place on the curve to point out: index into x (-1: none), of which series, and whether it is a peak or a valley.
  int best = -1;
  size_t best_series = 0;
  bool peak = false;
};

/// A <figure> with axes, legend, the best place marked; values under the pointer by the page's script. The vertical
/// axis is logarithmic when positive values span more than two decades.
INGOT_API std::string line_chart(const LineChart& chart);

/// A <figure> of points (x: true, y: predicted) around the diagonal.
INGOT_API std::string scatter_chart(const std::string& title, const std::vector<double>& x,
                                    const std::vector<double>& y);

/// About `count` round numbers (1, 2 or 5 times a power of ten apart) from `low` to `high`, inside them.
INGOT_API std::vector<double> nice_ticks(double low, double high, int count, bool whole = false);
/// Powers of ten from `low` to `high`; with 2 and 5 times them if there are few.
INGOT_API std::vector<double> log_ticks(double low, double high);

}  // namespace ingot::recipe
