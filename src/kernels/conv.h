// Convolution over one, two or three spatial axes, its two gradients, and the column forms; f32 and f64, plain
// contiguous [N, C, D, H, W] layout. One and two axes are the case of leading extents 1.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ingot/base/threads.h"

namespace ingot::kernels {

/// x is [batch, in_channels, in...], w [out_channels, in_channels / groups, kernel...], y [batch, out_channels,
/// out...]. Output position j reads input position j * stride + k * dilation - pad; what lies outside the input counts
/// as zero.
struct ConvShape {
  int64_t batch, in_channels, out_channels, groups;
  int64_t in[3], out[3], kernel[3], stride[3], pad[3], dilation[3];
};

/// Bytes of scratch (64-byte aligned) for a team of at most `team_size`.
size_t conv_forward_scratch(const ConvShape& shape, size_t element_size, int team_size);
size_t conv_grad_input_scratch(const ConvShape& shape, size_t element_size, int team_size);
size_t conv_grad_kernel_scratch(const ConvShape& shape, size_t element_size, int team_size);

// Every member of the team calls these with the same arguments. A result's bits depend on the shape only, never on the
// team. The caller puts a barrier before another member reads the result.

/// y = conv(x, w) [+ bias per output channel], then max(0, y) with `relu`. `bias` may be null.
template <class T>
void conv_forward(const ConvShape& shape, const T* x, const T* w, const T* bias, T* y, void* scratch, const Team& team,
                  bool relu = false);

/// dx from dy and w; also the forward pass of a transposed convolution.
template <class T>
void conv_grad_input(const ConvShape& shape, const T* dy, const T* w, T* dx, void* scratch, const Team& team);

/// dw from x and dy, summed over the batch.
template <class T>
void conv_grad_kernel(const ConvShape& shape, const T* x, const T* dy, T* dw, void* scratch, const Team& team);

/// columns[n, c * taps + tap, position] = the element of x that `tap` sees from that output position. Groups play no
/// part.
template <class T>
void im2col(const ConvShape& shape, const T* x, T* columns, const Team& team);

/// The adjoint of im2col: adds every column element to where it came from; overwrites x.
template <class T>
void col2im(const ConvShape& shape, const T* columns, T* x, const Team& team);

}  // namespace ingot::kernels
