// Convolutions over one, two or three spatial axes, their gradients (ops like any other, so they differentiate again),
// and the column forms. Layouts as in PyTorch: x [batch, channels, …], weights [out, in / groups, …].
#include "kernels/conv.h"

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "ops/conv_shape.h"
#include "ops/define.h"

namespace ingot {
namespace {

using kernels::ConvShape;

template <int kSpatial>
void infer_forward(const Call& call, Specs& out) {
  const ConvShape s = checked_forward_shape(call, kSpatial);
  out.add(call.in(0).dtype(), shape_of(s.batch, s.out_channels, s.out, kSpatial));
}

// dx from dy and w: inputs dy, w; `size` is the spatial size of x.
ConvShape decode_grad_input(const Call& call) {
  const Tensor &dy = call.in(0), &w = call.in(1);
  return conv_geometry(call, dy.size(0), w.size(1) * groups_of(call), call.ints("size"), w.size(0),
                       spatial_of(w.shape()));
}
// dw from x and dy: inputs x, dy; `kernel` is the spatial size of w.
ConvShape decode_grad_kernel(const Call& call) {
  const Tensor &x = call.in(0), &dy = call.in(1);
  return conv_geometry(call, x.size(0), x.size(1), spatial_of(x.shape()), dy.size(1), call.ints("kernel"));
}
ConvShape grad_input_shape(const Call& call) { return decoded<decode_grad_input>(call); }
ConvShape grad_kernel_shape(const Call& call) { return decoded<decode_grad_kernel>(call); }
void require_result(const Call& call, int i, const ConvShape& s, int spatial) {
  const Dims expected = shape_of(s.batch, s.out_channels, s.out, spatial);
  if (!(call.in(i).shape() == expected))
    fail(call, "dy is " + to_string(call.in(i).shape()) + ", the convolution's result " + to_string(expected),
         "sizes, stride, padding and dilation must be the forward's");
}

// y of a transposed convolution: inputs x, w[, bias]. It is the input gradient of the convolution from y's size to x's.
Dims transposed_size(const Call& call, int spatial) {
  const Tensor &x = call.in(0), &w = call.in(1);
  const Dims stride = per_axis(call, "stride", spatial, 1, 1), padding = per_axis(call, "padding", spatial, 0, 0),
             dilation = per_axis(call, "dilation", spatial, 1, 1),
             extra = per_axis(call, "output_padding", spatial, 0, 0);
  Dims size;
  for (int a = 0; a < spatial; a++) {
    const int64_t n =
        (x.shape()[a + 2] - 1) * stride[a] - 2 * padding[a] + dilation[a] * (w.shape()[a + 2] - 1) + extra[a] + 1;
    if (x.shape()[a + 2] < 1 || n < 1 || (extra[a] >= stride[a] && extra[a] >= dilation[a]))
      fail(call, "no result along spatial axis " + std::to_string(a),
           "pad less; output_padding must be below stride or dilation");
    size.push_back(n);
  }
  return size;
}
ConvShape decode_transposed(const Call& call) {
  const Tensor &x = call.in(0), &w = call.in(1);
  const int spatial = x.rank() - 2;
  return conv_geometry(call, x.size(0), w.size(1) * groups_of(call), transposed_size(call, spatial), w.size(0),
                       spatial_of(w.shape()));
}
ConvShape transposed_shape(const Call& call) { return decoded<decode_transposed>(call); }
template <int kSpatial>
void infer_transposed(const Call& call, Specs& out) {
  require_type(call, call.in(0).dtype());
  require_same_type(call, 0, 1);
  require_spatial(call, 0, kSpatial);
  require_spatial(call, 1, kSpatial);
  if (call.in(0).size(1) != call.in(1).size(0))
    fail(call,
         "weights for " + std::to_string(call.in(1).size(0)) + " input channels, input with " +
             std::to_string(call.in(0).size(1)),
         "weights must be [in, out / groups, kernel…]");
  const ConvShape s = transposed_shape(call);
  require_bias(call, 2, s.in_channels);
  out.add(call.in(0).dtype(), shape_of(s.batch, s.in_channels, s.in, kSpatial));
}

struct Forward {
  ConvShape shape;
  bool relu;
};
Forward decode_forward(const Call& call) { return {forward_shape(call), call.attrs.find(kRelu) != nullptr}; }

void run_forward(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  const Forward& f = call.params<Forward>();
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
    kernels::conv_forward(f.shape, in[0], in[1], in[2], to[0], rest, team, f.relu);
  });
}
double cost_forward(const Call& call) { return flop_cost(call.params<Forward>().shape); }
size_t scratch_forward(const Call& call, const Tensor* out, int team_size) {
  return staged_bytes(call, out) +
         kernels::conv_forward_scratch(call.params<Forward>().shape, size_of(out[0].dtype()), team_size);
}

void run_transposed(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  const ConvShape s = transposed_shape(call);
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
    kernels::conv_grad_input(s, in[0], in[1], to[0], rest, team);
    if (in[2] == nullptr) return;
    team.barrier();
    const int64_t plane = s.in[0] * s.in[1] * s.in[2];
    const auto [first, last] = team.share(s.batch * s.in_channels);
    for (int64_t p = first; p < last; p++)
      for (int64_t i = 0; i < plane; i++) to[0][p * plane + i] += in[2][p % s.in_channels];
  });
}

// Walks every product of a convolution: f(x index, w index, y index).
template <class F>
void for_each_product(const ConvShape& s, int spatial, F f) {
  const int64_t in_per_group = s.in_channels / s.groups, out_per_group = s.out_channels / s.groups;
  for_each_index(shape_of(s.batch, s.out_channels, s.out, spatial), [&](const Dims& y) {
    for_each_index(shape_of(1, in_per_group, s.kernel, spatial), [&](const Dims& tap) {
      Dims x{y[0], y[1] / out_per_group * in_per_group + tap[1]}, w = tap;
      w[0] = y[1];
      for (int a = 0, k = 3 - spatial; a < spatial; a++, k++) {
        const int64_t at = y[a + 2] * s.stride[k] + tap[a + 2] * s.dilation[k] - s.pad[k];
        if (at < 0 || at >= s.in[k]) return;
        x.push_back(at);
      }
      f(x, w, y);
    });
  });
}

// Adds up products in double, then rounds: target[t] = Σ a·b.
enum class Role { kX, kW, kY };
void reference_products(const ConvShape& s, const Tensor& x, const Tensor& w, const Tensor& y, Role target) {
  const Tensor& out = target == Role::kX ? x : target == Role::kW ? w : y;
  const Tensor sums = zeros(out.shape(), kF64);
  for_each_product(s, y.rank() - 2, [&](const Dims& xi, const Dims& wi, const Dims& yi) {
    const auto value = [](const Tensor& t, const Dims& i) { return load_as_double(element_at(t, i), t.dtype()); };
    const Dims& at = target == Role::kX ? xi : target == Role::kW ? wi : yi;
    const double product = (target == Role::kX ? 1 : value(x, xi)) * (target == Role::kW ? 1 : value(w, wi)) *
                           (target == Role::kY ? 1 : value(y, yi));
    sums.at<double>(at) += product;
  });
  for_each_index(out.shape(),
                 [&](const Dims& i) { store_from_double(element_at(out, i), out.dtype(), sums.at<double>(i)); });
}
void add_bias_reference(const Call& call, const Tensor& out) {
  if (!call.has(2)) return;
  for_each_index(out.shape(), [&](const Dims& i) {
    std::byte* to = element_at(out, i);
    const double bias = load_as_double(element_at(call.in(2), {i[1]}), out.dtype());
    store_from_double(to, out.dtype(), load_as_double(to, out.dtype()) + bias);
  });
}
void reference_forward(const Call& call, const Tensor* out) {
  reference_products(forward_shape(call), call.in(0), call.in(1), out[0], Role::kY);
  add_bias_reference(call, out[0]);
  if (call.attrs.find(kRelu) == nullptr) return;
  for_each_index(out[0].shape(), [&](const Dims& i) {
    std::byte* to = element_at(out[0], i);
    if (load_as_double(to, out[0].dtype()) < 0) store_from_double(to, out[0].dtype(), 0);
  });
}
void reference_transposed(const Call& call, const Tensor* out) {
  reference_products(transposed_shape(call), out[0], call.in(1), call.in(0), Role::kX);
  add_bias_reference(call, out[0]);
}

Tensor convolve(const Tensor& x, const Tensor& w, const ConvOptions& options) {
  return x.rank() == 3   ? conv1d(x, w, {}, options)
         : x.rank() == 4 ? conv2d(x, w, {}, options)
                         : conv3d(x, w, {}, options);
}
Tensor bias_gradient(const Tensor& dy) {
  return dy.rank() == 3 ? sum(dy, {0, 2}) : dy.rank() == 4 ? sum(dy, {0, 2, 3}) : sum(dy, {0, 2, 3, 4});
}
void gradient_forward(Gradient& g) {
  const ConvOptions o = conv_options_of(g.call());
  if (g.wants(0)) g.set(0, conv_grad_input(g.dy(), g.in(1), spatial_of(g.in(0).shape()), o));
  if (g.wants(1)) g.set(1, conv_grad_kernel(g.in(0), g.dy(), spatial_of(g.in(1).shape()), o));
  if (g.wants(2)) g.set(2, bias_gradient(g.dy()));
}
void gradient_transposed(Gradient& g) {
  const ConvOptions o = conv_options_of(g.call());
  if (g.wants(0)) g.set(0, convolve(g.dy(), g.in(1), o));
  if (g.wants(1)) g.set(1, conv_grad_kernel(g.dy(), g.in(0), spatial_of(g.in(1).shape()), o));
  if (g.wants(2)) g.set(2, bias_gradient(g.dy()));
}

// The geometries every convolution op is tested on: sizes of x and w, options.
struct Case {
  Dims x, w;
  ConvOptions options;
};
const std::vector<Case>& cases(int spatial) {
  static const std::vector<Case> kCases[3] = {
      {{{1, 1, 1}, {1, 1, 1}, {}},
       {{2, 3, 9}, {4, 3, 3}, {}},
       {{0, 2, 5}, {3, 2, 2}, {}},
       {{2, 4, 10}, {6, 2, 3}, {.stride = {2}, .padding = {1}, .dilation = {2}, .groups = 2}},
       {{1, 3, 7}, {3, 1, 5}, {.padding = {2}, .groups = 3}}},
      {{{1, 1, 1, 1}, {1, 1, 1, 1}, {}},
       {{2, 3, 5, 6}, {4, 3, 3, 3}, {.padding = {1, 1}}},
       {{0, 2, 3, 4}, {3, 2, 2, 2}, {}},
       {{2, 4, 7, 5}, {6, 2, 3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2}},
       {{2, 3, 6, 6}, {6, 1, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}, .groups = 3}},
       {{1, 5, 4, 4}, {3, 5, 1, 1}, {}},
       {{1, 2, 3, 3}, {2, 2, 5, 5}, {.padding = {2, 2}}}},
      {{{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {}},
       {{0, 2, 3, 3, 3}, {3, 2, 2, 2, 2}, {}},
       {{1, 2, 3, 4, 5}, {3, 2, 2, 3, 2}, {.padding = {1, 1, 0}}},
       {{1, 2, 4, 4, 4}, {2, 1, 3, 2, 2}, {.stride = {2, 1, 2}, .padding = {1, 0, 0}, .groups = 2}}}};
  return kCases[spatial - 1];
}
template <int kSpatial>
void sample_forward(Samples& s) {
  for (const Case& c : cases(kSpatial)) {
    Attrs attrs;
    c.options.put(attrs);
    s.add({s.real(c.x), s.real(c.w), s.real({c.w[0]})}, attrs);
    s.add({s.real(c.x), s.real(c.w), Tensor()}, attrs);
  }
}
// The transposed convolution with the same weights: its input has w's first size as channels.
template <int kSpatial>
void sample_transposed(Samples& s) {
  for (const Case& c : cases(kSpatial)) {
    Dims x = c.x;
    x[1] = c.w[0];
    Attrs attrs;
    c.options.put(attrs);
    s.add({s.real(x), s.real(c.w), s.real({c.w[1] * c.options.groups})}, attrs.set("output_padding", Dims{}));
  }
}

// y's shape of a case, by the formula rather than by the code under test.
Dims result_shape(const Case& c) {
  Dims y{c.x[0], c.w[0]};
  const auto at = [](const Dims& d, int a, int64_t fallback) {
    return d.empty() ? fallback : d[d.size() == 1 ? 0 : a];
  };
  for (int a = 0; a + 2 < c.x.size(); a++)
    y.push_back((c.x[a + 2] + 2 * at(c.options.padding, a, 0) - at(c.options.dilation, a, 1) * (c.w[a + 2] - 1) - 1) /
                    at(c.options.stride, a, 1) +
                1);
  return y;
}

}  // namespace

INGOT_OP(conv1d) = {
    .name = "conv1d",
    .signature = "conv1d(x, w, bias?, options:ConvOptions={})",
    .doc = "Convolution of x [n, c, l] with w [o, c/groups, k] and bias [o], to [n, o, l'].",
    .family = "conv",
    .infer = infer_forward<1>,
    .prepare = prepared<decode_forward>,
    .run = run_forward,
    .scratch = scratch_forward,
    .takes_relu = true,
    .reference = reference_forward,
    .cost = cost_forward,
    .gradient = gradient_forward,
    .samples = sample_forward<1>,
    .multiplies_padding = true,
};

INGOT_OP(conv2d) = {
    .name = "conv2d",
    .signature = "conv2d(x, w, bias?, options:ConvOptions={})",
    .doc = "Convolution of x [n, c, h, w] with w [o, c/groups, kh, kw] and bias [o], to [n, o, h', w'].",
    .family = "conv",
    .infer = infer_forward<2>,
    .prepare = prepared<decode_forward>,
    .run = run_forward,
    .scratch = scratch_forward,
    .takes_relu = true,
    .reference = reference_forward,
    .cost = cost_forward,
    .gradient = gradient_forward,
    .samples = sample_forward<2>,
    .multiplies_padding = true,
};

INGOT_OP(conv3d) = {
    .name = "conv3d",
    .signature = "conv3d(x, w, bias?, options:ConvOptions={})",
    .doc = "Convolution of x [n, c, d, h, w] with w [o, c/groups, kd, kh, kw] and bias [o], to [n, o, d', h', w'].",
    .family = "conv",
    .infer = infer_forward<3>,
    .prepare = prepared<decode_forward>,
    .run = run_forward,
    .scratch = scratch_forward,
    .takes_relu = true,
    .reference = reference_forward,
    .cost = cost_forward,
    .gradient = gradient_forward,
    .samples = sample_forward<3>,
    .multiplies_padding = true,
};

INGOT_OP(conv_transpose1d) = {
    .name = "conv_transpose1d",
    .signature = "conv_transpose1d(x, w, bias?, options:ConvOptions={}, output_padding:ints={})",
    .doc = "Transposed convolution of x [n, c, l] with w [c, o/groups, k] and bias [o], to [n, o, l'].",
    .family = "conv",
    .infer = infer_transposed<1>,
    .prepare = prepared<decode_transposed>,
    .run = run_transposed,
    .scratch =
        [](const Call& call, const Tensor* out, int team_size) {
          return staged_bytes(call, out) +
                 kernels::conv_grad_input_scratch(transposed_shape(call), size_of(out[0].dtype()), team_size);
        },
    .reference = reference_transposed,
    .cost = [](const Call& call) { return flop_cost(transposed_shape(call)); },
    .gradient = gradient_transposed,
    .samples = sample_transposed<1>,
    .multiplies_padding = true,
};

INGOT_OP(conv_transpose2d) = {
    .name = "conv_transpose2d",
    .signature = "conv_transpose2d(x, w, bias?, options:ConvOptions={}, output_padding:ints={})",
    .doc = "Transposed convolution of x [n, c, h, w] with w [c, o/groups, kh, kw] and bias [o], to [n, o, h', w'].",
    .family = "conv",
    .infer = infer_transposed<2>,
    .prepare = prepared<decode_transposed>,
    .run = run_transposed,
    .scratch =
        [](const Call& call, const Tensor* out, int team_size) {
          return staged_bytes(call, out) +
                 kernels::conv_grad_input_scratch(transposed_shape(call), size_of(out[0].dtype()), team_size);
        },
    .reference = reference_transposed,
    .cost = [](const Call& call) { return flop_cost(transposed_shape(call)); },
    .gradient = gradient_transposed,
    .samples =
        [](Samples& s) {
          sample_transposed<2>(s);
          Attrs attrs;
          ConvOptions{.stride = {2, 3}}.put(attrs);
          s.add({s.real({1, 2, 3, 2}), s.real({2, 3, 2, 2}), Tensor()}, attrs.set("output_padding", Dims{1, 2}));
        },
    .multiplies_padding = true,
};

INGOT_OP(conv_grad_input) = {
    .name = "conv_grad_input",
    .signature = "conv_grad_input(dy, w, size:ints, options:ConvOptions={})",
    .doc =
        "Gradient of a convolution for its input: dy [n, o, …], w [o, c/groups, …] and the input's spatial `size`, to "
        "[n, c, size…].",
    .family = "conv",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          const int spatial = call.ints("size").size();
          require_type(call, call.in(0).dtype());
          require_same_type(call, 0, 1);
          if (spatial < 1 || spatial > 3)
            fail_argument(call, "size " + to_string(call.ints("size")), "give one number per spatial axis, 1 to 3");
          require_spatial(call, 0, spatial);
          require_spatial(call, 1, spatial);
          const ConvShape s = grad_input_shape(call);
          require_result(call, 0, s, spatial);
          out.add(call.in(0).dtype(), shape_of(s.batch, s.in_channels, s.in, spatial));
        },
    .prepare = prepared<decode_grad_input>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            kernels::conv_grad_input(grad_input_shape(call), in[0], in[1], to[0], rest, team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team_size) {
          return staged_bytes(call, out) +
                 kernels::conv_grad_input_scratch(grad_input_shape(call), size_of(out[0].dtype()), team_size);
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          reference_products(grad_input_shape(call), out[0], call.in(1), call.in(0), Role::kX);
        },
    .cost = [](const Call& call) { return flop_cost(grad_input_shape(call)); },
    .gradient =
        [](Gradient& g) {
          const ConvOptions o = conv_options_of(g.call());
          if (g.wants(0)) g.set(0, convolve(g.dy(), g.in(1), o));
          if (g.wants(1)) g.set(1, conv_grad_kernel(g.dy(), g.in(0), spatial_of(g.in(1).shape()), o));
        },
    .samples =
        [](Samples& s) {
          for (int spatial = 1; spatial <= 3; spatial++)
            for (const Case& c : cases(spatial)) {
              Attrs attrs;
              c.options.put(attrs.set("size", spatial_of(c.x)));
              s.add({s.real(result_shape(c)), s.real(c.w)}, attrs);
            }
        },
    .multiplies_padding = true,
};

INGOT_OP(conv_grad_kernel) = {
    .name = "conv_grad_kernel",
    .signature = "conv_grad_kernel(x, dy, kernel:ints, options:ConvOptions={})",
    .doc =
        "Gradient of a convolution for its weights: x [n, c, …], dy [n, o, …] and the spatial size of the `kernel`, to "
        "[o, c/groups, kernel…].",
    .family = "conv",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          const int spatial = call.ints("kernel").size();
          require_type(call, call.in(0).dtype());
          require_same_type(call, 0, 1);
          if (spatial < 1 || spatial > 3)
            fail_argument(call, "kernel " + to_string(call.ints("kernel")), "give one number per spatial axis, 1 to 3");
          require_spatial(call, 0, spatial);
          require_spatial(call, 1, spatial);
          const ConvShape s = grad_kernel_shape(call);
          require_result(call, 1, s, spatial);
          out.add(call.in(0).dtype(), shape_of(s.out_channels, s.in_channels / s.groups, s.kernel, spatial));
        },
    .prepare = prepared<decode_grad_kernel>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            kernels::conv_grad_kernel(grad_kernel_shape(call), in[0], in[1], to[0], rest, team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team_size) {
          return staged_bytes(call, out) +
                 kernels::conv_grad_kernel_scratch(grad_kernel_shape(call), size_of(out[0].dtype()), team_size);
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          reference_products(grad_kernel_shape(call), call.in(0), out[0], call.in(1), Role::kW);
        },
    .cost = [](const Call& call) { return flop_cost(grad_kernel_shape(call)); },
    .gradient =
        [](Gradient& g) {
          const ConvOptions o = conv_options_of(g.call());
          if (g.wants(0)) g.set(0, conv_grad_input(g.in(1), g.dy(), spatial_of(g.in(0).shape()), o));
          if (g.wants(1)) g.set(1, convolve(g.in(0), g.dy(), o));
        },
    .samples =
        [](Samples& s) {
          for (int spatial = 1; spatial <= 3; spatial++)
            for (const Case& c : cases(spatial)) {
              Attrs attrs;
              c.options.put(attrs.set("kernel", spatial_of(c.w)));
              s.add({s.real(c.x), s.real(result_shape(c))}, attrs);
            }
        },
    .multiplies_padding = true,
};

}  // namespace ingot
