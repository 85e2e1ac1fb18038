// Softmax along one axis, its logarithm, and the fused cross-entropy of logits with class labels. All shift by the
// maximum, so nothing overflows; a row with a NaN or +∞, or of nothing but -∞, is NaN.
#include "kernels/softmax.h"

#include <cmath>

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "ops/define.h"
#include "ops/rules.h"

namespace ingot {
namespace {

using kernels::AxisLayout;

int decode_axis(const Call& call) { return normalize_axis(call.op.name, call.integer("axis"), call.in(0).rank()); }
int axis_of(const Call& call) { return decoded<decode_axis>(call); }

AxisLayout layout_of(const Call& call, const Tensor& out) {
  const int axis = axis_of(call);
  AxisLayout layout;
  layout.length = out.shape()[axis];
  for (int a = 0; a < out.rank(); a++)
    if (a != axis) layout.outer[layout.outer_rank++] = out.shape()[a];
  for (int k = 0; k <= call.count(); k++) {  // the inputs, then the result
    const Tensor& t = k < call.count() ? call.in(k) : out;
    layout.operand[k].axis = t.strides()[axis];
    for (int a = 0, o = 0; a < out.rank(); a++)
      if (a != axis) layout.operand[k].outer[o++] = t.strides()[a];
  }
  return layout;
}

// Rows are shared out in memory order if the axis is the last one.
int64_t rows_of(const Call& call) {
  const Tensor& x = call.in(0);
  return axis_of(call) == x.rank() - 1 && x.shape().back() > 0 ? x.numel() / x.shape().back() : 0;
}

void infer_axis(const Call& call, Specs& out) {
  require_type(call, call.in(0).dtype());
  if (call.in(0).rank() == 0) fail(call, "a scalar has no axis", "give at least one axis");
  axis_of(call);
  if (call.count() == 2) {
    require_same_type(call, 0, 1);
    if (!(call.in(0).shape() == call.in(1).shape())) fail(call, "shapes differ", "y and dy have one shape");
  }
  out.add(call.in(0).dtype(), call.in(0).shape());
}

template <bool kLog>
void run_forward(const Call& call, const Tensor* out, void*, const Team& team) {
  const AxisLayout layout = layout_of(call, out[0]);
  if (out[0].dtype() == kF32)
    kernels::softmax(layout, kLog, static_cast<const float*>(call.in(0).raw()), static_cast<float*>(out[0].raw()),
                     team);
  else
    kernels::softmax(layout, kLog, static_cast<const double*>(call.in(0).raw()), static_cast<double*>(out[0].raw()),
                     team);
}

template <bool kLog>
void run_gradient(const Call& call, const Tensor* out, void*, const Team& team) {
  const AxisLayout layout = layout_of(call, out[0]);
  if (out[0].dtype() == kF32)
    kernels::softmax_grad(layout, kLog, static_cast<const float*>(call.in(0).raw()),
                          static_cast<const float*>(call.in(1).raw()), static_cast<float*>(out[0].raw()), team);
  else
    kernels::softmax_grad(layout, kLog, static_cast<const double*>(call.in(0).raw()),
                          static_cast<const double*>(call.in(1).raw()), static_cast<double*>(out[0].raw()), team);
}

// Calls f(index) for the first element of every line along the axis.
template <class F>
void for_each_line(const Call& call, F f) {
  Dims others = call.in(0).shape();
  if (others[axis_of(call)] == 0) return;
  others[axis_of(call)] = 1;
  for_each_index(others, f);
}
double value(const Tensor& t, Dims index, int axis, int64_t k) {
  index[axis] = k;
  return load_as_double(element_at(t, index), t.dtype());
}
void store(const Tensor& t, Dims index, int axis, int64_t k, double v) {
  index[axis] = k;
  store_from_double(element_at(t, index), t.dtype(), v);
}

template <bool kLog>
void reference_forward(const Call& call, const Tensor* out) {
  const int axis = axis_of(call);
  const int64_t n = out[0].shape()[axis];
  for_each_line(call, [&](const Dims& line) {
    double largest = -INFINITY, total = 0;
    for (int64_t k = 0; k < n; k++) largest = std::fmax(largest, value(call.in(0), line, axis, k));
    for (int64_t k = 0; k < n; k++) total += std::exp(value(call.in(0), line, axis, k) - largest);
    std::vector<double> results;  // all first: the result may stand where the input does
    for (int64_t k = 0; k < n; k++) {
      const double x = value(call.in(0), line, axis, k) - largest;
      results.push_back(kLog ? x - std::log(total) : std::exp(x) / total);
    }
    for (int64_t k = 0; k < n; k++) store(out[0], line, axis, k, results[static_cast<size_t>(k)]);
  });
}

template <bool kLog>
void reference_gradient(const Call& call, const Tensor* out) {
  const int axis = axis_of(call);
  const int64_t n = out[0].shape()[axis];
  const Tensor &y = call.in(0), &dy = call.in(1);
  for_each_line(call, [&](const Dims& line) {
    double total = 0;
    for (int64_t k = 0; k < n; k++) total += value(dy, line, axis, k) * (kLog ? 1 : value(y, line, axis, k));
    for (int64_t k = 0; k < n; k++) {
      const double yk = value(y, line, axis, k), dyk = value(dy, line, axis, k);
      store(out[0], line, axis, k, kLog ? dyk - std::exp(yk) * total : yk * (dyk - total));
    }
  });
}

void sample_lines(Samples& s, int inputs) {
  const auto add = [&](const Dims& shape, int64_t axis) {
    std::vector<Tensor> operands;
    for (int i = 0; i < inputs; i++) operands.push_back(s.real(shape));
    s.add(std::move(operands), Attrs().set("axis", axis));
  };
  add({1}, 0);
  add({7}, -1);
  add({3, 5}, -1);
  add({3, 37}, 1);
  add({37, 5}, 0);
  add({2, 5, 20}, 1);
  add({0, 4}, 1);
  add({4, 0}, 1);
}

// Logits and labels of the cross-entropy.
void infer_labelled(const Call& call) {
  require_type(call, call.in(0).dtype());
  require_rank(call, 0, 2, "[rows, classes]");
  require_indices(call, 1);
  if (call.in(1).rank() != 1 || call.in(1).size(0) != call.in(0).size(0))
    fail(call, "labels do not fit", "give one label per row, [rows]");
  if (call.in(0).size(1) == 0) fail(call, "no classes", "logits are [rows, classes]");
}
void check_labels(const Call& call) { require_index_range(call, 1, INT64_MIN, call.in(0).size(1)); }

// Calls f(logits, labels) with contiguous memory of the right types.
template <class F>
void with_labels(const Call& call, void*& scratch, const Team& team, F f) {
  const void *logits = stage_in(call.in(0), scratch, team), *labels = stage_in(call.in(1), scratch, team);
  if (staging_bytes(call.in(0)) + staging_bytes(call.in(1)) > 0) team.barrier();
  const auto typed = [&](auto* x) {
    if (call.in(1).dtype() == kI32)
      f(x, static_cast<const int32_t*>(labels));
    else
      f(x, static_cast<const int64_t*>(labels));
  };
  call.in(0).dtype() == kF32 ? typed(static_cast<const float*>(logits)) : typed(static_cast<const double*>(logits));
}

// The largest element of row r, and Σ exp(x - largest).
std::pair<double, double> shifted_sum(const Tensor& x, int64_t r) {
  double largest = -INFINITY, total = 0;
  for (int64_t c = 0; c < x.size(1); c++) largest = std::fmax(largest, value(x, {r, 0}, 1, c));
  for (int64_t c = 0; c < x.size(1); c++) total += std::exp(value(x, {r, 0}, 1, c) - largest);
  return {largest, total};
}

void reference_loss(const Call& call, const Tensor& loss) {
  const Tensor& x = call.in(0);
  for (int64_t r = 0; r < x.size(0); r++) {
    const int64_t label = index_at(call.in(1), r);
    const auto [largest, total] = shifted_sum(x, r);
    store(loss, {0}, 0, r, label < 0 ? 0 : largest + std::log(total) - value(x, {r, 0}, 1, label));
  }
}

constexpr const char* kFused = "it is fused for speed; for second derivatives compose log_softmax and gather";

void infer_labelled_gradient(const Call& call) {
  infer_labelled(call);
  require_same_type(call, 0, 2);
  if (call.in(2).rank() != 1 || call.in(2).size(0) != call.in(0).size(0))
    fail(call, "dloss does not fit", "give one number per row, [rows]");
}

void run_labelled_gradient(const Call& call, const Tensor* loss, const Tensor& gradient, void* scratch,
                           const Team& team) {
  const int64_t rows = call.in(0).size(0), classes = call.in(0).size(1), step = call.in(2).strides()[0];
  void *to = stage_out(gradient, scratch), *losses = loss == nullptr ? nullptr : stage_out(*loss, scratch);
  with_labels(call, scratch, team, [&](auto* logits, auto* labels) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(logits)>>;
    kernels::softmax_cross_entropy_grad(rows, classes, logits, classes, labels, static_cast<const T*>(call.in(2).raw()),
                                        step, static_cast<T*>(to), classes, static_cast<T*>(losses), team);
  });
  unstage(gradient, to, team);
  if (loss != nullptr) unstage(*loss, losses, team);
}

void reference_labelled_gradient(const Call& call, const Tensor& gradient) {
  const Tensor& x = call.in(0);
  for (int64_t r = 0; r < x.size(0); r++) {
    const int64_t label = index_at(call.in(1), r);
    const auto [largest, total] = shifted_sum(x, r);
    const double scale = value(call.in(2), {0}, 0, r);
    for (int64_t c = 0; c < x.size(1); c++) {
      const double p = std::exp(value(x, {r, 0}, 1, c) - largest) / total;
      store(gradient, {r, 0}, 1, c, label < 0 ? 0 : (p - (c == label ? 1 : 0)) * scale);
    }
  }
}

void sample_labelled_gradient(Samples& s) {
  s.add({s.real({1, 1}), s.indices({1}, 0, 1), s.real({1})});
  s.add({s.real({5, 10}), s.indices({5}, 0, 10), s.real({5})});
  s.add({s.real({6, 33}), s.indices({6}, -2, 33, kI32), s.real({6})});
  s.add({s.real({0, 4}), s.indices({0}, 0, 4), s.real({0})});
}

}  // namespace

INGOT_OP(softmax) = {
    .name = "softmax",
    .signature = "softmax(x, axis:int=-1)",
    .doc = "eˣ / Σ eˣ along `axis`.",
    .family = "softmax",
    .infer = infer_axis,
    .prepare = prepared<decode_axis>,
    .run = run_forward<false>,
    .rows = rows_of,
    .reference = reference_forward<false>,
    .gradient = [](Gradient& g) { g.set(0, softmax_grad(g.out(), g.dy(), g.call().integer("axis"))); },
    .samples = [](Samples& s) { sample_lines(s, 1); },
};

INGOT_OP(softmax_grad) = {
    .name = "softmax_grad",
    .signature = "softmax_grad(y, dy, axis:int=-1)",
    .doc = "Gradient of softmax from its result y: y · (dy - Σ dy·y) along `axis`.",
    .family = "softmax",
    .plumbing = true,
    .infer = infer_axis,
    .prepare = prepared<decode_axis>,
    .run = run_gradient<false>,
    .rows = rows_of,
    .reference = reference_gradient<false>,
    .gradient =
        [](Gradient& g) {
          const int64_t axis = g.call().integer("axis");
          const Tensor &y = g.in(0), &dy = g.in(1), u = g.dy();
          if (g.wants(0)) {
            const Tensor inner = subtract(dy, sum(multiply(dy, y), {axis}, true));
            g.set(0, subtract(multiply(u, inner), multiply(dy, sum(multiply(u, y), {axis}, true))));
          }
          if (g.wants(1)) g.set(1, softmax_grad(y, u, axis));
        },
    .samples = [](Samples& s) { sample_lines(s, 2); },
};

INGOT_OP(log_softmax) = {
    .name = "log_softmax",
    .signature = "log_softmax(x, axis:int=-1)",
    .doc = "x - log Σ eˣ along `axis`.",
    .family = "softmax",
    .infer = infer_axis,
    .prepare = prepared<decode_axis>,
    .run = run_forward<true>,
    .rows = rows_of,
    .reference = reference_forward<true>,
    .gradient = [](Gradient& g) { g.set(0, log_softmax_grad(g.out(), g.dy(), g.call().integer("axis"))); },
    .samples = [](Samples& s) { sample_lines(s, 1); },
};

INGOT_OP(log_softmax_grad) = {
    .name = "log_softmax_grad",
    .signature = "log_softmax_grad(y, dy, axis:int=-1)",
    .doc = "Gradient of log_softmax from its result y: dy - e^y · Σ dy along `axis`.",
    .family = "softmax",
    .plumbing = true,
    .infer = infer_axis,
    .prepare = prepared<decode_axis>,
    .run = run_gradient<true>,
    .rows = rows_of,
    .reference = reference_gradient<true>,
    .gradient =
        [](Gradient& g) {
          const int64_t axis = g.call().integer("axis");
          const Tensor p = exp(g.in(0)), u = g.dy();
          if (g.wants(0)) g.set(0, negative(multiply(multiply(u, p), sum(g.in(1), {axis}, true))));
          if (g.wants(1)) g.set(1, subtract(u, sum(multiply(u, p), {axis}, true)));
        },
    .samples = [](Samples& s) { sample_lines(s, 2); },
};

extern const Op op_softmax_cross_entropy_grad;

// The pass `cross_entropy`: the loss and its gradient on the same logits are one op, where the loss was computed.
static bool pair_with_gradient(Rewrite& r) {
  if (r.pass() != "cross_entropy") return false;
  for (const Site g : r.readers(r.in(0))) {
    if (!r.is(g, op_softmax_cross_entropy_grad) || r.is_store(g) || !r.wait_alike(r.site(), g)) continue;
    if (!r.same(r.in(g, 0), r.in(0)) || !r.same(r.in(g, 1), r.in(1))) continue;
    // The gradient comes later; what scales it must be there already.
    if (!r.is_ready(r.out(), g) || !r.is_ready(r.in(g, 2), r.site())) continue;
    const Tensor gradient = r.out(g, 0);
    const auto pair = softmax_cross_entropy_with_grad(r.in(0), r.in(1), r.in(g, 2));
    r.replace(pair[0]);
    r.replace(gradient, pair[1]);
    return true;
  }
  return false;
}

INGOT_OP(softmax_cross_entropy) = {
    .name = "softmax_cross_entropy",
    .signature = "softmax_cross_entropy(logits, labels)",
    .doc =
        "log Σ eˣ - x[label] for every row of logits [rows, classes] with labels [rows] (i32 or i64), to [rows]; a "
        "negative label gives 0.",
    .family = "softmax",
    .infer =
        [](const Call& call, Specs& out) {
          infer_labelled(call);
          out.add(call.in(0).dtype(), {call.in(0).size(0)});
        },
    .check = check_labels,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          const int64_t rows = call.in(0).size(0), classes = call.in(0).size(1);
          void* loss = stage_out(out[0], scratch);
          with_labels(call, scratch, team, [&](auto* logits, auto* labels) {
            using T = std::remove_const_t<std::remove_pointer_t<decltype(logits)>>;
            kernels::softmax_cross_entropy(rows, classes, logits, classes, labels, static_cast<T*>(loss), team);
          });
          unstage(out[0], loss, team);
        },
    .scratch = [](const Call& call, const Tensor* out,
                  int) { return staging_bytes(out[0]) + staging_bytes(call.in(0)) + staging_bytes(call.in(1)); },
    .rows = [](const Call& call) { return call.in(0).size(0); },
    .reference = [](const Call& call, const Tensor* out) { reference_loss(call, out[0]); },
    .simplify = pair_with_gradient,
    .gradient = [](Gradient& g) { g.set(0, softmax_cross_entropy_grad(g.in(0), g.in(1), g.dy())); },
    .samples =
        [](Samples& s) {
          s.add({s.real({1, 1}), s.indices({1}, 0, 1)});
          s.add({s.real({5, 10}), s.indices({5}, 0, 10)});
          s.add({s.real({6, 33}), s.indices({6}, -2, 33, kI32)});
          s.add({s.real({0, 4}), s.indices({0}, 0, 4)});
        },
};

INGOT_OP(softmax_cross_entropy_grad) = {
    .name = "softmax_cross_entropy_grad",
    .signature = "softmax_cross_entropy_grad(logits, labels, dloss)",
    .doc = "Gradient of softmax_cross_entropy: (softmax(x) - onehot(label)) · dloss per row, to [rows, classes].",
    .family = "softmax",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          infer_labelled_gradient(call);
          out.add(call.in(0).dtype(), call.in(0).shape());
        },
    .check = check_labels,
    .run = [](const Call& call, const Tensor* out, void* scratch,
              const Team& team) { run_labelled_gradient(call, nullptr, out[0], scratch, team); },
    .scratch = [](const Call& call, const Tensor* out,
                  int) { return staging_bytes(out[0]) + staging_bytes(call.in(0)) + staging_bytes(call.in(1)); },
    .rows = [](const Call& call) { return call.in(0).size(0); },
    .reference = [](const Call& call, const Tensor* out) { reference_labelled_gradient(call, out[0]); },
    .not_differentiable = kFused,
    .samples = sample_labelled_gradient,
};

INGOT_OP(softmax_cross_entropy_with_grad) = {
    .name = "softmax_cross_entropy_with_grad",
    .signature = "softmax_cross_entropy_with_grad(logits, labels, dloss) -> loss, dlogits",
    .doc = "softmax_cross_entropy and its gradient in one pass: what a plan makes of the two.",
    .family = "softmax",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          infer_labelled_gradient(call);
          out.add(call.in(0).dtype(), {call.in(0).size(0)});
          out.add(call.in(0).dtype(), call.in(0).shape());
        },
    .check = check_labels,
    .run = [](const Call& call, const Tensor* out, void* scratch,
              const Team& team) { run_labelled_gradient(call, &out[0], out[1], scratch, team); },
    .scratch =
        [](const Call& call, const Tensor* out, int) {
          return staging_bytes(out[0]) + staging_bytes(out[1]) + staging_bytes(call.in(0)) + staging_bytes(call.in(1));
        },
    .rows = [](const Call& call) { return call.in(0).size(0); },
    .reference =
        [](const Call& call, const Tensor* out) {
          reference_loss(call, out[0]);
          reference_labelled_gradient(call, out[1]);
        },
    .not_differentiable = kFused,
    .samples = sample_labelled_gradient,
};

}  // namespace ingot
