// Schedules: what the learning rate is multiplied by at each update.
#pragma once
#include <cstdint>
#include <functional>

#include "ingot/base/export.h"

namespace ingot::schedule {

/// The factor of update `step` (the first is 0) out of `total`.
using Schedule = std::function<double(int64_t step, int64_t total)>;

INGOT_API Schedule constant();
/// × gamma after every `every` updates.
INGOT_API Schedule step(int64_t every, double gamma = 0.1);
/// Half a cosine from 1 down to `floor`.
INGOT_API Schedule cosine(double floor = 0);
/// A straight line from 0 to 1 over the first `updates`, then `after` over the rest.
INGOT_API Schedule warm_up(int64_t updates, Schedule after = constant());
/// Up from `begin` to 1 over the first `rise` of the run and down to `end`, both half cosines (Smith's
/// super-convergence).
INGOT_API Schedule one_cycle(double rise = 0.3, double begin = 1.0 / 25, double end = 1e-4 / 25);

}  // namespace ingot::schedule
