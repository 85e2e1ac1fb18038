// How a convolution is cut into pieces: what both convolution engines agree on. Depends on shapes only.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "ingot/base/numbers.h"
#include "kernels/conv.h"

namespace ingot::kernels::conv {

/// The size of a piece when n is cut into equal pieces of at most `limit`.
inline int64_t even_piece(int64_t n, int64_t limit) {
  return n <= limit ? std::max<int64_t>(n, 1) : ceil_div(n, ceil_div(n, std::max<int64_t>(limit, 1)));
}

/// One spatial axis: output j is the sum over taps i of source[j * step + first + i * increment] times the kernel's
/// element kernel_first + i * kernel_increment, and lies at place out_first + j * out_step.
struct Axis {
  int64_t source, count, step, taps, first, increment, kernel_first, kernel_increment, out_first, out_step;
  int64_t lowest() const { return increment < 0 ? first + (taps - 1) * increment : first; }
  int64_t span() const { return taps == 0 ? 1 : (taps - 1) * std::abs(increment) + 1; }

  /// The taps [begin, end) that meet the source from at least one of the outputs [j, j + n).
  struct Range {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
  };
  Range reach(int64_t j, int64_t n) const {
    Range r{0, taps};
    const auto misses = [&](int64_t tap) {
      const int64_t at = first + tap * increment;
      return (j + n - 1) * step + at < 0 || j * step + at >= source;
    };
    while (r.begin < r.end && misses(r.begin)) ++r.begin;
    while (r.begin < r.end && misses(r.end - 1)) --r.end;
    return r;
  }
  /// The share of products whose factor lies inside the source.
  double useful() const {
    constexpr int64_t kShort = 64;  // on longer axes the ends do not matter
    if (count == 0 || taps == 0 || count > kShort) return 1;
    int64_t inside = 0;
    for (int64_t j = 0; j < count; ++j) inside += reach(j, 1).size();
    return static_cast<double>(inside) / static_cast<double>(count * taps);
  }
  int64_t most_reached() const {
    int64_t most = 0;
    for (int64_t j = 0; j < count; ++j) most = std::max(most, reach(j, 1).size());
    return most;
  }
};

/// What a forward convolution and every phase of an input gradient have in common. Channels are counted per group.
struct Correlation {
  int64_t batch, groups, in_channels, out_channels;
  Axis axis[3];
  int64_t out[3], kernel[3];
  int64_t weight_in, weight_out;  // strides of w between channels
  int64_t window[3] = {1, 1, 1};  // outputs that are pooled together: no strip cuts a window
  int64_t extra[3] = {0, 0, 0};   // what a strip sees beyond its last output's taps

  int64_t taps() const { return axis[0].taps * axis[1].taps * axis[2].taps; }
  int64_t depth() const { return in_channels * taps(); }
  int64_t source_plane() const { return axis[0].source * axis[1].source * axis[2].source; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  int64_t weight_group() const { return in_channels * out_channels * kernel[0] * kernel[1] * kernel[2]; }
  bool has_plain_weights() const {
    return weight_in == taps();
  }  // w is an out_channels x depth matrix, as forward has it

  double useful() const { return axis[0].useful() * axis[1].useful() * axis[2].useful(); }
  /// Most products fall outside the source, and there are samples enough to do one output position at a time.
  bool is_hollow() const { return !is_pooled() && batch >= 12 && useful() < 0.6; }
  /// Every product's factor lies inside the source.
  bool is_inside() const {
    return std::all_of(axis, axis + 3, [](const Axis& a) {
      return a.lowest() >= 0 && (a.count - 1) * a.step + a.lowest() + a.span() <= a.source;
    });
  }
  bool is_pooled() const { return window[0] * window[1] * window[2] > 1; }

  /// Where tap t lies in the kernel.
  int64_t kernel_place(int64_t t) const {
    int64_t place[3];
    for (int a = 2; a >= 0; --a) {
      place[a] = axis[a].kernel_first + t % axis[a].taps * axis[a].kernel_increment;
      t /= axis[a].taps;
    }
    return (place[0] * kernel[1] + place[1]) * kernel[2] + place[2];
  }
};

inline Correlation forward_correlation(const ConvShape& s) {
  Correlation c{s.batch, s.groups, s.in_channels / s.groups, s.out_channels / s.groups, {}, {}, {}, 0, 0};
  for (int a = 0; a < 3; ++a) {
    c.axis[a] = {s.in[a], s.out[a], s.stride[a], s.kernel[a], -s.pad[a], s.dilation[a], 0, 1, 0, 1};
    c.out[a] = s.out[a];
    c.kernel[a] = s.kernel[a];
  }
  c.weight_in = s.kernel[0] * s.kernel[1] * s.kernel[2];
  c.weight_out = c.in_channels * c.weight_in;
  return c;
}

/// The same for a result that is pooled by windows side by side: what falls into no window is not computed.
inline Correlation pooled_correlation(const ConvShape& s, const int64_t* window) {
  Correlation c = forward_correlation(s);
  for (int a = 1; a < 3; ++a) {
    c.window[a] = window[a - 1];
    c.axis[a].count = c.axis[a].count / c.window[a] * c.window[a];
  }
  return c;
}

inline int64_t input_phases(const ConvShape& s) { return s.stride[0] * s.stride[1] * s.stride[2]; }

/// The input gradient at the places that are `phase` modulo the stride: a correlation of dy without stride, with those
/// taps of the kernel that reach these places.
inline Correlation input_phase(const ConvShape& s, int64_t phase) {
  const int64_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  const int64_t in_channels = s.in_channels / s.groups;
  Correlation c{s.batch, s.groups, s.out_channels / s.groups, in_channels, {}, {}, {}, in_channels * taps, taps};
  for (int a = 2; a >= 0; --a) {
    const int64_t stride = s.stride[a], dilation = s.dilation[a];
    const int64_t place = phase % stride, common = std::gcd(stride, dilation), cycle = stride / common;
    phase /= stride;
    int64_t k = 0;
    while (k < cycle && (place + s.pad[a] - k * dilation) % stride != 0) ++k;
    const int64_t reached = k < cycle && k < s.kernel[a] ? (s.kernel[a] - 1 - k) / cycle + 1 : 0;
    const int64_t count = place < s.in[a] ? (s.in[a] - 1 - place) / stride + 1 : 0;
    const int64_t first = reached > 0 ? (place + s.pad[a] - k * dilation) / stride : 0;
    c.axis[a] = {s.out[a], count, 1, reached, first, -dilation / common, k, cycle, place, stride};
    c.out[a] = s.in[a];
    c.kernel[a] = s.kernel[a];
  }
  return c;
}

/// A block of output positions: samples, then the three axes.
struct Strip {
  int64_t first[4], size[4];
  int64_t positions() const { return size[0] * size[1] * size[2] * size[3]; }
};

/// Which positions make a strip: neighbours in one sample, also those of the next samples, or one place in many
/// samples.
enum class Cut { kWithinSample, kAnywhere, kAcrossSamples };

/// Output positions cut into strips of about `target` each, innermost axes whole where they fit. They are numbered.
struct Strips {
  int64_t total[4], size[4], count[4];
  Strips() = default;
  Strips(const Correlation& c, int64_t target, Cut cut) {
    for (int i = 3; i >= 0; --i) {
      total[i] = i == 0 ? c.batch : c.axis[i - 1].count;
      const bool single = i == 0 ? cut == Cut::kWithinSample : cut == Cut::kAcrossSamples;
      const int64_t window = i == 0 ? 1 : c.window[i - 1];
      size[i] = window * even_piece(total[i] / window, single ? 1 : target / window);
      count[i] = ceil_div(total[i], size[i]);
      target = std::max<int64_t>(1, target / size[i]);
    }
  }
  int64_t all() const { return count[0] * count[1] * count[2] * count[3]; }
  int64_t positions() const { return size[0] * size[1] * size[2] * size[3]; }
  Strip operator[](int64_t index) const {
    Strip s;
    for (int i = 3; i >= 0; --i) {
      s.first[i] = index % count[i] * size[i];
      s.size[i] = std::min(size[i], total[i] - s.first[i]);
      index /= count[i];
    }
    return s;
  }
};

/// The part of the source that a strip sees, copied with zeros where it lies outside. With `split`, each axis is laid
/// out phase by phase of its step, so that the places that consecutive outputs read lie next to each other.
struct Box {
  int64_t split[3], extent[3];  // phases per axis; length of one phase
  int64_t phase_pitch, channel_pitch, sample_pitch;

  Box() = default;
  Box(const Correlation& c, const Strips& strips, int64_t channels, bool splits) {
    phase_pitch = 1;
    for (int a = 0; a < 3; ++a) {
      const Axis& axis = c.axis[a];
      split[a] = splits ? axis.step : 1;
      extent[a] = ceil_div((strips.size[a + 1] - 1) * axis.step + axis.span() + c.extra[a], split[a]);
      phase_pitch *= extent[a];
    }
    // An odd number of cache lines, lest the channels fall into the same sets of the first cache.
    channel_pitch = (ceil_div(phase_pitch * split[0] * split[1] * split[2], 16) | 1) * 16;
    sample_pitch = channels * channel_pitch;
  }

  /// The source itself, read where it lies.
  explicit Box(const Correlation& c) {
    for (int a = 0; a < 3; ++a) split[a] = 1, extent[a] = c.axis[a].source;
    phase_pitch = channel_pitch = c.source_plane();
    sample_pitch = c.groups * c.in_channels * channel_pitch;
  }

  /// Where the element at distance u[] from the box's first one lies.
  int64_t place(const int64_t* u) const {
    int64_t phase = 0, within = 0;
    for (int a = 0; a < 3; ++a) {
      phase = phase * split[a] + u[a] % split[a];
      within = within * extent[a] + u[a] / split[a];
    }
    return phase * phase_pitch + within;
  }
  /// Distance in the box between outputs that are neighbours along axis a.
  int64_t output_pitch(const Correlation& c, int a) const {
    int64_t pitch = c.axis[a].step / split[a];
    for (int i = a + 1; i < 3; ++i) pitch *= extent[i];
    return pitch;
  }
};

/// What an engine likes: positions in a strip, elements in a box (none: the source is read where it lies), and the
/// number of products per output and block below which it would rather have a smaller strip.
struct Budget {
  int64_t positions, box, shallow;
};

/// Input channels are taken in blocks, so that what a tile reads stays in the first cache.
struct Blocks {
  int64_t channels, count, depth;  // depth: products per output in a block
  Strips strips;
  Box box;
  int64_t box_elements;
  bool in_place = false;  // the box is the source itself

  Blocks() = default;
  Blocks(const Correlation& c, Budget budget, Cut cut, bool split) {
    constexpr int64_t kDepth = 288, kNarrow = 32;
    const int64_t taps = std::max<int64_t>(1, c.taps());
    channels = even_piece(c.in_channels, std::max<int64_t>(1, kDepth / taps));
    for (;;) {
      strips = Strips(c, budget.positions, cut);
      box = Box(c, strips, channels, split);
      box_elements = budget.box == 0 ? 0 : strips.size[0] * box.sample_pitch;
      if (box_elements <= budget.box || (channels == 1 && budget.positions == 1)) break;
      if (channels > 1 && (channels * taps > budget.shallow || budget.positions <= kNarrow)) {
        channels = even_piece(c.in_channels, channels / 2);
      } else {
        budget.positions /= 2;
      }
    }
    count = std::max<int64_t>(1, ceil_div(c.in_channels, channels));
    depth = channels * c.taps();
  }
};

/// offset[channel * taps + tap]: where in the box the output at the strip's first position meets that tap; or where it
/// would if it stood `shift` places of the source further.
inline void tap_offsets(const Correlation& c, const Box& box, int64_t channels, int64_t* offset,
                        const int64_t* shift = nullptr) {
  const int64_t taps = c.taps();
  for (int64_t t = 0; t < taps; ++t) {
    int64_t u[3], rest = t;
    for (int a = 2; a >= 0; --a) {
      u[a] = c.axis[a].first + rest % c.axis[a].taps * c.axis[a].increment - c.axis[a].lowest();
      if (shift != nullptr) u[a] += shift[a];
      rest /= c.axis[a].taps;
    }
    offset[t] = box.place(u);
  }
  for (int64_t k = taps; k < channels * taps; ++k) offset[k] = offset[k - taps] + box.channel_pitch;
}

/// Calls body(position, length, place) for every run of outputs of the strip that lie at equal distances; `position`
/// counts within the strip, `place` is where the run begins in the output, for the first channel of the group.
template <class Body>
void for_runs(const Correlation& c, const Strip& strip, int64_t group, Body&& body) {
  const int64_t channels = c.groups * c.out_channels, width = strip.size[3];
  // Whole rows, and whole planes, follow each other without a gap.
  const bool plain = c.axis[1].out_step == 1 && c.axis[2].out_step == 1 && width == c.out[2];
  const int64_t rows = plain ? strip.size[2] : 1;
  for (int64_t n = 0, position = 0; n < strip.size[0]; ++n) {
    const int64_t channel = ((strip.first[0] + n) * channels + group * c.out_channels) * c.out_plane();
    for (int64_t d = 0; d < strip.size[1]; ++d)
      for (int64_t h = 0; h < strip.size[2]; h += rows, position += rows * width) {
        const int64_t j[3] = {strip.first[1] + d, strip.first[2] + h, strip.first[3]};
        int64_t place = 0;
        for (int a = 0; a < 3; ++a) place = place * c.out[a] + c.axis[a].out_first + j[a] * c.axis[a].out_step;
        body(position, rows * width, channel + place);
      }
  }
}

/// Cuts a scratch area into aligned arrays; with a null base it only counts.
class Carver {
 public:
  explicit Carver(void* base) : base_(reinterpret_cast<uintptr_t>(base)) {}
  template <class U>
  U* take(int64_t count) {
    U* p = reinterpret_cast<U*>(base_ + used_);
    used_ += static_cast<size_t>(round_up(count * static_cast<int64_t>(sizeof(U)), 64));
    return p;
  }
  size_t used() const { return used_; }
  /// What lies `skip` bytes behind the part in use.
  Carver rest(size_t skip = 0) const { return Carver(reinterpret_cast<void*>(base_ + used_ + skip)); }

 private:
  uintptr_t base_;
  size_t used_ = 0;
};

}  // namespace ingot::kernels::conv
