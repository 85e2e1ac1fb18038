// Convolution over two axes with its result max-pooled at once, and the gradients from the pooled side. The full result
// never reaches memory; and since a window passes its gradient to one element only, the backward products are as many
// times fewer as a window has elements.
#pragma once
#include "kernels/conv.h"

namespace ingot::kernels {

/// A convolution over the last two axes whose result is pooled by windows of `window` elements side by side, at most
/// 256 of them; rows and columns that fill no window are dropped. x and w are as in conv.h; y, dy and `taps` are
/// [batch, out_channels, pooled(0), pooled(1)]; a tap is the place in its window of the largest element, counted row
/// by row.
struct ConvPoolShape {
  ConvShape conv;
  int64_t window[2];
  int64_t pooled(int a) const { return conv.out[a + 1] / window[a]; }
};

/// Bytes of scratch (64-byte aligned) for a team of at most `team_size`.
size_t conv_pool_scratch(const ConvPoolShape& shape, size_t element_size, int team_size);
size_t conv_pool_grad_input_scratch(const ConvPoolShape& shape, size_t element_size, int team_size);
size_t conv_pool_grad_kernel_scratch(const ConvPoolShape& shape, size_t element_size, int team_size);

// As in conv.h: every member of the team calls these, bits depend on the shape only, and the caller puts a barrier
// before another member reads the result.

/// y = the largest of each window of conv(x, w) [+ bias], then max(0, y) with `relu`; the first of equals, a NaN before
/// everything. `bias` and `taps` may be null.
template <class T>
void conv_pool(const ConvPoolShape& shape, const T* x, const T* w, const T* bias, T* y, uint8_t* taps, void* scratch,
               const Team& team, bool relu = false);

/// dx from dy, taps and w.
template <class T>
void conv_pool_grad_input(const ConvPoolShape& shape, const T* dy, const uint8_t* taps, const T* w, T* dx,
                          void* scratch, const Team& team);

/// dw from x, dy and taps, summed over the batch.
template <class T>
void conv_pool_grad_kernel(const ConvPoolShape& shape, const T* x, const T* dy, const uint8_t* taps, T* dw,
                           void* scratch, const Team& team);

}  // namespace ingot::kernels
