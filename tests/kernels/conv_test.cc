// Convolution against plain loops in double, over random small shapes and a list of awkward ones.
#include "kernels/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ingot/base/simd.h"
#include "ingot/base/threads.h"
#include "tests/kernels/on_target.h"

namespace ingot::kernels {
namespace {

using Doubles = std::vector<double>;

int64_t product(const int64_t* v) { return v[0] * v[1] * v[2]; }

struct Sizes {
  int64_t x, w, y, columns;
  explicit Sizes(const ConvShape& s)
      : x(s.batch * s.in_channels * product(s.in)),
        w(s.out_channels * (s.in_channels / s.groups) * product(s.kernel)),
        y(s.batch * s.out_channels * product(s.out)),
        columns(s.batch * s.in_channels * product(s.kernel) * product(s.out)) {}
};

// Calls body(position, tap, input place or -1) for every pair.
template <class Body>
void for_taps(const ConvShape& s, const Body& body) {
  int64_t j[3], k[3];
  for (int64_t p = 0; p < product(s.out); ++p)
    for (int64_t t = 0; t < product(s.kernel); ++t) {
      j[0] = p / (s.out[1] * s.out[2]), j[1] = p / s.out[2] % s.out[1], j[2] = p % s.out[2];
      k[0] = t / (s.kernel[1] * s.kernel[2]), k[1] = t / s.kernel[2] % s.kernel[1], k[2] = t % s.kernel[2];
      int64_t place = 0;
      bool inside = true;
      for (int a = 0; a < 3; ++a) {
        const int64_t i = j[a] * s.stride[a] + k[a] * s.dilation[a] - s.pad[a];
        inside = inside && i >= 0 && i < s.in[a];
        place = place * s.in[a] + i;
      }
      body(p, t, inside ? place : -1);
    }
}

// Calls body(x index, w index, y index) for every product of the convolution.
template <class Body>
void for_products(const ConvShape& s, const Body& body) {
  const int64_t in = s.in_channels / s.groups, out = s.out_channels / s.groups, taps = product(s.kernel);
  for_taps(s, [&](int64_t p, int64_t t, int64_t place) {
    if (place < 0) return;
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t o = 0; o < s.out_channels; ++o)
        for (int64_t c = 0; c < in; ++c)
          body((n * s.in_channels + o / out * in + c) * product(s.in) + place, (o * in + c) * taps + t,
               (n * s.out_channels + o) * product(s.out) + p);
  });
}

std::string text(const ConvShape& s) {
  std::string out = "n " + std::to_string(s.batch) + " c " + std::to_string(s.in_channels) + "->" +
                    std::to_string(s.out_channels) + " g " + std::to_string(s.groups);
  const auto add = [&](const char* name, const int64_t* v) {
    out += std::string(" ") + name;
    for (int a = 0; a < 3; ++a) out += (a == 0 ? " " : "x") + std::to_string(v[a]);
  };
  add("in", s.in), add("out", s.out), add("kernel", s.kernel), add("stride", s.stride), add("pad", s.pad);
  add("dilation", s.dilation);
  return out;
}

// An output buffer between guard cells that nobody may touch; what nobody writes shows as NaN.
template <class T>
class Guarded {
 public:
  explicit Guarded(int64_t n)
      : n_(static_cast<size_t>(n)), cells_(n_ + 2 * kGuard, std::numeric_limits<T>::quiet_NaN()) {
    std::fill(cells_.begin(), cells_.begin() + kGuard, T(77));
    std::fill(cells_.end() - kGuard, cells_.end(), T(77));
  }
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
  static constexpr size_t kGuard = 40;
  size_t n_;
  std::vector<T> cells_;
};

// Scratch of exactly the promised size, filled with NaN so that reading what was never written shows, and guarded
// behind.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : bytes_(bytes), cells_(bytes + 128 + 64, static_cast<char>(0xFF)) {
    void* p = cells_.data();
    size_t room = cells_.size();
    base_ = static_cast<char*>(std::align(64, bytes + 64, p, room));
  }
  void* data() { return base_; }
  bool intact() const {
    return std::all_of(base_ + bytes_, base_ + bytes_ + 64, [](char c) { return c == static_cast<char>(0xFF); });
  }

 private:
  size_t bytes_;
  std::vector<char> cells_;
  char* base_;
};

template <class T>
std::vector<T> random_values(int64_t n, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> v(static_cast<size_t>(n));
  for (T& e : v) e = static_cast<T>(uniform(random));
  return v;
}

template <class T>
void expect_near(const Guarded<T>& got_cells, const Doubles& want, const char* what) {
  Guarded<T> got = got_cells;
  ASSERT_TRUE(got.intact()) << what;
  const double tolerance = std::is_same_v<T, float> ? 2e-6 : 4e-15;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_LE(std::abs(static_cast<double>(got.data()[i]) - want[i]), tolerance * (8 + std::abs(want[i])) * 4)
        << what << " element " << i << ": " << got.data()[i] << " instead of " << want[i];
}

// Runs `call(output, scratch, team)` with teams of 1, 2 and 3 and checks the result, the bits and the guards.
template <class T, class Call>
void check(const char* what, size_t (*bytes)(const ConvShape&, size_t, int), const ConvShape& s, const Doubles& want,
           const Call& call) {
  Guarded<T> first(static_cast<int64_t>(want.size()));
  for (int team_size : {1, 2, 3}) {
    set_threads(team_size);
    Guarded<T> out(static_cast<int64_t>(want.size()));
    Scratch scratch(bytes(s, sizeof(T), team_size));
    parallel(team_size > 1, [&](const Team& team) { call(out.data(), scratch.data(), team); });
    ASSERT_TRUE(scratch.intact()) << what;
    if (team_size == 1) {
      expect_near(out, want, what);
      first = out;
    } else {
      ASSERT_TRUE(out == first) << what << ": a team of " << team_size << " gives other bits";
    }
  }
}

template <class T>
struct Case {
  ConvShape s;
  std::vector<T> x, w, dy, bias;
  Doubles y, dx, dw;

  Case(const ConvShape& shape, std::mt19937& random) : s(shape) {
    const Sizes n(s);
    x = random_values<T>(n.x, random), w = random_values<T>(n.w, random), dy = random_values<T>(n.y, random);
    bias = random_values<T>(s.out_channels, random);
    y.resize(static_cast<size_t>(n.y)), dx.resize(static_cast<size_t>(n.x)), dw.resize(static_cast<size_t>(n.w));
    for_products(s, [&](int64_t i, int64_t j, int64_t k) {
      const size_t a = static_cast<size_t>(i), b = static_cast<size_t>(j), c = static_cast<size_t>(k);
      y[c] += static_cast<double>(x[a]) * static_cast<double>(w[b]);
      dx[a] += static_cast<double>(dy[c]) * static_cast<double>(w[b]);
      dw[b] += static_cast<double>(x[a]) * static_cast<double>(dy[c]);
    });
  }
  Doubles with_bias(bool relu) const {
    Doubles out = y;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] += static_cast<double>(bias[i / static_cast<size_t>(product(s.out)) % bias.size()]);
      if (relu) out[i] = std::max(0.0, out[i]);
    }
    return out;
  }
};

template <class T>
void check_convolution(const ConvShape& s, std::mt19937& random) {
  const Case<T> c(s, random);
  check<T>("forward", conv_forward_scratch, s, c.y, [&](T* y, void* scratch, const Team& team) {
    conv_forward<T>(s, c.x.data(), c.w.data(), nullptr, y, scratch, team);
  });
  for (bool relu : {false, true})
    check<T>("forward with bias", conv_forward_scratch, s, c.with_bias(relu),
             [&](T* y, void* scratch, const Team& team) {
               conv_forward(s, c.x.data(), c.w.data(), c.bias.data(), y, scratch, team, relu);
             });
  check<T>("input gradient", conv_grad_input_scratch, s, c.dx, [&](T* dx, void* scratch, const Team& team) {
    conv_grad_input(s, c.dy.data(), c.w.data(), dx, scratch, team);
  });
  check<T>("kernel gradient", conv_grad_kernel_scratch, s, c.dw, [&](T* dw, void* scratch, const Team& team) {
    conv_grad_kernel(s, c.x.data(), c.dy.data(), dw, scratch, team);
  });
}

size_t no_scratch(const ConvShape&, size_t, int) { return 0; }

template <class T>
void check_columns(const ConvShape& s, std::mt19937& random) {
  const Sizes n(s);
  const std::vector<T> x = random_values<T>(n.x, random), columns = random_values<T>(n.columns, random);
  Doubles want_columns(columns.size()), want_x(x.size());
  const int64_t taps = product(s.kernel), positions = product(s.out);
  for_taps(s, [&](int64_t p, int64_t t, int64_t place) {
    for (int64_t plane = 0; place >= 0 && plane < s.batch * s.in_channels; ++plane) {
      const size_t from = static_cast<size_t>(plane * product(s.in) + place);
      const size_t to = static_cast<size_t>((plane * taps + t) * positions + p);
      want_columns[to] = static_cast<double>(x[from]);
      want_x[from] += static_cast<double>(columns[to]);
    }
  });
  check<T>("im2col", no_scratch, s, want_columns,
           [&](T* out, void*, const Team& team) { im2col(s, x.data(), out, team); });
  check<T>("col2im", no_scratch, s, want_x,
           [&](T* out, void*, const Team& team) { col2im(s, columns.data(), out, team); });
}

// A random shape of `axes` spatial axes; sizes grow with `scale`.
ConvShape random_shape(int axes, int64_t scale, std::mt19937& random) {
  const auto pick = [&](int64_t from, int64_t to) { return std::uniform_int_distribution<int64_t>(from, to)(random); };
  ConvShape s{};
  s.batch = pick(1, 3);
  switch (pick(0, 3)) {
    case 0:  // depthwise, with a channel multiplier
      s.groups = s.in_channels = pick(1, 5);
      s.out_channels = s.groups * pick(1, 3);
      break;
    case 1:
      s.groups = pick(1, 3);
      s.in_channels = s.groups * pick(1, 4);
      s.out_channels = s.groups * pick(1, 10);
      break;
    default:
      s.groups = 1;
      s.in_channels = pick(1, 3 * scale);
      s.out_channels = pick(1, 10 * scale);
  }
  for (int a = 0; a < 3; ++a) {
    const bool used = a >= 3 - axes;
    s.kernel[a] = used ? pick(1, 4) : 1;
    s.stride[a] = used ? pick(1, 3) : 1;
    s.dilation[a] = used ? pick(1, 3) : 1;
    const int64_t span = (s.kernel[a] - 1) * s.dilation[a] + 1;
    s.pad[a] = used ? pick(0, span) : 0;
    s.in[a] = used ? pick(1, (a == 2 ? 10 : 4) * scale) : 1;
    s.in[a] = std::max(s.in[a], span - 2 * s.pad[a]);
    s.out[a] = (s.in[a] + 2 * s.pad[a] - span) / s.stride[a] + 1;
  }
  return s;
}

// A two-axis shape: kernel k, and stride, padding and dilation alike on both axes.
ConvShape shape_2d(int64_t batch, int64_t in_channels, int64_t out_channels, int64_t groups, int64_t h, int64_t w,
                   int64_t k, int64_t stride = 1, int64_t pad = 0, int64_t dilation = 1) {
  ConvShape s{batch,     in_channels, out_channels,        groups,        {1, h, w},
              {1, 1, 1}, {1, k, k},   {1, stride, stride}, {0, pad, pad}, {1, dilation, dilation}};
  for (int a = 1; a < 3; ++a) s.out[a] = (s.in[a] + 2 * pad - (k - 1) * dilation - 1) / stride + 1;
  return s;
}

class Conv : public OnTarget {
 protected:
  std::mt19937 random_{2024};
};

TEST_P(Conv, RandomShapes) {
  for (int i = 0; i < 240; ++i) {
    const ConvShape s = random_shape(1 + i % 3, 1 + i / 3 % 2, random_);
    SCOPED_TRACE(text(s));
    i % 2 == 0 ? check_convolution<float>(s, random_) : check_convolution<double>(s, random_);
    i % 2 == 0 ? check_columns<double>(s, random_) : check_columns<float>(s, random_);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Conv, AwkwardShapes) {
  ConvShape long_row = shape_2d(2, 3, 9, 1, 1, 1500, 1);  // rows are cut too
  long_row.kernel[2] = 5, long_row.pad[2] = 2;
  ConvShape volume = shape_2d(2, 5, 20, 1, 6, 7, 3, 1, 1);  // a cube of taps over channel blocks
  volume.in[0] = volume.out[0] = 5, volume.kernel[0] = 3, volume.pad[0] = 1;
  ConvShape late_output = shape_2d(1, 2, 3, 1, 9, 9, 3, 2);  // an output that leaves the last rows of the input unread
  late_output.out[1] = 2;
  const ConvShape shapes[] = {
      long_row,
      volume,
      late_output,
      shape_2d(2, 40, 37, 1, 9, 11, 3, 1, 1),    // two channel blocks, three panels, the last one narrow
      shape_2d(5, 70, 33, 1, 5, 6, 1),           // 1x1
      shape_2d(30, 20, 24, 1, 3, 3, 3),          // one output position per sample: strips reach over samples
      shape_2d(1, 1, 1, 1, 1, 1, 5, 1, 2),       // kernel larger than the input
      shape_2d(2, 20, 17, 1, 11, 13, 1, 4),      // stride larger than the kernel
      shape_2d(3, 16, 16, 16, 20, 40, 3, 1, 1),  // depthwise
      shape_2d(3, 6, 18, 6, 15, 9, 3, 2, 1),     // depthwise with multiplier and stride
      shape_2d(2, 8, 32, 2, 7, 7, 3, 1, 2, 2),   // groups with enough channels for lanes
      shape_2d(9, 1, 8, 1, 28, 28, 3),           // one input channel
      shape_2d(2, 64, 3, 1, 10, 10, 3, 1, 1),    // few output channels over channel blocks
      shape_2d(2, 3, 4, 1, 40, 40, 7, 2, 3),
      shape_2d(1, 2, 8, 2, 300, 4, 2, 97, 1, 3),  // a stride far beyond the cache
      shape_2d(0, 3, 4, 1, 5, 5, 3),              // no samples
      shape_2d(0, 30, 40, 1, 5, 5, 3),
  };
  for (const ConvShape& s : shapes) {
    SCOPED_TRACE(text(s));
    check_convolution<float>(s, random_);
    check_convolution<double>(s, random_);
    check_columns<float>(s, random_);
    if (HasFatalFailure()) return;
  }
}

// Vectors that run past a row must not carry an infinity, or its NaN, into results that never saw it.
TEST_P(Conv, InfinityStaysWhereItBelongs) {
  for (int64_t groups : {1, 4}) {
    const ConvShape s = shape_2d(1, 4, 4, groups, 6, 11, 3);
    Case<float> c(s, random_);
    const size_t last_column = 10;
    for (size_t i = last_column; i < c.x.size(); i += 11) c.x[i] = std::numeric_limits<float>::infinity();
    Guarded<float> y(Sizes(s).y), dw(Sizes(s).w);
    Scratch forward(conv_forward_scratch(s, 4, 1)), backward(conv_grad_kernel_scratch(s, 4, 1));
    conv_forward<float>(s, c.x.data(), c.w.data(), nullptr, y.data(), forward.data(), Team());
    conv_grad_kernel(s, c.x.data(), c.dy.data(), dw.data(), backward.data(), Team());
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isfinite(y.data()[i]), i % 9 != 8) << i;
    for (size_t i = 0; i < dw.size(); ++i) EXPECT_EQ(std::isfinite(dw.data()[i]), i % 3 != 2) << i;
  }
}

INGOT_ON_TARGETS(Conv);

}  // namespace
}  // namespace ingot::kernels
