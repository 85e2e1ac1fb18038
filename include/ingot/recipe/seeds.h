// What many seeds say together: the interquartile mean and its bootstrap interval, as rliable defines them (Agarwal et al.
// 2021).
#pragma once
#include <cstdint>
#include <span>

#include "ingot/base/export.h"

namespace ingot::recipe {

/// The mean without a quarter of the values at each end (rounded down). An Error if there is no value.
INGOT_API double interquartile_mean(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
};
/// Where the interquartile mean lies in 95 % of the resamples (with replacement), the same at every call.
INGOT_API Interval bootstrap_interval(std::span<const double> values, int64_t resamples = 10'000);

}  // namespace ingot::recipe
