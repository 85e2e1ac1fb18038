// Normalisation over a set of elements followed by an affine map: layer and RMS norm over rows, batch, group and
// instance norm over channels. Operands are contiguous; f32 and f64. Variances take two passes over the set.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ingot/base/threads.h"

namespace ingot::kernels {

/// Rows of [rows, cols], each normalised by itself; weight and bias per column. `rms` leaves the mean alone and divides
/// by the root of the mean square.
struct RowNorm {
  int64_t rows, cols;
  double eps;
  bool rms = false;
  bool relu = false;  // row_norm: negative results become 0
};

/// y = (x - mean) / sqrt(var + eps) · weight + bias. weight and bias may be null; y may be x.
template <class T>
void row_norm(const RowNorm& norm, const T* x, const T* weight, const T* bias, T* y, const Team& team);

/// Gradients with respect to x, weight and bias (dweight and dbias may be null). dx may be x or dy.
template <class T>
void row_norm_grad(const RowNorm& norm, const T* x, const T* weight, const T* dy, T* dx, T* dweight, T* dbias,
                   void* scratch, const Team& team);
size_t row_norm_grad_scratch(const RowNorm& norm, size_t element_size);

/// [batch, channels, positions] with weight and bias per channel. groups == 0: batch norm, a set is a channel over the
/// batch; else a set is channels / groups neighbouring channels of one sample (instance norm: groups == channels).
struct ChannelNorm {
  int64_t batch, channels, positions;
  int64_t groups;
  double eps;
};

/// As row_norm. mean and variance (biased), if not null, receive the statistics of each set: [channels] for batch norm,
/// [batch, groups] else.
template <class T>
void channel_norm(const ChannelNorm& norm, const T* x, const T* weight, const T* bias, T* y, T* mean, T* variance,
                  const Team& team);

template <class T>
void channel_norm_grad(const ChannelNorm& norm, const T* x, const T* weight, const T* dy, T* dx, T* dweight, T* dbias,
                       void* scratch, const Team& team);
size_t channel_norm_grad_scratch(const ChannelNorm& norm, size_t element_size);

}  // namespace ingot::kernels
