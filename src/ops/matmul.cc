// Matrix products. All of them are one GEMM per (merged) batch; transposed operands are views with swapped strides, so
// no transpose is ever materialised. f32 and f64.
#include <algorithm>

#include "ingot/ops/checks.h"
#include "ingot/ops/staging.h"
#include "kernels/cost.h"
#include "kernels/gemm.h"
#include "ops/define.h"

namespace ingot {
extern const Op op_outer;

namespace {

// A product as GEMMs: the inner two axes and one batch axis in `inner`, further batch axes that could not be merged
// outside. Strides in elements; axis sizes of the outer batches in `outer`.
struct Product {
  int64_t m, n, k;
  int64_t a_row, a_col, b_row, b_col, c_row, c_col;
  int64_t batch = 1, a_batch = 0, b_batch = 0, c_batch = 0;
  int outer_rank = 0;
  int64_t outer[kMaxRank] = {}, a_outer[kMaxRank] = {}, b_outer[kMaxRank] = {}, c_outer[kMaxRank] = {};
};

// Stride of batch axis `axis` (of `rank` in the result) of operand t, whose last two axes are the matrix.
int64_t batch_stride(const Tensor& t, int axis, int rank) {
  const int own = axis - (rank - (t.rank() - 2));
  return own < 0 || t.shape()[own] == 1 ? 0 : t.strides()[own];
}

Product describe(const Tensor& a, const Tensor& b, const Tensor& c) {
  const int ar = a.rank(), br = b.rank(), batch_rank = c.rank() - 2;
  Product p{.m = a.shape()[ar - 2],
            .n = b.shape()[br - 1],
            .k = a.shape()[ar - 1],
            .a_row = a.strides()[ar - 2],
            .a_col = a.strides()[ar - 1],
            .b_row = b.strides()[br - 2],
            .b_col = b.strides()[br - 1],
            .c_row = c.strides()[batch_rank],
            .c_col = c.strides()[batch_rank + 1]};
  // From the innermost batch axis outwards: rows of a that follow each other become one tall matrix, then one batch
  // axis grows while all strides agree, and the rest stays outside.
  bool tall = true;
  for (int axis = batch_rank - 1; axis >= 0; axis--) {
    const int64_t size = c.shape()[axis];
    if (size == 1) continue;
    const int64_t as = batch_stride(a, axis, batch_rank), bs = batch_stride(b, axis, batch_rank),
                  cs = c.strides()[axis];
    if (tall && bs == 0 && as == p.m * p.a_row && cs == p.m * p.c_row) {
      p.m *= size;
    } else if (p.outer_rank == 0 && p.batch == 1) {
      p.batch = size, p.a_batch = as, p.b_batch = bs, p.c_batch = cs;
      tall = false;
    } else if (p.outer_rank == 0 && as == p.a_batch * p.batch && bs == p.b_batch * p.batch &&
               cs == p.c_batch * p.batch) {
      p.batch *= size;
    } else {
      const int o = p.outer_rank++;
      p.outer[o] = size, p.a_outer[o] = as, p.b_outer[o] = bs, p.c_outer[o] = cs;
    }
  }
  return p;
}

template <class T>
kernels::Gemm<T> inner_gemm(const Product& p) {
  kernels::Gemm<T> g;
  g.m = p.m, g.n = p.n, g.k = p.k;
  g.a_row = p.a_row, g.a_col = p.a_col, g.b_row = p.b_row, g.b_col = p.b_col, g.c_row = p.c_row, g.c_col = p.c_col;
  g.batch = p.batch, g.a_batch = p.a_batch, g.b_batch = p.b_batch, g.c_batch = p.c_batch;
  return g;
}

template <class T>
void multiply_all(const Product& p, const Tensor& a, const Tensor& b, const T* bias, const Tensor& c, void* scratch,
                  const Team& team) {
  kernels::Gemm<T> g = inner_gemm<T>(p);
  g.column_bias = bias;
  int64_t index[kMaxRank] = {};
  int64_t count = 1;
  for (int o = 0; o < p.outer_rank; o++) count *= p.outer[o];
  for (int64_t i = 0; i < count; i++) {
    g.a = static_cast<const T*>(a.raw()), g.b = static_cast<const T*>(b.raw()), g.c = static_cast<T*>(c.raw());
    for (int o = 0; o < p.outer_rank; o++) {
      g.a += index[o] * p.a_outer[o];
      g.b += index[o] * p.b_outer[o];
      g.c += index[o] * p.c_outer[o];
    }
    kernels::gemm(g, scratch, team);
    for (int o = 0; o < p.outer_rank && ++index[o] == p.outer[o]; o++) index[o] = 0;
  }
}

// The operands of an op of this family as matrices: vectors get an axis of size 1.
struct Operands {
  Tensor a, b, c;
};

// A view with an axis of size 1 put in at `at`; no op, no allocation.
Tensor with_axis(const Tensor& t, int at) {
  Dims shape = t.shape(), strides = t.strides();
  shape.insert(at, 1);
  strides.insert(at, 0);
  return t.view(t.raw(), shape, strides);
}

// The transposed view of the last two axes.
Tensor transposed(const Tensor& t) {
  Dims shape = t.shape(), strides = t.strides();
  const int last = t.rank() - 1;
  std::swap(shape[last], shape[last - 1]);
  std::swap(strides[last], strides[last - 1]);
  return t.view(t.raw(), shape, strides);
}

Operands as_matmul(const Call& call, const Tensor& out) { return {call.in(0), call.in(1), out}; }
Operands as_matvec(const Call& call, const Tensor& out) {
  return {call.in(0), with_axis(call.in(1), 1), with_axis(out, out.rank())};
}
Operands as_dot(const Call& call, const Tensor& out) {
  return {with_axis(call.in(0), 0), with_axis(call.in(1), 1), with_axis(with_axis(out, 0), 0)};
}
Operands as_outer(const Call& call, const Tensor& out) {
  return {with_axis(call.in(0), 1), with_axis(call.in(1), 0), out};
}
Operands as_linear(const Call& call, const Tensor& out) {
  const bool vector = call.in(0).rank() == 1;
  return {vector ? with_axis(call.in(0), 0) : call.in(0), transposed(call.in(1)), vector ? with_axis(out, 0) : out};
}

template <Operands (*kAs)(const Call&, const Tensor&)>
void run(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  const Operands o = kAs(call, out[0]);
  const Product p = describe(o.a, o.b, o.c);
  const void* bias = nullptr;
  if (call.has(2)) {
    bias = stage_in(call.in(2), scratch, team);
    if (staging_bytes(call.in(2)) > 0) team.barrier();
  }
  if (out[0].dtype() == kF32)
    multiply_all<float>(p, o.a, o.b, static_cast<const float*>(bias), o.c, scratch, team);
  else
    multiply_all<double>(p, o.a, o.b, static_cast<const double*>(bias), o.c, scratch, team);
}

template <Operands (*kAs)(const Call&, const Tensor&)>
size_t scratch(const Call& call, const Tensor* out, int team_size) {
  const Operands o = kAs(call, out[0]);
  const Product p = describe(o.a, o.b, o.c);
  const size_t staged = call.has(2) ? staging_bytes(call.in(2)) : 0;
  return staged + (out[0].dtype() == kF32 ? kernels::gemm_scratch(inner_gemm<float>(p), team_size)
                                          : kernels::gemm_scratch(inner_gemm<double>(p), team_size));
}

template <Operands (*kAs)(const Call&, const Tensor&)>
void reference(const Call& call, const Tensor* out) {
  const auto [a, b, c] = kAs(call, out[0]);
  const int rank = c.rank();
  Dims at = Dims::filled(rank, 0);
  const auto offset = [&](const Tensor& t, int64_t row, int64_t col) {
    int64_t o = row * t.strides()[t.rank() - 2] + col * t.strides()[t.rank() - 1];
    for (int axis = 0; axis < rank - 2; axis++) o += at[axis] * batch_stride(t, axis, rank - 2);
    return static_cast<char*>(t.raw()) + o * static_cast<int64_t>(size_of(t.dtype()));
  };
  const int64_t k = a.shape()[a.rank() - 1];
  for (int64_t i = 0; i < c.numel(); i++) {
    const int64_t row = at[rank - 2], col = at[rank - 1];
    double sum = call.has(2)
                     ? load_as_double(static_cast<const char*>(call.in(2).raw()) +
                                          col * call.in(2).strides()[0] * static_cast<int64_t>(size_of(c.dtype())),
                                      c.dtype())
                     : 0;
    for (int64_t q = 0; q < k; q++)
      sum += load_as_double(offset(a, row, q), a.dtype()) * load_as_double(offset(b, q, col), b.dtype());
    store_from_double(offset(c, row, col), c.dtype(), sum);
    for (int axis = rank - 1; axis >= 0 && ++at[axis] == c.shape()[axis]; axis--) at[axis] = 0;
  }
}

double product_cost(const Call& call) {
  const Tensor &a = call.in(0), &b = call.in(1);
  if (a.numel() == 0 || b.numel() == 0) return 0;
  const double k = static_cast<double>(&call.op == &op_outer ? 1 : a.shape().back());
  return 2 * static_cast<double>(a.numel()) * static_cast<double>(b.numel()) / k / cost::kColdFlops;
}

void require_matrices(const Call& call) {
  require_type(call, call.in(0).dtype());
  require_same_type(call, 0, 1);
}

}  // namespace

// All axes but the last as one. (A -1 would be undetermined for empty rows.)
static Tensor rows_of(const Tensor& t) {
  int64_t rows = 1;
  for (int a = 0; a + 1 < t.rank(); a++) rows *= t.shape()[a];
  return reshape(contiguous(t), {rows, t.size(-1)});
}

INGOT_OP(matmul) = {
    .name = "matmul",
    .signature = "matmul(a, b)",
    .doc =
        "Matrix product of [..., m, k] and [..., k, n] to [..., m, n]; leading axes broadcast, transposed views cost "
        "nothing.",
    .family = "matmul",
    .infer =
        [](const Call& call, Specs& out) {
          require_matrices(call);
          const Tensor &a = call.in(0), &b = call.in(1);
          if (a.rank() < 2 || b.rank() < 2)
            fail(call, "both operands need two axes or more", "use matvec, dot or outer for vectors");
          const int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
          if (b.size(-2) != k)
            fail(call, "inner sizes " + std::to_string(k) + " and " + std::to_string(b.size(-2)) + " differ",
                 "a must be [..., m, k] and b [..., k, n]; transpose(x) swaps the last two axes");
          Dims batch_a = a.shape(), batch_b = b.shape();
          for (Dims* d : {&batch_a, &batch_b}) d->erase(d->size() - 1), d->erase(d->size() - 1);
          Dims shape = broadcast_shapes("matmul", batch_a, batch_b);
          shape.push_back(m);
          shape.push_back(n);
          out.add(a.dtype(), shape);
        },
    .run = run<as_matmul>,
    .scratch = scratch<as_matmul>,
    .reference = reference<as_matmul>,
    .cost = product_cost,
    .role = OpRole::kProduct,
    .gradient =
        [](Gradient& g) {
          const Tensor &a = g.in(0), &b = g.in(1);
          if (g.wants(0)) g.set(0, matmul(g.dy(), transpose(b)));
          if (!g.wants(1)) return;
          if (b.rank() == 2 && a.rank() > 2) {  // one tall product instead of a batch to sum
            g.set(1, matmul(transpose(rows_of(a)), rows_of(g.dy())));
          } else {
            g.set(1, matmul(transpose(a), g.dy()));
          }
        },
    .samples =
        [](Samples& s) {
          s.add({s.real({1, 1}), s.real({1, 1})});
          s.add({s.real({3, 5}), s.real({5, 4})});
          s.add({s.real({17, 9}), s.real({9, 33})});
          s.add({s.real({1, 24}), s.real({24, 7})});
          s.add({s.real({13, 6}), s.real({6, 1})});
          s.add({s.real({0, 3}), s.real({3, 2})});
          s.add({s.real({3, 0}), s.real({0, 2})});
          s.add({s.real({2, 3, 4}), s.real({2, 4, 5})});
          s.add({s.real({2, 3, 4}), s.real({4, 5})});
          s.add({s.real({3, 4}), s.real({2, 4, 5})});
          s.add({s.real({2, 1, 3, 4}), s.real({3, 4, 2})});
          s.add({s.real({3, 1, 2, 4}), s.real({1, 2, 4, 3})});
        },
};

INGOT_OP(matvec) = {
    .name = "matvec",
    .signature = "matvec(a, x)",
    .doc = "Matrix [..., m, k] times vector [k], to [..., m].",
    .family = "matmul",
    .infer =
        [](const Call& call, Specs& out) {
          require_matrices(call);
          if (call.in(0).rank() < 2 || call.in(1).rank() != 1 || call.in(0).size(-1) != call.in(1).size(0))
            fail(call, "shapes do not fit", "a must be [..., m, k] and x [k]");
          Dims shape = call.in(0).shape();
          shape.erase(shape.size() - 1);
          out.add(call.in(0).dtype(), shape);
        },
    .run = run<as_matvec>,
    .scratch = scratch<as_matvec>,
    .reference = reference<as_matvec>,
    .cost = product_cost,
    .gradient =
        [](Gradient& g) {
          const Tensor &a = g.in(0), &x = g.in(1);
          if (g.wants(0)) g.set(0, multiply(unsqueeze(g.dy(), -1), x));
          if (g.wants(1)) g.set(1, matvec(transpose(rows_of(a)), reshape(contiguous(g.dy()), {-1})));
        },
    .samples =
        [](Samples& s) {
          s.add({s.real({1, 1}), s.real({1})});
          s.add({s.real({7, 19}), s.real({19})});
          s.add({s.real({2, 5, 3}), s.real({3})});
          s.add({s.real({0, 3}), s.real({3})});
          s.add({s.real({3, 0}), s.real({0})});
        },
};

INGOT_OP(dot) = {
    .name = "dot",
    .signature = "dot(a, b)",
    .doc = "Inner product of two vectors [k], to a scalar.",
    .family = "matmul",
    .infer =
        [](const Call& call, Specs& out) {
          require_matrices(call);
          if (call.in(0).rank() != 1 || !(call.in(0).shape() == call.in(1).shape()))
            fail(call, "shapes do not fit", "give two vectors of one length");
          out.add(call.in(0).dtype(), {});
        },
    .run = run<as_dot>,
    .scratch = scratch<as_dot>,
    .reference = reference<as_dot>,
    .cost = product_cost,
    .gradient =
        [](Gradient& g) {
          if (g.wants(0)) g.set(0, multiply(g.dy(), g.in(1)));
          if (g.wants(1)) g.set(1, multiply(g.dy(), g.in(0)));
        },
    .samples =
        [](Samples& s) {
          for (int64_t n : {0, 1, 5, 37, 300}) s.add({s.real({n}), s.real({n})});
        },
};

INGOT_OP(outer) = {
    .name = "outer",
    .signature = "outer(a, b)",
    .doc = "Outer product of vectors [m] and [n], to [m, n].",
    .family = "matmul",
    .infer =
        [](const Call& call, Specs& out) {
          require_matrices(call);
          if (call.in(0).rank() != 1 || call.in(1).rank() != 1) fail(call, "shapes do not fit", "give two vectors");
          out.add(call.in(0).dtype(), {call.in(0).size(0), call.in(1).size(0)});
        },
    .run = run<as_outer>,
    .scratch = scratch<as_outer>,
    .reference = reference<as_outer>,
    .cost = product_cost,
    .gradient =
        [](Gradient& g) {
          if (g.wants(0)) g.set(0, matvec(g.dy(), g.in(1)));
          if (g.wants(1)) g.set(1, matvec(transpose(g.dy()), g.in(0)));
        },
    .samples =
        [](Samples& s) {
          s.add({s.real({1}), s.real({1})});
          s.add({s.real({5}), s.real({17})});
          s.add({s.real({0}), s.real({3})});
        },
};

INGOT_OP(linear) = {
    .name = "linear",
    .signature = "linear(x, weight, bias?)",
    .doc = "x·weightᵀ + bias: x [..., in], weight [out, in], bias [out], to [..., out].",
    .family = "matmul",
    .infer =
        [](const Call& call, Specs& out) {
          require_matrices(call);
          const Tensor &x = call.in(0), &w = call.in(1);
          if (x.rank() < 1 || w.rank() != 2 || x.size(-1) != w.size(1))
            fail(call, "shapes do not fit", "x must be [..., in] and weight [out, in]");
          if (call.has(2)) {
            require_same_type(call, 0, 2);
            if (call.in(2).rank() != 1 || call.in(2).size(0) != w.size(0))
              fail(call, "the bias does not fit", "it must be [out]");
          }
          Dims shape = x.shape();
          shape[shape.size() - 1] = w.size(0);
          out.add(x.dtype(), shape);
        },
    .run = run<as_linear>,
    .scratch = scratch<as_linear>,
    .reference = reference<as_linear>,
    .cost = product_cost,
    .role = OpRole::kProduct,
    .transposed = true,
    .gradient =
        [](Gradient& g) {
          const Tensor &x = g.in(0), &w = g.in(1);
          if (g.wants(0)) g.set(0, x.rank() == 1 ? matvec(transpose(w), g.dy()) : matmul(g.dy(), w));
          const Tensor dy = rows_of(g.dy());
          if (g.wants(1)) g.set(1, matmul(transpose(dy), rows_of(x)));
          if (g.wants(2)) g.set(2, sum(dy, {0}));
        },
    .samples =
        [](Samples& s) {
          s.add({s.real({1, 1}), s.real({1, 1}), s.real({1})});
          s.add({s.real({3, 5}), s.real({4, 5}), s.real({4})});
          s.add({s.real({3, 5}), s.real({4, 5}), Tensor()});
          s.add({s.real({6}), s.real({2, 6}), s.real({2})});
          s.add({s.real({2, 3, 8}), s.real({17, 8}), s.real({17})});
          s.add({s.real({0, 8}), s.real({3, 8}), s.real({3})});
        },
};

}  // namespace ingot
