#include "kernels/conv.h"

#include <algorithm>

#include "kernels/conv_engines.h"

namespace ingot::kernels {
namespace conv {

// Which engine is cheaper, in products per output: both waste lanes, and both pay once per output for the way out.
static bool channels_are_better(const Correlation& c) {
  constexpr int64_t kLane = 8;
  constexpr double kTranspose = 6, kCopy = 4, kUnpacked = 1.15;
  const double depth = static_cast<double>(c.depth());
  // A last panel of one vector runs at three quarters of the speed.
  const int64_t rest = c.out_channels % (2 * kLane);
  const int64_t lanes = c.out_channels - rest + (rest == 0 ? 0 : rest > kLane ? 2 * kLane : 11);
  const double by_channels =
      depth * static_cast<double>(lanes) / static_cast<double>(std::max<int64_t>(1, c.out_channels));
  // A row of sums is as long as the row of the source that it reads.
  const Axis& row = c.axis[2];
  const int64_t pitch = row.count + (row.span() - 1) / row.step, rows = c.axis[1].count;
  const int64_t plane = std::max((rows - 1) * pitch + row.count, kLane);
  const double waste = static_cast<double>(plane) / static_cast<double>(std::max<int64_t>(1, rows * row.count));
  return by_channels + kTranspose < depth * waste * kUnpacked + kCopy;
}

bool forward_by_channels(const ConvShape& s) { return channels_are_better(forward_correlation(s)); }
static bool grad_input_by_channels(const ConvShape& s) {
  // The phases of a stride differ by a tap: one engine does them all.
  Correlation c = input_phase(s, 0);
  for (int a = 0; a < 3; ++a) c.axis[a].taps = std::max<int64_t>(1, s.kernel[a] / s.stride[a]);
  return channels_are_better(c);
}
static bool grad_kernel_by_channels(const ConvShape& s) {
  const Correlation c = forward_correlation(s);
  return c.out_channels >= 8 && c.out_channels * c.depth() > 512;  // few sums: kept as vectors, nothing is transposed
}

template <class T>
static void correlate(const Correlate<T>& job, bool by_channels, void* scratch, const Team& team) {
  by_channels ? correlate_by_channels(job, scratch, team) : correlate_by_positions(job, scratch, team);
}

}  // namespace conv

size_t conv_forward_scratch(const ConvShape& shape, size_t element_size, int team_size) {
  return conv::forward_by_channels(shape)
             ? conv::correlate_by_channels_scratch(shape, true, nullptr, element_size, team_size)
             : conv::correlate_by_positions_scratch(shape, true, nullptr, element_size, team_size);
}

size_t conv_grad_input_scratch(const ConvShape& shape, size_t element_size, int team_size) {
  return conv::grad_input_by_channels(shape)
             ? conv::correlate_by_channels_scratch(shape, false, nullptr, element_size, team_size)
             : conv::correlate_by_positions_scratch(shape, false, nullptr, element_size, team_size);
}

size_t conv_grad_kernel_scratch(const ConvShape& shape, size_t element_size, int team_size) {
  return conv::grad_kernel_by_channels(shape) ? conv::grad_kernel_by_channels_scratch(shape, element_size, team_size)
                                              : conv::grad_kernel_by_positions_scratch(shape, element_size, team_size);
}

template <class T>
void conv_forward(const ConvShape& shape, const T* x, const T* w, const T* bias, T* y, void* scratch, const Team& team,
                  bool relu) {
  conv::correlate<T>({shape, true, x, w, bias, relu, y}, conv::forward_by_channels(shape), scratch, team);
}

template <class T>
void conv_grad_input(const ConvShape& shape, const T* dy, const T* w, T* dx, void* scratch, const Team& team) {
  conv::correlate<T>({shape, false, dy, w, nullptr, false, dx}, conv::grad_input_by_channels(shape), scratch, team);
}

template <class T>
void conv_grad_kernel(const ConvShape& shape, const T* x, const T* dy, T* dw, void* scratch, const Team& team) {
  conv::grad_kernel_by_channels(shape) ? conv::grad_kernel_by_channels(shape, x, dy, dw, scratch, team)
                                       : conv::grad_kernel_by_positions(shape, x, dy, dw, scratch, team);
}

#define INGOT_CONV(T)                                                                                       \
  template void conv_forward(const ConvShape&, const T*, const T*, const T*, T*, void*, const Team&, bool); \
  template void conv_grad_input(const ConvShape&, const T*, const T*, T*, void*, const Team&);              \
  template void conv_grad_kernel(const ConvShape&, const T*, const T*, T*, void*, const Team&);
INGOT_CONV(float)
INGOT_CONV(double)
#undef INGOT_CONV

}  // namespace ingot::kernels
