// A convolution whose result is max-pooled at once, and its gradients: what a plan makes of conv2d and max_pool2d when
// nobody else reads the convolution's result. A tap is the place in its window of the largest element, counted row by
// row.
#include "kernels/conv_pool.h"

#include <cmath>

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "ops/conv_shape.h"
#include "ops/define.h"

namespace ingot {
namespace {

using kernels::ConvPoolShape;
using kernels::ConvShape;

constexpr int64_t kMostTaps = 256;  // a tap is a byte
constexpr const char* kFused = "it is a fused kernel; conv2d and max_pool2d differentiate as often as one likes";

ConvPoolShape pooled(const Call& call, const ConvShape& conv) {
  const Dims window = per_axis(call, "pool", 2, 0, 1);
  ConvPoolShape s{conv, {window[0], window[1]}};
  if (window[0] < 1 || window[0] > kMostTaps || window[1] > kMostTaps || window[0] * window[1] > kMostTaps)
    fail_argument(call, "windows of " + to_string(window),
                  "give {height, width}, at most " + std::to_string(kMostTaps) + " elements");
  if (s.pooled(0) < 1 || s.pooled(1) < 1)
    fail(call,
         "windows of " + to_string(window) + " do not fit a convolution's result of " +
             to_string(Dims{conv.out[1], conv.out[2]}),
         "use smaller windows");
  return s;
}
Dims pooled_shape(const ConvPoolShape& s) { return {s.conv.batch, s.conv.out_channels, s.pooled(0), s.pooled(1)}; }

struct Forward {
  ConvPoolShape shape;
  bool with_taps, relu;
};
Forward decode_forward(const Call& call) {
  return {pooled(call, forward_shape(call)), call.flag("with_taps"), call.attrs.find(kRelu) != nullptr};
}
// dx from dy, taps and w; dw from x, dy and taps.
ConvPoolShape decode_input_grad(const Call& call) {
  const Tensor &dy = call.in(0), &w = call.in(2);
  return pooled(call, conv_geometry(call, dy.size(0), w.size(1) * groups_of(call), call.ints("size"), w.size(0),
                                    spatial_of(w.shape())));
}
ConvPoolShape decode_kernel_grad(const Call& call) {
  const Tensor &x = call.in(0), &dy = call.in(1);
  return pooled(call,
                conv_geometry(call, x.size(0), x.size(1), spatial_of(x.shape()), dy.size(1), call.ints("kernel")));
}

ConvPoolShape input_shape(const Call& call) { return decoded<decode_input_grad>(call); }
ConvPoolShape kernel_shape(const Call& call) { return decoded<decode_kernel_grad>(call); }

// dy is input i, its taps input i + 1.
void require_pooled(const Call& call, int i, const ConvPoolShape& s) {
  if (!(call.in(i).shape() == pooled_shape(s)))
    fail(call, "dy is " + to_string(call.in(i).shape()) + ", the pooled result " + to_string(pooled_shape(s)),
         "sizes, windows, stride, padding and dilation must be the forward's");
  if (call.in(i + 1).dtype() != kU8 || !(call.in(i + 1).shape() == call.in(i).shape()))
    fail(call, "the taps do not fit", "give the taps (u8) that conv2d_max_pool returned");
}
void require_sizes_of(const Call& call, const char* attr) {
  if (call.ints(attr).size() != 2)
    fail_argument(call, std::string(attr) + " " + to_string(call.ints(attr)), "give {height, width}");
}

const uint8_t* as_taps(const void* p) { return static_cast<const uint8_t*>(p); }

double value_at(const Tensor& t, const Dims& i) { return load_as_double(element_at(t, i), t.dtype()); }

// Calls f(index of y, index of w, index of x) for the products of the element `tap` of the window that makes y.
template <class F>
void for_products(const ConvPoolShape& p, const Dims& y, int64_t tap, F f) {
  const ConvShape& s = p.conv;
  if (tap >= p.window[0] * p.window[1]) return;
  const int64_t in = s.in_channels / s.groups, out = s.out_channels / s.groups;
  for_each_index({in, s.kernel[1], s.kernel[2]}, [&](const Dims& k) {
    const int64_t h = (y[2] * p.window[0] + tap / p.window[1]) * s.stride[1] + k[1] * s.dilation[1] - s.pad[1],
                  w = (y[3] * p.window[1] + tap % p.window[1]) * s.stride[2] + k[2] * s.dilation[2] - s.pad[2];
    if (h < 0 || h >= s.in[1] || w < 0 || w >= s.in[2]) return;
    f({y[1], k[0], k[1], k[2]}, {y[0], y[1] / out * in + k[0], h, w});
  });
}

void reference_forward(const Call& call, const Tensor* out) {
  const Forward f = decode_forward(call);
  const ConvPoolShape& s = f.shape;
  for_each_index(out[0].shape(), [&](const Dims& y) {
    double best = -INFINITY;
    int64_t best_tap = -1;
    for (int64_t tap = 0; tap < s.window[0] * s.window[1]; tap++) {
      double sum = call.has(2) ? value_at(call.in(2), {y[1]}) : 0;
      for_products(s, y, tap,
                   [&](const Dims& w, const Dims& x) { sum += value_at(call.in(1), w) * value_at(call.in(0), x); });
      if (best_tap < 0 || (!std::isnan(best) && (sum > best || std::isnan(sum)))) best = sum, best_tap = tap;
    }
    const bool cut = f.relu && best < 0;
    store_from_double(element_at(out[0], y), out[0].dtype(), cut ? 0 : best);
    if (f.with_taps) *reinterpret_cast<uint8_t*>(element_at(out[1], y)) = static_cast<uint8_t>(best_tap);
  });
}

// sums[index] += products of dy with the other operand, then rounds; `to_x`: at x's index with w, else the reverse.
void reference_gradient(const ConvPoolShape& s, const Tensor& dy, const Tensor& taps, const Tensor& other, bool to_x,
                        const Tensor& out) {
  const Tensor sums = zeros(out.shape(), kF64);
  for_each_index(dy.shape(), [&](const Dims& y) {
    const int64_t tap = *reinterpret_cast<const uint8_t*>(element_at(taps, y));
    for_products(s, y, tap, [&](const Dims& w, const Dims& x) {
      sums.at<double>(to_x ? x : w) += value_at(dy, y) * value_at(other, to_x ? w : x);
    });
  });
  for_each_index(out.shape(),
                 [&](const Dims& i) { store_from_double(element_at(out, i), out.dtype(), sums.at<double>(i)); });
}

struct Case {
  Dims x, w, pool;
  ConvOptions options;
};
// Padding is for the kernels' tests: what lies there is multiplied by zero, and where that makes a NaN, it has a tap.
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {{1, 1, 2, 2}, {1, 1, 1, 1}, {2, 2}, {}},
      {{2, 1, 8, 20}, {3, 1, 3, 3}, {2, 2}, {}},
      {{2, 5, 7, 9}, {9, 5, 3, 2}, {2, 2}, {}},
      {{0, 2, 5, 5}, {3, 2, 2, 2}, {2, 2}, {}},
      {{1, 4, 9, 8}, {6, 2, 3, 2}, {3, 1}, {.stride = {1, 2}, .dilation = {2, 1}, .groups = 2}},
      {{1, 4, 10, 8}, {2, 4, 2, 2}, {1, 3}, {.dilation = {1, 2}}}};
  return kCases;
}
Dims result_shape(const Case& c) {
  Dims y{c.x[0], c.w[0]};
  const auto at = [](const Dims& d, int a) { return d.empty() ? 1 : d[a]; };
  for (int a = 0; a < 2; a++)
    y.push_back(((c.x[a + 2] - at(c.options.dilation, a) * (c.w[a + 2] - 1) - 1) / at(c.options.stride, a) + 1) /
                c.pool[a]);
  return y;
}

}  // namespace

INGOT_OP(conv2d_max_pool) = {
    .name = "conv2d_max_pool",
    .signature =
        "conv2d_max_pool(x, w, bias?, pool:ints={2, 2}, options:ConvOptions={}, with_taps:bool=true) -> y, taps",
    .doc =
        "The largest elements of conv2d's result in windows of `pool` side by side, and which of a window's elements "
        "they are (u8, empty without `with_taps`): what a plan makes of conv2d and max_pool2d.",
    .family = "conv",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          const ConvPoolShape s = pooled(call, checked_forward_shape(call, 2));
          out.add(call.in(0).dtype(), pooled_shape(s));
          out.add(kU8, call.flag("with_taps") ? pooled_shape(s) : Dims{0});
        },
    .prepare = prepared<decode_forward>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          const Forward& f = call.params<Forward>();
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            uint8_t* taps = f.with_taps ? reinterpret_cast<uint8_t*>(to[1]) : nullptr;
            kernels::conv_pool(f.shape, in[0], in[1], in[2], to[0], taps, rest, team, f.relu);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team_size) {
          return staged_bytes(call, out) +
                 kernels::conv_pool_scratch(call.params<Forward>().shape, size_of(out[0].dtype()), team_size);
        },
    .takes_relu = true,
    .reference = reference_forward,
    .cost = [](const Call& call) { return flop_cost(call.params<Forward>().shape.conv); },
    .gradient =
        [](Gradient& g) {
          const ConvOptions o = conv_options_of(g.call());
          const Dims pool = g.call().ints("pool");
          const Tensor taps = g.call().flag("with_taps")
                                  ? g.out(1)
                                  : conv2d_max_pool(g.in(0), g.in(1), g.count() > 2 ? g.in(2) : Tensor(), pool, o)[1];
          if (g.wants(0))
            g.set(0, conv2d_max_pool_input_grad(g.dy(), taps, g.in(1), spatial_of(g.in(0).shape()), pool, o));
          if (g.wants(1))
            g.set(1, conv2d_max_pool_kernel_grad(g.in(0), g.dy(), taps, spatial_of(g.in(1).shape()), pool, o));
          if (g.wants(2)) g.set(2, sum(g.dy(), {0, 2, 3}));
        },
    .samples =
        [](Samples& s) {
          for (const Case& c : cases())
            for (const bool with_taps : {true, false}) {
              Attrs attrs;
              c.options.put(attrs.set("pool", c.pool));
              attrs.set("with_taps", with_taps);
              s.add({s.real(c.x), s.real(c.w), with_taps ? s.real({c.w[0]}) : Tensor()}, attrs);
            }
        },
    .multiplies_padding = true,
};

INGOT_OP(conv2d_max_pool_input_grad) = {
    .name = "conv2d_max_pool_input_grad",
    .signature = "conv2d_max_pool_input_grad(dy, taps, w, size:ints, pool:ints={2, 2}, options:ConvOptions={})",
    .doc =
        "Gradient of conv2d_max_pool for its input: dy and taps [n, o, h, w], w [o, c/groups, kh, kw] and the input's "
        "spatial `size`, to [n, c, size…].",
    .family = "conv",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_same_type(call, 0, 2);
          require_spatial(call, 0, 2);
          require_spatial(call, 2, 2);
          require_sizes_of(call, "size");
          const ConvPoolShape s = input_shape(call);
          require_pooled(call, 0, s);
          out.add(call.in(0).dtype(), shape_of(s.conv.batch, s.conv.in_channels, s.conv.in, 2));
        },
    .prepare = prepared<decode_input_grad>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            kernels::conv_pool_grad_input(input_shape(call), in[0], as_taps(in[1]), in[2], to[0], rest, team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team_size) {
          return staged_bytes(call, out) +
                 kernels::conv_pool_grad_input_scratch(input_shape(call), size_of(out[0].dtype()), team_size);
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          reference_gradient(input_shape(call), call.in(0), call.in(1), call.in(2), true, out[0]);
        },
    .cost = [](const Call& call) { return flop_cost(input_shape(call).conv) / 2; },
    .not_differentiable = kFused,
    .samples =
        [](Samples& s) {
          for (const Case& c : cases()) {
            Attrs attrs;
            c.options.put(attrs.set("size", spatial_of(c.x)).set("pool", c.pool));
            const Dims y = result_shape(c);
            s.add({s.real(y), s.indices(y, 0, c.pool[0] * c.pool[1], kU8), s.real(c.w)}, attrs);
          }
        },
    .multiplies_padding = true,
};

INGOT_OP(conv2d_max_pool_kernel_grad) = {
    .name = "conv2d_max_pool_kernel_grad",
    .signature = "conv2d_max_pool_kernel_grad(x, dy, taps, kernel:ints, pool:ints={2, 2}, options:ConvOptions={})",
    .doc =
        "Gradient of conv2d_max_pool for its weights: x [n, c, …], dy and taps [n, o, h, w] and the spatial size of "
        "the "
        "`kernel`, to [o, c/groups, kernel…].",
    .family = "conv",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_same_type(call, 0, 1);
          require_spatial(call, 0, 2);
          require_spatial(call, 1, 2);
          require_sizes_of(call, "kernel");
          const ConvPoolShape s = kernel_shape(call);
          require_pooled(call, 1, s);
          out.add(call.in(0).dtype(),
                  shape_of(s.conv.out_channels, s.conv.in_channels / s.conv.groups, s.conv.kernel, 2));
        },
    .prepare = prepared<decode_kernel_grad>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            kernels::conv_pool_grad_kernel(kernel_shape(call), in[0], in[1], as_taps(in[2]), to[0], rest, team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team_size) {
          return staged_bytes(call, out) +
                 kernels::conv_pool_grad_kernel_scratch(kernel_shape(call), size_of(out[0].dtype()), team_size);
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          reference_gradient(kernel_shape(call), call.in(1), call.in(2), call.in(0), false, out[0]);
        },
    .cost = [](const Call& call) { return flop_cost(kernel_shape(call).conv) / 2; },
    .not_differentiable = kFused,
    .samples =
        [](Samples& s) {
          for (const Case& c : cases()) {
            Attrs attrs;
            c.options.put(attrs.set("kernel", spatial_of(c.w)).set("pool", c.pool));
            const Dims y = result_shape(c);
            s.add({s.real(c.x), s.real(y), s.indices(y, 0, c.pool[0] * c.pool[1], kU8)}, attrs);
          }
        },
    .multiplies_padding = true,
};

}  // namespace ingot
