#include "recipe/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ingot/base/error.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::recipe {
namespace {

constexpr int64_t kRows = 256;  // fetched at once

Tensor rows_of(const InputSpec& one) {
  Dims shape{kRows};
  for (const int64_t size : one.shape) shape.push_back(size);
  return Tensor::empty(shape, one.dtype);
}

// Sums of distances from a number of the group's own: like this, a large mean takes no digits from a small deviation.
struct Group {
  double origin = 0, sum = 0, squares = 0;
  bool begun = false;
  void add(const float* values, int64_t count) {
    if (!begun) origin = values[0], begun = true;
    for (int64_t i = 0; i < count; i++) {
      const double distance = values[i] - origin;
      sum += distance, squares += distance * distance;
    }
  }
};

Scale scale_of(const data::Dataset& set, bool of_target, int64_t groups) {
  const Tensor x = rows_of(set.input()), y = rows_of(set.target());
  const Tensor& values = of_target ? y : x;
  const int64_t per_sample = values.numel() / kRows, inner = groups > 0 ? per_sample / groups : 0;
  if (inner == 0) throw Error(of_target ? "the targets have no numbers" : "the samples have no numbers");
  std::vector<Group> all(static_cast<size_t>(groups));
  for (int64_t first = 0; first < set.size(); first += kRows) {
    const int64_t count = std::min(kRows, set.size() - first);
    std::vector<int64_t> samples(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; i++) samples[static_cast<size_t>(i)] = first + i;
    set.fetch(samples, {slice(x, 0, 0, count), slice(y, 0, 0, count)});
    const float* at = values.data<float>();
    for (int64_t i = 0; i < count; i++)
      for (Group& group : all) group.add(at, inner), at += inner;
  }
  Scale scale;
  const double count = std::max(1.0, static_cast<double>(set.size() * inner));
  for (size_t i = 0; i < all.size(); i++) {
    const double shift = all[i].sum / count, mean = all[i].origin + shift;
    if (!std::isfinite(all[i].squares))
      throw Error(ErrorKind::kNumeric,
                  fmt::format("{} hold numbers that are not finite{}", of_target ? "the targets" : "the inputs",
                              groups > 1 ? fmt::format(", in column or channel {}", i) : ""));
    const double deviation = std::sqrt(std::max(0.0, all[i].squares / count - shift * shift));
    // Less than f32 can tell apart near the mean is nothing.
    const bool constant = deviation <= 1e-7 * std::abs(mean) || deviation < std::numeric_limits<float>::min();
    scale.mean.push_back(static_cast<float>(mean));
    scale.deviation.push_back(constant ? 1.0F : static_cast<float>(deviation));
  }
  return scale;
}

}  // namespace

Scale input_scale(const data::Dataset& set) {
  const Dims shape = set.input().shape;
  return scale_of(set, false, shape.size() == 1 || shape.size() == 3 ? shape[0] : 1);
}

Scale target_scale(const data::Dataset& set) {
  const Dims shape = set.target().shape;
  return scale_of(set, true, shape.size() == 1 ? shape[0] : 1);
}

Tensor labels_of(const Settings& s, const Tensor& y, int64_t& classes) {
  const bool column = y.rank() == 2 && y.size(1) == 1;
  if (y.rank() != 1 && !column) s.fail("the loss needs one label per sample, but targets are lists of numbers");
  const Tensor given = contiguous(to(reshape(y, {y.size(0)}), kF64));
  Tensor labels = Tensor::empty({y.size(0)}, kI64);
  for (int64_t i = 0; i < given.numel(); i++) {
    const double label = given.data<double>()[i];
    if (!(label >= 0 && label <= 1'000'000) || label != std::floor(label))
      s.fail(
          fmt::format("the label of sample {} is no whole number from 0 to 1,000,000 — for other numbers take another "
                      "loss: [loss] type = \"mse\"",
                      i));
    labels.data<int64_t>()[i] = static_cast<int64_t>(label);
    classes = std::max(classes, static_cast<int64_t>(label) + 1);
  }
  return labels;
}

void check_shares(const Settings& s, const Tensor& y) {
  const Tensor values = contiguous(y);
  for (int64_t i = 0; i < values.numel(); i++)
    if (const float v = values.data<float>()[i]; !(v >= 0 && v <= 1))
      s.fail(
          fmt::format("the loss needs targets from 0 to 1, but sample {} has {} — for other numbers take another loss: "
                      "[loss] type = \"mse\"",
                      i / std::max<int64_t>(1, values.numel() / values.size(0)), v));
}

}  // namespace ingot::recipe
