// Test inputs: an op's block adds them here, tests and benchmarks run them in every type and layout.
#pragma once
#include <vector>

#include "ingot/base/export.h"
#include "ingot/ops/op.h"

namespace ingot {

/// One call to test: inputs and attributes.
struct Sample {
  std::vector<Tensor> inputs;
  Attrs attrs;
};

/// Collects samples of one op for one floating (or integer) type. The numbers are the same in every run.
class INGOT_API Samples {
 public:
  Samples(const Op& op, DType dtype) : op_(op), dtype_(dtype) {}
  const Op& op() const { return op_; }
  DType dtype() const { return dtype_; }

  /// Random numbers of the sampled type in the op's range [low, high].
  Tensor real(const Dims& shape) { return real(shape, op_.low, op_.high); }
  Tensor real(const Dims& shape, double low, double high);
  /// A constant that the sampled type holds: `value`, or a whole number beside it.
  double number(double value) const;
  /// Random integers in [low, high).
  Tensor indices(const Dims& shape, int64_t low, int64_t high, DType dtype = kI64);
  Tensor mask(const Dims& shape);
  void add(std::vector<Tensor> inputs, const Attrs& attrs = {}) { samples_.push_back({std::move(inputs), attrs}); }
  const std::vector<Sample>& all() const { return samples_; }

 private:
  uint64_t next();
  const Op& op_;
  DType dtype_;
  uint64_t state_ = 1;
  std::vector<Sample> samples_;
};

}  // namespace ingot
