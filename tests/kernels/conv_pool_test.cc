// Convolution with pooling against plain loops in double: the convolution, then the windows, one by one.
#include "kernels/conv_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ingot/base/simd.h"
#include "ingot/base/threads.h"
#include "tests/kernels/on_target.h"

namespace ingot::kernels {
namespace {

using Doubles = std::vector<double>;

std::string text(const ConvPoolShape& s) {
  const ConvShape& c = s.conv;
  std::string out = "n " + std::to_string(c.batch) + " c " + std::to_string(c.in_channels) + "->" +
                    std::to_string(c.out_channels) + " g " + std::to_string(c.groups);
  for (int a = 1; a < 3; ++a)
    out += " | in " + std::to_string(c.in[a]) + " k " + std::to_string(c.kernel[a]) + " stride " +
           std::to_string(c.stride[a]) + " pad " + std::to_string(c.pad[a]) + " dilation " +
           std::to_string(c.dilation[a]) + " window " + std::to_string(s.window[a - 1]);
  return out;
}

struct Sizes {
  int64_t x, w, y;
  explicit Sizes(const ConvPoolShape& s)
      : x(s.conv.batch * s.conv.in_channels * s.conv.in[1] * s.conv.in[2]),
        w(s.conv.out_channels * (s.conv.in_channels / s.conv.groups) * s.conv.kernel[1] * s.conv.kernel[2]),
        y(s.conv.batch * s.conv.out_channels * s.pooled(0) * s.pooled(1)) {}
};

template <class T>
std::vector<T> random_values(int64_t n, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> v(static_cast<size_t>(n));
  for (T& e : v) e = static_cast<T>(uniform(random));
  return v;
}

// A buffer with guards around it that nobody may touch.
template <class T>
class Guarded {
 public:
  explicit Guarded(int64_t n) : n_(static_cast<size_t>(n)), cells_(n_ + 2 * kGuard, T(77)) {}
  T* data() { return cells_.data() + kGuard; }
  size_t size() const { return n_; }
  bool intact() const {
    const auto is_guard = [](T v) { return v == T(77); };
    return std::all_of(cells_.begin(), cells_.begin() + kGuard, is_guard) &&
           std::all_of(cells_.end() - kGuard, cells_.end(), is_guard);
  }
  bool operator==(const Guarded& other) const {
    return std::memcmp(cells_.data(), other.cells_.data(), cells_.size() * sizeof(T)) == 0;
  }

 private:
  static constexpr size_t kGuard = 72;
  size_t n_;
  std::vector<T> cells_;
};

// Calls body(x index, w index) for the products of one element of the convolution's result.
template <class Body>
void for_products(const ConvShape& s, int64_t n, int64_t o, int64_t h, int64_t w, const Body& body) {
  const int64_t in = s.in_channels / s.groups, group = o / (s.out_channels / s.groups);
  for (int64_t c = 0; c < in; ++c)
    for (int64_t ky = 0; ky < s.kernel[1]; ++ky)
      for (int64_t kx = 0; kx < s.kernel[2]; ++kx) {
        const int64_t y = h * s.stride[1] + ky * s.dilation[1] - s.pad[1],
                      x = w * s.stride[2] + kx * s.dilation[2] - s.pad[2];
        if (y < 0 || y >= s.in[1] || x < 0 || x >= s.in[2]) continue;
        body(static_cast<size_t>(((n * s.in_channels + group * in + c) * s.in[1] + y) * s.in[2] + x),
             static_cast<size_t>(((o * in + c) * s.kernel[1] + ky) * s.kernel[2] + kx));
      }
}

template <class T>
struct Case {
  ConvPoolShape s;
  std::vector<T> x, w, dy, bias;
  std::vector<uint8_t> taps;
  Doubles y, dx, dw;

  Case(const ConvPoolShape& shape, std::mt19937& random) : s(shape) {
    const Sizes n(s);
    x = random_values<T>(n.x, random), w = random_values<T>(n.w, random), dy = random_values<T>(n.y, random);
    bias = random_values<T>(s.conv.out_channels, random);
    taps.resize(static_cast<size_t>(n.y)), y.resize(static_cast<size_t>(n.y));
    dx.resize(static_cast<size_t>(n.x)), dw.resize(static_cast<size_t>(n.w));
    size_t i = 0;
    for (int64_t sample = 0; sample < s.conv.batch; ++sample)
      for (int64_t o = 0; o < s.conv.out_channels; ++o)
        for (int64_t h = 0; h < s.pooled(0); ++h)
          for (int64_t v = 0; v < s.pooled(1); ++v, ++i) window(i, sample, o, h * s.window[0], v * s.window[1]);
  }
  void window(size_t i, int64_t sample, int64_t o, int64_t top, int64_t left) {
    for (int64_t t = 0; t < s.window[0] * s.window[1]; ++t) {
      double sum = static_cast<double>(bias[static_cast<size_t>(o)]);
      for_products(s.conv, sample, o, top + t / s.window[1], left + t % s.window[1],
                   [&](size_t a, size_t b) { sum += static_cast<double>(x[a]) * static_cast<double>(w[b]); });
      if (t == 0 || sum > y[i]) y[i] = sum, taps[i] = static_cast<uint8_t>(t);
    }
    for_products(s.conv, sample, o, top + taps[i] / s.window[1], left + taps[i] % s.window[1], [&](size_t a, size_t b) {
      dx[a] += static_cast<double>(dy[i]) * static_cast<double>(w[b]);
      dw[b] += static_cast<double>(dy[i]) * static_cast<double>(x[a]);
    });
  }
};

template <class T>
void expect_near(Guarded<T>& got, const Doubles& want, const char* what) {
  const double tolerance = std::is_same_v<T, float> ? 1e-5 : 2e-14;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_LE(std::abs(static_cast<double>(got.data()[i]) - want[i]), tolerance * (8 + std::abs(want[i])))
        << what << " element " << i << ": " << got.data()[i] << " instead of " << want[i];
}

// Runs `call(output, scratch, team)` with teams of 1, 2 and 3 and checks the result, the bits and the guards.
template <class T, class Call>
void check(const char* what, size_t (*bytes)(const ConvPoolShape&, size_t, int), const ConvPoolShape& s,
           const Doubles& want, const Call& call) {
  Guarded<T> first(static_cast<int64_t>(want.size()));
  for (int team_size : {1, 2, 3}) {
    set_threads(team_size);
    Guarded<T> out(static_cast<int64_t>(want.size()));
    const size_t need = bytes(s, sizeof(T), team_size);
    std::vector<char> cells(need + 192, static_cast<char>(0xFF));  // NaN: reading what was never written shows
    void* scratch = cells.data();
    size_t room = cells.size();
    std::align(64, need, scratch, room);
    parallel(team_size > 1, [&](const Team& team) { call(out.data(), scratch, team); });
    ASSERT_TRUE(out.intact()) << what;
    const char* end = static_cast<char*>(scratch) + need;
    ASSERT_TRUE(std::all_of(end, end + 64, [](char c) { return c == static_cast<char>(0xFF); })) << what << ": scratch";
    if (team_size == 1) {
      expect_near(out, want, what);
      if (testing::Test::HasFatalFailure()) return;
      first = out;
    } else {
      ASSERT_TRUE(out == first) << what << ": a team of " << team_size << " gives other bits";
    }
  }
}

template <class T>
void check_shape(const ConvPoolShape& s, std::mt19937& random) {
  const Case<T> c(s, random);
  Doubles positive = c.y;
  for (double& v : positive) v = std::max(v, 0.0);
  check<T>("forward", conv_pool_scratch, s, c.y, [&](T* y, void* scratch, const Team& team) {
    conv_pool<T>(s, c.x.data(), c.w.data(), c.bias.data(), y, nullptr, scratch, team);
  });
  Guarded<uint8_t> taps(static_cast<int64_t>(c.taps.size()));
  check<T>("forward with relu and taps", conv_pool_scratch, s, positive, [&](T* y, void* scratch, const Team& team) {
    conv_pool<T>(s, c.x.data(), c.w.data(), c.bias.data(), y, taps.data(), scratch, team, true);
  });
  if (testing::Test::HasFatalFailure()) return;
  ASSERT_TRUE(taps.intact());
  // Random numbers this close to each other are unlikely, but rounding may then choose another tap.
  size_t different = 0;
  for (size_t i = 0; i < c.taps.size(); ++i) different += taps.data()[i] != c.taps[i];
  ASSERT_LE(different, c.taps.size() / 2000) << "taps";
  check<T>("input gradient", conv_pool_grad_input_scratch, s, c.dx, [&](T* dx, void* scratch, const Team& team) {
    conv_pool_grad_input(s, c.dy.data(), c.taps.data(), c.w.data(), dx, scratch, team);
  });
  check<T>("kernel gradient", conv_pool_grad_kernel_scratch, s, c.dw, [&](T* dw, void* scratch, const Team& team) {
    conv_pool_grad_kernel(s, c.x.data(), c.dy.data(), c.taps.data(), dw, scratch, team);
  });
}

struct Geometry {
  int64_t batch, in, out, groups, h, w, kernel, window;
  int64_t stride = 1, pad = 0, dilation = 1;
};
ConvPoolShape shape_of(const Geometry& g) {
  ConvPoolShape s{{g.batch,
                   g.in,
                   g.out,
                   g.groups,
                   {1, g.h, g.w},
                   {1, 1, 1},
                   {1, g.kernel, g.kernel},
                   {1, g.stride, g.stride},
                   {0, g.pad, g.pad},
                   {1, g.dilation, g.dilation}},
                  {g.window, g.window}};
  for (int a = 1; a < 3; ++a)
    s.conv.out[a] = (s.conv.in[a] + 2 * g.pad - (g.kernel - 1) * g.dilation - 1) / g.stride + 1;
  return s;
}

class ConvPool : public OnTarget {
 protected:
  std::mt19937 random_{2025};
};

TEST_P(ConvPool, RandomShapes) {
  const auto pick = [&](int64_t from, int64_t to) { return std::uniform_int_distribution<int64_t>(from, to)(random_); };
  for (int i = 0; i < 160; ++i) {
    ConvPoolShape s = shape_of({1, 1, 1, 1, 1, 1, 1, 1});
    ConvShape& c = s.conv;
    c.batch = pick(0, 3);
    c.groups = pick(0, 3) == 0 ? pick(2, 3) : 1;
    c.in_channels = c.groups * pick(1, i % 4 == 0 ? 20 : 5);
    c.out_channels = c.groups * pick(1, i % 3 == 0 ? 20 : 5);
    for (int a = 1; a < 3; ++a) {
      c.kernel[a] = pick(1, 5);
      c.stride[a] = pick(1, 2);
      c.dilation[a] = c.kernel[a] == 1 ? 1 : pick(1, 2);
      const int64_t span = (c.kernel[a] - 1) * c.dilation[a] + 1;
      c.pad[a] = pick(0, span / 2);
      s.window[a - 1] = pick(1, 3);
      // Some columns or rows fill no window.
      c.out[a] = s.window[a - 1] * pick(1, a == 2 ? 12 : 4) + pick(0, s.window[a - 1] - 1);
      c.in[a] = (c.out[a] - 1) * c.stride[a] + span - 2 * c.pad[a];
      if (c.in[a] < 1) c.pad[a] = 0, c.in[a] = (c.out[a] - 1) * c.stride[a] + span;
    }
    SCOPED_TRACE(text(s));
    i % 2 == 0 ? check_shape<float>(s, random_) : check_shape<double>(s, random_);
    if (HasFatalFailure()) return;
  }
}

TEST_P(ConvPool, AwkwardShapes) {
  const Geometry shapes[] = {
      {3, 1, 8, 1, 28, 28, 3, 2},           // few channels: positions in the lanes
      {5, 8, 16, 1, 13, 13, 3, 2},          // channels in the lanes; a row and a column too many
      {2, 40, 37, 1, 12, 14, 3, 2, 1, 1},   // channel blocks and three panels
      {2, 20, 33, 1, 40, 9, 3, 2, 1, 1},    // strips cut a sample between windows
      {1, 3, 4, 1, 80, 40, 3, 3, 1, 1},     // the same with positions in the lanes
      {2, 9, 5, 1, 30, 40, 5, 2, 1, 2},     // a padded plane larger than the cache
      {13, 4, 4, 1, 2, 2, 3, 2, 1, 1},      // most products fall outside the input
      {2, 6, 6, 6, 12, 12, 3, 2, 1, 1},     // depthwise
      {2, 5, 20, 1, 20, 20, 3, 16},         // windows of 256 elements
      {1, 5, 3, 1, 9, 11, 1, 2},            // 1 x 1
      {2, 7, 9, 1, 15, 15, 3, 2, 2, 1, 2},  // stride and dilation
      {0, 8, 16, 1, 13, 13, 3, 2},          // no samples
  };
  for (const Geometry& g : shapes) {
    const ConvPoolShape s = shape_of(g);
    SCOPED_TRACE(text(s));
    check_shape<float>(s, random_);
    check_shape<double>(s, random_);
    if (HasFatalFailure()) return;
  }
}

// The first of equal elements, and a NaN before everything, whatever engine computes them.
TEST_P(ConvPool, EqualsAndNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Geometry& g : {Geometry{1, 1, 2, 1, 4, 36, 1, 2}, Geometry{1, 3, 20, 1, 4, 36, 1, 2}}) {
    const ConvPoolShape s = shape_of(g);
    const Sizes n(s);
    std::vector<float> x(static_cast<size_t>(n.x), 1.0f), w(static_cast<size_t>(n.w), 0.5f);
    x[2] = nan;            // second window, first element
    x[37] = 3, x[36] = 3;  // first window, second row: equal and largest
    x[4] = 7, x[5] = nan;  // third window: the NaN comes second
    x[40] = nan;           // and another one
    std::vector<float> y(static_cast<size_t>(n.y));
    std::vector<uint8_t> taps(static_cast<size_t>(n.y));
    std::vector<char> scratch(conv_pool_scratch(s, 4, 1) + 64);
    void* at = scratch.data();
    size_t room = scratch.size();
    std::align(64, scratch.size() - 64, at, room);
    conv_pool<float>(s, x.data(), w.data(), nullptr, y.data(), taps.data(), at, Team(), true);
    for (size_t o = 0; o < static_cast<size_t>(g.out); ++o) {
      const float rest = 0.5f * static_cast<float>(g.in - 1);
      EXPECT_EQ(y[o * 36], 1.5f + rest);
      EXPECT_EQ(taps[o * 36], 2);
      EXPECT_TRUE(std::isnan(y[o * 36 + 1]));
      EXPECT_EQ(taps[o * 36 + 1], 0);
      EXPECT_TRUE(std::isnan(y[o * 36 + 2]));
      EXPECT_EQ(taps[o * 36 + 2], 1);
      EXPECT_EQ(y[o * 36 + 3], 0.5f + rest);
      EXPECT_EQ(taps[o * 36 + 3], 0);
    }
  }
}

INGOT_ON_TARGETS(ConvPool);

}  // namespace
}  // namespace ingot::kernels
