// What the numbers of samples are like: their scale, and whether they are what a loss takes.
#pragma once
#include <vector>

#include "ingot/data.h"
#include "ingot/recipe/keys.h"

namespace ingot::recipe {

/// One mean and deviation for all numbers of samples, or one for each place of their first axis.
struct Scale {
  std::vector<float> mean, deviation;  // the deviation of what never changes is 1
};
/// Of a dataset's inputs: per column of a table, per channel of pictures, or of all.
Scale input_scale(const data::Dataset& set);
/// Of its targets: per number of a list, or of all.
Scale target_scale(const data::Dataset& set);

/// Targets as labels, one whole number per sample; `classes` grows to what they need.
Tensor labels_of(const Settings& s, const Tensor& y, int64_t& classes);
/// Refuses numbers outside 0 … 1.
void check_shares(const Settings& s, const Tensor& y);

}  // namespace ingot::recipe
