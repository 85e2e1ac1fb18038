// How many samples a batch should have.
#pragma once
#include <cstdint>

#include "ingot/base/export.h"
#include "ingot/base/machine.h"
#include "ingot/data/loader.h"
#include "ingot/graph/plan.h"

namespace ingot::data {

/// What a step goes through: bytes for each sample of its batch, and those that are the same for any batch (parameters,
/// gradients, optimiser state).
struct StepBytes {
  double per_sample = 0, fixed = 0;
};
/// Those of a plan that was compiled for batches of `batch`: its temporaries; with the loader that feeds it, those of
/// the batches, too.
INGOT_API StepBytes step_bytes(const Plan& plan, int64_t batch);
INGOT_API StepBytes step_bytes(const Plan& plan, const Loader& loader);

/// A batch size that suits this machine's caches and the plan's workers. A power of two, at most 4096.
INGOT_API int64_t recommended_batch(const Plan& plan, int64_t batch);
INGOT_API int64_t recommended_batch(const Plan& plan, const Loader& loader);
/// The rule. Samples enough that their bytes fill the L2 caches of the workers, and at least as many bytes as the fixed
/// ones, so that a step is not mostly update; but no more than fit into half of L3, which is shared with others. Fewer
/// than 8 only where half of the free memory does not hold 8; an Error of the kind kMemory where all of it does not hold
/// one.
INGOT_API int64_t recommended_batch(const StepBytes& bytes, int workers, const MachineInfo& machine);

}  // namespace ingot::data
