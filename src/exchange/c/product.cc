// Matrix products. A block of the result is kept in registers: rows times vectors of columns where b's rows are
// contiguous (or can be laid out so, being constant), dot products where only its columns are.
#include "exchange/c/forms.h"

namespace ingot::exchange {
namespace {

enum : int { kA, kB, kC, kBias };

// b as [k, n], rows contiguous, if its elements are known.
bool lay_out_b(Function& f) {
  const graph::Product& p = f.record().product;
  const Operand& b = f.record().operands[kB];
  const std::byte* from = f.places().elements(b);
  if (from == nullptr || (p.b_col == 1 && p.b_row == p.n)) return false;
  const auto element = static_cast<size_t>(b.element());
  std::vector<std::byte> bytes(static_cast<size_t>(p.k * p.n) * element);
  for (int64_t k = 0; k < p.k; k++)
    for (int64_t n = 0; n < p.n; n++) {
      const std::byte* at = from + (k * p.b_row + n * p.b_col) * static_cast<int64_t>(element);
      std::copy(at, at + element, bytes.begin() + static_cast<int64_t>(static_cast<size_t>(k * p.n + n) * element));
    }
  const std::string layout = "[" + str(p.k) + ", " + str(p.n) + "]";
  f.parameter(std::string("const ") + memory_type(b.dtype) + " *restrict ", "b",
              f.places().constant(f.places().key(b) + layout, b.dtype, "laid out as " + layout, std::move(bytes)));
  return true;
}

constexpr const char* kRowsContiguous = R"(
enum { M = $m, N = $n, K = $k };
enum { WIDE = N / $LANES, V = M == 1 && WIDE >= 8 ? 8 : M <= 3 && WIDE >= 4 ? 4 : WIDE >= 2 ? 2 : 1 };
enum { MOST = $REGISTERS / V, PARTS = (M + MOST - 1) / MOST, R = (M + PARTS - 1) / PARTS };
if (N >= $LANES) {
  for (long j = 0; j < N; j += V * $LANES) {
    const $M *bj = b + (j + V * $LANES <= N ? j : N - V * $LANES); /* the last block ends with the row */
    $M *cj = c + (bj - b);
    for (long i = 0; i < M; i += R) {
      const long row = i + R <= M ? i : M - R;
      const $M *ai = a + row * $a_row;
      $vec s[R][V];
      UNROLL for (int r = 0; r < R; r++)
        UNROLL for (int v = 0; v < V; v++) s[r][v] = ($vec)$start;
      for (long k = 0; k < K; k++) {
        $vec x[V];
        UNROLL for (int v = 0; v < V; v++) x[v] = $LOAD(bj + k * $b_row + v * $LANES);
        UNROLL for (int r = 0; r < R; r++)
          UNROLL for (int v = 0; v < V; v++) s[r][v] += ai[r * $a_row + k * $a_col] * x[v];
      }
      UNROLL for (int r = 0; r < R; r++)
        UNROLL for (int v = 0; v < V; v++) $STORE(cj + (row + r) * $c_row + v * $LANES, s[r][v]);
    }
  }
} else {
  for (long i = 0; i < M; i++)
    for (long j = 0; j < N; j++) {
      $T s = 0;
      for (long k = 0; k < K; k++) s += a[i * $a_row + k * $a_col] * b[k * $b_row + j];
      c[i * $c_row + j] = s;
    }
}
)";

constexpr const char* kColumnsContiguous = R"(
enum { M = $m, N = $n, K = $k };
enum { R = M < 4 ? M : 4, V = N < $REGISTERS / 4 ? N : $REGISTERS / 4 };
for (long j = 0; j < N; j += V)
  for (long i = 0; i < M; i += R) {
    const long col = j + V <= N ? j : N - V, row = i + R <= M ? i : M - R;
    const $M *ai = a + row * $a_row, *bj = b + col * $b_col;
    $vec s[R][V];
    long k = 0;
    UNROLL for (int r = 0; r < R; r++)
      UNROLL for (int v = 0; v < V; v++) s[r][v] = ($vec){0};
    for (; k + $LANES <= K; k += $LANES) {
      $vec x[R];
      UNROLL for (int r = 0; r < R; r++) x[r] = $LOAD(ai + r * $a_row + k);
      UNROLL for (int v = 0; v < V; v++) {
        const $vec y = $LOAD(bj + v * $b_col + k);
        UNROLL for (int r = 0; r < R; r++) s[r][v] += x[r] * y;
      }
    }
    for (int r = 0; r < R; r++)
      for (int v = 0; v < V; v++) {
        $T total = $sum(&s[r][v]);
        for (long rest = k; rest < K; rest++) total += ai[r * $a_row + rest] * bj[v * $b_col + rest];
        c[(row + r) * $c_row + col + v] = total;
      }
  }
)";

constexpr const char* kAnyStrides = R"(
enum { M = $m, N = $n, K = $k };
for (long i = 0; i < M; i++)
  for (long j = 0; j < N; j++) {
    $T s = 0;
    for (long k = 0; k < K; k++) s += a[i * $a_row + k * $a_col] * b[k * $b_row + j * $b_col];
    c[i * $c_row + j] = s;
  }
)";

}  // namespace

void vector_names(Function& f) {
  const bool wide = f.main_type() == kF64;
  f.file().need(wide ? "vecd" : "vec");
  f.set("vec", wide ? "vecd" : "vec");
  for (const char* name : {"LANES", "LOAD", "STORE", "REGISTERS"}) f.set(name, name + std::string(wide ? "_D" : ""));
}

void write_matrix_product(Function& f, const graph::Product& p, bool b_laid_out) {
  const int64_t b_row = b_laid_out ? p.n : p.b_row, b_col = b_laid_out ? 1 : p.b_col;
  f.set("m", p.m);
  f.set("n", p.n);
  f.set("k", p.k);
  f.set("a_row", p.a_row);
  f.set("a_col", p.a_col);
  f.set("b_row", b_row);
  f.set("b_col", b_col);
  f.set("c_row", p.c_row);
  f.set("start", "{0}");
  vector_names(f);
  if (b_col == 1 || p.n == 1) {
    f.lines(kRowsContiguous);
  } else if (b_row == 1 && p.a_col == 1) {
    f.set("sum", f.main_type() == kF64 ? "lanes_sum_d" : "lanes_sum");
    f.file().need(f.main_type() == kF64 ? "lanes_sum_d" : "lanes_sum");
    f.lines(kColumnsContiguous);
  } else {
    f.lines(kAnyStrides);
  }
}

void write_product(Function& f) {
  const graph::Product& p = f.record().product;
  f.main_type(f.record().operands[kC].dtype);
  f.use(kA, "a");
  const bool laid_out = lay_out_b(f);
  if (!laid_out) f.use(kB, "b");
  f.use(kC, "c");
  if (f.given(kBias)) f.use(kBias, "bias");
  write_matrix_product(f, p, laid_out);
  if (f.given(kBias) || p.relu) {
    const std::string sum = f.given(kBias) ? "c[i * $c_row + j] + $bias[j]" : "c[i * $c_row + j]";
    f.lines("for (long i = 0; i < M; i++)\n  for (long j = 0; j < N; j++) {\n    const $T s = " + sum +
            ";\n    c[i * $c_row + j] = " + (p.relu ? "s < 0 ? 0 : s" : "s") + ";\n  }");
  }
  if (!f.record().chain.code.empty()) write_chain(f);
}

}  // namespace ingot::exchange
