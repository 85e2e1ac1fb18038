// Normalisation: layer and RMS norm over trailing axes, batch, group and instance norm over channels of [batch,
// channels, …]. Variances are the biased ones, taken in two passes; a NaN makes its whole set NaN.
#include "kernels/norm.h"

#include <cmath>

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "ops/define.h"

namespace ingot {
namespace {

using kernels::ChannelNorm;
using kernels::RowNorm;

// The trailing axes that a row norm runs over.
Dims row_shape(const Call& call) {
  const Tensor& x = call.in(0);
  const int64_t axes = call.integer("axes");
  if (axes < 1 || axes > x.rank())
    fail_argument(call, "axes = " + std::to_string(axes),
                  "normalise over 1 to " + std::to_string(x.rank()) + " trailing axes");
  return Dims(std::span<const int64_t>(x.shape().end() - axes, x.shape().end()));
}

RowNorm row_norm(const Call& call, bool rms) {
  const int64_t cols = element_count(row_shape(call));
  return {.rows = cols == 0 ? 0 : call.in(0).numel() / cols,
          .cols = cols,
          .eps = call.real("eps"),
          .rms = rms,
          .relu = call.attrs.find(kRelu) != nullptr};
}

RowNorm decode_layer_norm(const Call& call) { return row_norm(call, false); }
RowNorm decode_rms_norm(const Call& call) { return row_norm(call, true); }
RowNorm decode_row_norm_grad(const Call& call) { return row_norm(call, call.flag("rms")); }

// How many groups of channels share statistics: 0 if a channel has those of the whole batch.
int64_t all_channels(const Call& call) { return call.in(0).size(1); }
int64_t whole_batch(const Call&) { return 0; }
int64_t given_groups(const Call& call) { return call.integer("groups"); }

template <int64_t (*groups)(const Call&)>
ChannelNorm decode_channels(const Call& call) {
  const Tensor& x = call.in(0);
  int64_t positions = 1;
  for (int a = 2; a < x.rank(); a++) positions *= x.shape()[a];
  return {.batch = x.size(0),
          .channels = x.size(1),
          .positions = positions,
          .groups = groups(call),
          .eps = call.real("eps")};
}

void require_eps(const Call& call) {
  require_type(call, call.in(0).dtype());
  if (!(call.real("eps") >= 0)) fail_argument(call, "eps = " + std::to_string(call.real("eps")), "eps is 0 or more");
}

void require_affine(const Call& call, int i, const Dims& shape) {
  if (!call.has(i)) return;
  require_same_type(call, 0, i);
  if (!(call.in(i).shape() == shape))
    fail(call, "weight or bias is " + to_string(call.in(i).shape()), "it must be " + to_string(shape));
}

void infer_rows(const Call& call, Specs& out) {
  require_eps(call);
  const Dims shape = row_shape(call);
  for (int i = 1; i < call.count(); i++) require_affine(call, i, shape);
  out.add(call.in(0).dtype(), call.in(0).shape());
}

template <int64_t (*groups_of)(const Call&)>
void require_channels(const Call& call, int64_t least = 0) {
  require_eps(call);
  if (call.in(0).rank() < 2) fail(call, "x has no channels", "it must be [batch, channels, …]");
  const int64_t channels = call.in(0).size(1), groups = groups_of(call);
  if (groups < least || (groups > 0 && channels % groups != 0))
    fail_argument(call, std::to_string(groups) + " groups of " + std::to_string(channels) + " channels",
                  "groups must divide the channels");
  if (groups == 0 && channels > 0 && call.in(0).numel() == 0)
    fail(call, "an empty batch has no statistics", "give at least one element per channel");
}
template <int64_t (*groups_of)(const Call&)>
void infer_channels(const Call& call, Specs& out) {
  require_channels<groups_of>(call, groups_of == given_groups ? 1 : 0);
  for (int i = 1; i < call.count(); i++) require_affine(call, i, {call.in(0).size(1)});
  out.add(call.in(0).dtype(), call.in(0).shape());
}

void run_rows(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
    kernels::row_norm(call.params<RowNorm>(), in[0], in[1], in[2], to[0], team);
  });
}
void run_channels(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
    kernels::channel_norm(call.params<ChannelNorm>(), in[0], in[1], in[2], to[0], to[1], to[2], team);
  });
}
int64_t rows_of(const Call& call) { return call.params<RowNorm>().rows; }
size_t scratch_staged(const Call& call, const Tensor* out, int) { return staged_bytes(call, out); }

// A plain look at a norm: element k of x belongs to set(k) and is scaled by weight affine(k).
struct Sets {
  int64_t count, affine_count;
  bool rms;
  double eps;
  int64_t cols = 0, channels = 0, positions = 0, groups = 0;  // rows if cols > 0
  int64_t set(int64_t k) const {
    if (cols > 0) return k / cols;
    const int64_t channel = k / positions % channels, sample = k / positions / channels;
    return groups == 0 ? channel : sample * groups + channel / (channels / groups);
  }
  int64_t affine(int64_t k) const { return cols > 0 ? k % cols : k / positions % channels; }
};
Sets row_sets(const RowNorm& n) {
  return {.count = n.rows, .affine_count = n.cols, .rms = n.rms, .eps = n.eps, .cols = n.cols};
}
Sets channel_sets(const ChannelNorm& n) {
  return {.count = n.groups == 0 ? n.channels : n.batch * n.groups,
          .affine_count = n.channels,
          .rms = false,
          .eps = n.eps,
          .channels = n.channels,
          .positions = n.positions,
          .groups = n.groups};
}

// All elements, row-major, as doubles; fallback for an absent tensor.
std::vector<double> values(const Tensor& t, int64_t count, double fallback) {
  if (!t.defined()) return std::vector<double>(static_cast<size_t>(count), fallback);
  std::vector<double> all;
  for_each_index(t.shape(), [&](const Dims& i) { all.push_back(load_as_double(element_at(t, i), t.dtype())); });
  return all;
}
void store_all(const Tensor& t, const std::vector<double>& all) {
  size_t k = 0;
  for_each_index(t.shape(), [&](const Dims& i) { store_from_double(element_at(t, i), t.dtype(), all[k++]); });
}

struct Statistics {
  std::vector<double> mean, variance, count;
};
Statistics statistics(const Sets& sets, const std::vector<double>& x) {
  const std::vector<double> zero(static_cast<size_t>(sets.count), 0);
  Statistics s{zero, zero, zero};
  for (size_t k = 0; k < x.size(); k++) s.count[sets.set(k)]++, s.mean[sets.set(k)] += x[k];
  for (size_t i = 0; i < zero.size(); i++) s.mean[i] = sets.rms ? 0 : s.mean[i] / s.count[i];
  for (size_t k = 0; k < x.size(); k++) s.variance[sets.set(k)] += std::pow(x[k] - s.mean[sets.set(k)], 2);
  for (size_t i = 0; i < zero.size(); i++) s.variance[i] /= s.count[i];
  return s;
}

void reference_forward(const Call& call, const Tensor* out, const Sets& sets) {
  const std::vector<double> x = values(call.in(0), 0, 0);
  const Tensor none{};
  const std::vector<double> weight = values(call.has(1) ? call.in(1) : none, sets.affine_count, 1),
                            bias = values(call.has(2) ? call.in(2) : none, sets.affine_count, 0);
  const Statistics s = statistics(sets, x);
  std::vector<double> y;
  for (size_t k = 0; k < x.size(); k++)
    y.push_back((x[k] - s.mean[sets.set(k)]) / std::sqrt(s.variance[sets.set(k)] + sets.eps) * weight[sets.affine(k)] +
                bias[sets.affine(k)]);
  if (call.attrs.find(kRelu) != nullptr)
    for (double& v : y) v = v < 0 ? 0 : v;
  store_all(out[0], y);
  if (output_count(call.op) == 3) store_all(out[1], s.mean), store_all(out[2], s.variance);
}

void reference_backward(const Call& call, const Tensor* out, const Sets& sets) {
  const std::vector<double> x = values(call.in(0), 0, 0), dy = values(call.in(1), 0, 0);
  const std::vector<double> weight = values(call.has(2) ? call.in(2) : Tensor{}, sets.affine_count, 1);
  const Statistics s = statistics(sets, x);
  std::vector<double> dweight(weight.size(), 0), dbias(weight.size(), 0), sum_g(s.mean.size(), 0),
      sum_gx(s.mean.size(), 0), dx;
  const auto normal = [&](size_t k) {
    return (x[k] - s.mean[sets.set(k)]) / std::sqrt(s.variance[sets.set(k)] + sets.eps);
  };
  for (size_t k = 0; k < x.size(); k++) {
    dweight[sets.affine(k)] += dy[k] * normal(k);
    dbias[sets.affine(k)] += dy[k];
    sum_g[sets.set(k)] += sets.rms ? 0 : dy[k] * weight[sets.affine(k)];
    sum_gx[sets.set(k)] += dy[k] * weight[sets.affine(k)] * normal(k);
  }
  for (size_t k = 0; k < x.size(); k++) {
    const int64_t i = sets.set(k);
    dx.push_back((dy[k] * weight[sets.affine(k)] - sum_g[i] / s.count[i] - normal(k) * sum_gx[i] / s.count[i]) /
                 std::sqrt(s.variance[i] + sets.eps));
  }
  store_all(out[0], dx);
  store_all(out[1], dweight);
  store_all(out[2], dbias);
}

void require_gradient_inputs(const Call& call) {
  require_same_type(call, 0, 1);
  if (!(call.in(0).shape() == call.in(1).shape())) fail(call, "dy does not fit", "it has the shape of x");
}

void set_affine(Gradient& g, const std::array<Tensor, 3>& d) {
  if (g.wants(0)) g.set(0, d[0]);
  if (g.wants(1)) g.set(1, d[1]);
  if (g.wants(2)) g.set(2, d[2]);
}
Tensor weight_of(const Gradient& g) { return g.call().has(1) ? g.in(1) : Tensor(); }
template <int64_t (*groups_of)(const Call&)>
void gradient_channels(Gradient& g) {
  set_affine(g, channel_norm_grad(g.in(), g.dy(), weight_of(g), groups_of(g.call()), g.call().real("eps")));
}

// The eps of the samples is large: at 1e-5, sets of equal elements magnify rounding three hundred times.
void sample_rows(Samples& s, bool with_bias) {
  const auto add = [&](const Dims& shape, int64_t axes, bool affine) {
    const Dims tail(std::span<const int64_t>(shape.end() - axes, shape.end()));
    std::vector<Tensor> in{s.real(shape), affine ? s.real(tail) : Tensor()};
    if (with_bias) in.push_back(affine ? s.real(tail) : Tensor());
    s.add(std::move(in), Attrs().set("axes", axes).set("eps", 0.1));
  };
  add({1}, 1, true);
  add({5}, 1, true);
  add({3, 8}, 1, true);
  add({4, 37}, 1, false);
  add({2, 3, 5}, 2, true);
  add({2, 3, 64}, 1, true);
  add({0, 4}, 1, true);
  add({1, 2}, 1, true);
}
void sample_channels(Samples& s, std::initializer_list<int64_t> groups) {
  const auto add = [&](const Dims& shape, bool affine, int64_t group) {
    const Tensor weight = affine ? s.real({shape[1]}) : Tensor(), bias = affine ? s.real({shape[1]}) : Tensor();
    Attrs attrs;
    if (group > 0) attrs.set("groups", group);
    s.add({s.real(shape), weight, bias}, attrs.set("eps", 0.1));
  };
  for (int64_t group : groups) {
    add({2, 4, 3}, true, group);
    add({3, 4, 5, 7}, true, group);
    add({2, 4, 2, 3, 2}, false, group);
    add({1, 4, 33}, true, group);
    add({2, 0, 3}, true, group);
  }
  add({1, 1, 1}, true, *groups.begin());
}

}  // namespace

INGOT_OP(layer_norm) = {
    .name = "layer_norm",
    .signature = "layer_norm(x, weight?, bias?, axes:int=1, eps:real=1e-5)",
    .doc =
        "(x - mean) / √(variance + eps) · weight + bias over the last `axes` axes; weight and bias have their shape.",
    .family = "norm",
    .infer = infer_rows,
    .prepare = prepared<decode_layer_norm>,
    .run = run_rows,
    .scratch = scratch_staged,
    .rows = rows_of,
    .takes_relu = true,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_forward(call, out, row_sets(decode_layer_norm(call))); },
    .gradient =
        [](Gradient& g) {
          set_affine(
              g, row_norm_grad(g.in(), g.dy(), weight_of(g), g.call().integer("axes"), g.call().real("eps"), false));
        },
    .samples = [](Samples& s) { sample_rows(s, true); },
    .reorders_sums = true,
};

INGOT_OP(rms_norm) = {
    .name = "rms_norm",
    .signature = "rms_norm(x, weight?, axes:int=1, eps:real=1e-5)",
    .doc = "x / √(mean of x² + eps) · weight over the last `axes` axes; weight has their shape.",
    .family = "norm",
    .infer = infer_rows,
    .prepare = prepared<decode_rms_norm>,
    .run = run_rows,
    .scratch = scratch_staged,
    .rows = rows_of,
    .takes_relu = true,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_forward(call, out, row_sets(decode_rms_norm(call))); },
    .gradient =
        [](Gradient& g) {
          const auto d =
              row_norm_grad(g.in(), g.dy(), weight_of(g), g.call().integer("axes"), g.call().real("eps"), true);
          if (g.wants(0)) g.set(0, d[0]);
          if (g.wants(1)) g.set(1, d[1]);
        },
    .samples = [](Samples& s) { sample_rows(s, false); },
    .reorders_sums = true,
};

INGOT_OP(row_norm_grad) = {
    .name = "row_norm_grad",
    .signature = "row_norm_grad(x, dy, weight?, axes:int=1, eps:real=1e-5, rms:bool=false) -> dx, dweight, dbias",
    .doc =
        "Gradients of layer_norm, or of rms_norm with `rms`, for x, weight and bias; the statistics are taken again.",
    .family = "norm",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_eps(call);
          require_gradient_inputs(call);
          require_affine(call, 2, row_shape(call));
          out.add(call.in(0).dtype(), call.in(0).shape());
          out.add(call.in(0).dtype(), row_shape(call));
          out.add(call.in(0).dtype(), row_shape(call));
        },
    .prepare = prepared<decode_row_norm_grad>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            kernels::row_norm_grad(call.params<RowNorm>(), in[0], in[2], in[1], to[0], to[1], to[2], rest, team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int) {
          return staged_bytes(call, out) +
                 kernels::row_norm_grad_scratch(call.params<RowNorm>(), size_of(out[0].dtype()));
        },
    .reference = [](const Call& call,
                    const Tensor* out) { reference_backward(call, out, row_sets(decode_row_norm_grad(call))); },
    .not_differentiable =
        "it is fused for speed; for second derivatives compose the norm from mean, var and arithmetic",
    .samples =
        [](Samples& s) {
          for (bool rms : {false, true}) {
            const auto attrs = [&](int64_t axes) { return Attrs().set("axes", axes).set("eps", 0.1).set("rms", rms); };
            s.add({s.real({1}), s.real({1}), s.real({1})}, attrs(1));
            s.add({s.real({1, 2}), s.real({1, 2}), s.real({2})}, attrs(1));
            s.add({s.real({5, 37}), s.real({5, 37}), s.real({37})}, attrs(1));
            s.add({s.real({2, 3, 4}), s.real({2, 3, 4}), Tensor()}, attrs(2));
            s.add({s.real({0, 4}), s.real({0, 4}), s.real({4})}, attrs(1));
          }
        },
    .reorders_sums = true,
};

INGOT_OP(group_norm) = {
    .name = "group_norm",
    .signature = "group_norm(x, weight?, bias?, groups:int=1, eps:real=1e-5)",
    .doc = "Normalises x [n, c, …] over each of `groups` groups of channels of a sample; weight and bias are [c].",
    .family = "norm",
    .infer = infer_channels<given_groups>,
    .prepare = prepared<decode_channels<given_groups>>,
    .run = run_channels,
    .scratch = scratch_staged,
    .reference =
        [](const Call& call, const Tensor* out) {
          reference_forward(call, out, channel_sets(decode_channels<given_groups>(call)));
        },
    .gradient = gradient_channels<given_groups>,
    .samples =
        [](Samples& s) {
          sample_channels(s, {1, 2});
        },
    .reorders_sums = true,
};

INGOT_OP(instance_norm) = {
    .name = "instance_norm",
    .signature = "instance_norm(x, weight?, bias?, eps:real=1e-5)",
    .doc = "Normalises x [n, c, …] over each channel of each sample; weight and bias are [c].",
    .family = "norm",
    .infer = infer_channels<all_channels>,
    .prepare = prepared<decode_channels<all_channels>>,
    .run = run_channels,
    .scratch = scratch_staged,
    .reference =
        [](const Call& call, const Tensor* out) {
          reference_forward(call, out, channel_sets(decode_channels<all_channels>(call)));
        },
    .gradient = gradient_channels<all_channels>,
    .samples = [](Samples& s) { sample_channels(s, {0}); },
    .reorders_sums = true,
};

INGOT_OP(batch_norm) = {
    .name = "batch_norm",
    .signature = "batch_norm(x, weight?, bias?, eps:real=1e-5) -> y, mean, variance",
    .doc =
        "Normalises x [n, c, …] over each channel of the batch; also gives the batch's mean and (biased) variance, "
        "[c].",
    .family = "norm",
    .infer =
        [](const Call& call, Specs& out) {
          infer_channels<whole_batch>(call, out);
          out.add(call.in(0).dtype(), {call.in(0).size(1)});
          out.add(call.in(0).dtype(), {call.in(0).size(1)});
        },
    .prepare = prepared<decode_channels<whole_batch>>,
    .run = run_channels,
    .scratch = scratch_staged,
    .reference =
        [](const Call& call, const Tensor* out) {
          reference_forward(call, out, channel_sets(decode_channels<whole_batch>(call)));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor& x = g.in();
          std::array<Tensor, 3> d = channel_norm_grad(x, g.dy(), weight_of(g), 0, g.call().real("eps"));
          const double n = static_cast<double>(x.numel()) / static_cast<double>(x.size(1));
          Dims per_channel{1, x.size(1)};
          for (int a = 2; a < x.rank(); a++) per_channel.push_back(1);
          const auto spread = [&](const Tensor& t) { return reshape(contiguous(t), per_channel); };
          if (g.has_dy(1)) d[0] = add(d[0], spread(multiply(g.dy(1), 1 / n)));
          if (g.has_dy(2)) d[0] = add(d[0], multiply(subtract(x, spread(g.out(1))), spread(multiply(g.dy(2), 2 / n))));
          set_affine(g, d);
        },
    .samples = [](Samples& s) { sample_channels(s, {0}); },
    .reorders_sums = true,
};

INGOT_OP(channel_norm_grad) = {
    .name = "channel_norm_grad",
    .signature = "channel_norm_grad(x, dy, weight?, groups:int=0, eps:real=1e-5) -> dx, dweight, dbias",
    .doc =
        "Gradients of group_norm, instance_norm (groups = channels) or batch_norm (groups = 0) for x, weight and bias.",
    .family = "norm",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_channels<given_groups>(call);
          require_gradient_inputs(call);
          require_affine(call, 2, {call.in(0).size(1)});
          out.add(call.in(0).dtype(), call.in(0).shape());
          out.add(call.in(0).dtype(), {call.in(0).size(1)});
          out.add(call.in(0).dtype(), {call.in(0).size(1)});
        },
    .prepare = prepared<decode_channels<given_groups>>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            kernels::channel_norm_grad(call.params<ChannelNorm>(), in[0], in[2], in[1], to[0], to[1], to[2], rest,
                                       team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int) {
          return staged_bytes(call, out) +
                 kernels::channel_norm_grad_scratch(call.params<ChannelNorm>(), size_of(out[0].dtype()));
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          reference_backward(call, out, channel_sets(decode_channels<given_groups>(call)));
        },
    .not_differentiable =
        "it is fused for speed; for second derivatives compose the norm from mean, var and arithmetic",
    .samples =
        [](Samples& s) {
          for (int64_t groups : {0, 1, 2, 4}) {
            const Attrs attrs = Attrs().set("groups", groups).set("eps", 0.1);
            s.add({s.real({2, 4, 3}), s.real({2, 4, 3}), s.real({4})}, attrs);
            s.add({s.real({3, 4, 5, 7}), s.real({3, 4, 5, 7}), Tensor()}, attrs);
            if (groups > 0) s.add({s.real({0, 4, 3}), s.real({0, 4, 3}), s.real({4})}, attrs);
            if (groups == 1) s.add({s.real({1, 1, 1}), s.real({1, 1, 1}), s.real({1})}, attrs);
          }
        },
    .reorders_sums = true,
};

}  // namespace ingot
