// Functions composed of ops: no kernels of their own, so gradients and capture come for free. `_into` forms write to a
// destination of exactly the result's shape and type; what they need on the way a thread keeps from its first call.
#pragma once
#include <span>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"

namespace ingot {

INGOT_API Tensor zeros(const Dims& shape, DType dtype = kF32);
INGOT_API Tensor ones(const Dims& shape, DType dtype = kF32);
INGOT_API Tensor zeros_like(const Tensor& x);
INGOT_API Tensor ones_like(const Tensor& x);
/// Sets every element of `dst`, of any layout, to `value`; allocates nothing.
INGOT_API void fill(const Tensor& dst, double value);

/// A contiguous copy.
INGOT_API Tensor clone(const Tensor& x);
/// `x` itself if it is contiguous, else a contiguous copy.
INGOT_API Tensor contiguous(const Tensor& x);
/// Sums `x` over the axes along which `shape` was broadcast to x's shape.
INGOT_API Tensor sum_to(const Tensor& x, const Dims& shape);
/// Views of consecutive pieces of `x` along `axis`, with the given sizes; they must add up.
INGOT_API std::vector<Tensor> split(const Tensor& x, const Dims& sizes, int64_t axis = 0);
/// Copies those pieces; their sizes are those of the destinations along `axis`.
INGOT_API void split_into(std::span<const Tensor> destinations, const Tensor& x, int64_t axis = 0);
/// A view with axes `first` … `last` merged into one.
INGOT_API Tensor flatten(const Tensor& x, int64_t first = 0, int64_t last = -1);

/// The indices (i64) that would sort x along `axis`.
INGOT_API Tensor argsort(const Tensor& x, int64_t axis = -1, bool descending = false);
INGOT_API void argsort_into(const Tensor& dst, const Tensor& x, int64_t axis = -1, bool descending = false);
/// x · sigmoid(x): silu under its other name.
INGOT_API Tensor swish(const Tensor& x);
INGOT_API void swish_into(const Tensor& dst, const Tensor& x);
/// x / max(‖x‖₂, eps) along `axis`.
INGOT_API Tensor l2_normalize(const Tensor& x, int64_t axis = -1, double eps = 1e-12);
INGOT_API void l2_normalize_into(const Tensor& dst, const Tensor& x, int64_t axis = -1, double eps = 1e-12);
/// The mean, or the largest element, of every channel of x [n, c, …], to [n, c].
INGOT_API Tensor global_avg_pool(const Tensor& x);
INGOT_API void global_avg_pool_into(const Tensor& dst, const Tensor& x);
INGOT_API Tensor global_max_pool(const Tensor& x);
INGOT_API void global_max_pool_into(const Tensor& dst, const Tensor& x);
/// Batch norm with known statistics, as at inference: x [n, c, …]; mean, variance, weight and bias are [c].
INGOT_API Tensor batch_norm_inference(const Tensor& x, const Tensor& mean, const Tensor& variance,
                                      const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

INGOT_API Tensor operator+(const Tensor& a, const Tensor& b);
INGOT_API Tensor operator-(const Tensor& a, const Tensor& b);
INGOT_API Tensor operator*(const Tensor& a, const Tensor& b);
INGOT_API Tensor operator/(const Tensor& a, const Tensor& b);
INGOT_API Tensor operator+(const Tensor& a, double b);
INGOT_API Tensor operator-(const Tensor& a, double b);
INGOT_API Tensor operator*(const Tensor& a, double b);
INGOT_API Tensor operator/(const Tensor& a, double b);
INGOT_API Tensor operator+(double a, const Tensor& b);
INGOT_API Tensor operator-(double a, const Tensor& b);
INGOT_API Tensor operator*(double a, const Tensor& b);
INGOT_API Tensor operator/(double a, const Tensor& b);
INGOT_API Tensor operator-(const Tensor& a);

}  // namespace ingot
