// Element-wise functions that the format has and Ingot's table has not. They are ops like any other: captured, fused,
// differentiated; the table has them while a model lives, so that a plan with them can be saved and read.
#pragma once
#include <span>

#include "ingot/base/tensor.h"
#include "ingot/ops/op.h"

namespace ingot::onnx {

// Of f32 or f64.
Tensor floor(const Tensor& x);
Tensor round_even(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor asin(const Tensor& x);
Tensor acos(const Tensor& x);
Tensor atan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor asinh(const Tensor& x);
Tensor acosh(const Tensor& x);
Tensor atanh(const Tensor& x);
/// a - b · trunc(a / b), of the sign of a.
Tensor fmod(const Tensor& a, const Tensor& b);

std::span<const Op* const> elementwise_ops();

}  // namespace ingot::onnx
