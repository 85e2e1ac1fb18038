// Pooling over the last one or two axes of [batch, channels, …]. A NaN in a window is its maximum.
#include "kernels/pool.h"

#include <cmath>

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "ops/define.h"
#include "ops/rules.h"

namespace ingot {
namespace {

using kernels::PoolShape;

constexpr int64_t kLargest = int64_t{1} << 31;

// An attribute with one number per spatial axis, as {height, width}; empty means `fallback`.
void put_axes(const Call& call, const Dims& given, int spatial, int64_t least, const char* what, int64_t* to) {
  if (given.size() != spatial && given.size() != 1)
    fail(call,
         std::string(what) + " " + to_string(given) + " does not fit " + std::to_string(spatial) + " spatial axes",
         "give one number per spatial axis");
  for (int a = 0; a < spatial; a++) {
    const int64_t v = given[given.size() == 1 ? 0 : a];
    if (v < least || v > kLargest)
      fail_argument(call, std::string(what) + " " + to_string(given) + " is out of range",
                    "at least " + std::to_string(least));
    to[2 - spatial + a] = v;
  }
}

// The geometry of sliding windows over an input of the given spatial size; checks everything.
PoolShape windows(const Call& call, int64_t planes, const Dims& size) {
  const int spatial = size.size();
  PoolShape s{planes, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}};
  put_axes(call, size, spatial, 1, "size", s.in);
  put_axes(call, call.ints("kernel"), spatial, 1, "kernel", s.kernel);
  put_axes(call, call.ints("stride").empty() ? call.ints("kernel") : call.ints("stride"), spatial, 1, "stride",
           s.stride);
  if (!call.ints("padding").empty()) put_axes(call, call.ints("padding"), spatial, 0, "padding", s.pad);
  if (!call.ints("dilation").empty()) put_axes(call, call.ints("dilation"), spatial, 1, "dilation", s.dilation);
  for (int a = 2 - spatial; a < 2; a++) {
    if (2 * s.pad[a] > s.kernel[a])
      fail_argument(call, "padding is more than half the kernel", "a window must see at least one element");
    const int64_t room = s.in[a] + 2 * s.pad[a] - s.dilation[a] * (s.kernel[a] - 1) - 1;
    if (room < 0)
      fail(call, "the kernel does not fit an input of " + to_string(size), "pad more or use a smaller kernel");
    s.out[a] = room / s.stride[a] + 1;
    for (int64_t start = -s.pad[a]; start < 0;
         start += s.stride[a]) {  // with dilation, taps may jump over a short input
      const int64_t k = (-start + s.dilation[a] - 1) / s.dilation[a];
      if (k >= s.kernel[a] || start + k * s.dilation[a] >= s.in[a])
        fail_argument(call, "a window would see padding only", "pad less or dilate less");
    }
    if (call.flag("ceil_mode") && room % s.stride[a] != 0 && s.out[a] * s.stride[a] < s.in[a] + s.pad[a]) s.out[a]++;
  }
  return s;
}

Dims spatial_of(const Tensor& t) { return Dims(std::span<const int64_t>(t.shape().begin() + 2, t.shape().end())); }
int64_t planes_of(const Tensor& t) { return t.size(0) * t.size(1); }
Dims with_spatial(const Tensor& t, const int64_t* sizes) {
  Dims shape{t.size(0), t.size(1)};
  for (int a = 0; a < t.rank() - 2; a++) shape.push_back(sizes[2 - (t.rank() - 2) + a]);
  return shape;
}
void require_planes(const Call& call, int spatial) {
  require_type(call, call.in(0).dtype());
  require_rank(call, 0, spatial + 2, spatial == 1 ? "[batch, channels, length]" : "[batch, channels, height, width]");
}
void require_spatial_attr(const Call& call, const char* attr) {
  const int spatial = call.in(0).rank() - 2;
  if (spatial < 1 || spatial > 2 || call.ints(attr).size() != spatial)
    fail_argument(call, std::string(attr) + " " + to_string(call.ints(attr)) + " does not fit",
                  "tensors are [batch, channels, …] with one or two spatial axes");
  for (int64_t v : call.ints(attr))
    if (v < 1 || v > kLargest)
      fail_argument(call, std::string(attr) + " " + to_string(call.ints(attr)) + " is out of range",
                    "sizes are positive");
}

// What the kernels want to know, decoded from an op's options.
struct Pool {
  PoolShape shape;
  bool count_pad = false;                // averages
  bool with_taps = false, relu = false;  // max_pool_taps
};
Pool decode_windows(const Call& call, const Dims& size) {
  const Attr* taps = call.attrs.find("with_taps");
  return {windows(call, planes_of(call.in(0)), size), call.flag("count_include_pad"),
          taps != nullptr && taps->integer != 0, call.attrs.find(kRelu) != nullptr};
}
Pool decode_input_windows(const Call& call) { return decode_windows(call, spatial_of(call.in(0))); }
Pool decode_size_windows(const Call& call) { return decode_windows(call, call.ints("size")); }
PoolShape input_windows(const Call& call) { return decoded<decode_input_windows>(call).shape; }
PoolShape size_windows(const Call& call) { return decoded<decode_size_windows>(call).shape; }
// Bins: input and output sizes only.
PoolShape bins(const Call& call, const Dims& in, const Dims& out) {
  PoolShape s{planes_of(call.in(0)), {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}};
  put_axes(call, in, in.size(), 1, "input", s.in);
  put_axes(call, out, out.size(), 1, "size", s.out);
  return s;
}
Pool decode_input_bins(const Call& call) { return {bins(call, spatial_of(call.in(0)), call.ints("size"))}; }
Pool decode_size_bins(const Call& call) { return {bins(call, call.ints("size"), spatial_of(call.in(0)))}; }
PoolShape input_bins(const Call& call) { return decoded<decode_input_bins>(call).shape; }
PoolShape size_bins(const Call& call) { return decoded<decode_size_bins>(call).shape; }
int64_t decode_plane(const Call& call) { return element_count(call.ints("size")); }

size_t scratch_staged(const Call& call, const Tensor* out, int) { return staged_bytes(call, out); }

// Indices travel beside elements of another type.
template <class T>
auto* as_indices(T* p) {
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const int64_t, int64_t>*>(p);
}

// Calls f(window, index of the output, sizes) for every output of a plain loop; window(g) walks the positions it reads.
template <class F>
void for_each_window(const PoolShape& s, bool adaptive, F f) {
  for_each_index({s.planes, s.out[0], s.out[1]}, [&](const Dims& o) {
    f(o, [&](auto visit) {
      if (adaptive) {
        for (int64_t r = o[1] * s.in[0] / s.out[0]; r < ((o[1] + 1) * s.in[0] + s.out[0] - 1) / s.out[0]; r++)
          for (int64_t c = o[2] * s.in[1] / s.out[1]; c < ((o[2] + 1) * s.in[1] + s.out[1] - 1) / s.out[1]; c++)
            visit(r, c);
        return;
      }
      for (int64_t ky = 0; ky < s.kernel[0]; ky++)
        for (int64_t kx = 0; kx < s.kernel[1]; kx++) {
          const int64_t r = o[1] * s.stride[0] + ky * s.dilation[0] - s.pad[0],
                        c = o[2] * s.stride[1] + kx * s.dilation[1] - s.pad[1];
          if (r >= 0 && r < s.in[0] && c >= 0 && c < s.in[1]) visit(r, c);
        }
    });
  });
}

// An element of [batch, channels, (height,) width] by plane, row and column.
std::byte* at(const Tensor& t, int64_t plane, int64_t row, int64_t col) {
  Dims index{plane / t.size(1), plane % t.size(1)};
  if (t.rank() == 4) index.push_back(row);
  index.push_back(col);
  return element_at(t, index);
}
double value(const Tensor& t, int64_t plane, int64_t row, int64_t col) {
  return load_as_double(at(t, plane, row, col), t.dtype());
}

void reference_max(const PoolShape& s, bool adaptive, const Tensor& x, const Tensor* out) {
  for_each_window(s, adaptive, [&](const Dims& o, auto window) {
    double best = -INFINITY;
    int64_t where_best = -1;
    window([&](int64_t r, int64_t c) {
      const double v = value(x, o[0], r, c);
      if (where_best < 0 || (!std::isnan(best) && (v > best || std::isnan(v)))) best = v, where_best = r * s.in[1] + c;
    });
    store_from_double(at(out[0], o[0], o[1], o[2]), out[0].dtype(), best);
    *reinterpret_cast<int64_t*>(at(out[1], o[0], o[1], o[2])) = where_best;
  });
}

double divisor(const Call& call, const PoolShape& s, bool adaptive, const Dims& o, int64_t seen) {
  if (adaptive || !call.flag("count_include_pad")) return static_cast<double>(seen);
  double count = 1;
  for (int a = 0; a < 2; a++) {
    const int64_t start = o[a + 1] * s.stride[a] - s.pad[a];
    count *= static_cast<double>(std::min(start + s.kernel[a], s.in[a] + s.pad[a]) - start);
  }
  return count;
}

void reference_avg(const Call& call, const PoolShape& s, bool adaptive, const Tensor& x, const Tensor& y) {
  for_each_window(s, adaptive, [&](const Dims& o, auto window) {
    double sum = 0;
    int64_t seen = 0;
    window([&](int64_t r, int64_t c) { sum += value(x, o[0], r, c), seen++; });
    store_from_double(at(y, o[0], o[1], o[2]), y.dtype(), sum / divisor(call, s, adaptive, o, seen));
  });
}

void reference_avg_grad(const Call& call, const PoolShape& s, bool adaptive, const Tensor& dy, const Tensor& dx) {
  const Tensor sums = zeros({s.planes, s.in[0], s.in[1]}, kF64);
  for_each_window(s, adaptive, [&](const Dims& o, auto window) {
    int64_t seen = 0;
    window([&](int64_t, int64_t) { seen++; });
    const double share = value(dy, o[0], o[1], o[2]) / divisor(call, s, adaptive, o, seen);
    window([&](int64_t r, int64_t c) { sums.at<double>({o[0], r, c}) += share; });
  });
  for_each_index(sums.shape(),
                 [&](const Dims& i) { store_from_double(at(dx, i[0], i[1], i[2]), dx.dtype(), sums.at<double>(i)); });
}

template <int kSpatial>
void infer_max(const Call& call, Specs& out) {
  require_planes(call, kSpatial);
  const PoolShape s = input_windows(call);
  out.add(call.in(0).dtype(), with_spatial(call.in(0), s.out));
  out.add(kI64, with_spatial(call.in(0), s.out));
}
template <int kSpatial>
void infer_avg(const Call& call, Specs& out) {
  require_planes(call, kSpatial);
  if (!call.ints("dilation").empty())
    for (int64_t d : call.ints("dilation"))
      if (d != 1)
        fail_argument(call, "dilation " + to_string(call.ints("dilation")), "average pooling has no dilation");
  out.add(call.in(0).dtype(), with_spatial(call.in(0), input_windows(call).out));
}
template <int kSpatial>
void infer_adaptive(const Call& call, Specs& out) {
  require_planes(call, kSpatial);
  require_spatial_attr(call, "size");
  input_bins(call);
  out.add(call.in(0).dtype(), with_spatial(call.in(0), input_bins(call).out));
}
template <int kSpatial>
void infer_adaptive_max(const Call& call, Specs& out) {
  infer_adaptive<kSpatial>(call, out);
  out.add(kI64, out.of[0].shape);
}

void run_max(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
    kernels::max_pool(input_windows(call), in[0], to[0], as_indices(to[1]), team);
  });
}
void run_avg(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
    kernels::avg_pool(input_windows(call), call.params<Pool>().count_pad, in[0], to[0], team);
  });
}
void run_adaptive_avg(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  with_staged(call, out, scratch, team,
              [&](auto** in, auto** to, void*) { kernels::adaptive_avg_pool(input_bins(call), in[0], to[0], team); });
}
void run_adaptive_max(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
    kernels::adaptive_max_pool(input_bins(call), in[0], to[0], as_indices(to[1]), team);
  });
}

// Taps: which of a window's elements is the largest.
constexpr int64_t kMostTaps = 256;  // a tap is a byte
void require_few_taps(const Call& call, const PoolShape& s) {
  if (s.kernel[0] > kMostTaps || s.kernel[1] > kMostTaps || s.kernel[0] * s.kernel[1] > kMostTaps)
    fail_argument(call, "windows of " + to_string(call.ints("kernel")),
                  "at most 256 elements; max_pool2d takes larger ones");
}
void infer_max_taps(const Call& call, Specs& out) {
  if (call.in(0).rank() != 3) require_planes(call, 2);
  require_type(call, call.in(0).dtype());
  const PoolShape s = input_windows(call);
  require_few_taps(call, s);
  const Dims shape = with_spatial(call.in(0), s.out);
  out.add(call.in(0).dtype(), shape);
  out.add(kU8, call.flag("with_taps") ? shape : Dims{0});
}
void run_max_taps(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  const Pool& p = call.params<Pool>();
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
    uint8_t* taps = p.with_taps ? reinterpret_cast<uint8_t*>(to[1]) : nullptr;
    kernels::max_pool_taps(p.shape, in[0], to[0], taps, team, p.relu);
  });
}
// Calls f(plane, output row and column, row and column in the input, or -1 twice if the window has no such tap).
template <class F>
void for_each_tap(const PoolShape& s, const Tensor& taps, F f) {
  for_each_index({s.planes, s.out[0], s.out[1]}, [&](const Dims& o) {
    const int64_t tap = *reinterpret_cast<const uint8_t*>(at(taps, o[0], o[1], o[2]));
    const int64_t row = o[1] * s.stride[0] - s.pad[0] + tap / s.kernel[1] * s.dilation[0],
                  col = o[2] * s.stride[1] - s.pad[1] + tap % s.kernel[1] * s.dilation[1];
    const bool inside = tap < s.kernel[0] * s.kernel[1] && row >= 0 && row < s.in[0] && col >= 0 && col < s.in[1];
    f(o, inside ? row : -1, inside ? col : -1);
  });
}
void reference_max_taps(const Call& call, const Tensor* out) {
  const PoolShape s = input_windows(call);
  const Tensor y = zeros(out[0].shape(), out[0].dtype()), positions = zeros(out[0].shape(), kI64);
  const Tensor results[] = {y, positions};
  reference_max(s, false, call.in(0), results);
  for_each_index({s.planes, s.out[0], s.out[1]}, [&](const Dims& o) {
    const double v = value(y, o[0], o[1], o[2]);
    store_from_double(at(out[0], o[0], o[1], o[2]), out[0].dtype(), call.attrs.find(kRelu) != nullptr && v < 0 ? 0 : v);
    if (!call.flag("with_taps")) return;
    const int64_t place = *reinterpret_cast<const int64_t*>(at(positions, o[0], o[1], o[2]));
    const int64_t row = (place / s.in[1] - o[1] * s.stride[0] + s.pad[0]) / s.dilation[0],
                  col = (place % s.in[1] - o[2] * s.stride[1] + s.pad[1]) / s.dilation[1];
    *reinterpret_cast<uint8_t*>(at(out[1], o[0], o[1], o[2])) = static_cast<uint8_t>(row * s.kernel[1] + col);
  });
}

PoolOptions options_of(const Call& call) {
  return {call.ints("kernel"),   call.ints("stride"),    call.ints("padding"),
          call.ints("dilation"), call.flag("ceil_mode"), call.flag("count_include_pad")};
}
void gradient_max(Gradient& g) { g.set(0, max_pool_grad(g.dy(), g.out(1), spatial_of(g.in()))); }
void gradient_avg(Gradient& g) { g.set(0, avg_pool_grad(g.dy(), spatial_of(g.in()), options_of(g.call()))); }
void gradient_adaptive_avg(Gradient& g) { g.set(0, adaptive_avg_pool_grad(g.dy(), spatial_of(g.in()))); }

struct Case {
  Dims x;
  PoolOptions options;
};
std::vector<Case> cases(int spatial, bool dilated) {
  std::vector<Case> all;
  if (spatial == 1) {
    all = {{{1, 1, 1}, {.kernel = {1}}},
           {{2, 3, 9}, {.kernel = {2}}},
           {{0, 2, 4}, {.kernel = {2}}},
           {{1, 2, 40}, {.kernel = {3}, .stride = {1}, .padding = {1}}}};
  } else {
    all = {{{1, 1, 1, 1}, {.kernel = {1, 1}}},
           {{2, 3, 6, 22}, {.kernel = {2, 2}}},
           {{0, 2, 4, 4}, {.kernel = {2, 2}}},
           {{1, 2, 7, 21}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}},
           {{1, 2, 5, 37}, {.kernel = {3, 2}, .stride = {1, 1}}},
           {{1, 2, 7, 8}, {.kernel = {2, 3}, .stride = {3, 3}, .ceil_mode = true}},
           {{2, 1, 5, 6},
            {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .ceil_mode = true, .count_include_pad = false}}};
    if (dilated)
      all.push_back({{1, 2, 9, 20}, {.kernel = {3, 2}, .stride = {1, 2}, .padding = {1, 0}, .dilation = {2, 3}}});
  }
  return all;
}
template <int kSpatial, bool kDilated>
void sample_windows(Samples& s) {
  for (const Case& c : cases(kSpatial, kDilated)) {
    Attrs attrs;
    c.options.put(attrs);
    s.add({s.real(c.x)}, attrs);
  }
}
template <int kSpatial>
void sample_bins(Samples& s) {
  const auto add = [&](const Dims& x, const Dims& size) { s.add({s.real(x)}, Attrs().set("size", size)); };
  if (kSpatial == 1) {
    add({1, 1, 1}, {1});
    add({2, 3, 10}, {4});
    add({0, 3, 10}, {4});
  } else {
    add({1, 1, 1, 1}, {1, 1});
    add({2, 3, 7, 9}, {3, 4});
    add({2, 3, 8, 8}, {1, 1});
    add({1, 2, 3, 2}, {5, 4});
    add({0, 2, 4, 4}, {2, 2});
  }
}

}  // namespace

INGOT_OP(max_pool1d) = {
    .name = "max_pool1d",
    .signature = "max_pool1d(x, options:PoolOptions) -> y, indices",
    .doc = "The largest element of each window of x [n, c, l], and its position (i64).",
    .family = "pool",
    .infer = infer_max<1>,
    .prepare = prepared<decode_input_windows>,
    .run = run_max,
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_max(input_windows(call), false, call.in(0), out); },
    .simplify = pool_by_taps,
    .gradient = gradient_max,
    .samples = sample_windows<1, true>,
};

INGOT_OP(max_pool2d) = {
    .name = "max_pool2d",
    .signature = "max_pool2d(x, options:PoolOptions) -> y, indices",
    .doc = "The largest element of each window of x [n, c, h, w], and its position in the plane (i64).",
    .family = "pool",
    .infer = infer_max<2>,
    .prepare = prepared<decode_input_windows>,
    .run = run_max,
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_max(input_windows(call), false, call.in(0), out); },
    .simplify = pool_by_taps,
    .gradient = gradient_max,
    .samples = sample_windows<2, true>,
};

INGOT_OP(max_pool_grad) = {
    .name = "max_pool_grad",
    .signature = "max_pool_grad(dy, indices, size:ints)",
    .doc = "Gradient of max pooling: each dy [n, c, …] added at its index in planes of `size`, to [n, c, size…].",
    .family = "pool",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          if (call.in(1).dtype() != kI64 || !(call.in(1).shape() == call.in(0).shape()))
            fail(call, "the indices do not fit", "give the i64 indices that max pooling returned");
          require_spatial_attr(call, "size");
          Dims shape{call.in(0).size(0), call.in(0).size(1)};
          for (int64_t v : call.ints("size")) shape.push_back(v);
          out.add(call.in(0).dtype(), shape);
        },
    .prepare = prepared<decode_plane>,
    .check = [](const Call& call) { require_index_range(call, 1, 0, call.params<int64_t>()); },
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          const int64_t planes = planes_of(call.in(0)), in_size = call.params<int64_t>(),
                        out_size = element_count(spatial_of(call.in(0)));
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
            kernels::max_pool_grad(planes, in_size, out_size, in[0], as_indices(in[1]), to[0], team);
          });
        },
    .scratch = scratch_staged,
    .reference =
        [](const Call& call, const Tensor* out) {
          const Tensor& dy = call.in(0);
          const Tensor sums = zeros({planes_of(dy), element_count(call.ints("size"))}, kF64);
          for_each_index(dy.shape(), [&](const Dims& i) {
            const int64_t target = *reinterpret_cast<const int64_t*>(element_at(call.in(1), i));
            sums.at<double>({i[0] * dy.size(1) + i[1], target}) += load_as_double(element_at(dy, i), dy.dtype());
          });
          const int64_t width = call.ints("size").back();
          for_each_index(sums.shape(), [&](const Dims& i) {
            store_from_double(at(out[0], i[0], i[1] / width, i[1] % width), out[0].dtype(), sums.at<double>(i));
          });
        },
    .gradient =
        [](Gradient& g) {
          const Tensor& indices = g.in(1);
          if (!g.wants(0)) return;
          const auto flat = [](const Tensor& t) { return flatten(contiguous(t), 2); };
          const Tensor picked = gather(flat(g.dy()), flat(indices), 2);
          g.set(0, reshape(picked, g.in(0).shape()));
        },
    .samples =
        [](Samples& s) {
          s.add({s.real({1, 1, 1}), s.indices({1, 1, 1}, 0, 3)}, Attrs().set("size", Dims{3}));
          s.add({s.real({2, 3, 2, 4}), s.indices({2, 3, 2, 4}, 0, 40)}, Attrs().set("size", Dims{5, 8}));
          s.add({s.real({2, 0, 2, 4}), s.indices({2, 0, 2, 4}, 0, 40)}, Attrs().set("size", Dims{5, 8}));
        },
};

INGOT_OP(max_pool_taps) = {
    .name = "max_pool_taps",
    .signature = "max_pool_taps(x, options:PoolOptions, with_taps:bool=true) -> y, taps",
    .doc =
        "The largest element of each window of x [n, c, l] or [n, c, h, w], and which of the window's elements it is "
        "(u8, "
        "row by row; empty without `with_taps`): what a plan makes of max_pool2d when nobody reads its positions.",
    .family = "pool",
    .plumbing = true,
    .infer = infer_max_taps,
    .prepare = prepared<decode_input_windows>,
    .run = run_max_taps,
    .scratch = scratch_staged,
    .takes_relu = true,
    .reference = reference_max_taps,
    .gradient =
        [](Gradient& g) {
          const PoolOptions o = options_of(g.call());
          const Tensor taps = g.call().flag("with_taps") ? g.out(1) : max_pool_taps(g.in(), o)[1];
          g.set(0, max_pool_taps_grad(g.dy(), taps, spatial_of(g.in()), o));
        },
    .samples =
        [](Samples& s) {
          for (int spatial = 1; spatial <= 2; spatial++)
            for (const Case& c : cases(spatial, true))
              for (const bool with_taps : {true, false}) {
                Attrs attrs;
                c.options.put(attrs);
                s.add({s.real(c.x)}, attrs.set("with_taps", with_taps));
              }
        },
};

INGOT_OP(max_pool_taps_grad) = {
    .name = "max_pool_taps_grad",
    .signature = "max_pool_taps_grad(dy, taps, size:ints, options:PoolOptions)",
    .doc = "Gradient of max_pool_taps: each dy [n, c, …] added where its tap is, to [n, c, size…].",
    .family = "pool",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_spatial_attr(call, "size");
          const PoolShape s = size_windows(call);
          require_few_taps(call, s);
          if (!(with_spatial(call.in(0), s.out) == call.in(0).shape()))
            fail(call, "dy does not fit, expected " + to_string(with_spatial(call.in(0), s.out)),
                 "size and options must be the forward's");
          if (call.in(1).dtype() != kU8 || !(call.in(1).shape() == call.in(0).shape()))
            fail(call, "the taps do not fit", "give the taps (u8) that max_pool_taps returned");
          out.add(call.in(0).dtype(), with_spatial(call.in(0), s.in));
        },
    .prepare = prepared<decode_size_windows>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
            kernels::max_pool_taps_grad(size_windows(call), in[0], reinterpret_cast<const uint8_t*>(in[1]), to[0],
                                        team);
          });
        },
    .scratch = scratch_staged,
    .reference =
        [](const Call& call, const Tensor* out) {
          const PoolShape s = size_windows(call);
          const Tensor sums = zeros({s.planes, s.in[0], s.in[1]}, kF64);
          for_each_tap(s, call.in(1), [&](const Dims& o, int64_t row, int64_t col) {
            if (row >= 0) sums.at<double>({o[0], row, col}) += value(call.in(0), o[0], o[1], o[2]);
          });
          for_each_index(sums.shape(), [&](const Dims& i) {
            store_from_double(at(out[0], i[0], i[1], i[2]), out[0].dtype(), sums.at<double>(i));
          });
        },
    .not_differentiable = "it is a plan's own form of max_pool_grad, which differentiates",
    .samples =
        [](Samples& s) {
          const auto add = [&](const Dims& dy, const Dims& size, int64_t taps, const PoolOptions& o) {
            Attrs attrs;
            o.put(attrs.set("size", size));
            s.add({s.real(dy), s.indices(dy, 0, taps, kU8)}, attrs);
          };
          add({1, 1, 1}, {1}, 1, {.kernel = {1}});
          add({2, 3, 4}, {9}, 2, {.kernel = {2}});
          add({2, 3, 2, 11}, {5, 23}, 4, {.kernel = {2, 2}});
          add({2, 1, 2, 3}, {6, 9}, 9, {.kernel = {3, 3}});
          add({1, 2, 4, 4}, {7, 8}, 9, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
          add({0, 2, 2, 2}, {4, 4}, 4, {.kernel = {2, 2}});
        },
};

INGOT_OP(avg_pool1d) = {
    .name = "avg_pool1d",
    .signature = "avg_pool1d(x, options:PoolOptions)",
    .doc = "The mean of each window of x [n, c, l].",
    .family = "pool",
    .infer = infer_avg<1>,
    .prepare = prepared<decode_input_windows>,
    .run = run_avg,
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_avg(call, input_windows(call), false, call.in(0), out[0]); },
    .gradient = gradient_avg,
    .samples = sample_windows<1, false>,
};

INGOT_OP(avg_pool2d) = {
    .name = "avg_pool2d",
    .signature = "avg_pool2d(x, options:PoolOptions)",
    .doc = "The mean of each window of x [n, c, h, w].",
    .family = "pool",
    .infer = infer_avg<2>,
    .prepare = prepared<decode_input_windows>,
    .run = run_avg,
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_avg(call, input_windows(call), false, call.in(0), out[0]); },
    .gradient = gradient_avg,
    .samples = sample_windows<2, false>,
};

INGOT_OP(avg_pool_grad) = {
    .name = "avg_pool_grad",
    .signature = "avg_pool_grad(dy, size:ints, options:PoolOptions)",
    .doc = "Gradient of average pooling: dy [n, c, …] spread over the windows of an input of `size`, to [n, c, size…].",
    .family = "pool",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_spatial_attr(call, "size");
          const PoolShape s = size_windows(call);
          if (!(with_spatial(call.in(0), s.out) == call.in(0).shape()))
            fail(call, "dy does not fit, expected " + to_string(with_spatial(call.in(0), s.out)),
                 "size and options must be the forward's");
          out.add(call.in(0).dtype(), with_spatial(call.in(0), s.in));
        },
    .prepare = prepared<decode_size_windows>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
            kernels::avg_pool_grad(size_windows(call), call.params<Pool>().count_pad, in[0], to[0], team);
          });
        },
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_avg_grad(call, size_windows(call), false, call.in(0), out[0]); },
    .gradient =
        [](Gradient& g) {
          const PoolOptions o = options_of(g.call());
          g.set(0, g.dy().rank() == 3 ? avg_pool1d(g.dy(), o) : avg_pool2d(g.dy(), o));
        },
    .samples =
        [](Samples& s) {
          const auto add = [&](const Dims& dy, const Dims& size, const PoolOptions& o) {
            Attrs attrs;
            o.put(attrs.set("size", size));
            s.add({s.real(dy)}, attrs);
          };
          add({1, 1, 1}, {1}, {.kernel = {1}});
          add({2, 3, 4}, {9}, {.kernel = {2}});
          add({1, 2, 4, 4}, {7, 8}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
          add({1, 2, 4, 4}, {7, 8},
              {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .count_include_pad = false});
          add({0, 2, 2, 2}, {4, 4}, {.kernel = {2, 2}});
        },
};

INGOT_OP(adaptive_avg_pool1d) = {
    .name = "adaptive_avg_pool1d",
    .signature = "adaptive_avg_pool1d(x, size:ints)",
    .doc = "The mean of each of `size` bins of x [n, c, l], to [n, c, size].",
    .family = "pool",
    .infer = infer_adaptive<1>,
    .prepare = prepared<decode_input_bins>,
    .run = run_adaptive_avg,
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_avg(call, input_bins(call), true, call.in(0), out[0]); },
    .gradient = gradient_adaptive_avg,
    .samples = sample_bins<1>,
};

INGOT_OP(adaptive_avg_pool2d) = {
    .name = "adaptive_avg_pool2d",
    .signature = "adaptive_avg_pool2d(x, size:ints)",
    .doc = "The mean of each of size[0] × size[1] bins of x [n, c, h, w]; {1, 1} is global average pooling.",
    .family = "pool",
    .infer = infer_adaptive<2>,
    .prepare = prepared<decode_input_bins>,
    .run = run_adaptive_avg,
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_avg(call, input_bins(call), true, call.in(0), out[0]); },
    .gradient = gradient_adaptive_avg,
    .samples = sample_bins<2>,
};

INGOT_OP(adaptive_avg_pool_grad) = {
    .name = "adaptive_avg_pool_grad",
    .signature = "adaptive_avg_pool_grad(dy, size:ints)",
    .doc = "Gradient of adaptive average pooling: dy [n, c, …] spread over the bins of an input of `size`.",
    .family = "pool",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_spatial_attr(call, "size");
          out.add(call.in(0).dtype(), with_spatial(call.in(0), size_bins(call).in));
        },
    .prepare = prepared<decode_size_bins>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
            kernels::adaptive_avg_pool_grad(size_bins(call), in[0], to[0], team);
          });
        },
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_avg_grad(call, size_bins(call), true, call.in(0), out[0]); },
    .gradient =
        [](Gradient& g) {
          const Dims size = spatial_of(g.in());
          g.set(0, g.dy().rank() == 3 ? adaptive_avg_pool1d(g.dy(), size) : adaptive_avg_pool2d(g.dy(), size));
        },
    .samples =
        [](Samples& s) {
          s.add({s.real({1, 1, 1})}, Attrs().set("size", Dims{4}));
          s.add({s.real({2, 3, 3, 4})}, Attrs().set("size", Dims{7, 9}));
          s.add({s.real({0, 3, 3, 4})}, Attrs().set("size", Dims{7, 9}));
        },
};

INGOT_OP(adaptive_max_pool1d) = {
    .name = "adaptive_max_pool1d",
    .signature = "adaptive_max_pool1d(x, size:ints) -> y, indices",
    .doc = "The largest element of each of `size` bins of x [n, c, l], and its position (i64).",
    .family = "pool",
    .infer = infer_adaptive_max<1>,
    .prepare = prepared<decode_input_bins>,
    .run = run_adaptive_max,
    .scratch = scratch_staged,
    .reference = [](const Call& call, const Tensor* out) { reference_max(input_bins(call), true, call.in(0), out); },
    .gradient = gradient_max,
    .samples = sample_bins<1>,
};

INGOT_OP(adaptive_max_pool2d) = {
    .name = "adaptive_max_pool2d",
    .signature = "adaptive_max_pool2d(x, size:ints) -> y, indices",
    .doc =
        "The largest element of each of size[0] × size[1] bins of x [n, c, h, w], and its position in the plane (i64).",
    .family = "pool",
    .infer = infer_adaptive_max<2>,
    .prepare = prepared<decode_input_bins>,
    .run = run_adaptive_max,
    .scratch = scratch_staged,
    .reference = [](const Call& call, const Tensor* out) { reference_max(input_bins(call), true, call.in(0), out); },
    .gradient = gradient_max,
    .samples = sample_bins<2>,
};

}  // namespace ingot
