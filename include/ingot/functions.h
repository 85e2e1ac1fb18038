// Functions composed of ops: no kernels of their own, so gradients and capture come for free.
#pragma once
#include <vector>

#include "ingot/tensor.h"

namespace ingot {

Tensor zeros(const Dims& shape, DType dtype = kF32);
Tensor ones(const Dims& shape, DType dtype = kF32);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
/// Sets every element of `dst`, of any layout, to `value`; allocates nothing.
void fill(const Tensor& dst, double value);

/// A contiguous copy.
Tensor clone(const Tensor& x);
/// `x` itself if it is contiguous, else a contiguous copy.
Tensor contiguous(const Tensor& x);
/// Sums `x` over the axes along which `shape` was broadcast to x's shape.
Tensor sum_to(const Tensor& x, const Dims& shape);
/// Views of consecutive pieces of `x` along `axis`, with the given sizes; they must add up.
std::vector<Tensor> split(const Tensor& x, const Dims& sizes, int64_t axis = 0);
/// A view with axes `first` … `last` merged into one.
Tensor flatten(const Tensor& x, int64_t first = 0, int64_t last = -1);

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);
Tensor operator-(const Tensor& a);

}  // namespace ingot
