// The convolution engines. The first two do every shape between them; conv.cc and conv_pool.cc choose.
#pragma once
#include "kernels/conv_plan.h"

namespace ingot::kernels::conv {

/// One job for an engine: `forward` correlates x with w, else dy with w phase by phase (the input gradient).
template <class T>
struct Correlate {
  const ConvShape& shape;
  bool forward;
  const T *source, *weights, *bias;  // bias may be null
  bool relu;
  T* out;
  /// Forward only: the result is pooled by windows of this size, see conv_pool.h; `taps` may be null.
  int64_t window[2] = {1, 1};
  uint8_t* taps = nullptr;

  int64_t phases() const { return forward ? 1 : input_phases(shape); }
  Correlation phase(int64_t i) const { return forward ? pooled_correlation(shape, window) : input_phase(shape, i); }
};

/// Is the first engine below the better one for a forward convolution?
bool forward_by_channels(const ConvShape& shape);

// The scratch functions take the window of a pooled result, or null.

// Output channels lie in the lanes of a vector, the source is read element by element: any stride and any spatial
// extent run at full speed, but fewer channels than lanes are wasted and outputs are transposed once.
template <class T>
void correlate_by_channels(const Correlate<T>& job, void* scratch, const Team& team);
size_t correlate_by_channels_scratch(const ConvShape& shape, bool forward, const int64_t* window, size_t element_size,
                                     int team_size);
template <class T>
void grad_kernel_by_channels(const ConvShape& shape, const T* x, const T* dy, T* dw, void* scratch, const Team& team);
size_t grad_kernel_by_channels_scratch(const ConvShape& shape, size_t element_size, int team_size);

// Output positions lie in the lanes: for depthwise and other groups of few channels, and for short sums.
template <class T>
void correlate_by_positions(const Correlate<T>& job, void* scratch, const Team& team);
size_t correlate_by_positions_scratch(const ConvShape& shape, bool forward, const int64_t* window, size_t element_size,
                                      int team_size);
template <class T>
void grad_kernel_by_positions(const ConvShape& shape, const T* x, const T* dy, T* dw, void* scratch, const Team& team);
size_t grad_kernel_by_positions_scratch(const ConvShape& shape, size_t element_size, int team_size);

// The same for a result that is pooled by windows of 2 x 2: is this the better way, and the way.
bool is_for_quads(const ConvShape& shape, const int64_t* window);
template <class T>
void correlate_by_quads(const Correlate<T>& job, void* scratch, const Team& team);
size_t correlate_by_quads_scratch(const ConvShape& shape, size_t element_size, int team_size);

}  // namespace ingot::kernels::conv
