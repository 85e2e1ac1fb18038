// Convolution with output channels in the lanes: an implicit matrix product. A tile is a few rows (output positions, or
// taps in the kernel gradient) times two vectors of channels; the rows' factors are read one by one straight from a
// padded copy of the source, through a table of offsets, so nothing is ever laid out as columns.
#include "ingot/base/dispatch.h"
#include "kernels/conv_engines.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_channels.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include "kernels/conv-inl.h"
#include "kernels/pool-inl.h"
// clang-format on

#ifndef INGOT_KERNELS_CONV_CHANNELS_ONCE
#define INGOT_KERNELS_CONV_CHANNELS_ONCE
namespace ingot::kernels::conv {

constexpr Budget kChannelBudget{256, 32768, 144};

/// How the scratch of a correlation is cut: the packed weights of every phase, then each worker's own part.
template <class T>
struct ChannelScratch {
  T *box, *out, *bias, *weights;  // weights: those that a strip of a hollow correlation needs, for one panel
  int64_t *offset, *position;
  uint8_t* taps;  // of the pooled outputs of one panel

  ChannelScratch(Carver& carver, const Correlation& c, const Blocks& b, int64_t panel) {
    const int64_t width = round_up(c.out_channels, panel);
    box = carver.take<T>(b.box_elements);
    out = carver.take<T>(width * b.strips.positions());
    bias = carver.take<T>(width);
    weights = carver.take<T>(c.is_hollow() ? b.depth * panel : 0);
    offset = carver.take<int64_t>(b.depth);
    position = carver.take<int64_t>(b.strips.positions());
    taps = carver.take<uint8_t>(c.is_pooled() ? panel * b.strips.positions() : 0);
  }
};

/// Small samples without padding are read where they lie, others from a box.
inline Blocks dense_blocks(const Correlation& c) {
  constexpr int64_t kSmall = 4096;  // elements of a sample
  if (!c.is_inside() || c.in_channels * c.source_plane() > kSmall)
    return Blocks(c, kChannelBudget, Cut::kAnywhere, false);
  Blocks blocks(c, {kChannelBudget.positions, 0, 0}, Cut::kAnywhere, false);
  blocks.box = Box(c);
  blocks.in_place = true;
  return blocks;
}

/// In a hollow correlation a strip is one place in many samples, and does only the products that fall inside the
/// source.
inline Blocks channel_blocks(Correlation c) {
  if (!c.is_hollow()) return dense_blocks(c);
  for (Axis& axis : c.axis) axis.taps = axis.most_reached();
  return Blocks(c, {kChannelBudget.positions, 0, 0}, Cut::kAcrossSamples, false);
}

template <class T>
int64_t packed_weights(const Correlate<T>& job, int64_t panel) {
  int64_t elements = 0;
  for (int64_t p = 0; p < job.phases(); ++p) {
    const Correlation c = job.phase(p);
    elements += c.groups * c.depth() * round_up(c.out_channels, panel);
  }
  return elements;
}

template <class T>
size_t channel_worker_bytes(const Correlate<T>& job, int64_t panel) {
  size_t most = 0;
  for (int64_t p = 0; p < job.phases(); ++p) {
    const Correlation c = job.phase(p);
    Carver carver(nullptr);
    ChannelScratch<T>(carver, c, channel_blocks(c), panel);
    most = std::max(most, carver.used());
  }
  return most;
}

/// How a kernel gradient is cut: the batch in pieces whose sums are added in order, and channels in blocks.
template <class T>
struct KernelGradient {
  Correlation c;
  Blocks blocks;
  int64_t panel, panels, piece, pieces;
  T* sums;  // [piece][group][panel][depth][panel's lanes]
  T *box, *gradient;
  int64_t *offset, *position;
  size_t bytes;

  KernelGradient(const ConvShape& shape, int64_t lanes, void* scratch, int rank, int team_size)
      : c(forward_correlation(shape)), panel(2 * lanes), panels(ceil_div(c.out_channels, panel)) {
    constexpr int64_t kUnits = 8;  // enough to share out, few enough to add up
    const int64_t blocks_of_one = dense_blocks(c).count;
    piece = even_piece(c.batch, ceil_div(c.batch, ceil_div(kUnits, std::max<int64_t>(1, c.groups * blocks_of_one))));
    pieces = ceil_div(c.batch, piece);
    c.batch = piece;
    blocks = dense_blocks(c);
    Carver shared(scratch);
    sums = shared.take<T>(std::max<int64_t>(1, pieces) * sums_per_piece());
    Carver own = shared.rest();
    carve(own);
    bytes = shared.used() + own.used() * static_cast<size_t>(team_size);
    own = shared.rest(own.used() * static_cast<size_t>(rank));
    carve(own);
  }
  void carve(Carver& own) {
    box = own.take<T>(blocks.box_elements);
    gradient = own.take<T>(blocks.strips.positions() * panel);
    offset = own.take<int64_t>(blocks.depth);
    position = own.take<int64_t>(blocks.strips.positions());
  }
  int64_t sums_per_piece() const { return c.groups * panels * c.depth() * panel; }
  T* panel_sums(int64_t i, int64_t group, int64_t p) const {
    return sums + i * sums_per_piece() + (group * panels + p) * c.depth() * panel;
  }
};

/// Where each of the strip's outputs begins in the box.
inline void output_offsets(const Correlation& c, const Box& box, const Strip& strip, int64_t* position) {
  const int64_t pitch[3] = {box.output_pitch(c, 0), box.output_pitch(c, 1), box.output_pitch(c, 2)};
  for (int64_t n = 0; n < strip.size[0]; ++n)
    for (int64_t d = 0; d < strip.size[1]; ++d)
      for (int64_t h = 0; h < strip.size[2]; ++h)
        for (int64_t w = 0; w < strip.size[3]; ++w)
          *position++ = n * box.sample_pitch + d * pitch[0] + h * pitch[1] + w * pitch[2];
}

}  // namespace ingot::kernels::conv
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::conv::HWY_NAMESPACE {

constexpr int kTileRows = 6;

// out[r] = init[r] + sum over k < depth of x[row[r] + step[k]] * w[k]; a row of out and of w is a panel of two vectors.
template <class T>
struct TileJob {
  int64_t depth;
  const T *x, *w;
  const int64_t *row, *step;
  const T* init;
  int64_t init_pitch;
  T* out;
  bool relu;
};

template <int kRows, int kVectors, class T>
void channel_tile(const TileJob<T>& job) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t N = kLanes<T>;
  const T* row[kRows];
  V sum[kRows][kVectors];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    row[r] = job.x + job.row[r];
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::LoadU(d, job.init + r * job.init_pitch + v * N);
  }
  const T* HWY_RESTRICT w = job.w;
  const int64_t* HWY_RESTRICT step = job.step;
  for (int64_t k = 0; k < job.depth; ++k, w += 2 * N) {
    const int64_t at = step[k];
    V right[kVectors];
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, w + v * N);
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      const V left = hn::Set(d, row[r][at]);
      HWY_UNROLL(2)
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(left, right[v], sum[r][v]);
    }
  }
  T* HWY_RESTRICT out = job.out;
  const bool relu = job.relu;
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) {
      if (relu) sum[r][v] = hn::Max(hn::Zero(d), sum[r][v]);  // in this order NaN stays NaN
      hn::StoreU(sum[r][v], d, out + (2 * r + v) * N);
    }
  }
}

template <int kRows, class T>
HWY_INLINE void some_rows(int64_t rows, int64_t lanes, const TileJob<T>& job) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return some_rows<kRows - 1>(rows, lanes, job);
  }
  lanes > kLanes<T> ? channel_tile<kRows, 2>(job) : channel_tile<kRows, 1>(job);
}

// All `rows` rows of one panel, of whose lanes the first `lanes` count.
template <class T>
void channel_panel(int64_t rows, int64_t lanes, TileJob<T> job) {
  // One vector of lanes: more rows, lest every sum waits for the one before. Twelve pointers would not fit.
  const int64_t most = lanes > kLanes<T> ? kTileRows : 8;
  while (rows > 0) {
    const int64_t done = rows >= most ? most : kTileRows;
    done == 8 ? channel_tile<8, 1>(job) : some_rows<kTileRows>(rows, lanes, job);
    rows -= done;
    job.row += done;
    job.init += done * job.init_pitch;
    job.out += done * 2 * kLanes<T>;
  }
}

// to[k][lane] = the weight of product k for output channel first + lane; lanes without a channel get zeros.
template <class T>
void pack_panel(const Correlation& c, const T* w, int64_t first, T* to) {
  constexpr int64_t kPanel = 2 * kLanes<T>;
  const int64_t lanes = std::min(kPanel, c.out_channels - first), depth = c.depth(), taps = c.taps();
  w += first * c.weight_out;
  if (lanes < kPanel) std::fill(to, to + depth * kPanel, T(0));
  if (c.has_plain_weights()) return transpose(lanes, depth, w, c.weight_out, to, kPanel);
  for (int64_t t = 0; t < taps; ++t) {
    const T* from = w + c.kernel_place(t);
    for (int64_t i = 0; i < c.in_channels; ++i)
      for (int64_t o = 0; o < lanes; ++o) to[(i * taps + t) * kPanel + o] = from[i * c.weight_in + o * c.weight_out];
  }
}

// Writes one panel's outputs, [position][lane], to where they belong.
template <class T>
void store_panel(const Correlation& c, const Strip& strip, int64_t group, int64_t first, const T* from, T* y) {
  constexpr int64_t kPanel = 2 * kLanes<T>;
  const int64_t lanes = std::min(kPanel, c.out_channels - first), plane = c.out_plane(), step = c.axis[2].out_step;
  for_runs(c, strip, group, [&](int64_t position, int64_t length, int64_t place) HWY_ATTR {
    T* to = y + place + first * plane;
    if (step == 1) return transpose(length, lanes, from + position * kPanel, kPanel, to, plane);
    for (int64_t o = 0; o < lanes; ++o)
      for (int64_t i = 0; i < length; ++i) to[o * plane + i * step] = from[(position + i) * kPanel + o];
  });
}

// The outputs are written all at once when the sums are done: their lines can come meanwhile.
template <class T>
void prefetch_panel(const Correlation& c, const Strip& strip, int64_t group, int64_t first, const T* y) {
  const int64_t last = std::min(first + 2 * kLanes<T>, c.out_channels), plane = c.out_plane(),
                step = c.axis[2].out_step;
  for_runs(c, strip, group, [&](int64_t, int64_t length, int64_t place) HWY_ATTR {
    for (int64_t o = first; o < last; ++o) prefetch_row<true>((length - 1) * step + 1, y + place + o * plane);
  });
}

// Pools one panel's outputs where they stand, [position][lane], and writes what is left to where it belongs.
template <bool kTaps, class T>
void pool_panel(const Correlate<T>& job, const Correlation& c, const Strip& strip, int64_t group, int64_t first, T* out,
                uint8_t* taps) {
  const hn::ScalableTag<T> d;
  constexpr int64_t N = kLanes<T>, kPanel = 2 * N;
  const int64_t rows = c.window[1], columns = c.window[2], pitch = strip.size[3] * kPanel;
  const int64_t height = strip.size[2] / rows, width = strip.size[3] / columns;
  const int64_t plane_width = c.axis[2].count / columns, plane = c.axis[1].count / rows * plane_width;
  const int64_t lanes = std::min(kPanel, c.out_channels - first);
  // A pooled output never stands behind the window it comes from.
  T* to = out;
  uint8_t* tap = taps;
  for (int64_t n = 0; n < strip.size[0]; ++n)
    for (int64_t oy = 0; oy < height; ++oy)
      for (int64_t ox = 0; ox < width; ++ox, to += kPanel, tap += kPanel) {
        const T* from = out + (n * strip.size[2] + oy * rows) * pitch + ox * columns * kPanel;
        for (int64_t v = 0; v < kPanel; v += N) {
          kernels::HWY_NAMESPACE::Largest<kTaps, decltype(d)> best(d, hn::LoadU(d, from + v));
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t i = r == 0 ? 1 : 0; i < columns; ++i)
              best.meet(hn::LoadU(d, from + r * pitch + i * kPanel + v), r * columns + i);
          hn::StoreU(job.relu ? hn::Max(hn::Zero(d), best.value()) : best.value(), d, to + v);
          if constexpr (kTaps) best.store_taps(tap + v);
        }
      }
  // Whole rows follow each other.
  const int64_t run = width == plane_width ? height * width : width;
  for (int64_t n = 0; n < strip.size[0]; ++n)
    for (int64_t i = 0; i < height * width; i += run) {
      const int64_t channel = ((strip.first[0] + n) * c.groups + group) * c.out_channels + first;
      const int64_t row = strip.first[2] / rows + i / width, column = strip.first[3] / columns;
      const int64_t place = channel * plane + row * plane_width + column, from = (n * height * width + i) * kPanel;
      transpose(run, lanes, out + from, kPanel, job.out + place, plane);
      for (int64_t o = 0; kTaps && o < lanes; ++o)
        for (int64_t p = 0; p < run; ++p) job.taps[place + o * plane + p] = taps[from + p * kPanel + o];
    }
}

// What a strip of a hollow correlation does: the taps that meet the source from its one place, read where they lie.
struct Meeting {
  Axis::Range taps[3];
  int64_t count = 1;

  Meeting(const Correlation& c, const Strip& strip) {
    for (int a = 0; a < 3; ++a) {
      taps[a] = c.axis[a].reach(strip.first[a + 1], 1);
      count *= taps[a].size();
    }
  }
  // Calls body(i, tap, place in the source) for the taps of `channels` channels, in order; i counts them.
  template <class Body>
  void for_each(const Correlation& c, const Strip& strip, int64_t channels, const Body& body) const {
    const auto at = [&](int a, int64_t t) HWY_ATTR {
      return strip.first[a + 1] * c.axis[a].step + c.axis[a].first + t * c.axis[a].increment;
    };
    for (int64_t channel = 0, i = 0; channel < channels; ++channel)
      for (int64_t d = taps[0].begin; d < taps[0].end; ++d)
        for (int64_t h = taps[1].begin; h < taps[1].end; ++h)
          for (int64_t w = taps[2].begin; w < taps[2].end; ++w)
            body(i++, ((channel * c.axis[0].taps + d) * c.axis[1].taps + h) * c.axis[2].taps + w,
                 ((channel * c.axis[0].source + at(0, d)) * c.axis[1].source + at(1, h)) * c.axis[2].source + at(2, w));
  }
};

// Where a strip finds its source: filled into `box`, or where it lies; x is the group's first channel in the first
// sample.
template <class T>
const T* strip_source(const Correlation& c, const Blocks& b, const Strip& strip, int64_t channel, int64_t channels,
                      const T* x, T* box) {
  if (c.taps() == 0) return box;
  if (!b.in_place) {
    fill_box(c, b.box, strip, channel, channels, x, box);
    return box;
  }
  int64_t place = 0;
  for (int a = 0; a < 3; ++a)
    place = place * c.axis[a].source + strip.first[a + 1] * c.axis[a].step + c.axis[a].lowest();
  return x + strip.first[0] * b.box.sample_pitch + channel * b.box.channel_pitch + place;
}

// One strip of outputs for the panels [first, last) of a group.
template <class T>
void correlate_strip(const Correlate<T>& job, const Correlation& c, const Blocks& b, const Strip& strip, int64_t group,
                     int64_t first, int64_t last, const T* packed, const ChannelScratch<T>& s) {
  constexpr int64_t kPanel = 2 * kLanes<T>;
  const int64_t panels = ceil_div(c.out_channels, kPanel), positions = strip.positions(), plane = c.source_plane();
  const T* source = job.source + group * c.in_channels * plane;
  const Meeting meeting(c, strip);
  const bool hollow = c.is_hollow();
  const int64_t sample = c.groups * c.in_channels * plane, taps = hollow ? meeting.count : c.taps();
  if (hollow) {
    meeting.for_each(c, strip, b.channels, [&](int64_t i, int64_t, int64_t place) { s.offset[i] = place; });
    for (int64_t n = 0; n < positions; ++n) s.position[n] = (strip.first[0] + n) * sample;
  } else {
    output_offsets(c, b.box, strip, s.position);
  }
  for (int64_t block = 0; block < b.count; ++block) {
    const int64_t channel = block * b.channels, channels = std::min(b.channels, c.in_channels - channel);
    const T* x = hollow ? source + channel * plane : strip_source(c, b, strip, channel, channels, source, s.box);
    for (int64_t p = first; p < last; ++p) {
      const T* w = packed + ((group * panels + p) * c.in_channels + channel) * c.taps() * kPanel;
      if (hollow)
        meeting.for_each(c, strip, channels, [&](int64_t i, int64_t tap, int64_t) HWY_ATTR {
          copy_row(kPanel, w + tap * kPanel, s.weights + i * kPanel);
        });
      T* out = s.out + p * kPanel * b.strips.positions();
      const bool begin = block == 0, end = block == b.count - 1;
      if (end && !c.is_pooled()) prefetch_panel(c, strip, group, p * kPanel, job.out);
      channel_panel<T>(positions, c.out_channels - p * kPanel,
                       {channels * taps, x, hollow ? s.weights : w, s.position, s.offset,
                        begin ? s.bias + p * kPanel : out, begin ? 0 : kPanel, out, end && job.relu && !c.is_pooled()});
      if (!end) continue;
      if (!c.is_pooled()) {
        store_panel(c, strip, group, p * kPanel, out, job.out);
      } else if (job.taps != nullptr) {
        pool_panel<true>(job, c, strip, group, p * kPanel, out, s.taps);
      } else {
        pool_panel<false>(job, c, strip, group, p * kPanel, out, s.taps);
      }
    }
  }
}

template <class T>
void correlate_phase(const Correlate<T>& job, const Correlation& c, const T* packed, Carver own, const Team& team) {
  constexpr int64_t kPanel = 2 * kLanes<T>;
  const Blocks b = channel_blocks(c);
  const ChannelScratch<T> s(own, c, b, kPanel);
  if (!c.is_hollow()) tap_offsets(c, b.box, b.channels, s.offset);
  const int64_t panels = ceil_div(c.out_channels, kPanel), strips = b.strips.all();
  // With few strips the panels are shared out too. That moves work between workers, not a single bit.
  const int64_t pairs = std::max<int64_t>(1, panels / 2), wanted = 4 * team.size();
  const int64_t cuts =
      team.size() == 1 ? 1 : std::clamp<int64_t>(wanted / std::max<int64_t>(1, c.groups * strips), 1, pairs);
  const auto [begin, end] = team.share(c.groups * cuts * strips);
  int64_t group_of_bias = -1;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t group = unit / (cuts * strips), cut = unit / strips % cuts;
    if (group != group_of_bias) {
      for (int64_t o = 0; o < c.out_channels; ++o)
        s.bias[o] = job.bias == nullptr ? T(0) : job.bias[group * c.out_channels + o];
      std::fill(s.bias + c.out_channels, s.bias + panels * kPanel, T(0));
      group_of_bias = group;
    }
    correlate_strip(job, c, b, b.strips[unit % strips], group, panels * cut / cuts, panels * (cut + 1) / cuts, packed,
                    s);
  }
}

template <class T>
void correlate_channels(const Correlate<T>& job, void* scratch, const Team& team) {
  constexpr int64_t kPanel = 2 * kLanes<T>;
  Carver carver(scratch);
  T* const packed = carver.take<T>(packed_weights(job, kPanel));
  const Carver own = carver.rest(channel_worker_bytes(job, kPanel) * static_cast<size_t>(team.rank()));
  T* to = packed;
  for (int64_t p = 0; p < job.phases(); ++p) {
    const Correlation c = job.phase(p);
    const int64_t panels = ceil_div(c.out_channels, kPanel);
    const auto [begin, end] = team.share(c.groups * panels);
    for (int64_t i = begin; i < end; ++i)
      pack_panel(c, job.weights + i / panels * c.weight_group(), i % panels * kPanel, to + i * c.depth() * kPanel);
    to += c.groups * panels * c.depth() * kPanel;
  }
  team.barrier();
  const T* from = packed;
  for (int64_t p = 0; p < job.phases(); ++p) {
    const Correlation c = job.phase(p);
    correlate_phase(job, c, from, own, team);
    from += c.groups * round_up(c.out_channels, kPanel) * c.depth();
  }
}

// The sums of one piece of the batch for one block of channels.
template <class T>
void sum_kernel_gradient(const KernelGradient<T>& g, int64_t piece, int64_t samples, int64_t group, int64_t block,
                         const T* x, const T* dy) {
  constexpr int64_t kPanel = 2 * kLanes<T>;
  const Correlation& c = g.c;
  const int64_t taps = c.taps(), plane = c.out_plane(), first_sample = piece * g.piece;
  const int64_t channel = block * g.blocks.channels, channels = std::min(g.blocks.channels, c.in_channels - channel);
  x += (first_sample * c.groups + group) * c.in_channels * c.source_plane();
  dy += first_sample * c.groups * c.out_channels * plane;
  for (int64_t p = 0; p < g.panels; ++p) {
    T* sums = g.panel_sums(piece, group, p) + channel * taps * kPanel;
    std::fill(sums, sums + channels * taps * kPanel, T(0));
  }
  Strips strips = g.blocks.strips;
  strips.total[0] = samples;
  strips.count[0] = ceil_div(samples, strips.size[0]);
  for (int64_t i = 0; i < strips.all(); ++i) {
    const Strip strip = strips[i];
    const T* source = strip_source(c, g.blocks, strip, channel, channels, x, g.box);
    output_offsets(c, g.blocks.box, strip, g.position);
    for (int64_t p = 0; p < g.panels; ++p) {
      const int64_t first = p * kPanel, lanes = std::min(kPanel, c.out_channels - first);
      T* gradient = g.gradient;
      for_runs(c, strip, group, [&](int64_t position, int64_t length, int64_t place) HWY_ATTR {
        transpose(lanes, length, dy + place + first * plane, plane, gradient + position * kPanel, kPanel);
      });
      T* sums = g.panel_sums(piece, group, p) + channel * taps * kPanel;
      channel_panel<T>(channels * taps, lanes,
                       {strip.positions(), source, gradient, g.offset, g.position, sums, kPanel, sums, false});
    }
  }
}

template <class T>
void grad_kernel_channels(const ConvShape& shape, const T* x, const T* dy, T* dw, void* scratch, const Team& team) {
  constexpr int64_t kPanel = 2 * kLanes<T>, kRows = 64;
  const KernelGradient<T> g(shape, kLanes<T>, scratch, team.rank(), team.size());
  const Correlation& c = g.c;
  tap_offsets(c, g.blocks.box, g.blocks.channels, g.offset);
  std::fill(g.gradient, g.gradient + g.blocks.strips.positions() * kPanel, T(0));  // lanes without a channel stay zero
  const auto [begin, end] = team.share(g.pieces * c.groups * g.blocks.count);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t block = unit % g.blocks.count, group = unit / g.blocks.count % c.groups;
    const int64_t piece = unit / (g.blocks.count * c.groups);
    sum_kernel_gradient(g, piece, std::min(g.piece, shape.batch - piece * g.piece), group, block, x, dy);
  }
  team.barrier();
  const int64_t depth = c.depth(), cuts = ceil_div(depth, kRows);
  const auto [from, to] = team.share(c.groups * g.panels * cuts);
  for (int64_t unit = from; unit < to; ++unit) {
    const int64_t cut = unit % cuts, p = unit / cuts % g.panels, group = unit / (cuts * g.panels);
    const int64_t first = cut * kRows, rows = std::min(kRows, depth - first);
    T* sums = g.panel_sums(0, group, p) + first * kPanel;
    if (g.pieces == 0) std::fill(sums, sums + rows * kPanel, T(0));
    for (int64_t i = 1; i < g.pieces; ++i)
      for (int64_t j = 0; j < rows * kPanel; ++j) sums[j] += sums[i * g.sums_per_piece() + j];
    const int64_t lanes = std::min(kPanel, c.out_channels - p * kPanel);
    transpose(rows, lanes, sums, kPanel, dw + (group * c.out_channels + p * kPanel) * depth + first, depth);
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
  for (int64_t bytes : kLaneBytes) {
    const int64_t panel = 2 * bytes / static_cast<int64_t>(sizeof(T));
    Carver carver(nullptr);
    carver.take<T>(packed_weights(job, panel));
    most = std::max(most, carver.used() + channel_worker_bytes(job, panel) * static_cast<size_t>(team_size));
  }
  return most;
}

size_t correlate_by_channels_scratch(const ConvShape& shape, bool forward, const int64_t* window, size_t element_size,
                                     int team_size) {
  return element_size == sizeof(float) ? correlate_bytes<float>(shape, forward, window, team_size)
                                       : correlate_bytes<double>(shape, forward, window, team_size);
}

template <class T>
static size_t grad_kernel_bytes(const ConvShape& shape, int team_size) {
  size_t most = 0;
  for (int64_t bytes : kLaneBytes) {
    const int64_t lanes = bytes / static_cast<int64_t>(sizeof(T));
    most = std::max(most, KernelGradient<T>(shape, lanes, nullptr, 0, team_size).bytes);
  }
  return most;
}

size_t grad_kernel_by_channels_scratch(const ConvShape& shape, size_t element_size, int team_size) {
  return element_size == sizeof(float) ? grad_kernel_bytes<float>(shape, team_size)
                                       : grad_kernel_bytes<double>(shape, team_size);
}

template <class T>
void correlate_by_channels(const Correlate<T>& job, void* scratch, const Team& team) {
  INGOT_DISPATCH(correlate_channels<T>)(job, scratch, team);
}

template <class T>
void grad_kernel_by_channels(const ConvShape& shape, const T* x, const T* dy, T* dw, void* scratch, const Team& team) {
  INGOT_DISPATCH(grad_kernel_channels<T>)(shape, x, dy, dw, scratch, team);
}

template void correlate_by_channels(const Correlate<float>&, void*, const Team&);
template void correlate_by_channels(const Correlate<double>&, void*, const Team&);
template void grad_kernel_by_channels(const ConvShape&, const float*, const float*, float*, void*, const Team&);
template void grad_kernel_by_channels(const ConvShape&, const double*, const double*, double*, void*, const Team&);

}  // namespace ingot::kernels::conv
#endif
