// Convolution with output positions in the lanes, for depthwise and other groups of few channels and for short sums.
// The source is copied phase by phase of the stride, so that neighbouring outputs always read neighbouring elements;
// rows of the copy run on into each other, and the few sums that straddle two rows are simply dropped.
#include "ingot/base/dispatch.h"
#include "kernels/conv_engines.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_positions.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include "kernels/conv-inl.h"
#include "kernels/pool-inl.h"
// clang-format on

#ifndef INGOT_KERNELS_CONV_POSITIONS_ONCE
#define INGOT_KERNELS_CONV_POSITIONS_ONCE
namespace ingot::kernels::conv {

constexpr int64_t kWidestTile = 8;  // vectors of positions in a tile

/// Strips of a size that keeps their sums, and what they read, in the first cache.
inline Blocks position_blocks(const Correlation& c) {
  const int64_t positions = std::clamp<int64_t>(8192 / std::max<int64_t>(1, c.out_channels), 64, 1024);
  return Blocks(c, {positions, 4096, 48}, Cut::kWithinSample, true);
}

/// A worker's part of the scratch of a correlation; in front of it lie the weights of the input gradient in forward
/// order.
template <class T>
struct PositionScratch {
  int64_t plane, pitch;  // sums that a plane of the strip takes, and the distance between planes
  T *box, *out;
  int64_t* offset;

  PositionScratch(Carver& carver, const Correlation& c, const Blocks& b, int64_t lanes) {
    plane = (b.strips.size[2] - 1) * b.box.extent[2] + b.strips.size[3];
    pitch = round_up(plane, lanes) + kWidestTile * lanes;
    box = carver.take<T>(b.box_elements + kWidestTile * lanes);
    out = carver.take<T>(c.out_channels * b.strips.size[1] * pitch);
    offset = carver.take<int64_t>(b.depth);
  }
};

template <class T>
size_t position_worker_bytes(const Correlate<T>& job, int64_t lanes) {
  size_t most = 0;
  for (int64_t p = 0; p < job.phases(); ++p) {
    const Correlation c = job.phase(p);
    Carver carver(nullptr);
    PositionScratch<T>(carver, c, position_blocks(c), lanes);
    most = std::max(most, carver.used());
  }
  return most;
}

template <class T>
int64_t ordered_weights(const Correlate<T>& job) {
  int64_t elements = 0;
  for (int64_t p = 0; !job.forward && p < job.phases(); ++p) {
    const Correlation c = job.phase(p);
    elements += c.groups * c.out_channels * c.depth();
  }
  return elements;
}

/// How a kernel gradient is cut: the batch in pieces whose sums are added in order. A sum is a vector until its piece
/// ends.
template <class T>
struct PositionGradient {
  Correlation c;
  Blocks blocks;
  int64_t lanes, width, piece, pieces;
  T* sums;  // [piece][group][out channel][depth]
  T *box, *gradient, *vectors;
  int64_t* offset;
  size_t bytes;

  PositionGradient(const ConvShape& shape, int64_t lanes_, void* scratch, int rank, int team_size)
      : c(forward_correlation(shape)), lanes(lanes_) {
    constexpr int64_t kUnits = 16;
    piece = even_piece(c.batch, ceil_div(c.batch, ceil_div(kUnits, std::max<int64_t>(1, c.groups))));
    pieces = ceil_div(c.batch, piece);
    blocks = position_blocks(c);
    width = round_up(blocks.strips.size[3], lanes);
    Carver shared(scratch);
    sums = shared.take<T>(std::max<int64_t>(1, pieces) * sums_per_piece());
    Carver own = shared.rest();
    carve(own);
    bytes = shared.used() + own.used() * static_cast<size_t>(team_size);
    own = shared.rest(own.used() * static_cast<size_t>(rank));
    carve(own);
  }
  void carve(Carver& own) {
    box = own.take<T>(blocks.box_elements + lanes);
    gradient = own.take<T>(c.out_channels * blocks.strips.size[1] * blocks.strips.size[2] * width);
    vectors = own.take<T>(c.out_channels * c.depth() * lanes);
    offset = own.take<int64_t>(blocks.depth);
  }
  int64_t sums_per_piece() const { return c.groups * c.out_channels * c.depth(); }
};

}  // namespace ingot::kernels::conv
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::conv::HWY_NAMESPACE {

// kRows output channels times kVectors vectors of positions: out[r] = start + sum over k of w[r][k] * x[offset[k]...].
template <class T>
struct RowsJob {
  int64_t depth;
  const T* x;
  const int64_t* offset;
  const T* w;
  int64_t w_pitch;
  const T* bias;  // null: zeros
  bool accumulate, relu;
  T* out;
  int64_t out_pitch;
};

template <int kRows, int kVectors, class T>
void position_tile(const RowsJob<T>& job, int64_t position) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t N = kLanes<T>;
  T* out = job.out + position;
  const int64_t out_pitch = job.out_pitch, w_pitch = job.w_pitch;
  V sum[kRows][kVectors];
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    const V bias = hn::Set(d, job.bias == nullptr ? T(0) : job.bias[r]);
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = job.accumulate ? hn::LoadU(d, out + r * out_pitch + v * N) : bias;
  }
  const T* HWY_RESTRICT x = job.x + position;
  const T* HWY_RESTRICT w = job.w;
  const int64_t* HWY_RESTRICT offset = job.offset;
  for (int64_t k = 0; k < job.depth; ++k) {
    const T* at = x + offset[k];
    // The shorter side is held in registers, the other comes one by one: 16 registers are just enough.
    if constexpr (kRows < kVectors) {
      V left[kRows];
      HWY_UNROLL(4)
      for (int r = 0; r < kRows; ++r) left[r] = hn::Set(d, w[r * w_pitch + k]);
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        const V right = hn::LoadU(d, at + v * N);
        HWY_UNROLL(4)
        for (int r = 0; r < kRows; ++r) sum[r][v] = hn::MulAdd(left[r], right, sum[r][v]);
      }
    } else {
      V right[kVectors];
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, at + v * N);
      HWY_UNROLL(4)
      for (int r = 0; r < kRows; ++r) {
        const V left = hn::Set(d, w[r * w_pitch + k]);
        HWY_UNROLL(8)
        for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(left, right[v], sum[r][v]);
      }
    }
  }
  const bool relu = job.relu;
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      if (relu) sum[r][v] = hn::Max(hn::Zero(d), sum[r][v]);  // in this order NaN stays NaN
      hn::StoreU(sum[r][v], d, out + r * out_pitch + v * N);
    }
  }
}

// All positions of a plane; the last tile may run over, into room that is there for it.
template <int kRows, int kVectors, class T>
void position_rows(const RowsJob<T>& job, int64_t positions) {
  for (int64_t p = 0; p < positions; p += kVectors * kLanes<T>) position_tile<kRows, kVectors>(job, p);
}

template <class T>
void some_position_rows(int64_t rows, const RowsJob<T>& job, int64_t positions) {
  switch (rows) {
    case 1: return position_rows<1, kWidestTile>(job, positions);
    case 2: return position_rows<2, 6>(job, positions);
    case 3: return position_rows<3, 4>(job, positions);
    default: return position_rows<4, 3>(job, positions);
  }
}

// Copies the strip's sums to where they belong.
template <class T>
void store_strip(const Correlation& c, const Blocks& b, const PositionScratch<T>& s, const Strip& strip, int64_t group,
                 T* y) {
  const int64_t step = c.axis[2].out_step, width = strip.size[3];
  for (int64_t o = 0; o < c.out_channels; ++o) {
    T* to = y + ((strip.first[0] * c.groups + group) * c.out_channels + o) * c.out_plane();
    for (int64_t d = 0; d < strip.size[1]; ++d)
      for (int64_t h = 0; h < strip.size[2]; ++h) {
        const T* from = s.out + (o * b.strips.size[1] + d) * s.pitch + h * b.box.extent[2];
        const int64_t pd = c.axis[0].out_first + (strip.first[1] + d) * c.axis[0].out_step;
        const int64_t ph = c.axis[1].out_first + (strip.first[2] + h) * c.axis[1].out_step;
        T* row = to + (pd * c.out[1] + ph) * c.out[2] + c.axis[2].out_first + strip.first[3] * step;
        if (step == 1) {
          copy_row(width, from, row);
        } else {
          for (int64_t w = 0; w < width; ++w) row[w * step] = from[w];
        }
      }
  }
}

// Pools the strip's sums to where they belong.
template <bool kTaps, class T>
void pool_strip(const Correlate<T>& job, const Correlation& c, const Blocks& b, const PositionScratch<T>& s,
                const Strip& strip, int64_t group) {
  const int64_t rows = c.window[1], columns = c.window[2];
  const int64_t height = strip.size[2] / rows, width = strip.size[3] / columns;
  const int64_t plane_width = c.axis[2].count / columns, plane = c.axis[1].count / rows * plane_width;
  for (int64_t o = 0; o < c.out_channels; ++o)
    for (int64_t h = 0; h < height; ++h) {
      const T* from = s.out + o * b.strips.size[1] * s.pitch + h * rows * b.box.extent[2];
      const int64_t place = ((strip.first[0] * c.groups + group) * c.out_channels + o) * plane +
                            (strip.first[2] / rows + h) * plane_width + strip.first[3] / columns;
      kernels::HWY_NAMESPACE::pool_row<kTaps>(rows, columns, width, from, b.box.extent[2], job.relu, job.out + place,
                                              kTaps ? job.taps + place : nullptr);
    }
}

template <class T>
void correlate_strip_by_positions(const Correlate<T>& job, const Correlation& c, const Blocks& b, const Strip& strip,
                                  int64_t group, const T* w, const PositionScratch<T>& s) {
  constexpr int64_t kRows = 4;
  const int64_t depth = c.depth(), taps = c.taps(), positions = (strip.size[2] - 1) * b.box.extent[2] + strip.size[3];
  const int64_t plane_pitch = b.box.output_pitch(c, 0), rows = even_piece(c.out_channels, kRows);
  const T* source = job.source + group * c.in_channels * c.source_plane();
  for (int64_t block = 0; block < b.count; ++block) {
    const int64_t channel = block * b.channels, channels = std::min(b.channels, c.in_channels - channel);
    if (taps > 0) fill_box(c, b.box, strip, channel, channels, source, s.box);
    for (int64_t o = 0; o < c.out_channels; o += rows)
      for (int64_t d = 0; d < strip.size[1]; ++d) {
        const T* bias = job.bias == nullptr ? nullptr : job.bias + group * c.out_channels + o;
        const RowsJob<T> tile{channels * taps,
                              s.box + d * plane_pitch,
                              s.offset,
                              w + o * depth + channel * taps,
                              depth,
                              bias,
                              block > 0,
                              job.relu && block == b.count - 1 && !c.is_pooled(),
                              s.out + (o * b.strips.size[1] + d) * s.pitch,
                              b.strips.size[1] * s.pitch};
        some_position_rows(std::min(rows, c.out_channels - o), tile, positions);
      }
  }
  if (!c.is_pooled()) {
    store_strip(c, b, s, strip, group, job.out);
  } else if (job.taps != nullptr) {
    pool_strip<true>(job, c, b, s, strip, group);
  } else {
    pool_strip<false>(job, c, b, s, strip, group);
  }
}

// The weights of a phase as forward has them: to[out channel][in channel][tap].
template <class T>
void order_weights(const Correlation& c, const T* w, T* to, const Team& team) {
  const int64_t taps = c.taps();
  const auto [begin, end] = team.share(c.groups * c.out_channels);
  for (int64_t i = begin; i < end; ++i) {
    const T* from = w + i / c.out_channels * c.weight_group() + i % c.out_channels * c.weight_out;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t place = c.kernel_place(t);
      for (int64_t j = 0; j < c.in_channels; ++j)
        to[(i * c.in_channels + j) * taps + t] = from[j * c.weight_in + place];
    }
  }
}

template <class T>
void correlate_positions(const Correlate<T>& job, void* scratch, const Team& team) {
  Carver carver(scratch);
  T* const ordered = carver.take<T>(ordered_weights(job));
  const size_t bytes = position_worker_bytes(job, kLanes<T>);
  if (!job.forward) {
    T* to = ordered;
    for (int64_t p = 0; p < job.phases(); ++p) {
      const Correlation c = job.phase(p);
      order_weights(c, job.weights, to, team);
      to += c.groups * c.out_channels * c.depth();
    }
    team.barrier();
  }
  const T* weights = job.forward ? job.weights : ordered;
  for (int64_t p = 0; p < job.phases(); ++p) {
    const Correlation c = job.phase(p);
    const Blocks b = position_blocks(c);
    Carver own = carver.rest(bytes * static_cast<size_t>(team.rank()));
    const PositionScratch<T> s(own, c, b, kLanes<T>);
    std::fill(s.box, s.box + b.box_elements + kWidestTile * kLanes<T>,
              T(0));  // sums that are dropped read past the rows
    tap_offsets(c, b.box, b.channels, s.offset);
    const auto [begin, end] = team.share(b.strips.all() * c.groups);
    // In the order of memory: sample, group, strip.
    const int64_t strips = b.strips.all() / std::max<int64_t>(1, c.batch);
    Strip strip{};
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t plane = unit / strips, group = plane % c.groups;
      if (unit == begin || strips > 1 || group == 0) strip = b.strips[plane / c.groups * strips + unit % strips];
      correlate_strip_by_positions(job, c, b, strip, group, weights + group * c.out_channels * c.depth(), s);
    }
    weights += c.groups * c.out_channels * c.depth();
  }
}

// What the dot products of one strip walk over: `rows[0]` planes of `rows[1]` rows of `width` elements.
template <class T>
struct DotJob {
  int64_t planes, rows, width;
  const T* x;
  int64_t x_plane, x_row;
  const T* dy;  // rows padded with zeros to whole vectors
  int64_t dy_row, dy_channel;
  int64_t depth;  // vectors from one output channel's sums to the next
};

// sums[o][t] += dy[o] * x[offset[t]...], lane by lane over the strip.
template <int kOut, int kTaps, class T>
void dot_tile(const DotJob<T>& job, const int64_t* offset, int64_t channel, T* sums) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t N = kLanes<T>;
  V sum[kOut][kTaps];
  HWY_UNROLL(4)
  for (int o = 0; o < kOut; ++o) {
    HWY_UNROLL(12)
    for (int t = 0; t < kTaps; ++t) sum[o][t] = hn::LoadU(d, sums + (o * job.depth + t) * N);
  }
  const T* dy = job.dy + channel * job.dy_channel;
  const int64_t whole = job.width / N * N;
  const auto tail = hn::FirstN(d, static_cast<size_t>(job.width - whole));
  for (int64_t i = 0; i < job.planes; ++i)
    for (int64_t j = 0; j < job.rows; ++j, dy += job.dy_row) {
      const T* x[kTaps];
      HWY_UNROLL(12)
      for (int t = 0; t < kTaps; ++t) x[t] = job.x + i * job.x_plane + j * job.x_row + offset[t];
      const auto step = [&](int64_t w, auto&& keep) HWY_ATTR {
        if constexpr (kOut > 1) {
          V right[kTaps];
          HWY_UNROLL(12)
          for (int t = 0; t < kTaps; ++t) right[t] = keep(hn::LoadU(d, x[t] + w));
          HWY_UNROLL(4)
          for (int o = 0; o < kOut; ++o) {
            const V left = hn::LoadU(d, dy + o * job.dy_channel + w);
            HWY_UNROLL(12)
            for (int t = 0; t < kTaps; ++t) sum[o][t] = hn::MulAdd(left, right[t], sum[o][t]);
          }
        } else {
          const V left = hn::LoadU(d, dy + w);
          HWY_UNROLL(12)
          for (int t = 0; t < kTaps; ++t) sum[0][t] = hn::MulAdd(left, keep(hn::LoadU(d, x[t] + w)), sum[0][t]);
        }
      };
      for (int64_t w = 0; w < whole; w += N) step(w, [](V v) HWY_ATTR { return v; });
      // Beyond the row x holds its neighbours: an infinity there must not meet dy's zeros.
      if (whole < job.width) step(whole, [&](V v) HWY_ATTR { return hn::IfThenElseZero(tail, v); });
    }
  HWY_UNROLL(4)
  for (int o = 0; o < kOut; ++o) {
    HWY_UNROLL(12)
    for (int t = 0; t < kTaps; ++t) hn::StoreU(sum[o][t], d, sums + (o * job.depth + t) * N);
  }
}

template <int kOut, int kTaps, class T>
void some_taps(int64_t taps, const DotJob<T>& job, const int64_t* offset, int64_t channel, T* sums) {
  if constexpr (kTaps > 1) {
    if (taps < kTaps) return some_taps<kOut, kTaps - 1>(taps, job, offset, channel, sums);
  }
  dot_tile<kOut, kTaps>(job, offset, channel, sums);
}

template <int kOut, int kTaps, class T>
void all_taps(int64_t depth, const DotJob<T>& job, const int64_t* offset, int64_t channel, T* sums) {
  const int64_t taps = even_piece(depth, kTaps);
  for (int64_t k = 0; k < depth; k += taps)
    some_taps<kOut, kTaps>(std::min(taps, depth - k), job, offset + k, channel, sums + k * kLanes<T>);
}

// The strip's part of dy for one group, its rows padded with zeros to whole vectors.
template <class T>
void copy_gradient(const PositionGradient<T>& g, const Strip& strip, int64_t group, const T* dy) {
  const Correlation& c = g.c;
  T* to = g.gradient;
  for (int64_t o = 0; o < c.out_channels; ++o) {
    const T* from = dy + ((strip.first[0] * c.groups + group) * c.out_channels + o) * c.out_plane();
    for (int64_t i = 0; i < strip.size[1]; ++i)
      for (int64_t j = 0; j < strip.size[2]; ++j, to += g.width) {
        const int64_t row = (strip.first[1] + i) * c.out[1] + strip.first[2] + j;
        copy_row(strip.size[3], from + row * c.out[2] + strip.first[3], to);
        zero_row(g.width - strip.size[3], to + strip.size[3]);
      }
  }
}

template <class T>
void add_strip(const PositionGradient<T>& g, const Strip& strip, int64_t group, const T* x, const T* dy) {
  constexpr int64_t N = kLanes<T>;
  const Correlation& c = g.c;
  const int64_t taps = c.taps(), depth = c.depth(), rows = strip.size[1] * strip.size[2];
  copy_gradient(g, strip, group, dy);
  const DotJob<T> job{strip.size[1],
                      strip.size[2],
                      strip.size[3],
                      g.box,
                      g.blocks.box.output_pitch(c, 0),
                      g.blocks.box.output_pitch(c, 1),
                      g.gradient,
                      g.width,
                      rows * g.width,
                      depth};
  for (int64_t block = 0; block < g.blocks.count; ++block) {
    const int64_t channel = block * g.blocks.channels, channels = std::min(g.blocks.channels, c.in_channels - channel);
    fill_box(c, g.blocks.box, strip, channel, channels, x + group * c.in_channels * c.source_plane(), g.box);
    for (int64_t o = 0; o < c.out_channels;) {
      T* vectors = g.vectors + (o * depth + channel * taps) * N;
      if (o + 4 <= c.out_channels) {
        all_taps<4, 3>(channels * taps, job, g.offset, o, vectors);
        o += 4;
      } else {
        all_taps<1, 9>(channels * taps, job, g.offset, o, vectors);
        o += 1;
      }
    }
  }
}

template <class T>
void grad_kernel_positions(const ConvShape& shape, const T* x, const T* dy, T* dw, void* scratch, const Team& team) {
  const hn::ScalableTag<T> d;
  constexpr int64_t N = kLanes<T>;
  const PositionGradient<T> g(shape, N, scratch, team.rank(), team.size());
  const Correlation& c = g.c;
  tap_offsets(c, g.blocks.box, g.blocks.channels, g.offset);
  std::fill(g.box, g.box + g.blocks.box_elements + N, T(0));  // the last row is read a vector past its end
  const int64_t sums = c.out_channels * c.depth(), strips = g.blocks.strips.all() / std::max<int64_t>(1, c.batch);
  const auto [begin, end] = team.share(g.pieces * c.groups);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t piece = unit / c.groups, group = unit % c.groups, last = std::min(c.batch, (piece + 1) * g.piece);
    std::fill(g.vectors, g.vectors + sums * N, T(0));
    for (int64_t i = piece * g.piece * strips; i < last * strips; ++i) add_strip(g, g.blocks.strips[i], group, x, dy);
    T* to = g.sums + unit * sums;
    for (int64_t i = 0; i < sums; ++i) to[i] = hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, g.vectors + i * N)));
  }
  team.barrier();
  const auto [from, to] = team.share(g.sums_per_piece());
  for (int64_t i = from; i < to; ++i) {
    T sum = 0;
    for (int64_t piece = 0; piece < g.pieces; ++piece) sum += g.sums[piece * g.sums_per_piece() + i];
    dw[i] = sum;
  }
}

}  // namespace ingot::kernels::conv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels::conv {

constexpr int64_t kLaneBytes[] = {16, 32, 64};  // scratch is the same whatever instruction set is chosen later

template <class T>
static size_t correlate_bytes(const ConvShape& shape, bool forward, const int64_t* window, int team_size) {
  Correlate<T> job{shape, forward, nullptr, nullptr, nullptr, false, nullptr};
  if (window != nullptr) std::copy(window, window + 2, job.window);
  size_t most = 0;
  for (int64_t bytes : kLaneBytes)
    most = std::max(most, position_worker_bytes(job, bytes / static_cast<int64_t>(sizeof(T))));
  Carver carver(nullptr);
  carver.take<T>(ordered_weights(job));
  return carver.used() + most * static_cast<size_t>(team_size);
}

size_t correlate_by_positions_scratch(const ConvShape& shape, bool forward, const int64_t* window, size_t element_size,
                                      int team_size) {
  return element_size == sizeof(float) ? correlate_bytes<float>(shape, forward, window, team_size)
                                       : correlate_bytes<double>(shape, forward, window, team_size);
}

template <class T>
static size_t grad_kernel_bytes(const ConvShape& shape, int team_size) {
  size_t most = 0;
  for (int64_t bytes : kLaneBytes) {
    const int64_t lanes = bytes / static_cast<int64_t>(sizeof(T));
    most = std::max(most, PositionGradient<T>(shape, lanes, nullptr, 0, team_size).bytes);
  }
  return most;
}

size_t grad_kernel_by_positions_scratch(const ConvShape& shape, size_t element_size, int team_size) {
  return element_size == sizeof(float) ? grad_kernel_bytes<float>(shape, team_size)
                                       : grad_kernel_bytes<double>(shape, team_size);
}

template <class T>
void correlate_by_positions(const Correlate<T>& job, void* scratch, const Team& team) {
  INGOT_DISPATCH(correlate_positions<T>)(job, scratch, team);
}

template <class T>
void grad_kernel_by_positions(const ConvShape& shape, const T* x, const T* dy, T* dw, void* scratch, const Team& team) {
  INGOT_DISPATCH(grad_kernel_positions<T>)(shape, x, dy, dw, scratch, team);
}

template void correlate_by_positions(const Correlate<float>&, void*, const Team&);
template void correlate_by_positions(const Correlate<double>&, void*, const Team&);
template void grad_kernel_by_positions(const ConvShape&, const float*, const float*, float*, void*, const Team&);
template void grad_kernel_by_positions(const ConvShape&, const double*, const double*, double*, void*, const Team&);

}  // namespace ingot::kernels::conv
#endif
