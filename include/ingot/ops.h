// Written by tools/opgen.py from the blocks in src/ops: change those and run `./dev generate`.
// Every op has two forms: the first returns a new tensor; `_into` writes to a destination of exactly the result's shape
// and type and allocates nothing.
#pragma once
#include <array>
#include <string_view>

#include "ingot/functions.h"
#include "ingot/options.h"
#include "ingot/tensor.h"

namespace ingot {

// arithmetic ----------------------------------------------------------------------------------------------------------

/// a + b, with broadcasting.
Tensor add(const Tensor& a, const Tensor& b);
void add_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a - b, with broadcasting.
Tensor subtract(const Tensor& a, const Tensor& b);
void subtract_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a · b, with broadcasting.
Tensor multiply(const Tensor& a, const Tensor& b);
void multiply_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a / b, with broadcasting.
Tensor divide(const Tensor& a, const Tensor& b);
void divide_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// x + value.
Tensor add(const Tensor& x, double value);
void add_into(const Tensor& dst, const Tensor& x, double value);

/// x - value.
Tensor subtract(const Tensor& x, double value);
void subtract_into(const Tensor& dst, const Tensor& x, double value);

/// x · value.
Tensor multiply(const Tensor& x, double value);
void multiply_into(const Tensor& dst, const Tensor& x, double value);

/// x / value.
Tensor divide(const Tensor& x, double value);
void divide_into(const Tensor& dst, const Tensor& x, double value);

/// a + factor · b (axpy), rounded once where the machine has fused multiply-add.
Tensor add_scaled(const Tensor& a, const Tensor& b, double factor);
void add_scaled_into(const Tensor& dst, const Tensor& a, const Tensor& b, double factor);

/// The smaller of a and b, NaN if either is; at equality the gradient is shared.
Tensor minimum(const Tensor& a, const Tensor& b);
void minimum_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// The larger of a and b, NaN if either is; at equality the gradient is shared.
Tensor maximum(const Tensor& a, const Tensor& b);
void maximum_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// x limited to [low, high]; `high` wins if they cross. The gradient passes where low ≤ x ≤ high.
Tensor clamp(const Tensor& x, double low, double high);
void clamp_into(const Tensor& dst, const Tensor& x, double low, double high);

/// -x.
Tensor negative(const Tensor& x);
void negative_into(const Tensor& dst, const Tensor& x);

/// |x|; the gradient at 0 is 0.
Tensor abs(const Tensor& x);
void abs_into(const Tensor& dst, const Tensor& x);

/// -1, 0 or 1 by the sign of x; NaN for NaN. The gradient is 0.
Tensor sign(const Tensor& x);
void sign_into(const Tensor& dst, const Tensor& x);

/// x².
Tensor square(const Tensor& x);
void square_into(const Tensor& dst, const Tensor& x);

/// √x; NaN below 0.
Tensor sqrt(const Tensor& x);
void sqrt_into(const Tensor& dst, const Tensor& x);

/// 1 / x.
Tensor reciprocal(const Tensor& x);
void reciprocal_into(const Tensor& dst, const Tensor& x);

/// eˣ.
Tensor exp(const Tensor& x);
void exp_into(const Tensor& dst, const Tensor& x);

/// The natural logarithm; -∞ at 0, NaN below.
Tensor log(const Tensor& x);
void log_into(const Tensor& dst, const Tensor& x);

/// The sine of x radians.
Tensor sin(const Tensor& x);
void sin_into(const Tensor& dst, const Tensor& x);

/// The cosine of x radians.
Tensor cos(const Tensor& x);
void cos_into(const Tensor& dst, const Tensor& x);

/// The error function, 2/√π · ∫₀ˣ exp(-t²) dt.
Tensor erf(const Tensor& x);
void erf_into(const Tensor& dst, const Tensor& x);

/// x to the power y, with C's rules for zero, infinity and NaN.
Tensor pow(const Tensor& x, const Tensor& y);
void pow_into(const Tensor& dst, const Tensor& x, const Tensor& y);

/// x to a constant power.
Tensor pow(const Tensor& x, double exponent);
void pow_into(const Tensor& dst, const Tensor& x, double exponent);

// comparison ----------------------------------------------------------------------------------------------------------

/// a = b, as bool.
Tensor equal(const Tensor& a, const Tensor& b);
void equal_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a ≠ b, as bool; true for NaN.
Tensor not_equal(const Tensor& a, const Tensor& b);
void not_equal_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a > b, as bool.
Tensor greater(const Tensor& a, const Tensor& b);
void greater_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a ≥ b, as bool.
Tensor greater_equal(const Tensor& a, const Tensor& b);
void greater_equal_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a < b, as bool.
Tensor less(const Tensor& a, const Tensor& b);
void less_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a ≤ b, as bool.
Tensor less_equal(const Tensor& a, const Tensor& b);
void less_equal_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// x = value, as bool.
Tensor equal(const Tensor& x, double value);
void equal_into(const Tensor& dst, const Tensor& x, double value);

/// x ≠ value, as bool; true for NaN.
Tensor not_equal(const Tensor& x, double value);
void not_equal_into(const Tensor& dst, const Tensor& x, double value);

/// x > value, as bool.
Tensor greater(const Tensor& x, double value);
void greater_into(const Tensor& dst, const Tensor& x, double value);

/// x ≥ value, as bool.
Tensor greater_equal(const Tensor& x, double value);
void greater_equal_into(const Tensor& dst, const Tensor& x, double value);

/// x < value, as bool.
Tensor less(const Tensor& x, double value);
void less_into(const Tensor& dst, const Tensor& x, double value);

/// x ≤ value, as bool.
Tensor less_equal(const Tensor& x, double value);
void less_equal_into(const Tensor& dst, const Tensor& x, double value);

/// a where the bool `condition` holds, else b, with broadcasting.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
void where_into(const Tensor& dst, const Tensor& condition, const Tensor& a, const Tensor& b);

}  // namespace ingot
