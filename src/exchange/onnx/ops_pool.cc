// Poolings: windows to their largest element, their mean or their norm.
#include <algorithm>
#include <cmath>

#include "exchange/onnx/window.h"
#include "ingot/base/error.h"

namespace ingot::onnx {

bool Window::suits_pooling() const {
  bool suits = symmetric();
  for (int a = 0; a < kernel.size(); a++) suits &= 2 * before[a] <= kernel[a];
  return suits;
}

namespace {

PoolOptions options_of(const Window& w, bool ceil_mode, bool count_pad) {
  return {.kernel = w.kernel,
          .stride = w.stride,
          .padding = w.before,
          .dilation = w.dilation,
          .ceil_mode = ceil_mode,
          .count_include_pad = count_pad};
}
// The part of the options for axes [first, last).
PoolOptions part_of(const PoolOptions& o, int first, int last) {
  PoolOptions part = o;
  part.kernel = part.stride = part.padding = part.dilation = {};
  for (int a = first; a < last; a++) {
    part.kernel.push_back(o.kernel[a]), part.stride.push_back(o.stride[a]);
    part.padding.push_back(o.padding[a]), part.dilation.push_back(o.dilation[a]);
  }
  return part;
}

// Windows over any number of axes by windows over two and one: the largest of the largest, the mean of means.
template <class One, class Two>
Tensor pooled(Use& u, const Tensor& x, const PoolOptions& o, One one, Two two) {
  const int n = o.kernel.size();
  if (n == 1) return one(x, o);
  if (n == 2) return two(x, o);
  if (n != 3) u.fail("a pooling over so many axes", "one to three spatial axes are supported");
  const Dims& s = x.shape();
  const Tensor planes = two(reshaped(x, {s[0], s[1] * s[2], s[3], s[4]}), part_of(o, 1, 3));
  const int64_t h = planes.shape()[2], w = planes.shape()[3];
  const Tensor columns = permute(reshaped(planes, {s[0], s[1], s[2], h * w}), {0, 1, 3, 2});
  const Tensor y = one(reshaped(columns, {s[0], s[1] * h * w, s[2]}), part_of(o, 0, 1));
  return permute(reshaped(y, {s[0], s[1], h, w, y.shape()[2]}), {0, 1, 4, 2, 3});
}

Tensor real(const Tensor& x) { return is_float(x.dtype()) ? x : as(x, kF64); }

void max_pool_op(Use& u) {
  Window w(u, spatial_of(u), u.integers("kernel_shape"));
  Tensor x = real(u.in());
  const bool padded_first = !w.suits_pooling(), places = u.wanted(1);
  if (padded_first) {
    if (places) u.fail("places of the largest with padding that differs at the ends", "it is not supported");
    x = padded(x, w, -HUGE_VAL);
    w.before = Dims::filled(w.before.size(), 0);
  }
  const PoolOptions o = options_of(w, u.integer("ceil_mode", 0) != 0, true);
  if (!places)
    return u.out(pooled(
        u, x, o, [](const Tensor& t, const PoolOptions& p) { return max_pool1d(t, p).y; },
        [](const Tensor& t, const PoolOptions& p) { return max_pool2d(t, p).y; }));
  if (w.kernel.size() > 2) u.fail("places of the largest over three axes", "it is not supported");
  Tensor y, at;
  if (w.kernel.size() == 1) {
    const auto r = max_pool1d(x, o);
    y = r.y, at = r.indices;
  } else {
    const auto r = max_pool2d(x, o);
    y = r.y, at = r.indices;
  }
  // Places count over the whole tensor, by columns first if the file says so.
  const Dims& s = u.in().shape();
  int64_t size = 1;
  for (int a = 2; a < s.size(); a++) size *= s[a];
  std::vector<int64_t> begin;
  begin.reserve(static_cast<size_t>(s[0] * s[1]));
  for (int64_t i = 0; i < s[0] * s[1]; i++) begin.push_back(i * size);
  if (u.integer("storage_order", 0) != 0 && s.size() == 4) {
    const auto width = static_cast<double>(s[3]);
    const Tensor row = to(divide(to(at, kF64), width), kI64), column = subtract(at, multiply(row, width));
    at = add(multiply(column, static_cast<double>(s[2])), row);
  }
  Dims per_plane = Dims::filled(s.size(), 1);
  per_plane[0] = s[0], per_plane[1] = s[1];
  u.out(y);
  u.out(add(at, Tensor::from(begin, per_plane)), Type::kInt64);
}

Tensor mean_pool(Use& u, const Tensor& x, const PoolOptions& o) {
  return pooled(
      u, x, o, [](const Tensor& t, const PoolOptions& p) { return avg_pool1d(t, p); },
      [](const Tensor& t, const PoolOptions& p) { return avg_pool2d(t, p); });
}

void average_pool_op(Use& u) {
  Window w(u, spatial_of(u), u.integers("kernel_shape"));
  const bool count = u.integer("count_include_pad", 0) != 0, ceil_mode = u.integer("ceil_mode", 0) != 0;
  if (w.suits_pooling()) return u.out(mean_pool(u, u.in(), options_of(w, ceil_mode, count)));
  const Tensor x = padded(u.in(), w, 0);
  Tensor there = count ? Tensor() : padded(ones(u.in().shape(), u.in().dtype()), w, 0);
  w.before = Dims::filled(w.before.size(), 0);
  const PoolOptions o = options_of(w, ceil_mode, true);
  const Tensor y = mean_pool(u, x, o);
  u.out(count ? y : y / mean_pool(u, there, o));
}

void lp_pool_op(Use& u) {
  Window w(u, spatial_of(u), u.integers("kernel_shape"));
  if (u.integer("ceil_mode", 0) != 0) u.fail("windows beyond the end (ceil_mode)", "here they are not supported");
  const auto p = static_cast<double>(u.integer("p", 2));
  const Tensor x = padded(pow(abs(u.in()), p), w, 0);
  w.before = Dims::filled(w.before.size(), 0);
  double count = 1;
  for (const int64_t k : w.kernel) count *= static_cast<double>(k);
  u.out(pow(mean_pool(u, x, options_of(w, false, true)) * count, 1 / p));
}

Dims all_places(Use& u) {
  Dims axes;
  for (int a = 2; a < spatial_of(u).size() + 2; a++) axes.push_back(a);
  return axes;
}

void max_unpool_op(Use& u) {
  const Dims spatial = spatial_of(u);
  const Window w(u, spatial, u.integers("kernel_shape"));
  std::vector<int64_t> shape{u.in().shape()[0], u.in().shape()[1]};
  for (int a = 0; a < spatial.size(); a++)
    shape.push_back((spatial[a] - 1) * w.stride[a] + w.kernel[a] - w.before[a] - w.after[a]);
  // Places count in the shape that the padding leaves; a larger result has them where they lead in it.
  const std::vector<int64_t> result = u.has(2) ? u.known_integers(2) : shape;
  const Dims y = u.shape(result);
  const Tensor blank = zeros({element_count(y)}, u.in().dtype());
  const int64_t n = u.in().numel();
  Tensor at = reshaped(as(u.in(1), kI64), {n});
  if (u.has(2)) {
    std::vector<int64_t> moved = to_integers(u.known(1));
    for (int64_t& place : moved) {
      int64_t rest = place, to = 0, step = 1;
      for (int a = static_cast<int>(shape.size()) - 1; a >= 0; a--) {
        to += rest % shape[static_cast<size_t>(a)] * step;
        rest /= shape[static_cast<size_t>(a)], step *= y[a];
      }
      place = to;
    }
    at = Tensor::from(moved);
  }
  u.out(reshaped(scatter_add(blank, at, reshaped(u.in(), {n}), 0), y));
}

}  // namespace

std::span<const Row> pool_rows() {
  static constexpr Row kRows[] = {
      {"MaxPool", 1, max_pool_op},
      {"AveragePool", 1, average_pool_op},
      {"LpPool", 1, lp_pool_op},
      {"GlobalAveragePool", 1, [](Use& u) { u.out(mean(u.in(), all_places(u), true)); }},
      {"GlobalMaxPool", 1, [](Use& u) { u.out(max(u.in(), all_places(u), true)); }},
      {"GlobalLpPool", 1,
       [](Use& u) {
         u.out(pow(sum(pow(abs(u.in()), static_cast<double>(u.integer("p", 2))), all_places(u), true),
                   1.0 / static_cast<double>(u.integer("p", 2))));
       }},
      {"MaxUnpool", 9, max_unpool_op},
  };
  return kRows;
}

}  // namespace ingot::onnx
