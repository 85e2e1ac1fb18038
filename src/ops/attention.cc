// Scaled dot-product attention of many heads, fused: nothing of the size queries × keys reaches memory, and the
// gradient computes the scores again from the saved logarithm of their sums. Heads stand side by side in a row, as
// projections leave them, so nothing is permuted.
#include "kernels/attention.h"

#include <cmath>
#include <limits>

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "ops/define.h"

namespace ingot {
extern const Op op_self_attention, op_self_attention_grad;

namespace {

using kernels::Attention;
using kernels::HeadRows;

constexpr const char* kFused = "it is fused for speed; for second derivatives compose matmul and softmax";

// Inputs 0, 1 and 2 of an op are q, k and v, or input 0 is all three side by side.
bool is_packed(const Call& call) { return &call.op == &op_self_attention || &call.op == &op_self_attention_grad; }

Attention decode_attention(const Call& call) {
  const Tensor &q = call.in(0), &k = call.in(is_packed(call) ? 0 : 1);
  const int64_t heads = call.integer("heads"), width = q.size(2) / (is_packed(call) ? 3 : 1);
  const int64_t depth = heads > 0 ? width / heads : 0;
  const double scale = call.real("scale");
  return {.batch = q.size(0),
          .heads = heads,
          .queries = q.size(1),
          .keys = k.size(1),
          .depth = depth,
          .scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(depth)),
          .causal = call.flag("causal")};
}

Attention attention_of(const Call& call) { return decoded<decode_attention>(call); }

Attention require_attention(const Call& call) {
  require_type(call, call.in(0).dtype());
  require_rank(call, 0, 3, is_packed(call) ? "[batch, length, 3 · heads · depth]" : "[batch, length, heads · depth]");
  const Tensor& q = call.in(0);
  const int64_t heads = call.integer("heads"), parts = is_packed(call) ? 3 : 1;
  if (heads < 1 || q.size(2) % parts != 0 || q.size(2) / parts % heads != 0)
    fail_argument(
        call, std::to_string(heads) + " heads in " + std::to_string(q.size(2)) + " columns",
        is_packed(call) ? "q, k and v have one width each that the heads divide" : "the heads must divide the columns");
  if (!is_packed(call)) {
    for (int i : {1, 2}) {
      require_same_type(call, 0, i);
      const Dims shape{q.size(0), call.in(1).rank() == 3 ? call.in(1).size(1) : 0, q.size(2)};
      if (!(call.in(i).shape() == shape))
        fail(call, "keys and values do not fit", "k and v are [batch, keys, columns of q]");
    }
  }
  const Attention a = attention_of(call);
  if (a.batch > 0 && a.queries > 0 && a.keys == 0) fail(call, "no keys", "give at least one key and value");
  if (a.causal && a.keys < a.queries)
    fail(call, std::to_string(a.queries) + " queries, " + std::to_string(a.keys) + " keys",
         "causal attention needs as many keys as queries, or more: the last query sees the last key");
  return a;
}

void require_shape(const Call& call, int i, const Dims& shape, const char* what) {
  if (!call.has(i)) return;
  require_same_type(call, 0, i);
  if (!(call.in(i).shape() == shape))
    fail(call, std::string(what) + " is " + to_string(call.in(i).shape()), "it must be " + to_string(shape));
}

// The inputs of a gradient behind q, k, v: y, lse, dy, dlse?.
Attention require_gradient(const Call& call) {
  const Attention a = require_attention(call);
  const Dims rows{a.batch, a.queries, a.heads * a.depth}, sums{a.batch, a.heads, a.queries};
  const int first = is_packed(call) ? 1 : 3;
  require_shape(call, first, rows, "y");
  require_shape(call, first + 1, sums, "lse");
  require_shape(call, first + 2, rows, "dy");
  require_shape(call, first + 3, sums, "dlse");
  return a;
}

// Any strides between rows will do; only rows that are not contiguous themselves are staged.
bool has_rows(const Tensor& t) { return !t.defined() || t.is_contiguous() || (t.rank() == 3 && t.strides()[2] == 1); }
size_t rows_bytes(const Tensor& t) { return has_rows(t) ? 0 : staging_bytes(t); }

template <class T>
HeadRows<const T> rows_in(const Tensor& t, void*& scratch, const Team& team) {
  if (has_rows(t)) return {static_cast<const T*>(t.raw()), t.strides()[0], t.strides()[1]};
  return {stage_in<T>(t, scratch, team), t.size(1) * t.size(2), t.size(2)};
}
template <class T>
HeadRows<T> rows_out(const Tensor& t, void* staged) {
  return {static_cast<T*>(staged), t.size(1) * t.size(2), t.size(2)};
}

size_t scratch_of(const Call& call, const Tensor* out, int team_size) {
  size_t bytes = kernels::attention_scratch(attention_of(call), size_of(out[0].dtype()), team_size);
  for (int i = 0; i < call.count(); i++)
    bytes += call.in(i).defined() && is_packed(call) && i == 0 ? rows_bytes(call.in(i)) : staging_bytes(call.in(i));
  for (int i = 0; i < output_count(call.op); i++) bytes += staging_bytes(out[i]);
  return bytes;
}

// A part of `columns` columns of packed rows.
template <class T>
HeadRows<T> part(HeadRows<T> all, int64_t columns, int64_t index) {
  all.data += index * columns;
  return all;
}

template <class T>
void run_typed(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  const Attention a = attention_of(call);
  const bool gradient = output_count(call.op) == (is_packed(call) ? 1 : 3);
  const int64_t width = a.heads * a.depth;
  HeadRows<const T> q = rows_in<T>(call.in(0), scratch, team), k, v;
  if (is_packed(call)) {
    k = part(q, width, 1), v = part(q, width, 2);
  } else {
    k = rows_in<T>(call.in(1), scratch, team), v = rows_in<T>(call.in(2), scratch, team);
  }
  void* to[kMaxOutputs] = {};
  const int results = output_count(call.op), first = is_packed(call) ? 1 : 3;
  for (int i = 0; i < results; i++) to[i] = stage_out(out[i], scratch);
  if (!gradient) {
    team.barrier();
    kernels::attention<T>(a, q, k, v, rows_out<T>(out[0], to[0]), static_cast<T*>(to[1]), scratch, team);
  } else {
    const HeadRows<const T> y = rows_in<T>(call.in(first), scratch, team),
                            dy = rows_in<T>(call.in(first + 2), scratch, team);
    const T* lse = stage_in<T>(call.in(first + 1), scratch, team);
    const T* dlse = call.has(first + 3) ? stage_in<T>(call.in(first + 3), scratch, team) : nullptr;
    team.barrier();
    const HeadRows<T> d = rows_out<T>(out[0], to[0]);
    if (is_packed(call)) {
      kernels::attention_grad<T>(a, q, k, v, y, dy, lse, dlse, d, part(d, width, 1), part(d, width, 2), scratch, team);
    } else {
      kernels::attention_grad<T>(a, q, k, v, y, dy, lse, dlse, d, rows_out<T>(out[1], to[1]),
                                 rows_out<T>(out[2], to[2]), scratch, team);
    }
  }
  for (int i = 0; i < results; i++) unstage(out[i], to[i], team);
}

void run(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  out[0].dtype() == kF32 ? run_typed<float>(call, out, scratch, team) : run_typed<double>(call, out, scratch, team);
}

// At about 40 GFLOP/s.
template <int kProducts>
double cost_of(const Call& call) {
  const Attention a = attention_of(call);
  return static_cast<double>(a.batch * a.heads * a.queries * a.keys) *
         (kProducts * 2 * static_cast<double>(a.depth) / 40 + 0.5);
}

// The plain loops: element c of head h of row t, from q, k or v (part 0, 1, 2) of a call.
double element(const Call& call, const Attention& a, int which, const Dims& row, int64_t h, int64_t c) {
  const Tensor& x = call.in(is_packed(call) ? 0 : which);
  const int64_t column = (is_packed(call) ? which * a.heads * a.depth : 0) + h * a.depth + c;
  return load_as_double(element_at(x, {row[0], row[1], column}), x.dtype());
}
double value(const Tensor& t, const Dims& index) { return load_as_double(element_at(t, index), t.dtype()); }

// Calls f(b, h, i, scores) for every row of scores, of the keys that are seen.
template <class F>
void for_each_row(const Call& call, const Attention& a, F f) {
  for (int64_t b = 0; b < a.batch; b++)
    for (int64_t h = 0; h < a.heads; h++)
      for (int64_t i = 0; i < a.queries; i++) {
        std::vector<double> scores;
        for (int64_t j = 0; j < (a.causal ? i + 1 + a.keys - a.queries : a.keys); j++) {
          double sum = 0;
          for (int64_t c = 0; c < a.depth; c++)
            sum += element(call, a, 0, {b, i}, h, c) * element(call, a, 1, {b, j}, h, c);
          scores.push_back(sum * a.scale);
        }
        f(b, h, i, scores);
      }
}

void reference_forward(const Call& call, const Tensor* out) {
  const Attention a = attention_of(call);
  for_each_row(call, a, [&](int64_t b, int64_t h, int64_t i, const std::vector<double>& scores) {
    double largest = std::numeric_limits<double>::lowest(), total = 0;
    for (double s : scores) largest = std::fmax(largest, s);
    for (double s : scores) total += std::exp(s - largest);
    for (int64_t c = 0; c < a.depth; c++) {
      double sum = 0;
      for (size_t j = 0; j < scores.size(); j++)
        sum += std::exp(scores[j] - largest) * element(call, a, 2, {b, static_cast<int64_t>(j)}, h, c);
      store_from_double(element_at(out[0], {b, i, h * a.depth + c}), out[0].dtype(), sum / total);
    }
    store_from_double(element_at(out[1], {b, h, i}), out[1].dtype(), largest + std::log(total));
  });
}

void reference_backward(const Call& call, const Tensor* out) {
  const Attention a = attention_of(call);
  const int first = is_packed(call) ? 1 : 3;
  const Tensor &y = call.in(first), &lse = call.in(first + 1), &dy = call.in(first + 2);
  const int64_t width = a.heads * a.depth;
  std::vector<double> d[3];
  for (int part = 0; part < 3; part++)
    d[part].resize(static_cast<size_t>(a.batch * std::max(a.queries, a.keys) * width));
  const auto slope = [&](int part, int64_t b, int64_t t, int64_t h, int64_t c) -> double& {
    return d[part][static_cast<size_t>((b * (part == 0 ? a.queries : a.keys) + t) * width + h * a.depth + c)];
  };
  for_each_row(call, a, [&](int64_t b, int64_t h, int64_t i, const std::vector<double>& scores) {
    double shift = call.has(first + 3) ? -value(call.in(first + 3), {b, h, i}) : 0;
    for (int64_t c = 0; c < a.depth; c++)
      shift += value(y, {b, i, h * a.depth + c}) * value(dy, {b, i, h * a.depth + c});
    for (int64_t j = 0; j < static_cast<int64_t>(scores.size()); j++) {
      const double p = std::exp(scores[static_cast<size_t>(j)] - value(lse, {b, h, i}));
      double dp = 0;
      for (int64_t c = 0; c < a.depth; c++) {
        const double dyc = value(dy, {b, i, h * a.depth + c});
        dp += dyc * element(call, a, 2, {b, j}, h, c);
        slope(2, b, j, h, c) += p * dyc;
      }
      const double ds = p * (dp - shift) * a.scale;
      for (int64_t c = 0; c < a.depth; c++) {
        slope(0, b, i, h, c) += ds * element(call, a, 1, {b, j}, h, c);
        slope(1, b, j, h, c) += ds * element(call, a, 0, {b, i}, h, c);
      }
    }
  });
  for (int part = 0; part < 3; part++) {
    const Tensor& to = out[is_packed(call) ? 0 : part];
    const Dims shape{a.batch, part == 0 ? a.queries : a.keys, a.heads, a.depth};
    for_each_index(shape, [&](const Dims& at) {
      const int64_t column = (is_packed(call) ? part * width : 0) + at[2] * a.depth + at[3];
      store_from_double(element_at(to, {at[0], at[1], column}), to.dtype(), slope(part, at[0], at[1], at[2], at[3]));
    });
  }
}

Tensor given_dy(const Gradient& g, int i) { return g.has_dy(i) ? g.dy(i) : Tensor(); }

// Batch, queries, keys, heads and depth.
struct Size {
  int64_t batch, queries, keys, heads, depth;
  bool causal;
};
constexpr Size kSizes[] = {{1, 1, 1, 1, 1, false},  {2, 3, 3, 2, 5, true},    {2, 4, 7, 1, 8, true},
                           {1, 9, 5, 3, 4, false},  {0, 3, 3, 1, 2, false},   {2, 17, 17, 1, 9, true},
                           {1, 70, 70, 1, 3, true}, {1, 3, 140, 1, 2, false}, {1, 67, 131, 1, 2, true}};

void add_samples(Samples& s, bool packed, bool gradient) {
  for (const Size& n : kSizes) {
    if (packed && n.queries != n.keys) continue;
    const int64_t width = n.heads * n.depth;
    const Dims rows{n.batch, n.queries, width}, others{n.batch, n.keys, width}, sums{n.batch, n.heads, n.queries};
    std::vector<Tensor> in;
    if (packed) {
      in = {s.real({n.batch, n.queries, 3 * width})};
    } else {
      in = {s.real(rows), s.real(others), s.real(others)};
    }
    if (gradient) {
      for (const Tensor& t : {s.real(rows), s.real(sums, 4, 6), s.real(rows)}) in.push_back(t);
      in.push_back(n.causal ? s.real(sums) : Tensor());
    }
    s.add(std::move(in), Attrs().set("heads", n.heads).set("causal", n.causal).set("scale", n.depth == 5 ? 0.7 : 0.0));
  }
}

}  // namespace

INGOT_OP(attention) = {
    .name = "attention",
    .signature = "attention(q, k, v, heads:int=1, causal:bool=false, scale:real=0) -> y, lse",
    .doc =
        "softmax(scale · q·kᵀ)·v for each head: q [batch, queries, heads · depth], k and v [batch, keys, heads · "
        "depth], to y like q and log Σ exp of the scores [batch, heads, queries]; scale 0 means 1/√depth; `causal` "
        "hides "
        "from a query the keys behind its place, counted from the end.",
    .family = "attention",
    .infer =
        [](const Call& call, Specs& out) {
          const Attention a = require_attention(call);
          out.add(call.in(0).dtype(), call.in(0).shape());
          out.add(call.in(0).dtype(), {a.batch, a.heads, a.queries});
        },
    .prepare = prepared<decode_attention>,
    .run = run,
    .scratch = scratch_of,
    .reference = reference_forward,
    .cost = cost_of<2>,
    .gradient =
        [](Gradient& g) {
          const Call& call = g.call();
          const auto d = attention_grad(g.in(0), g.in(1), g.in(2), g.out(0), g.out(1), g.dy(0), given_dy(g, 1),
                                        call.integer("heads"), call.flag("causal"), call.real("scale"));
          for (int i = 0; i < 3; i++) g.set(i, d[static_cast<size_t>(i)]);
        },
    .samples = [](Samples& s) { add_samples(s, false, false); },
    .low = -2,
    .high = 2,
    .multiplies_padding = true,
};

INGOT_OP(attention_grad) = {
    .name = "attention_grad",
    .signature =
        "attention_grad(q, k, v, y, lse, dy, dlse?, heads:int=1, causal:bool=false, scale:real=0) -> dq, dk, dv",
    .doc = "Gradients of attention by q, k and v, from its results and their gradients.",
    .family = "attention",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_gradient(call);
          for (int i = 0; i < 3; i++) out.add(call.in(0).dtype(), call.in(i).shape());
        },
    .prepare = prepared<decode_attention>,
    .run = run,
    .scratch = scratch_of,
    .reference = reference_backward,
    .cost = cost_of<5>,
    .not_differentiable = kFused,
    .samples = [](Samples& s) { add_samples(s, false, true); },
    .low = -2,
    .high = 2,
    .multiplies_padding = true,
};

INGOT_OP(self_attention) = {
    .name = "self_attention",
    .signature = "self_attention(qkv, heads:int=1, causal:bool=false, scale:real=0) -> y, lse",
    .doc =
        "attention where q, k and v stand side by side, as one projection makes them: qkv [batch, length, 3 · heads · "
        "depth], to y [batch, length, heads · depth] and the scores' sums [batch, heads, length].",
    .family = "attention",
    .infer =
        [](const Call& call, Specs& out) {
          const Attention a = require_attention(call);
          out.add(call.in(0).dtype(), {a.batch, a.queries, a.heads * a.depth});
          out.add(call.in(0).dtype(), {a.batch, a.heads, a.queries});
        },
    .prepare = prepared<decode_attention>,
    .run = run,
    .scratch = scratch_of,
    .reference = reference_forward,
    .cost = cost_of<2>,
    .gradient =
        [](Gradient& g) {
          const Call& call = g.call();
          g.set(0, self_attention_grad(g.in(0), g.out(0), g.out(1), g.dy(0), given_dy(g, 1), call.integer("heads"),
                                       call.flag("causal"), call.real("scale")));
        },
    .samples = [](Samples& s) { add_samples(s, true, false); },
    .low = -2,
    .high = 2,
    .multiplies_padding = true,
};

INGOT_OP(self_attention_grad) = {
    .name = "self_attention_grad",
    .signature = "self_attention_grad(qkv, y, lse, dy, dlse?, heads:int=1, causal:bool=false, scale:real=0)",
    .doc = "Gradient of self_attention by qkv, from its results and their gradients.",
    .family = "attention",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_gradient(call);
          out.add(call.in(0).dtype(), call.in(0).shape());
        },
    .prepare = prepared<decode_attention>,
    .run = run,
    .scratch = scratch_of,
    .reference = reference_backward,
    .cost = cost_of<5>,
    .not_differentiable = kFused,
    .samples = [](Samples& s) { add_samples(s, true, true); },
    .low = -2,
    .high = 2,
    .multiplies_padding = true,
};

}  // namespace ingot
