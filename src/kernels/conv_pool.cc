// Convolution with pooling: the forward pass is an engine's, with the pooling as its way out. The gradients go through
// the windows one by one: each has one element that counts, and what that element has seen of the input is kernel rows
// of neighbours, kept channels last so that a row is one run of numbers.
#include "kernels/conv_pool.h"

#include <cstddef>
#include <type_traits>

#include "ingot/base/dispatch.h"
#include "kernels/conv_engines.h"
#include "kernels/pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_pool.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include "kernels/conv-inl.h"
// clang-format on

#ifndef INGOT_KERNELS_CONV_POOL_ONCE
#define INGOT_KERNELS_CONV_POOL_ONCE
namespace ingot::kernels::conv {

/// How the windows of one sample meet a padded copy of a block of its input channels, channels last. The copy's pixels
/// are `pitch` elements apart.
struct Meetings {
  int64_t channels, blocks, pitch;  // channels in a block
  int64_t height, width, windows;   // of the copy
  int64_t run, next_run;            // a kernel row is a run of so many elements; distance to the next one
  int64_t* place;                   // of every window's first element
  int64_t* step;                    // from there to the element of each tap; taps that no window has lead nowhere

  static constexpr int64_t kTaps = 256;

  Meetings(const ConvPoolShape& s, int64_t pixel_grain)
      : height(s.conv.in[1] + 2 * s.conv.pad[1]), width(s.conv.in[2] + 2 * s.conv.pad[2]) {
    constexpr int64_t kBox = 4096, kGrain = 8;  // elements that stay in the first cache; channels
    const int64_t fitting = std::max(kGrain, kBox / (height * width) / kGrain * kGrain);
    blocks = ceil_div(s.conv.in_channels, fitting);
    channels = blocks == 1 ? s.conv.in_channels : round_up(ceil_div(s.conv.in_channels, blocks), kGrain);
    blocks = ceil_div(s.conv.in_channels, channels);
    pitch = round_up(channels, pixel_grain);
    run = s.conv.kernel[2] * pitch;
    next_run = s.conv.dilation[1] * row();
    windows = s.pooled(0) * s.pooled(1);
  }
  int64_t elements() const { return height * width * pitch; }
  int64_t row() const { return width * pitch; }
  void carve(Carver& carver) {
    place = carver.take<int64_t>(windows);
    step = carver.take<int64_t>(kTaps);
  }
  void fill(const ConvPoolShape& s) const {
    const int64_t down = s.conv.stride[1] * row(), right = s.conv.stride[2] * pitch;
    for (int64_t i = 0; i < windows; ++i)
      place[i] = i / s.pooled(1) * s.window[0] * down + i % s.pooled(1) * s.window[1] * right;
    for (int64_t t = 0; t < kTaps; ++t)
      step[t] = t < s.window[0] * s.window[1] ? t / s.window[1] * down + t % s.window[1] * right : 0;
  }
};

/// A kernel gradient: the batch in pieces whose sums are added in order.
template <class T>
struct WindowKernelGradient {
  Meetings m;
  int64_t vectors, lanes, piece, pieces;  // vectors of `lanes` in a kernel row
  T *sums, *box;                          // [piece][block][out channel][kernel row][vector]
  size_t bytes;

  WindowKernelGradient(const ConvPoolShape& s, int64_t most_lanes, void* scratch, int rank, int team_size) : m(s, 1) {
    constexpr int64_t kUnits = 8;
    lanes = m.run <= most_lanes / 2 ? std::max<int64_t>(1, most_lanes / 2) : most_lanes;
    vectors = ceil_div(m.run, lanes);
    piece = even_piece(s.conv.batch, ceil_div(s.conv.batch, ceil_div(kUnits, m.blocks)));
    pieces = ceil_div(s.conv.batch, piece);
    Carver shared(scratch);
    sums = shared.take<T>(pieces * m.blocks * block_sums(s));
    Carver own = shared.rest();
    carve(own);
    bytes = shared.used() + own.used() * static_cast<size_t>(team_size);
    own = shared.rest(own.used() * static_cast<size_t>(rank));
    carve(own);
  }
  int64_t row_sums() const { return vectors * lanes; }
  int64_t block_sums(const ConvPoolShape& s) const { return s.conv.out_channels * s.conv.kernel[1] * row_sums(); }
  void carve(Carver& own) {
    m.carve(own);
    box = own.take<T>(m.elements() + 2 * lanes);  // the last run is read past its end
  }
};

/// An input gradient: sample by sample, block by block.
template <class T>
struct WindowInputGradient {
  Meetings m;
  int64_t vectors;
  T *weights, *box;  // weights: [block][out channel][kernel row][run]
  size_t bytes;

  WindowInputGradient(const ConvPoolShape& s, int64_t lanes, void* scratch, int rank, int team_size)
      : m(s, lanes), vectors(m.run / lanes) {
    Carver shared(scratch);
    weights = shared.take<T>(m.blocks * s.conv.out_channels * s.conv.kernel[1] * m.run);
    Carver own = shared.rest();
    carve(own);
    bytes = shared.used() + own.used() * static_cast<size_t>(team_size);
    own = shared.rest(own.used() * static_cast<size_t>(rank));
    carve(own);
  }
  void carve(Carver& own) {
    m.carve(own);
    box = own.take<T>(m.elements());
  }
};

}  // namespace ingot::kernels::conv
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::conv::HWY_NAMESPACE {

// The elements of one sample that count: their gradients, taps and places.
template <class T>
struct WindowsJob {
  int64_t windows;
  const T* dy;
  const uint8_t* taps;
  const int64_t *place, *step;
  T* box;
  int64_t row;
};

// sums[r][v] += the sum over windows of dy times what it saw: vector v of kernel row r. Short sums are kept several
// times over, lest each waits for the one before.
template <int kRows, int kVectors, class D, class T = hn::TFromD<D>>
void window_sums(D d, const WindowsJob<T>& job, T* sums, int64_t sums_row) {
  using V = hn::Vec<D>;
  constexpr int kWays = kRows * kVectors <= 3 ? 4 : kRows * kVectors <= 6 ? 2 : 1;
  constexpr int64_t N = static_cast<int64_t>(hn::MaxLanes(D()));
  V sum[kWays][kRows][kVectors];
  HWY_UNROLL(4)
  for (int way = 0; way < kWays; ++way) {
    HWY_UNROLL(3)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v)
        sum[way][r][v] = way == 0 ? hn::LoadU(d, sums + r * sums_row + v * N) : hn::Zero(d);
    }
  }
  const int64_t row = job.row;
  const auto add = [&](int64_t i, V(&to)[kRows][kVectors]) HWY_ATTR {
    const T* seen = job.box + job.place[i] + job.step[job.taps[i]];
    const V dy = hn::Set(d, job.dy[i]);
    HWY_UNROLL(3)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) to[r][v] = hn::MulAdd(dy, hn::LoadU(d, seen + r * row + v * N), to[r][v]);
    }
  };
  int64_t i = 0;
  for (; i + kWays <= job.windows; i += kWays) {
    HWY_UNROLL(4)
    for (int way = 0; way < kWays; ++way) add(i + way, sum[way]);
  }
  for (; i < job.windows; ++i) add(i, sum[0]);
  HWY_UNROLL(3)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      for (int way = 1; way < kWays; ++way) sum[0][r][v] = hn::Add(sum[0][r][v], sum[way][r][v]);
      hn::StoreU(sum[0][r][v], d, sums + r * sums_row + v * N);
    }
  }
}

// Adds dy times the weights, vectors of kernel rows, to where every window's element came from.
template <int kRows, int kVectors, class D, class T = hn::TFromD<D>>
void spread_windows(D d, const WindowsJob<T>& job, const T* weights, int64_t weights_row) {
  using V = hn::Vec<D>;
  constexpr int64_t N = static_cast<int64_t>(hn::MaxLanes(D()));
  V w[kRows][kVectors];
  HWY_UNROLL(3)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) w[r][v] = hn::LoadU(d, weights + r * weights_row + v * N);
  }
  const int64_t row = job.row;
  for (int64_t i = 0; i < job.windows; ++i) {
    T* to = job.box + job.place[i] + job.step[job.taps[i]];
    const V dy = hn::Set(d, job.dy[i]);
    HWY_UNROLL(3)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        T* at = to + r * row + v * N;
        hn::StoreU(hn::MulAdd(dy, w[r][v], hn::LoadU(d, at)), d, at);
      }
    }
  }
}

// Cuts the rows and vectors of a kernel into pieces that fit the registers: body(rows, vectors, first row, first
// vector) with the sizes as constants.
template <class Body>
HWY_INLINE void for_kernel_pieces(int64_t rows, int64_t vectors, const Body& body) {
  using One = std::integral_constant<int, 1>;
  using Two = std::integral_constant<int, 2>;
  using Three = std::integral_constant<int, 3>;
  for (int64_t r = 0; r < rows;) {
    const bool three = rows - r >= 3;
    for (int64_t v = 0; v < vectors;) {
      const int64_t left = vectors - v;
      if (left >= 3 && left != 4) {
        three ? body(Three(), Three(), r, v) : body(One(), Three(), r, v);
        v += 3;
      } else if (left >= 2) {
        three ? body(Three(), Two(), r, v) : body(One(), Two(), r, v);
        v += 2;
      } else {
        three ? body(Three(), One(), r, v) : body(One(), One(), r, v);
        v += 1;
      }
    }
    r += three ? 3 : 1;
  }
}

// A block of channels of one sample, channels last, with zeros around.
template <class T>
void copy_channels_last(const ConvPoolShape& s, const Meetings& m, int64_t channels, const T* x, T* box) {
  const int64_t height = s.conv.in[1], width = s.conv.in[2], top = s.conv.pad[1], left = s.conv.pad[2];
  const int64_t pitch = m.pitch, plane = height * width;
  const auto copy = [&](int64_t pixels, const T* from, T* to) HWY_ATTR {
    pitch == 1 ? copy_row(pixels, from, to) : transpose(channels, pixels, from, plane, to, pitch);
  };
  if (channels < pitch || top > 0 || left > 0) std::fill(box, box + m.elements(), T(0));
  if (left == 0) return copy(plane, x, box + top * m.row());
  for (int64_t h = 0; h < height; ++h) copy(width, x + h * width, box + (top + h) * m.row() + left * pitch);
}

// The way back, without what lies around.
template <class T>
void copy_channels_first(const ConvPoolShape& s, const Meetings& m, int64_t channels, const T* box, T* x) {
  const int64_t height = s.conv.in[1], width = s.conv.in[2], top = s.conv.pad[1], left = s.conv.pad[2];
  const int64_t plane = height * width;
  if (left == 0) return transpose(plane, channels, box + top * m.row(), m.pitch, x, plane);
  for (int64_t h = 0; h < height; ++h)
    transpose(width, channels, box + (top + h) * m.row() + left * m.pitch, m.pitch, x + h * width, plane);
}

template <class T>
void sum_windows(const ConvPoolShape& s, const WindowKernelGradient<T>& g, int64_t piece, int64_t block, const T* x,
                 const T* dy, const uint8_t* taps) {
  const Meetings& m = g.m;
  const int64_t first = block * m.channels, channels = std::min(m.channels, s.conv.in_channels - first);
  T* const sums = g.sums + (piece * m.blocks + block) * g.block_sums(s);
  std::fill(sums, sums + g.block_sums(s), T(0));
  const int64_t last = std::min(s.conv.batch, (piece + 1) * g.piece);
  for (int64_t n = piece * g.piece; n < last; ++n) {
    copy_channels_last(s, m, channels, x + (n * s.conv.in_channels + first) * s.conv.in[1] * s.conv.in[2], g.box);
    for (int64_t o = 0; o < s.conv.out_channels; ++o) {
      const int64_t plane = (n * s.conv.out_channels + o) * m.windows;
      T* const to = sums + o * s.conv.kernel[1] * g.row_sums();
      for_kernel_pieces(s.conv.kernel[1], g.vectors, [&](auto rows, auto vectors, int64_t r, int64_t v) HWY_ATTR {
        const WindowsJob<T> job{
            m.windows, dy + plane, taps + plane, m.place, m.step, g.box + r * m.next_run + v * g.lanes, m.next_run};
        T* const at = to + r * g.row_sums() + v * g.lanes;
        if (g.lanes == kLanes<T>)
          window_sums<decltype(rows)::value, decltype(vectors)::value>(hn::ScalableTag<T>(), job, at, g.row_sums());
        else
          window_sums<decltype(rows)::value, 1>(hn::CappedTag<T, HWY_MAX(1, kLanes<T> / 2)>(), job, at, g.row_sums());
      });
    }
  }
}

template <class T>
void grad_kernel_windows(const ConvPoolShape& s, const T* x, const T* dy, const uint8_t* taps, T* dw, void* scratch,
                         const Team& team) {
  const WindowKernelGradient<T> g(s, kLanes<T>, scratch, team.rank(), team.size());
  const Meetings& m = g.m;
  m.fill(s);
  const auto [begin, end] = team.share(g.pieces * m.blocks);
  for (int64_t unit = begin; unit < end; ++unit) sum_windows(s, g, unit / m.blocks, unit % m.blocks, x, dy, taps);
  team.barrier();
  const int64_t height = s.conv.kernel[1], width = s.conv.kernel[2], sums = m.blocks * g.block_sums(s);
  const auto [from, to] = team.share(s.conv.out_channels * m.blocks);
  for (int64_t unit = from; unit < to; ++unit) {
    const int64_t block = unit % m.blocks, o = unit / m.blocks, first = block * m.channels;
    const int64_t channels = std::min(m.channels, s.conv.in_channels - first), size = height * g.row_sums();
    T* const all = g.sums + block * g.block_sums(s) + o * size;
    if (g.pieces == 0) std::fill(all, all + size, T(0));
    for (int64_t piece = 1; piece < g.pieces; ++piece)
      for (int64_t i = 0; i < size; ++i) all[i] += all[piece * sums + i];
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t ky = 0; ky < height; ++ky)
        for (int64_t kx = 0; kx < width; ++kx)
          dw[((o * s.conv.in_channels + first + c) * height + ky) * width + kx] =
              all[ky * g.row_sums() + kx * m.pitch + c];
  }
}

template <class T>
void grad_input_windows(const ConvPoolShape& s, const T* dy, const uint8_t* taps, const T* w, T* dx, void* scratch,
                        const Team& team) {
  const WindowInputGradient<T> g(s, kLanes<T>, scratch, team.rank(), team.size());
  const Meetings& m = g.m;
  m.fill(s);
  const int64_t height = s.conv.kernel[1], width = s.conv.kernel[2], out_channels = s.conv.out_channels;
  const auto [from, to] = team.share(m.blocks * out_channels);
  for (int64_t unit = from; unit < to; ++unit) {
    const int64_t first = unit / out_channels * m.channels, o = unit % out_channels;
    T* const weights = g.weights + unit * height * m.run;
    std::fill(weights, weights + height * m.run, T(0));
    for (int64_t c = 0; c < std::min(m.channels, s.conv.in_channels - first); ++c)
      for (int64_t t = 0; t < height * width; ++t)
        weights[t * m.pitch + c] = w[(o * s.conv.in_channels + first + c) * height * width + t];
  }
  team.barrier();
  const auto [begin, end] = team.share(s.conv.batch * m.blocks);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t n = unit / m.blocks, block = unit % m.blocks, first = block * m.channels;
    std::fill(g.box, g.box + m.elements(), T(0));
    for (int64_t o = 0; o < out_channels; ++o) {
      const int64_t plane = (n * out_channels + o) * m.windows;
      const T* const weights = g.weights + (block * out_channels + o) * height * m.run;
      for_kernel_pieces(height, g.vectors, [&](auto rows, auto vectors, int64_t r, int64_t v) HWY_ATTR {
        const WindowsJob<T> job{
            m.windows, dy + plane, taps + plane, m.place, m.step, g.box + r * m.next_run + v * kLanes<T>, m.next_run};
        spread_windows<decltype(rows)::value, decltype(vectors)::value>(hn::ScalableTag<T>(), job,
                                                                        weights + r * m.run + v * kLanes<T>, m.run);
      });
    }
    copy_channels_first(s, m, std::min(m.channels, s.conv.in_channels - first), g.box,
                        dx + (n * s.conv.in_channels + first) * s.conv.in[1] * s.conv.in[2]);
  }
}

}  // namespace ingot::kernels::conv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {
namespace conv {

constexpr int64_t kLaneBytes[] = {16, 32, 64};  // scratch is the same whatever instruction set is chosen later

// Going window by window needs runs of neighbours, and pays if most elements of a window do not count. For an input
// gradient it wastes the lanes that have no channel.
static bool by_windows(const ConvPoolShape& s) {
  constexpr int64_t kMostPixels = 1 << 16;
  const int64_t height = s.conv.in[1] + 2 * s.conv.pad[1], width = s.conv.in[2] + 2 * s.conv.pad[2];
  return s.conv.groups == 1 && s.conv.dilation[2] == 1 && s.window[0] * s.window[1] >= 3 && height <= kMostPixels &&
         width <= kMostPixels && height * width <= kMostPixels;
}
static bool input_by_windows(const ConvPoolShape& s) { return by_windows(s) && s.conv.in_channels >= 4; }

// Otherwise the gradient before pooling is written out; it lies at the front of the scratch.
static size_t spread_bytes(const ConvPoolShape& s, size_t element_size) {
  const int64_t elements = s.conv.batch * s.conv.out_channels * s.conv.out[1] * s.conv.out[2];
  return static_cast<size_t>(round_up(elements * static_cast<int64_t>(element_size), 64));
}
template <class T>
static const T* spread(const ConvPoolShape& s, const T* dy, const uint8_t* taps, void*& scratch, const Team& team) {
  T* const all = static_cast<T*>(scratch);
  scratch = static_cast<std::byte*>(scratch) + spread_bytes(s, sizeof(T));
  const PoolShape pool{s.conv.batch * s.conv.out_channels,
                       {s.conv.out[1], s.conv.out[2]},
                       {s.pooled(0), s.pooled(1)},
                       {s.window[0], s.window[1]},
                       {s.window[0], s.window[1]},
                       {0, 0},
                       {1, 1}};
  max_pool_taps_grad(pool, dy, taps, all, team);
  team.barrier();
  return all;
}

template <class T>
static size_t window_bytes(const ConvPoolShape& s, bool input, int team_size) {
  size_t most = 0;
  for (int64_t bytes : kLaneBytes) {
    const int64_t lanes = bytes / static_cast<int64_t>(sizeof(T));
    most = std::max(most, input ? WindowInputGradient<T>(s, lanes, nullptr, 0, team_size).bytes
                                : WindowKernelGradient<T>(s, lanes, nullptr, 0, team_size).bytes);
  }
  return most;
}

template <class T>
static void grad_input_by_windows(const ConvPoolShape& s, const T* dy, const uint8_t* taps, const T* w, T* dx,
                                  void* scratch, const Team& team) {
  INGOT_DISPATCH(grad_input_windows<T>)(s, dy, taps, w, dx, scratch, team);
}
template <class T>
static void grad_kernel_by_windows(const ConvPoolShape& s, const T* x, const T* dy, const uint8_t* taps, T* dw,
                                   void* scratch, const Team& team) {
  INGOT_DISPATCH(grad_kernel_windows<T>)(s, x, dy, taps, dw, scratch, team);
}

}  // namespace conv

size_t conv_pool_scratch(const ConvPoolShape& s, size_t element_size, int team_size) {
  if (conv::is_for_quads(s.conv, s.window)) return conv::correlate_by_quads_scratch(s.conv, element_size, team_size);
  return conv::forward_by_channels(s.conv)
             ? conv::correlate_by_channels_scratch(s.conv, true, s.window, element_size, team_size)
             : conv::correlate_by_positions_scratch(s.conv, true, s.window, element_size, team_size);
}

size_t conv_pool_grad_input_scratch(const ConvPoolShape& s, size_t element_size, int team_size) {
  if (!conv::input_by_windows(s))
    return conv::spread_bytes(s, element_size) + conv_grad_input_scratch(s.conv, element_size, team_size);
  return element_size == sizeof(float) ? conv::window_bytes<float>(s, true, team_size)
                                       : conv::window_bytes<double>(s, true, team_size);
}

size_t conv_pool_grad_kernel_scratch(const ConvPoolShape& s, size_t element_size, int team_size) {
  if (!conv::by_windows(s))
    return conv::spread_bytes(s, element_size) + conv_grad_kernel_scratch(s.conv, element_size, team_size);
  return element_size == sizeof(float) ? conv::window_bytes<float>(s, false, team_size)
                                       : conv::window_bytes<double>(s, false, team_size);
}

template <class T>
void conv_pool(const ConvPoolShape& s, const T* x, const T* w, const T* bias, T* y, uint8_t* taps, void* scratch,
               const Team& team, bool relu) {
  const conv::Correlate<T> job{s.conv, true, x, w, bias, relu, y, {s.window[0], s.window[1]}, taps};
  if (conv::is_for_quads(s.conv, s.window)) return conv::correlate_by_quads(job, scratch, team);
  conv::forward_by_channels(s.conv) ? conv::correlate_by_channels(job, scratch, team)
                                    : conv::correlate_by_positions(job, scratch, team);
  if (taps == nullptr || s.window[0] * s.window[1] > 1) return;
  const auto [begin, end] = team.share(s.conv.batch * s.conv.out_channels * s.pooled(0) * s.pooled(1));
  std::fill(taps + begin, taps + end, uint8_t{0});
}

template <class T>
void conv_pool_grad_input(const ConvPoolShape& s, const T* dy, const uint8_t* taps, const T* w, T* dx, void* scratch,
                          const Team& team) {
  if (conv::input_by_windows(s)) return conv::grad_input_by_windows(s, dy, taps, w, dx, scratch, team);
  const T* all = conv::spread(s, dy, taps, scratch, team);
  conv_grad_input(s.conv, all, w, dx, scratch, team);
}

template <class T>
void conv_pool_grad_kernel(const ConvPoolShape& s, const T* x, const T* dy, const uint8_t* taps, T* dw, void* scratch,
                           const Team& team) {
  if (conv::by_windows(s)) return conv::grad_kernel_by_windows(s, x, dy, taps, dw, scratch, team);
  const T* all = conv::spread(s, dy, taps, scratch, team);
  conv_grad_kernel(s.conv, x, all, dw, scratch, team);
}

#define INGOT_CONV_POOL(T)                                                                                             \
  template void conv_pool(const ConvPoolShape&, const T*, const T*, const T*, T*, uint8_t*, void*, const Team&, bool); \
  template void conv_pool_grad_input(const ConvPoolShape&, const T*, const uint8_t*, const T*, T*, void*,              \
                                     const Team&);                                                                     \
  template void conv_pool_grad_kernel(const ConvPoolShape&, const T*, const T*, const uint8_t*, T*, void*, const Team&);
INGOT_CONV_POOL(float)
INGOT_CONV_POOL(double)
#undef INGOT_CONV_POOL

}  // namespace ingot::kernels
#endif
