#include "ingot/nn/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ingot/base/error.h"
#include "ingot/base/text.h"

namespace ingot::nn {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The place of row-major element k of a tensor, in elements, over its first `axes` axes.
int64_t offset_of(const Tensor& t, int64_t k, int axes) {
  int64_t offset = 0;
  for (int a = axes - 1; a >= 0; a--) {
    offset += k % t.shape()[a] * t.strides()[a];
    k /= t.shape()[a];
  }
  return offset;
}

int64_t integer_at(const Tensor& t, int64_t k) {
  const int64_t at = offset_of(t, k, t.rank());
  return t.dtype() == kI32 ? t.data<int32_t>()[at] : t.data<int64_t>()[at];
}

bool is_index(const Tensor& t) { return t.dtype() == kI32 || t.dtype() == kI64; }

void require_labels(const char* what, const Tensor& scores, const Tensor& labels) {
  if (!scores.defined() || !labels.defined()) throw Error(std::string(what) + ": scores or labels are undefined");
  Dims shape = scores.shape();
  if (is_float(scores.dtype()) && !shape.empty()) shape.erase(shape.size() - 1);
  const bool right_type = is_index(labels) && (is_float(scores.dtype()) || is_index(scores));
  if (!right_type || (is_float(scores.dtype()) && scores.rank() < 1) || !(labels.shape() == shape))
    throw Error(std::string(what) + ": " + describe(scores) + " and labels " + describe(labels) +
                " — give scores [n, …, classes], f32 or f64, and one label, i32 or i64, for each row");
}

// Calls f(scores of a row, distance between them, label) for every row with a label.
template <class T, class F>
void each_row(const char* what, const Tensor& scores, const Tensor& labels, F f) {
  const int64_t classes = scores.size(-1), stride = scores.strides().back();
  for (int64_t k = 0; k < labels.numel(); k++) {
    const int64_t label = integer_at(labels, k);
    if (label >= classes)
      throw Error(std::string(what) + ": label " + std::to_string(label) + " of " + std::to_string(classes) +
                  " classes");
    if (label >= 0) f(scores.data<T>() + offset_of(scores, k, scores.rank() - 1), stride, label);
  }
}

// How many scores of a row come before the label's: larger, or equal and first. A NaN comes before all.
template <class T>
int64_t rank_of(const T* row, int64_t stride, int64_t classes, int64_t label) {
  const T own = row[label * stride];
  if (std::isnan(own)) return classes;
  int64_t before = 0;
  for (int64_t c = 0; c < classes; c++) {
    const T v = row[c * stride];
    before += !(v < own) && (c < label || v != own);
  }
  return before;
}

template <class T>
double share_within(const char* what, const Tensor& scores, const Tensor& labels, int64_t k) {
  int64_t rows = 0, hits = 0;
  each_row<T>(what, scores, labels, [&](const T* row, int64_t stride, int64_t label) {
    rows++;
    hits += rank_of(row, stride, scores.size(-1), label) < k;
  });
  return rows == 0 ? kNaN : static_cast<double>(hits) / static_cast<double>(rows);
}

double share_within(const char* what, const Tensor& scores, const Tensor& labels, int64_t k) {
  require_labels(what, scores, labels);
  if (!is_float(scores.dtype()))
    throw Error(ErrorKind::kType, std::string(what) + ": scores are " + name(scores.dtype()));
  return scores.dtype() == kF32 ? share_within<float>(what, scores, labels, k)
                                : share_within<double>(what, scores, labels, k);
}

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? kNaN : static_cast<double>(part) / static_cast<double>(whole);
}

void put_right(std::string& line, const std::string& text, size_t width) {
  size_t characters = 0;
  for (const char c : text) characters += (c & 0xC0) != 0x80;
  line.append(width > characters ? width - characters : 0, ' ');
  line += text;
}

}  // namespace

double accuracy(const Tensor& scores, const Tensor& labels) { return share_within("accuracy", scores, labels, 1); }

double top_k_accuracy(const Tensor& scores, const Tensor& labels, int64_t k) {
  if (k < 1) throw Error("top_k_accuracy: k = " + std::to_string(k) + " — it is 1 or more");
  return share_within("top_k_accuracy", scores, labels, k);
}

double perplexity(double mean_loss) { return std::exp(mean_loss); }

void RunningMean::add(double value, double weight) {
  sum_ += value * weight;
  weight_ += weight;
}
double RunningMean::mean() const { return weight_ == 0 ? kNaN : sum_ / weight_; }

ConfusionMatrix::ConfusionMatrix(int64_t classes, std::vector<std::string> names)
    : classes_(classes), names_(std::move(names)) {
  if (classes < 1 || classes > 65536)
    throw Error("ConfusionMatrix: " + std::to_string(classes) + " classes — give 1 to 65536");
  if (!names_.empty() && names_.size() != static_cast<size_t>(classes))
    throw Error("ConfusionMatrix: " + std::to_string(names_.size()) + " names for " + std::to_string(classes) +
                " classes");
  counts_.resize(static_cast<size_t>(classes * classes), 0);
}

void ConfusionMatrix::reset() { std::fill(counts_.begin(), counts_.end(), 0); }

void ConfusionMatrix::add(const Tensor& scores, const Tensor& labels) {
  require_labels("ConfusionMatrix", scores, labels);
  const auto put = [&](int64_t label, int64_t predicted) {
    if (label >= classes_ || predicted < 0 || predicted >= classes_)
      throw Error("ConfusionMatrix: label " + std::to_string(label) + " taken for " + std::to_string(predicted) +
                  ", but there are " + std::to_string(classes_) + " classes");
    counts_[static_cast<size_t>(label * classes_ + predicted)]++;
  };
  if (is_index(scores)) {
    for (int64_t k = 0; k < labels.numel(); k++)
      if (const int64_t label = integer_at(labels, k); label >= 0) put(label, integer_at(scores, k));
    return;
  }
  const auto add_rows = [&]<class T>(T) {
    each_row<T>("ConfusionMatrix", scores, labels, [&](const T* row, int64_t stride, int64_t label) {
      int64_t best = 0;
      for (int64_t c = 1; c < scores.size(-1) && !std::isnan(row[best * stride]); c++)
        if (!(row[c * stride] <= row[best * stride])) best = c;
      put(label, best);
    });
  };
  if (scores.dtype() == kF32)
    add_rows(float{});
  else
    add_rows(double{});
}

int64_t ConfusionMatrix::count(int64_t label, int64_t predicted) const {
  if (label < 0 || label >= classes_ || predicted < 0 || predicted >= classes_)
    throw Error("ConfusionMatrix: no count of " + std::to_string(label) + " for " + std::to_string(predicted) +
                " among " + std::to_string(classes_) + " classes");
  return counts_[static_cast<size_t>(label * classes_ + predicted)];
}
int64_t ConfusionMatrix::row_sum(int64_t c) const {
  int64_t sum = 0;
  for (int64_t k = 0; k < classes_; k++) sum += count(c, k);
  return sum;
}
int64_t ConfusionMatrix::column_sum(int64_t c) const {
  int64_t sum = 0;
  for (int64_t k = 0; k < classes_; k++) sum += count(k, c);
  return sum;
}
int64_t ConfusionMatrix::total() const {
  int64_t sum = 0;
  for (const int64_t n : counts_) sum += n;
  return sum;
}
double ConfusionMatrix::accuracy() const {
  int64_t hits = 0;
  for (int64_t c = 0; c < classes_; c++) hits += count(c, c);
  return ratio(hits, total());
}
double ConfusionMatrix::precision(int64_t c) const { return ratio(count(c, c), column_sum(c)); }
double ConfusionMatrix::recall(int64_t c) const { return ratio(count(c, c), row_sum(c)); }
double ConfusionMatrix::f1(int64_t c) const { return ratio(2 * count(c, c), row_sum(c) + column_sum(c)); }

std::string ConfusionMatrix::text() const {
  std::vector<std::string> names = names_;
  for (int64_t c = 0; names_.empty() && c < classes_; c++) names.push_back(std::to_string(c));
  size_t width = 9;  // of "precision"
  for (const std::string& n : names) width = std::max(width, n.size());
  size_t cell = 5;
  for (const std::string& n : names) cell = std::max(cell, n.size());
  for (const int64_t n : counts_) cell = std::max(cell, std::to_string(n).size());
  cell = std::max(cell, percent(1).size()) + 2;
  std::string text;
  const auto line = [&](const std::string& head, auto each, const std::string& tail) {
    std::string row;
    put_right(row, head, width);
    for (int64_t c = 0; c < classes_; c++) put_right(row, each(c), cell);
    put_right(row, tail, 10);
    text.append(row).push_back('\n');
  };
  line(
      "", [&](int64_t c) { return names[static_cast<size_t>(c)]; }, "recall");
  for (int64_t l = 0; l < classes_; l++)
    line(
        names[static_cast<size_t>(l)], [&](int64_t c) { return std::to_string(count(l, c)); }, percent(recall(l)));
  line(
      "precision", [&](int64_t c) { return percent(precision(c)); }, percent(accuracy()));
  return text;
}

}  // namespace ingot::nn
