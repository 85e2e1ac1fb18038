// Datasets: samples by number.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/named_tensor.h"
#include "ingot/base/tensor.h"
#include "ingot/data/batch.h"
#include "ingot/graph/plan.h"

namespace ingot::data {

/// Samples of one form, by number. Several threads may fetch at once.
class INGOT_API Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  /// What a sample is made of: shape, type and name of each tensor. "x" is what a model takes, "y" its target (shape {}
  /// for a label); they come first.
  virtual std::vector<InputSpec> fields() const = 0;
  /// Writes sample samples[i] to row i of every tensor of `batch`, which has all fields, contiguous, with the rows in
  /// front of the shapes above. Allocates nothing.
  virtual void fetch(std::span<const int64_t> samples, const Batch& batch) const = 0;

  /// The field of a name; an Error that lists the names if there is none.
  InputSpec field(std::string_view name) const;
  InputSpec input() const { return field("x"); }
  InputSpec target() const { return field("y"); }
};

/// Tensors x [n, …] and y [n, …], in memory or mapped from a file (io.h); they are looked at, not copied, if each
/// sample lies in one piece. Batches are f32 (from all floats, bool, and u8 as pixels between 0 and 1) or i64 (from
/// i32, i64, and from u8 if y is a label per sample).
class INGOT_API TensorDataset : public Dataset {
 public:
  TensorDataset(Tensor x, Tensor y);
  /// Any tensors [n, …] by name: {{"x", state}, {"action", action}, {"reward", reward}}.
  explicit TensorDataset(std::vector<NamedTensor> tensors);
  int64_t size() const override;
  std::vector<InputSpec> fields() const override { return fields_; }
  void fetch(std::span<const int64_t> samples, const Batch& batch) const override;

 private:
  std::vector<NamedTensor> tensors_;
  std::vector<InputSpec> fields_;  // as in the batches
};

/// Some samples of another dataset, which must outlive it.
class INGOT_API Subset : public Dataset {
 public:
  Subset(const Dataset& all, std::vector<int64_t> samples);
  Subset(const Dataset&& all, std::vector<int64_t> samples) = delete;  // it would be gone
  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }
  std::vector<InputSpec> fields() const override { return all_->fields(); }
  void fetch(std::span<const int64_t> samples, const Batch& batch) const override;

 private:
  const Dataset* all_;
  std::vector<int64_t> samples_;
};

struct Split {
  Subset train, test;
};
/// Holds a share of the samples back, drawn by `seed`; both parts keep the order of the whole, and none is empty.
INGOT_API Split split(const Dataset& all, double held_back, uint64_t seed);
Split split(const Dataset&& all, double held_back, uint64_t seed) = delete;

/// Text as token numbers. A sample is `length` tokens and, as target, the same moved on by one.
class INGOT_API TokenDataset : public Dataset {
 public:
  /// Windows at every position (streams = 0): shuffle them. Or `streams` rows of windows that follow each other: sample
  /// k·streams + r is window k of row r, so that unshuffled batches of `streams` continue one another (truncated BPTT).
  TokenDataset(std::vector<int32_t> tokens, int64_t length, int64_t streams = 0);
  int64_t size() const override;
  std::vector<InputSpec> fields() const override { return fields_; }
  void fetch(std::span<const int64_t> samples, const Batch& batch) const override;

 private:
  std::vector<int32_t> tokens_;
  int64_t length_, streams_;
  int64_t row_;  // tokens from the start of one row to the next
  std::vector<InputSpec> fields_;
};

}  // namespace ingot::data
