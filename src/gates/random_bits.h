#pragma once
#include <cstdint>

#include "ingot/base/random.h"

namespace ingot::gates {

/// Writes the bits first_index to first_index + n - 1 of a key's sequence (those of fill_bernoulli), from the least
/// significant bit of the first word on; bits behind the last are false.
void random_bits(uint64_t* words, int64_t n, int64_t first_index, double p, RandomKey key);

}  // namespace ingot::gates
