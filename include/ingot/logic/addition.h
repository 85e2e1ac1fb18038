// Sums of written numbers: a theory that learns to read digits from nothing but what pairs of numbers add up to.
#pragma once
#include <cstdint>
#include <string>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/data/batch.h"

namespace ingot::logic {

/// The program of a theory in which the pictures of two numbers of so many digits are read by network "net", and
/// assertion "right" says that they add up to `written`. Carries go from digit to digit, so its cost grows with their number,
/// not with the size of the sum; probabilities and gradients are exact.
INGOT_API std::string addition_program(int64_t digits, int64_t height, int64_t width);

/// Its batch: `pictures` [n, 2 · digits, height, width], the left number's digits first and the least digit first in each, and
/// `sums` [n] (i64), as the digits that the program calls `written`.
INGOT_API data::Batch addition_batch(const Tensor& pictures, const Tensor& sums);
/// The digits of sums, one-hot, the least first: [n, digits + 1, 10].
INGOT_API Tensor written_digits(const Tensor& sums, int64_t digits, DType dtype = kF32);

}  // namespace ingot::logic
