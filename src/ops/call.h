// What happens to a call: it is recorded, or inferred, checked and run.
#pragma once
#include <atomic>

#include "ingot/ops/generated.h"
#include "ingot/ops/op.h"

namespace ingot {

/// Whoever records calls instead of running them: a capture. One per thread at most.
class Recorder {
 public:
  virtual void call(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
                    std::span<Tensor> results) = 0;
  virtual void call_into(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
                         std::span<const Tensor* const> destinations) = 0;

 protected:
  ~Recorder() = default;
};

/// The calling thread's recorder, or null.
Recorder* recorder();
/// Puts another in its place; returns the one that was there.
Recorder* set_recorder(Recorder* recorder);

/// The ops of this library (written by tools/opgen.py); all_ops() has those that were added as well.
std::span<const Op* const> core_ops();

/// The results of a call, by the op's shape rule; throws for inputs that do not fit.
Specs infer(const Call& call);
/// Checks a destination as `_into` does: shape, type, layout, aliasing.
void check_destination(const Call& call, const Tensor& dst, const Spec& spec);
/// Rough nanoseconds of a call on one thread.
double estimate_cost(const Call& call, const Tensor* out, int n_out);

}  // namespace ingot
