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
template <class T, int64_t kVector = kLanes<T>>
HWY_INLINE void copy_row(int64_t n, const T* HWY_RESTRICT from, T* HWY_RESTRICT to) {
  const auto copy = [&](int64_t i) HWY_ATTR { __builtin_memcpy(to + i, from + i, kVector * sizeof(T)); };
  if constexpr (kVector > 1) {
    if (n < kVector) return copy_row<T, kVector / 2>(n, from, to);
    for (int64_t i = 0; i + kVector <= n; i += kVector) copy(i);
    copy(n - kVector);
  } else if (n > 0) {
    copy(0);
  }
}

template <class T, int64_t kVector = kLanes<T>>
HWY_INLINE void zero_row(int64_t n, T* to) {
  const auto zero = [&](int64_t i) HWY_ATTR { __builtin_memset(to + i, 0, kVector * sizeof(T)); };
  if constexpr (kVector > 1) {
    if (n < kVector) return zero_row<T, kVector / 2>(n, to);
    for (int64_t i = 0; i + kVector <= n; i += kVector) zero(i);
    zero(n - kVector);
  } else if (n > 0) {
    zero(0);
  }
}

// Asks for n elements that will be wanted soon. The pieces of a channel are too short for the machine to guess by
// itself.
template <bool kForWriting, class T>
HWY_INLINE void prefetch_row(int64_t n, const T* at) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < n; i += kLine) __builtin_prefetch(at + i, kForWriting);
}

// to[i] = from[2 i]; reads nothing beyond the last element that it needs.
template <class T>
HWY_INLINE void copy_every_second(int64_t n, const T* HWY_RESTRICT from, T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  int64_t i = 0;
  for (; i + kLanes<T> < n; i += kLanes<T>) {
    hn::Vec<decltype(d)> even, odd;
    hn::LoadInterleaved2(d, from + 2 * i, even, odd);
    hn::StoreU(even, d, to + i);
  }
  for (; i < n; ++i) to[i] = from[2 * i];
}

// One 128-bit vector squared of a transposition.
template <class T>
HWY_INLINE void transpose_block(const T* HWY_RESTRICT from, int64_t from_pitch, T* HWY_RESTRICT to, int64_t to_pitch) {
  const hn::FixedTag<T, 16 / sizeof(T)> d;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_pitch);
  if constexpr (sizeof(T) == 4) {
    const auto e = hn::LoadU(d, from + 2 * from_pitch), f = hn::LoadU(d, from + 3 * from_pitch);
    const auto low_even = hn::InterleaveLower(d, a, e), low_odd = hn::InterleaveLower(d, b, f);
    const auto high_even = hn::InterleaveUpper(d, a, e), high_odd = hn::InterleaveUpper(d, b, f);
    hn::StoreU(hn::InterleaveLower(d, low_even, low_odd), d, to);
    hn::StoreU(hn::InterleaveUpper(d, low_even, low_odd), d, to + to_pitch);
    hn::StoreU(hn::InterleaveLower(d, high_even, high_odd), d, to + 2 * to_pitch);
    hn::StoreU(hn::InterleaveUpper(d, high_even, high_odd), d, to + 3 * to_pitch);
  } else {
    hn::StoreU(hn::InterleaveLower(d, a, b), d, to);
    hn::StoreU(hn::InterleaveUpper(d, a, b), d, to + to_pitch);
  }
}

// to[c * to_pitch + r] = from[r * from_pitch + c]. The longer side is the inner loop: planes often lie a power of two
// apart, and more than a few of them at a time would fight for the same sets of the first cache.
template <class T>
void transpose(int64_t rows, int64_t columns, const T* HWY_RESTRICT from, int64_t from_pitch, T* HWY_RESTRICT to,
               int64_t to_pitch) {
  constexpr int64_t kBlock = 16 / sizeof(T);
  const int64_t whole_rows = rows / kBlock * kBlock, whole_columns = columns / kBlock * kBlock;
  if (rows > columns) {
    for (int64_t c = 0; c < whole_columns; c += kBlock)
      for (int64_t r = 0; r < whole_rows; r += kBlock)
        transpose_block(from + r * from_pitch + c, from_pitch, to + c * to_pitch + r, to_pitch);
  } else {
    for (int64_t r = 0; r < whole_rows; r += kBlock)
      for (int64_t c = 0; c < whole_columns; c += kBlock)
        transpose_block(from + r * from_pitch + c, from_pitch, to + c * to_pitch + r, to_pitch);
  }
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = c < whole_columns ? whole_rows : 0; r < rows; ++r) to[c * to_pitch + r] = from[r * from_pitch + c];
}

// One phase of a box, see there: the source places of its first element, and which part of its rows lies inside the
// source.
struct Phase {
  int64_t low[3], begin, end;
  bool whole;  // rows of the source follow each other in the box as well
  Phase(const Correlation& c, const Box& box, const int64_t* first, int64_t pd, int64_t ph, int64_t pw)
      : low{first[0] + pd, first[1] + ph, first[2] + pw} {
    const int64_t width = box.extent[2], step = box.split[2], source = c.axis[2].source;
    begin = low[2] >= 0 ? 0 : std::min(width, ceil_div(-low[2], step));
    end = low[2] >= source ? begin : std::max(begin, std::min(width, (source - 1 - low[2]) / step + 1));
    whole = step == 1 && box.split[1] == 1 && begin == 0 && end == width && width == source;
  }
};

// A row of a phase; `row` is where its first element would lie in the source.
template <class T>
HWY_INLINE void fill_row(const Phase& phase, int64_t width, int64_t step, const T* row, T* to) {
  zero_row(phase.begin, to);
  if (step == 1) {
    copy_row(phase.end - phase.begin, row + phase.begin, to + phase.begin);
  } else if (step == 2) {
    copy_every_second(phase.end - phase.begin, row + 2 * phase.begin, to + phase.begin);
  } else {
    for (int64_t i = phase.begin; i < phase.end; ++i) to[i] = row[i * step];
  }
  zero_row(width - phase.end, to + phase.end);
}

// The rows of one phase of one channel.
template <class T>
HWY_INLINE void fill_phase(const Correlation& c, const Box& box, const Phase& phase, const T* from, T* to) {
  const int64_t width = box.extent[2], height = c.axis[1].source, source = c.axis[2].source;
  for (int64_t qd = 0, d = phase.low[0]; qd < box.extent[0]; ++qd, d += box.split[0]) {
    const bool inside = d >= 0 && d < c.axis[0].source;
    int64_t h = phase.low[1];
    for (int64_t qh = 0; qh < box.extent[1];) {
      int64_t rows = 1;
      if (!inside || h < 0 || h >= height) {
        zero_row(width, to);
      } else if (phase.whole) {
        rows = std::min(box.extent[1] - qh, height - h);
        copy_row(rows * width, from + (d * height + h) * source, to);
      } else {
        fill_row(phase, width, box.split[2], from + (d * height + h) * source + phase.low[2], to);
      }
      qh += rows, h += rows * box.split[1], to += rows * width;
    }
  }
}

// Copies what `strip` sees of `channels` channels from `channel` on; x is the group's first channel in the first
// sample.
template <class T>
void fill_box(const Correlation& c, const Box& box, const Strip& strip, int64_t channel, int64_t channels, const T* x,
              T* to) {
  constexpr int64_t kAhead = 4, kMost = 512;  // channels and elements to prefetch
  const int64_t plane = c.source_plane(), sample = c.groups * c.in_channels * plane;
  int64_t first[3];
  for (int a = 0; a < 3; ++a) first[a] = strip.first[a + 1] * c.axis[a].step + c.axis[a].lowest();
  const int64_t row = std::clamp<int64_t>(first[1], 0, c.axis[1].source - 1) * c.axis[2].source;
  const int64_t wanted = std::min({kMost, plane - row, box.extent[1] * box.split[1] * c.axis[2].source});
  x += strip.first[0] * sample + channel * plane;
  for (int64_t p = 0; p < box.split[0] * box.split[1] * box.split[2]; ++p) {
    const Phase phase(c, box, first, p / box.split[2] / box.split[1], p / box.split[2] % box.split[1],
                      p % box.split[2]);
    for (int64_t n = 0; n < strip.size[0]; ++n)
      for (int64_t i = 0; i < channels; ++i) {
        const T* from = x + n * sample + i * plane;
        if (p == 0 && i + kAhead < channels) prefetch_row<false>(wanted, from + kAhead * plane + row);
        fill_phase(c, box, phase, from, to + p * box.phase_pitch + n * box.sample_pitch + i * box.channel_pitch);
      }
  }
}

}  // namespace ingot::kernels::conv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
