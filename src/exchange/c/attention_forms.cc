// Attention of many heads, row by row: nothing of the size queries × keys is kept.
#include <cmath>

#include "exchange/c/families.h"

namespace ingot::exchange {
namespace {

// A third of packed columns.
View third(const View& x, int64_t part) {
  View v = x;
  v.shape[2] /= 3;
  if (part > 0) v.name = "(" + x.name + " + " + str(part * v.shape[2] * v.strides[2]) + ")";
  return v;
}

// q, k and v, of their own or side by side; loops over batch, heads and queries are open afterwards.
void open_rows(Function& f, bool packed) {
  if (packed) {
    const View x = f.in(0, "x");
    f.name("q", third(x, 0)), f.name("k", third(x, 1)), f.name("v", third(x, 2));
  } else {
    f.in(0, "q"), f.in(1, "k"), f.in(2, "v");
  }
}

void open_heads(Function& f, const Dims& q, const Dims& k) {
  const int64_t heads = f.integer("heads"), depth = q[2] / heads;
  const double scale = f.real("scale");
  f.set("D", depth);
  f.set("scale", literal(scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(depth)), f.main_type()));
  f.set("seen", f.flag("causal") ? "i + " + str(1 + k[1] - q[1]) : str(k[1]));
  f.open(cat("for (long b = 0; b < ", str(q[0]), "; b++)"));
  f.open(cat("for (long h = 0; h < ", str(heads), "; h++)"));
  f.open(cat("for (long i = 0; i < ", str(q[1]), "; i++)"));
  f.place("at", "h * $D");
}

constexpr const char* kScore = R"(
$T s = 0;
for (long c = 0; c < $D; c++) s += $q[b, i, at + c] * $k[b, j, at + c];
s *= $scale;
)";

template <bool kPacked>
void forward(Function& f) {
  open_rows(f, kPacked);
  Dims q = f.record().operands[0].shape, k = f.record().operands[kPacked ? 0 : 1].shape;
  if (kPacked) q[2] /= 3;
  f.out(0, "y"), f.out(1, "lse");
  f.scratch(memory_type(f.main_type()), "score", k[1] * static_cast<int64_t>(size_of(f.main_type())));
  open_heads(f, q, k);
  f.line("$T largest = -#inf, total = 0;");
  f.open("for (long j = 0; j < $seen; j++)");
  f.lines(kScore);
  f.line("score[j] = s;");
  f.line("if (s > largest) largest = s;");
  f.close();
  f.lines(R"(
for (long j = 0; j < $seen; j++) {
  score[j] = @exp(score[j] - largest);
  total += score[j];
}
for (long c = 0; c < $D; c++) $y[b, i, at + c] = 0;
for (long j = 0; j < $seen; j++) {
  const $T share = score[j] / total;
  for (long c = 0; c < $D; c++) $y[b, i, at + c] += share * $v[b, j, at + c];
}
$lse[b, h, i] = largest + @log(total);
)");
  f.close(3);
}

template <bool kPacked>
void backward(Function& f) {
  open_rows(f, kPacked);
  const int first = kPacked ? 1 : 3;
  Dims q = f.record().operands[0].shape, k = f.record().operands[kPacked ? 0 : 1].shape;
  if (kPacked) q[2] /= 3;
  f.in(first, "y"), f.in(first + 1, "lse"), f.in(first + 2, "dy");
  if (f.given(first + 3)) f.in(first + 3, "dlse");
  if (kPacked) {
    const View d = f.out(0, "d");
    fill_elements(f, d, "0");
    f.name("dq", third(d, 0)), f.name("dk", third(d, 1)), f.name("dv", third(d, 2));
  } else {
    const char* names[] = {"dq", "dk", "dv"};
    for (int i = 0; i < 3; i++) fill_elements(f, f.out(i, names[i]), "0");
  }
  open_heads(f, q, k);
  f.line(f.given(first + 3) ? "$T shift = -$dlse[b, h, i];" : "$T shift = 0;");
  f.line("for (long c = 0; c < $D; c++) shift += $y[b, i, at + c] * $dy[b, i, at + c];");
  f.open("for (long j = 0; j < $seen; j++)");
  f.lines(kScore);
  f.lines(R"(
const $T p = @exp(s - $lse[b, h, i]);
$T dp = 0;
for (long c = 0; c < $D; c++) {
  dp += $dy[b, i, at + c] * $v[b, j, at + c];
  $dv[b, j, at + c] += p * $dy[b, i, at + c];
}
const $T ds = p * (dp - shift) * $scale;
for (long c = 0; c < $D; c++) {
  $dq[b, i, at + c] += ds * $k[b, j, at + c];
  $dk[b, j, at + c] += ds * $q[b, i, at + c];
}
)");
  f.close(4);
}

}  // namespace

std::span<const OpForm> attention_forms() {
  static constexpr OpForm kForms[] = {
      {"attention", forward<false>},
      {"self_attention", forward<true>},
      {"attention_grad", backward<false>},
      {"self_attention_grad", backward<true>},
  };
  return kForms;
}

}  // namespace ingot::exchange
