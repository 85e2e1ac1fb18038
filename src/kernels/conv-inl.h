// What both convolution engines use: copies, transposes, and filling a box.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/conv_plan.h"

#if defined(INGOT_KERNELS_CONV_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_CONV_INL_H_
#undef INGOT_KERNELS_CONV_INL_H_
#else
#define INGOT_KERNELS_CONV_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::conv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr int64_t kLanes = HWY_LANES(T);

// Short rows are the rule here, so no call to memcpy; the last vector overlaps its neighbour.
template <class T>
HWY_INLINE void copy_row(int64_t n, const T* HWY_RESTRICT from, T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  if (i == n) return;
  if (n >= kLanes<T>) {
    hn::StoreU(hn::LoadU(d, from + n - kLanes<T>), d, to + n - kLanes<T>);
  } else {
    for (; i < n; ++i) to[i] = from[i];
  }
}

template <class T>
HWY_INLINE void zero_row(int64_t n, T* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = 0;
}

// to[c * to_pitch + r] = from[r * from_pitch + c], in blocks of one 128-bit vector squared.
template <class T>
void transpose(int64_t rows, int64_t columns, const T* HWY_RESTRICT from, int64_t from_pitch, T* HWY_RESTRICT to,
               int64_t to_pitch) {
  constexpr int64_t kBlock = 16 / sizeof(T);
  const hn::FixedTag<T, kBlock> d;
  int64_t r = 0;
  for (; r + kBlock <= rows; r += kBlock) {
    const T* p = from + r * from_pitch;
    T* q = to + r;
    int64_t c = 0;
    for (; c + kBlock <= columns; c += kBlock, p += kBlock, q += kBlock * to_pitch) {
      if constexpr (kBlock == 4) {
        const auto a = hn::LoadU(d, p), b = hn::LoadU(d, p + from_pitch);
        const auto e = hn::LoadU(d, p + 2 * from_pitch), f = hn::LoadU(d, p + 3 * from_pitch);
        const auto low_even = hn::InterleaveLower(d, a, e), low_odd = hn::InterleaveLower(d, b, f);
        const auto high_even = hn::InterleaveUpper(d, a, e), high_odd = hn::InterleaveUpper(d, b, f);
        hn::StoreU(hn::InterleaveLower(d, low_even, low_odd), d, q);
        hn::StoreU(hn::InterleaveUpper(d, low_even, low_odd), d, q + to_pitch);
        hn::StoreU(hn::InterleaveLower(d, high_even, high_odd), d, q + 2 * to_pitch);
        hn::StoreU(hn::InterleaveUpper(d, high_even, high_odd), d, q + 3 * to_pitch);
      } else {
        const auto a = hn::LoadU(d, p), b = hn::LoadU(d, p + from_pitch);
        hn::StoreU(hn::InterleaveLower(d, a, b), d, q);
        hn::StoreU(hn::InterleaveUpper(d, a, b), d, q + to_pitch);
      }
    }
    for (; c < columns; ++c, ++p, q += to_pitch)
      for (int64_t i = 0; i < kBlock; ++i) q[i] = p[i * from_pitch];
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[c * to_pitch + r] = from[r * from_pitch + c];
}

// The rows of one phase of one channel; see Box. `low` is the source place of the phase's first element.
template <class T>
void fill_phase(const Correlation& c, const Box& box, const int64_t* low, const T* from, T* to) {
  const int64_t width = box.extent[2], step = box.split[2], height = c.axis[1].source, source = c.axis[2].source;
  const int64_t begin = low[2] >= 0 ? 0 : std::min(width, ceil_div(-low[2], step));
  const int64_t end = low[2] >= source ? begin : std::max(begin, std::min(width, (source - 1 - low[2]) / step + 1));
  for (int64_t qd = 0, d = low[0]; qd < box.extent[0]; ++qd, d += box.split[0])
    for (int64_t qh = 0, h = low[1]; qh < box.extent[1]; ++qh, h += box.split[1], to += width) {
      if (d < 0 || d >= c.axis[0].source || h < 0 || h >= height) {
        zero_row(width, to);
        continue;
      }
      const T* row = from + (d * height + h) * source + low[2];
      zero_row(begin, to);
      if (step == 1) {
        copy_row(end - begin, row + begin, to + begin);
      } else {
        for (int64_t i = begin; i < end; ++i) to[i] = row[i * step];
      }
      zero_row(width - end, to + end);
    }
}

// Copies what `strip` sees of `channels` channels from `channel` on; x is the group's first channel in the first
// sample.
template <class T>
void fill_box(const Correlation& c, const Box& box, const Strip& strip, int64_t channel, int64_t channels, const T* x,
              T* to) {
  const int64_t plane = c.source_plane(), sample = c.groups * c.in_channels * plane;
  int64_t first[3];
  for (int a = 0; a < 3; ++a) first[a] = strip.first[a + 1] * c.axis[a].step + c.axis[a].lowest();
  for (int64_t n = 0; n < strip.size[0]; ++n)
    for (int64_t i = 0; i < channels; ++i) {
      const T* from = x + (strip.first[0] + n) * sample + (channel + i) * plane;
      T* phase = to + n * box.sample_pitch + i * box.channel_pitch;
      for (int64_t pd = 0; pd < box.split[0]; ++pd)
        for (int64_t ph = 0; ph < box.split[1]; ++ph)
          for (int64_t pw = 0; pw < box.split[2]; ++pw, phase += box.phase_pitch) {
            const int64_t low[3] = {first[0] + pd, first[1] + ph, first[2] + pw};
            fill_phase(c, box, low, from, phase);
          }
    }
}

}  // namespace ingot::kernels::conv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
