#include "ingot/recipe/seeds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/base/random.h"

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

}  // namespace ingot::recipe
