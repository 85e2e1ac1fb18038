// How many samples a batch should have.
#pragma once
#include <cstdint>

#include "ingot/base/export.h"
#include "ingot/base/machine.h"
#include "ingot/data/loader.h"
#include "ingot/graph/plan.h"

namespace ingot::data {

/// A batch size that suits this machine's caches, from the bytes per sample of a plan that was compiled for batches of
/// `batch`: its temporaries; with the loader that feeds it, those of the batches, too. A power of two, at most 4096.
INGOT_API int64_t recommended_batch(const Plan& plan, int64_t batch);
INGOT_API int64_t recommended_batch(const Plan& plan, const Loader& loader);
/// The rule. Samples enough that their bytes fill the L2 caches of the workers, and at least as many bytes as the
/// `fixed` ones that a step goes through whatever the batch (parameters, gradients, optimiser state), so that it is not
/// mostly update; but no more than fit into half of L3, which is shared with others. Fewer than 8 only
/// where half of the free memory does not hold 8.
INGOT_API int64_t recommended_batch(double bytes_per_sample, double fixed, int workers, const MachineInfo& machine);

}  // namespace ingot::data
