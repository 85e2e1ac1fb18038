// Figures of merit. Those of this file are added up batch by batch outside plans and allocate nothing; to have one
// computed inside a training plan, see nn::Metric in trainer.h.
#pragma once
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"

namespace ingot::nn {

/// The share of rows of scores [n, …, classes] whose largest one (the first of equals) is the label's; labels [n, …]
/// are i32 or i64, and rows with a negative label do not count. NaN if there are none.
INGOT_API double accuracy(const Tensor& scores, const Tensor& labels);
/// The share of rows in which fewer than k scores are larger than the label's (or equal and before it).
INGOT_API double top_k_accuracy(const Tensor& scores, const Tensor& labels, int64_t k);
/// e to the mean loss per token.
INGOT_API double perplexity(double mean_loss);

/// A mean of numbers that come one after the other, each with a weight: batches of different sizes.
class INGOT_API RunningMean {
 public:
  void add(double value, double weight = 1);
  /// NaN if nothing was added.
  double mean() const;
  double weight() const { return weight_; }
  void reset() { *this = {}; }

 private:
  double sum_ = 0, weight_ = 0;
};

/// How often each class was taken for each other one.
class INGOT_API ConfusionMatrix {
 public:
  explicit ConfusionMatrix(int64_t classes, std::vector<std::string> names = {});
  /// Counts the rows of scores [n, …, classes] by label and largest score, or of predictions (i32 or i64, of the
  /// labels' shape); negative labels do not count.
  void add(const Tensor& scores_or_predictions, const Tensor& labels);
  void reset();

  int64_t classes() const { return classes_; }
  /// How often `label` was taken for `predicted`.
  int64_t count(int64_t label, int64_t predicted) const;
  int64_t total() const;
  double accuracy() const;
  /// Of what was taken for a class, the share that is of it; of what is of a class, the share that was taken for it;
  /// their harmonic mean. NaN where there is nothing to divide by.
  double precision(int64_t c) const;
  double recall(int64_t c) const;
  double f1(int64_t c) const;
  /// An aligned table: labels down, predictions across, precision and recall of each class.
  std::string text() const;

 private:
  int64_t row_sum(int64_t c) const;
  int64_t column_sum(int64_t c) const;
  int64_t classes_;
  std::vector<std::string> names_;
  std::vector<int64_t> counts_;  // [label, predicted]
};

}  // namespace ingot::nn
