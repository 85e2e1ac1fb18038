// What many seeds say together: the interquartile mean and its bootstrap interval, as rliable defines them (Agarwal et al.
// 2021), of results and along curves.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/recipe/recipe.h"
#include "ingot/recipe/report.h"

namespace ingot::recipe {

/// The mean without a quarter of the values at each end (rounded down). An Error if there is no value.
INGOT_API double interquartile_mean(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
};
/// Where the interquartile mean lies in 95 % of the resamples (with replacement), the same at every call.
INGOT_API Interval bootstrap_interval(std::span<const double> values, int64_t resamples = 10'000);

/// What came of runs that differ in their seed alone.
struct INGOT_API SeedsRun {
  Outcome outcome = Outcome::kDone;  // kCancelled: there are fewer than were asked for
  std::string folder;
  int64_t first_seed = 0;
  std::vector<Run> runs = {};  // seed after seed
  std::vector<double> scores() const;
  /// A section of a report: metrics as bands over seeds.
  std::string curves() const;
};

/// Trains a recipe with seed after seed, each into a folder of its own under `folder` (empty: runs/NAME-seeds); seeds.json
/// and report.html there say what they came to together.
INGOT_API SeedsRun run_seeds(const Recipe& recipe, int64_t seeds, const std::string& folder, Progress& progress,
                             const RunOptions& options = {});

}  // namespace ingot::recipe
