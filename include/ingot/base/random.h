// Random numbers that depend on nothing but a key and a position: the same on every machine, at any thread count, in
// any order.
#pragma once
#include <array>
#include <cstdint>

#include "ingot/base/export.h"

namespace ingot {

/// Names a sequence of random numbers. Sequences of different seeds or streams are independent; the position in a
/// sequence is the element's index. Two fills with one key draw from the same bits: give each its own stream.
struct RandomKey {
  uint64_t seed = 0;
  uint64_t stream = 0;
};

/// Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
INGOT_API std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Each fill writes the elements first_index to first_index + n - 1 of the key's sequence to out[0] to out[n - 1]. Large
// fills run on the pool; inside a team, a member fills its own share by moving `out` and `first_index`.

/// Uniform in [lo, hi), never hi itself; steps of (hi - lo) / 2^24 for float, 2^53 for double.
INGOT_API void fill_uniform(float* out, int64_t n, int64_t first_index, float lo, float hi, RandomKey key);
INGOT_API void fill_uniform(double* out, int64_t n, int64_t first_index, double lo, double hi, RandomKey key);

/// Normal with the given mean and standard deviation, out to 6.7 deviations for float, 8.6 for double.
INGOT_API void fill_normal(float* out, int64_t n, int64_t first_index, float mean, float deviation, RandomKey key);
INGOT_API void fill_normal(double* out, int64_t n, int64_t first_index, double mean, double deviation, RandomKey key);

/// One with probability p (to 2^-32), else zero.
INGOT_API void fill_bernoulli(bool* out, int64_t n, int64_t first_index, double p, RandomKey key);
INGOT_API void fill_bernoulli(uint8_t* out, int64_t n, int64_t first_index, double p, RandomKey key);
INGOT_API void fill_bernoulli(float* out, int64_t n, int64_t first_index, double p, RandomKey key);
INGOT_API void fill_bernoulli(double* out, int64_t n, int64_t first_index, double p, RandomKey key);

/// Integers in [lo, hi), every one equally likely.
INGOT_API void fill_integers(int64_t* out, int64_t n, int64_t first_index, int64_t lo, int64_t hi, RandomKey key);

/// The numbers 0 to n - 1 in an order drawn uniformly from all n! orders.
INGOT_API void fill_permutation(int64_t* out, int64_t n, RandomKey key);

}  // namespace ingot
