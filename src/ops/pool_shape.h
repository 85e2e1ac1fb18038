// Pooling over the last one or two axes of [batch, channels, …]: the geometry that its ops have in common, and their plain
// loops. A NaN in a window is its maximum.
#pragma once
#include <type_traits>
#include <vector>

#include "ingot/ops/decoded.h"
#include "ingot/ops/op.h"
#include "ingot/ops/options.h"
#include "kernels/pool.h"

namespace ingot::pool {

using kernels::PoolShape;

/// What the kernels want to know, decoded from an op's options.
struct Pool {
  PoolShape shape;
  bool count_pad = false;                // averages
  bool with_taps = false, relu = false;  // max_pool_taps
};
/// Sliding windows, over an input of the size of the first operand, or of the attribute `size`; everything is checked.
Pool decode_input_windows(const Call& call);
Pool decode_size_windows(const Call& call);
inline PoolShape input_windows(const Call& call) { return decoded<decode_input_windows>(call).shape; }
inline PoolShape size_windows(const Call& call) { return decoded<decode_size_windows>(call).shape; }
/// Bins: input and output sizes only, one of them the attribute `size`.
Pool decode_input_bins(const Call& call);
Pool decode_size_bins(const Call& call);
inline PoolShape input_bins(const Call& call) { return decoded<decode_input_bins>(call).shape; }
inline PoolShape size_bins(const Call& call) { return decoded<decode_size_bins>(call).shape; }
/// The attributes of PoolOptions.
PoolOptions options_of(const Call& call);

Dims spatial_of(const Tensor& t);
int64_t planes_of(const Tensor& t);
/// The shape of t with other spatial sizes.
Dims with_spatial(const Tensor& t, const int64_t* sizes);
/// Input 0 of a gradient must have the shape of what the forward op gave.
void require_forward_result(const Call& call, const PoolShape& s);
/// Fails unless the first operand has so many spatial axes, or the attribute one size for each of them.
void require_planes(const Call& call, int spatial);
void require_spatial_attr(const Call& call, const char* attr);

size_t scratch_staged(const Call& call, const Tensor* out, int threads);

/// Indices travel beside elements of another type.
template <class T>
auto* as_indices(T* p) {
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const int64_t, int64_t>*>(p);
}

/// An element of [batch, channels, (height,) width] by plane, row and column.
std::byte* at(const Tensor& t, int64_t plane, int64_t row, int64_t col);
double value(const Tensor& t, int64_t plane, int64_t row, int64_t col);

/// The plain loops; `adaptive`: over bins.
void reference_max(const PoolShape& s, bool adaptive, const Tensor& x, const Tensor* out);
void reference_avg(const Call& call, const PoolShape& s, bool adaptive, const Tensor& x, const Tensor& y);
void reference_avg_grad(const Call& call, const PoolShape& s, bool adaptive, const Tensor& dy, const Tensor& dx);

/// Inputs and options that windows are tested with.
struct Case {
  Dims x;
  PoolOptions options;
};
std::vector<Case> cases(int spatial, bool dilated);

/// Of all maxima with their positions.
void gradient_max(Gradient& g);

}  // namespace ingot::pool
