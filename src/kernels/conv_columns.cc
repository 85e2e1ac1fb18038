// Convolution's column form: a matrix of what every tap sees from every output position. Memory-bound, so plain loops.
#include <algorithm>
#include <cstring>

#include "kernels/conv.h"

namespace ingot::kernels {
namespace {

// The outputs [begin, end) along axis a from which tap k lies inside the input.
struct Reach {
  int64_t begin, end, first;  // `first`: the input place that output 0 would read
  Reach(const ConvShape& s, int a, int64_t k) : first(k * s.dilation[a] - s.pad[a]) {
    const int64_t stride = s.stride[a], room = s.in[a] - 1 - first;
    begin = first >= 0 ? 0 : std::min(s.out[a], (-first + stride - 1) / stride);
    end = room < 0 ? begin : std::max(begin, std::min(s.out[a], room / stride + 1));
  }
};

// Calls body(column row, x plane) for every tap of the share of (sample, channel) pairs.
template <class Body>
void for_rows(const ConvShape& s, int64_t plane, const Body& body) {
  const int64_t positions = s.out[0] * s.out[1] * s.out[2], taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  for (int64_t t = 0; t < taps; ++t) {
    const Reach d(s, 0, t / (s.kernel[1] * s.kernel[2])), h(s, 1, t / s.kernel[2] % s.kernel[1]),
        w(s, 2, t % s.kernel[2]);
    body((plane * taps + t) * positions, d, h, w);
  }
}

template <class T>
void copy_strided(int64_t n, const T* from, int64_t step, T* to) {
  if (step == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * step];
  }
}

}  // namespace

template <class T>
void im2col(const ConvShape& s, const T* x, T* columns, const Team& team) {
  const auto [begin, end] = team.share(s.batch * s.in_channels);
  for (int64_t plane = begin; plane < end; ++plane) {
    const T* from = x + plane * s.in[0] * s.in[1] * s.in[2];
    for_rows(s, plane, [&](int64_t row, const Reach& d, const Reach& h, const Reach& w) {
      T* to = columns + row;
      for (int64_t i = 0; i < s.out[0]; ++i)
        for (int64_t j = 0; j < s.out[1]; ++j, to += s.out[2]) {
          if (i < d.begin || i >= d.end || j < h.begin || j >= h.end || w.begin == w.end) {
            std::fill(to, to + s.out[2], T(0));
            continue;
          }
          const int64_t line = (i * s.stride[0] + d.first) * s.in[1] + j * s.stride[1] + h.first;
          std::fill(to, to + w.begin, T(0));
          copy_strided(w.end - w.begin, from + line * s.in[2] + w.begin * s.stride[2] + w.first, s.stride[2],
                       to + w.begin);
          std::fill(to + w.end, to + s.out[2], T(0));
        }
    });
  }
}

template <class T>
void col2im(const ConvShape& s, const T* columns, T* x, const Team& team) {
  const int64_t size = s.in[0] * s.in[1] * s.in[2], step = s.stride[2];
  const auto [begin, end] = team.share(s.batch * s.in_channels);
  for (int64_t plane = begin; plane < end; ++plane) {
    T* to = x + plane * size;
    std::fill(to, to + size, T(0));
    for_rows(s, plane, [&](int64_t row, const Reach& d, const Reach& h, const Reach& w) {
      if (w.begin == w.end) return;
      for (int64_t i = d.begin; i < d.end; ++i)
        for (int64_t j = h.begin; j < h.end; ++j) {
          const T* from = columns + row + (i * s.out[1] + j) * s.out[2] + w.begin;
          const int64_t line = (i * s.stride[0] + d.first) * s.in[1] + j * s.stride[1] + h.first;
          T* at = to + line * s.in[2] + w.begin * step + w.first;
          if (step == 1) {
            for (int64_t k = 0; k < w.end - w.begin; ++k) at[k] += from[k];
          } else {
            for (int64_t k = 0; k < w.end - w.begin; ++k) at[k * step] += from[k];
          }
        }
    });
  }
}

template void im2col(const ConvShape&, const float*, float*, const Team&);
template void im2col(const ConvShape&, const double*, double*, const Team&);
template void col2im(const ConvShape&, const float*, float*, const Team&);
template void col2im(const ConvShape&, const double*, double*, const Team&);

}  // namespace ingot::kernels
