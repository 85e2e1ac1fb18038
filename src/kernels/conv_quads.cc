// Convolution pooled by windows of 2 x 2, with windows in the lanes, for results of few channels. The four sums of a
// window stay in registers until the largest of them is known. A window's elements are outputs of four convolutions of
// twice the stride, so a copy of the source phase by phase gives all of them neighbours to read.
#include "ingot/base/dispatch.h"
#include "kernels/conv_engines.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_quads.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include "kernels/conv-inl.h"
#include "kernels/pool-inl.h"
// clang-format on

#ifndef INGOT_KERNELS_CONV_QUADS_ONCE
#define INGOT_KERNELS_CONV_QUADS_ONCE
namespace ingot::kernels::conv {

/// From windows to their first elements.
inline Correlation quad_correlation(const ConvShape& s) {
  Correlation c = forward_correlation(s);
  for (int a = 1; a < 3; ++a) {
    c.axis[a].step *= 2;
    c.axis[a].count /= 2;
    c.extra[a] = s.stride[a];
  }
  return c;
}

inline Blocks quad_blocks(const Correlation& c) {
  const int64_t windows = std::clamp<int64_t>(8192 / std::max<int64_t>(1, c.out_channels), 64, 1024);
  return Blocks(c, {windows, 4096, 48}, Cut::kWithinSample, true);
}

/// A worker's scratch; results of one strip, whose rows are as long as the box's.
template <class T>
struct QuadScratch {
  int64_t pitch;
  T *box, *out;
  uint8_t* taps;
  int64_t *offset, *table;  // [product][tap], and those of one tap

  QuadScratch(Carver& carver, const Correlation& c, const Blocks& b, int64_t lanes) {
    pitch = round_up((b.strips.size[2] - 1) * b.box.extent[2] + b.strips.size[3], lanes);
    box = carver.take<T>(b.box_elements + lanes);  // results that are dropped read past the last row
    out = carver.take<T>(c.out_channels * pitch);
    taps = carver.take<uint8_t>(c.out_channels * pitch);
    offset = carver.take<int64_t>(4 * b.depth);
    table = carver.take<int64_t>(b.depth);
  }
};

}  // namespace ingot::kernels::conv
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::conv::HWY_NAMESPACE {

// kRows output channels of a vector of windows.
template <class T>
struct QuadJob {
  int64_t depth;
  const T* x;
  const int64_t* offset;
  const T* w;
  const T* bias;  // null: zeros
  bool relu;
  T* out;
  uint8_t* taps;
  int64_t pitch;
};

template <int kRows, bool kTaps, class T>
void quad_tile(const QuadJob<T>& job, int64_t position) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  V sum[kRows][4];
  HWY_UNROLL(3)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int t = 0; t < 4; ++t) sum[r][t] = hn::Set(d, job.bias == nullptr ? T(0) : job.bias[r]);
  }
  const T* HWY_RESTRICT x = job.x + position;
  const T* HWY_RESTRICT w = job.w;
  const int64_t* HWY_RESTRICT offset = job.offset;
  const int64_t depth = job.depth;
  for (int64_t k = 0; k < depth; ++k, offset += 4) {
    V left[kRows];
    HWY_UNROLL(3)
    for (int r = 0; r < kRows; ++r) left[r] = hn::Set(d, w[r * depth + k]);
    HWY_UNROLL(4)
    for (int t = 0; t < 4; ++t) {
      const V right = hn::LoadU(d, x + offset[t]);
      HWY_UNROLL(3)
      for (int r = 0; r < kRows; ++r) sum[r][t] = hn::MulAdd(left[r], right, sum[r][t]);
    }
  }
  const bool relu = job.relu;
  HWY_UNROLL(3)
  for (int r = 0; r < kRows; ++r) {
    kernels::HWY_NAMESPACE::Largest<kTaps, decltype(d)> best(d, sum[r][0]);
    HWY_UNROLL(3)
    for (int t = 1; t < 4; ++t) best.meet(sum[r][t], t);
    const int64_t at = r * job.pitch + position;
    hn::StoreU(relu ? hn::Max(hn::Zero(d), best.value()) : best.value(), d, job.out + at);  // so NaN stays NaN
    if constexpr (kTaps) best.store_taps(job.taps + at);
  }
}

// Rows of the source to two phases at once, where stride and padding allow it.
template <class T>
bool fill_pairs(const Correlation& c, const Box& box, const Strip& strip, const T* x, T* to) {
  const hn::ScalableTag<T> d;
  constexpr int64_t N = kLanes<T>;
  const int64_t pairs = box.extent[2], width = c.axis[2].source, height = c.axis[1].source;
  const int64_t top = strip.first[2] * 2 + c.axis[1].lowest(), left = strip.first[3] * 2 + c.axis[2].lowest();
  if (box.split[1] != 2 || box.split[2] != 2 || top < 0 || left < 0 || left + 2 * pairs > width || pairs < N)
    return false;
  const int64_t rows = std::min(2 * box.extent[1], height - top);
  x += strip.first[0] * c.groups * c.in_channels * height * width;
  for (int64_t i = 0; i < c.in_channels; ++i)
    for (int64_t h = 0; h < rows; ++h) {
      const T* from = x + (i * height + top + h) * width + left;
      T* even = to + i * box.channel_pitch + h % 2 * 2 * box.phase_pitch + h / 2 * pairs;
      T* odd = even + box.phase_pitch;
      const auto block = [&](int64_t at) HWY_ATTR {
        const auto low = hn::LoadU(d, from + 2 * at), high = hn::LoadU(d, from + 2 * at + N);
        hn::StoreU(hn::ConcatEven(d, high, low), d, even + at);
        hn::StoreU(hn::ConcatOdd(d, high, low), d, odd + at);
      };
      for (int64_t at = 0; at + N <= pairs; at += N) block(at);
      if (pairs % N != 0) block(pairs - N);
    }
  return true;
}

template <int kRows, bool kTaps, class T>
HWY_INLINE void quad_row(const QuadJob<T>& job, int64_t windows, bool exact) {
  int64_t p = 0;
  for (; p + (exact ? kLanes<T> : 1) <= windows; p += kLanes<T>) quad_tile<kRows, kTaps>(job, p);
  if (exact && p < windows) quad_tile<kRows, kTaps>(job, windows - kLanes<T>);
}

template <bool kTaps, class T>
void quad_strip(const Correlate<T>& job, const Correlation& c, const Blocks& b, const Strip& strip, int64_t group,
                const QuadScratch<T>& s) {
  constexpr int64_t kRows = 3;
  const int64_t depth = c.depth(), width = strip.size[3], row = b.box.extent[2];
  const int64_t windows = (strip.size[2] - 1) * row + width, rows = even_piece(c.out_channels, kRows);
  const T* source = job.source + group * c.in_channels * c.source_plane();
  if (!fill_pairs(c, b.box, strip, source, s.box)) fill_box(c, b.box, strip, 0, c.in_channels, source, s.box);
  // Rows of at least a vector are written to where they belong, the last vector overlapping its neighbour. Shorter ones
  // run on into each other, and are copied.
  const bool exact = width >= kLanes<T>;
  const int64_t plane = c.axis[1].count * c.axis[2].count;
  const auto place = [&](int64_t o, int64_t h) {
    return ((strip.first[0] * c.groups + group) * c.out_channels + o) * plane + (strip.first[2] + h) * c.axis[2].count +
           strip.first[3];
  };
  for (int64_t o = 0; o < c.out_channels; o += rows) {
    const int64_t channel = group * c.out_channels + o, left = std::min(rows, c.out_channels - o);
    QuadJob<T> tile{depth,
                    s.box,
                    s.offset,
                    job.weights + channel * depth,
                    job.bias == nullptr ? nullptr : job.bias + channel,
                    job.relu,
                    s.out + o * s.pitch,
                    s.taps + o * s.pitch,
                    s.pitch};
    for (int64_t h = 0; h < (exact ? strip.size[2] : 1); ++h) {
      if (exact) {
        tile.x = s.box + h * row, tile.out = job.out + place(o, h), tile.pitch = plane;
        if constexpr (kTaps) tile.taps = job.taps + place(o, h);
      }
      const int64_t count = exact ? width : windows;
      left == 3   ? quad_row<3, kTaps>(tile, count, exact)
      : left == 2 ? quad_row<2, kTaps>(tile, count, exact)
                  : quad_row<1, kTaps>(tile, count, exact);
    }
  }
  for (int64_t o = 0; !exact && o < c.out_channels; ++o)
    for (int64_t h = 0; h < strip.size[2]; ++h) {
      copy_row(width, s.out + o * s.pitch + h * row, job.out + place(o, h));
      if constexpr (kTaps) copy_row(width, s.taps + o * s.pitch + h * row, job.taps + place(o, h));
    }
}

template <class T>
void correlate_quads(const Correlate<T>& job, void* scratch, const Team& team) {
  const Correlation c = quad_correlation(job.shape);
  const Blocks b = quad_blocks(c);
  Carver whole(scratch), own(scratch);
  QuadScratch<T>(whole, c, b, kLanes<T>);
  own = own.rest(whole.used() * static_cast<size_t>(team.rank()));
  const QuadScratch<T> s(own, c, b, kLanes<T>);
  std::fill(s.box, s.box + b.box_elements + kLanes<T>, T(0));
  for (int64_t t = 0; t < 4; ++t) {
    const int64_t shift[3] = {0, t / 2 * job.shape.stride[1], t % 2 * job.shape.stride[2]};
    tap_offsets(c, b.box, c.in_channels, s.table, shift);
    for (int64_t k = 0; k < c.depth(); ++k) s.offset[4 * k + t] = s.table[k];
  }
  const int64_t strips = b.strips.all() / std::max<int64_t>(1, c.batch);
  const auto [begin, end] = team.share(b.strips.all() * c.groups);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t plane = unit / strips, group = plane % c.groups;
    const Strip strip = b.strips[plane / c.groups * strips + unit % strips];
    job.taps != nullptr ? quad_strip<true>(job, c, b, strip, group, s) : quad_strip<false>(job, c, b, strip, group, s);
  }
}

}  // namespace ingot::kernels::conv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels::conv {

bool is_for_quads(const ConvShape& shape, const int64_t* window) {
  if (window[0] != 2 || window[1] != 2 || shape.batch == 0 || forward_by_channels(shape)) return false;
  return quad_blocks(quad_correlation(shape)).count == 1;  // a window's sums are complete in one go
}

template <class T>
static size_t quad_bytes(const ConvShape& shape, int team_size) {
  size_t most = 0;
  const Correlation c = quad_correlation(shape);
  for (int64_t bytes : {16, 32, 64}) {  // the same whatever instruction set is chosen later
    Carver carver(nullptr);
    QuadScratch<T>(carver, c, quad_blocks(c), bytes / static_cast<int64_t>(sizeof(T)));
    most = std::max(most, carver.used());
  }
  return most * static_cast<size_t>(team_size);
}

size_t correlate_by_quads_scratch(const ConvShape& shape, size_t element_size, int team_size) {
  return element_size == sizeof(float) ? quad_bytes<float>(shape, team_size) : quad_bytes<double>(shape, team_size);
}

template <class T>
void correlate_by_quads(const Correlate<T>& job, void* scratch, const Team& team) {
  INGOT_DISPATCH(correlate_quads<T>)(job, scratch, team);
}
template void correlate_by_quads(const Correlate<float>&, void*, const Team&);
template void correlate_by_quads(const Correlate<double>&, void*, const Team&);

}  // namespace ingot::kernels::conv
#endif
