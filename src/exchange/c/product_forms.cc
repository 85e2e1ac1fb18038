// Products as ops: batched, of vectors, or with layouts that no planned product takes.
#include "exchange/c/families.h"
#include "ingot/ops/equation.h"

namespace ingot::exchange {
namespace {

View with_axis(View v, int at) {
  v.shape.insert(at, 1);
  v.strides.insert(at, 0);
  return v;
}

// a [..., m, k] · b [..., k, n] to c [..., m, n]; leading axes are repeated where an operand has none or one.
void product(Function& f, const View& a, const View& b, const View& c, const View* bias) {
  const int rank = c.rank();
  const int64_t k = a.shape[a.rank() - 1];
  Dims batch(std::span<const int64_t>(c.shape.begin(), c.shape.begin() + rank - 2));
  const auto index = f.loops(batch);
  const auto base = [&](View v) {  // the matrix of this batch
    std::vector<std::string> at(index.end() - (v.rank() - 2), index.end());
    at.insert(at.end(), {"0", "0"});
    for (int i = 0; i + 2 < v.rank(); i++)
      if (v.shape[i] == 1) v.strides[i] = 0;
    return "&" + element(v, at);
  };
  const char* m = memory_type(c.dtype);
  f.line(cat("const ", m, " *restrict const a = ", base(a), ";"));
  f.line(cat("const ", m, " *restrict const b = ", base(b), ";"));
  f.line(cat(std::string(m), " *restrict const c = ", base(c), ";"));
  graph::Product p;
  p.m = c.shape[rank - 2];
  p.n = c.shape[rank - 1];
  p.k = k;
  p.a_row = a.strides[a.rank() - 2], p.a_col = a.strides[a.rank() - 1];
  p.b_row = b.strides[b.rank() - 2], p.b_col = b.strides[b.rank() - 1];
  p.c_row = c.strides[rank - 2];
  const int64_t c_col = c.strides[rank - 1];
  if (c_col == 1 || p.n == 1) {
    write_matrix_product(f, p, false);
    if (bias != nullptr)
      f.lines("for (long i = 0; i < M; i++)\n  for (long j = 0; j < N; j++) c[i * $c_row + j] += " +
              element(*bias, {"j"}) + ";");
  } else {
    f.set("m", p.m), f.set("n", p.n), f.set("k", k);
    f.set("at", "i * " + str(p.c_row) + " + j * " + str(c_col));
    f.set("term", "a[i * " + str(p.a_row) + " + k * " + str(p.a_col) + "] * b[k * " + str(p.b_row) + " + j * " +
                      str(p.b_col) + "]");
    f.set("start", bias != nullptr ? element(*bias, {"j"}) : "0");
    f.lines(R"(
for (long i = 0; i < $m; i++)
  for (long j = 0; j < $n; j++) {
    $T s = $start;
    for (long k = 0; k < $k; k++) s += $term;
    c[$at] = s;
  }
)");
  }
  f.close_loops();
}

void matmul(Function& f) {
  const View a = f.in(0, "x"), b = f.in(1, "w");
  product(f, a, b, f.out(0, "y"), nullptr);
}
void matvec(Function& f) {
  const View a = f.in(0, "x"), b = f.in(1, "w");
  View y = f.out(0, "y");
  product(f, a, with_axis(b, 1), with_axis(y, y.rank()), nullptr);
}
void dot(Function& f) {
  const View a = f.in(0, "x"), b = f.in(1, "w");
  product(f, with_axis(a, 0), with_axis(b, 1), with_axis(with_axis(f.out(0, "y"), 0), 0), nullptr);
}
void outer(Function& f) {
  const View a = f.in(0, "x"), b = f.in(1, "w");
  product(f, with_axis(a, 1), with_axis(b, 0), f.out(0, "y"), nullptr);
}
void linear(Function& f) {
  View x = f.in(0, "x"), w = f.in(1, "w"), y = f.out(0, "y");
  std::swap(w.shape[0], w.shape[1]);
  std::swap(w.strides[0], w.strides[1]);
  View bias;
  if (f.given(2)) bias = f.in(2, "bias");
  const bool vector = x.rank() == 1;
  product(f, vector ? with_axis(x, 0) : x, w, vector ? with_axis(y, 0) : y, f.given(2) ? &bias : nullptr);
}

// Sums of products over named axes, all at once: a loop for each name.
void einsum(Function& f) {
  static const char kNobody = 0;
  const Record& r = f.record();
  std::vector<Tensor> tensors;
  std::vector<const Tensor*> pointers;
  std::vector<View> views;
  tensors.reserve(static_cast<size_t>(r.inputs));
  pointers.reserve(static_cast<size_t>(r.inputs));
  for (int i = 0; i < r.inputs; i++) {
    const Operand& o = r.operands[static_cast<size_t>(i)];
    tensors.push_back(Tensor::symbolic(&kNobody, i, o.dtype, o.shape, o.strides));
    views.push_back(f.in(i, "x" + str(i)));
  }
  for (const Tensor& t : tensors) pointers.push_back(&t);
  const Equation e = parse_equation({*r.op, pointers, *r.attrs});
  const View y = f.out(0, "y");
  const auto name = [](int label) { return "n" + str(label); };
  const auto open = [&](int label) {
    f.open(cat("for (long ", name(label), " = 0; ", name(label), " < ", str(e.size[label]), "; ", name(label), "++)"));
  };
  const auto at = [&](const View& v, const Labels& labels) {
    std::vector<std::string> index;
    index.reserve(static_cast<size_t>(labels.count));
    for (int a = 0; a < labels.count; a++) index.push_back(name(labels.of[a]));
    return element(v, index);
  };
  for (int a = 0; a < e.out.count; a++) open(e.out.of[a]);
  f.line("double sum = 0;");
  int summed = 0;
  for (int label = 0; label < kLabels; label++)
    if (e.times[label] > 0 && !e.out.has(label)) open(label), summed++;
  std::string product;
  for (int i = 0; i < r.inputs; i++)
    product += (i > 0 ? " * (double)" : "(double)") + at(views[static_cast<size_t>(i)], e.in[i]);
  f.line(cat("sum += ", product, ";"));
  f.close(summed);
  f.line(at(y, e.out) + " = ($T)sum;");
  f.close(e.out.count);
}

}  // namespace

std::span<const OpForm> product_forms() {
  static constexpr OpForm kForms[] = {
      {"matmul", matmul}, {"matvec", matvec}, {"dot", dot}, {"outer", outer}, {"linear", linear}, {"einsum", einsum},
  };
  return kForms;
}

}  // namespace ingot::exchange
