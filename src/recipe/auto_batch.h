// What `batch = "auto"` of a description stands for.
#pragma once
#include <string>

#include "ingot/recipe/job.h"

namespace ingot::recipe {

struct BatchChoice {
  int64_t batch = 0;
  std::string why;  // a sentence, without its full stop
};

/// The batch that suits this machine, from the plan of a job with a batch of some size. It depends on caches, cores and,
/// where it is scarce, free memory, but not on the number of threads: that would change what a run comes to.
BatchChoice choose_batch(const Job& sized);

}  // namespace ingot::recipe
