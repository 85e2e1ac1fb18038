#include "ops/pool_shape.h"

#include <cmath>

#include "ingot/ops/checks.h"
#include "ingot/ops/ops.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/plumbing.h"
#include "ingot/ops/staging.h"
#include "ops/rules.h"

namespace ingot::pool {
namespace {

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

// Bins: input and output sizes only.
PoolShape bins(const Call& call, const Dims& in, const Dims& out) {
  PoolShape s{planes_of(call.in(0)), {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}};
  put_axes(call, in, in.size(), 1, "input", s.in);
  put_axes(call, out, out.size(), 1, "size", s.out);
  return s;
}
Pool decode_windows(const Call& call, const Dims& size) {
  const Attr* taps = call.attrs.find("with_taps");
  return {windows(call, planes_of(call.in(0)), size), call.flag("count_include_pad"),
          taps != nullptr && taps->integer != 0, call.attrs.find(kRelu) != nullptr};
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

double divisor(const Call& call, const PoolShape& s, bool adaptive, const Dims& o, int64_t seen) {
  if (adaptive || !call.flag("count_include_pad")) return static_cast<double>(seen);
  double count = 1;
  for (int a = 0; a < 2; a++) {
    const int64_t start = o[a + 1] * s.stride[a] - s.pad[a];
    count *= static_cast<double>(std::min(start + s.kernel[a], s.in[a] + s.pad[a]) - start);
  }
  return count;
}

}  // namespace

Dims spatial_of(const Tensor& t) { return Dims(std::span<const int64_t>(t.shape().begin() + 2, t.shape().end())); }
int64_t planes_of(const Tensor& t) { return t.size(0) * t.size(1); }
Dims with_spatial(const Tensor& t, const int64_t* sizes) {
  Dims shape{t.size(0), t.size(1)};
  for (int a = 0; a < t.rank() - 2; a++) shape.push_back(sizes[2 - (t.rank() - 2) + a]);
  return shape;
}
void require_forward_result(const Call& call, const PoolShape& s) {
  if (const Dims expected = with_spatial(call.in(0), s.out); !(expected == call.in(0).shape()))
    fail(call, "dy does not fit, expected " + to_string(expected), "size and options must be the forward's");
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

Pool decode_input_windows(const Call& call) { return decode_windows(call, spatial_of(call.in(0))); }
Pool decode_size_windows(const Call& call) { return decode_windows(call, call.ints("size")); }
Pool decode_input_bins(const Call& call) { return {bins(call, spatial_of(call.in(0)), call.ints("size"))}; }
Pool decode_size_bins(const Call& call) { return {bins(call, call.ints("size"), spatial_of(call.in(0)))}; }
PoolOptions options_of(const Call& call) {
  return {call.ints("kernel"),   call.ints("stride"),    call.ints("padding"),
          call.ints("dilation"), call.flag("ceil_mode"), call.flag("count_include_pad")};
}

size_t scratch_staged(const Call& call, const Tensor* out, int) { return staged_bytes(call, out); }

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

void gradient_max(Gradient& g) { g.set(0, max_pool_grad(g.dy(), g.out(1), spatial_of(g.in()))); }

}  // namespace ingot::pool
