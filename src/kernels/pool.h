// Pooling over contiguous planes [planes, height, width]; one spatial axis is the case of height 1. f32 and f64. Every
// member of a team pools its own planes, so results do not depend on the team.
#pragma once
#include <cstdint>

#include "ingot/base/threads.h"

namespace ingot::kernels {

/// Output position o reads input positions o * stride + k * dilation - pad, for k below kernel; what lies outside is
/// not read.
struct PoolShape {
  int64_t planes;
  int64_t in[2], out[2], kernel[2], stride[2], pad[2], dilation[2];
};

/// The largest element of each window and, if `indices` is not null, its position in the plane (row-major); the first
/// of equals, a NaN before everything. Every window must see at least one element.
template <class T>
void max_pool(const PoolShape& s, const T* x, T* y, int64_t* indices, const Team& team);

/// dx: each dy added at its index.
template <class T>
void max_pool_grad(int64_t planes, int64_t in_size, int64_t out_size, const T* dy, const int64_t* indices, T* dx,
                   const Team& team);

/// The same with `taps` in place of positions: which of a window's elements it is, row by row, in windows of at most
/// 256; null if nobody asks. With `relu` then max(0, y).
template <class T>
void max_pool_taps(const PoolShape& s, const T* x, T* y, uint8_t* taps, const Team& team, bool relu = false);

/// dx: each dy added where its tap is; a tap that the window does not have adds nothing.
template <class T>
void max_pool_taps_grad(const PoolShape& s, const T* dy, const uint8_t* taps, T* dx, const Team& team);

/// The mean of each window. With `count_pad` the divisor counts padding, but nothing beyond it.
template <class T>
void avg_pool(const PoolShape& s, bool count_pad, const T* x, T* y, const Team& team);
template <class T>
void avg_pool_grad(const PoolShape& s, bool count_pad, const T* dy, T* dx, const Team& team);

/// Windows that divide the input into out[0] × out[1] bins, from floor(o·in/out) to ceil((o+1)·in/out). Only planes, in
/// and out of the shape are read.
template <class T>
void adaptive_avg_pool(const PoolShape& s, const T* x, T* y, const Team& team);
template <class T>
void adaptive_avg_pool_grad(const PoolShape& s, const T* dy, T* dx, const Team& team);
template <class T>
void adaptive_max_pool(const PoolShape& s, const T* x, T* y, int64_t* indices, const Team& team);

}  // namespace ingot::kernels
