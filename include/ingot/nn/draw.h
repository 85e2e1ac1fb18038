// Initial values of parameters.
#pragma once
#include "ingot/base/export.h"
#include "ingot/base/random.h"
#include "ingot/base/tensor.h"

namespace ingot::nn {

/// The key of the next parameter's numbers, from set_seed()'s sequence.
INGOT_API RandomKey next_key();
/// Uniform in ±bound, from the next key.
INGOT_API Tensor draw_uniform(const Dims& shape, double bound);
/// Normal with mean 0 and deviation 1, from the next key.
INGOT_API Tensor draw_normal(const Dims& shape);

}  // namespace ingot::nn
