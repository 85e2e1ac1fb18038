// Gradients of products over an algebra, and products of booleans and of counts: plain loops.
#include <algorithm>
#include <cmath>

#include "logic/bits.h"
#include "logic/tensor/algebra_kernels.h"

namespace ingot::logic {
namespace {

template <class T>
T product(RealAlgebra algebra, T a, T b) {
  switch (algebra) {
    case RealAlgebra::kMaxMin: return b < a ? b : a <= b ? a : a + b;  // a NaN stays one
    case RealAlgebra::kLukasiewicz: return std::max(a + b - 1, T(0));
    case RealAlgebra::kMinPlus:
    case RealAlgebra::kLogSumExp: return a + b;
    default: return a * b;
  }
}

// What a product passes on to a and to b, of the gradient that reaches it.
template <class T>
struct Parts {
  T a, b;
};
template <class T>
Parts<T> parts(RealAlgebra algebra, T a, T b, T d) {
  switch (algebra) {
    case RealAlgebra::kMaxMin: return b < a ? Parts<T>{0, d} : Parts<T>{d, 0};
    case RealAlgebra::kLukasiewicz: return a + b > 1 ? Parts<T>{d, d} : Parts<T>{0, 0};
    case RealAlgebra::kMinPlus:
    case RealAlgebra::kLogSumExp: return {d, d};
    default: return {d * b, d * a};
  }
}

// How an element of c looks back at its products: the first of the best where ⊕ selects; otherwise a factor, and for
// noisy-or the number of products that are 1, which alone decide.
template <class T>
struct Back {
  int64_t* chosen;
  T* factor;
};

template <class T>
T product_at(const AlgebraMatmulGrad<T>& x, const T* a, const T* b, int64_t j, int64_t q) {
  return b == nullptr ? a[q] : product(x.algebra, a[q], b[q * x.sizes.n + j]);
}

// Π (1 - t) over all products but number q: what is left of a noisy-or.
template <class T>
T none_of_others(const AlgebraMatmulGrad<T>& x, const T* a, const T* b, int64_t j, int64_t q) {
  T none = 1;
  for (int64_t other = 0; other < x.sizes.k; other++)
    if (other != q) none *= 1 - product_at(x, a, b, j, other);
  return none;
}

// The gradient that reaches product q of element e of c, which is in column j.
template <class T>
T reaching(const AlgebraMatmulGrad<T>& x, const Back<T>& back, const T* a, const T* b, int64_t e, int64_t j,
           int64_t q) {
  const T d = x.dc[e];
  if (selects(x.algebra) || x.algebra == RealAlgebra::kReal) return d;
  const T t = product_at(x, a, b, j, q);
  if (x.algebra == RealAlgebra::kLogSumExp) return std::isinf(x.c[e]) ? T(0) : d * std::exp(t - x.c[e]);
  if (x.algebra == RealAlgebra::kPMean)
    return x.c[e] == 0 && x.p != 1 ? T(0) : d * back.factor[e] * static_cast<T>(std::pow(t, x.p - 1));
  if (back.chosen[e] > 0) return back.chosen[e] == 1 && t == 1 ? d * back.factor[e] : T(0);
  const T rest = back.factor[e] / (1 - t);
  return d * (std::isfinite(rest) ? rest : none_of_others(x, a, b, j, q));
}

// Fills `back` for row r of all batches' rows.
template <class T>
void look_back(const AlgebraMatmulGrad<T>& x, const Back<T>& back, int64_t r) {
  const auto [batch, m, n, k] = x.sizes;
  const T *a = x.a + r * k, *b = x.b == nullptr ? nullptr : x.b + r / m * k * n;
  for (int64_t j = 0; j < n; j++) {
    const int64_t e = r * n + j;
    back.chosen[e] = 0;
    if (x.algebra == RealAlgebra::kPMean) {
      back.factor[e] = static_cast<T>(std::pow(x.c[e], 1 - x.p)) / static_cast<T>(k);
    } else if (x.algebra == RealAlgebra::kNoisyOr) {
      back.factor[e] = 1;
      for (int64_t q = 0; q < k; q++) {
        const T none = 1 - product_at(x, a, b, j, q);
        none == 0 ? (void)back.chosen[e]++ : (void)(back.factor[e] *= none);
      }
    } else if (selects(x.algebra)) {
      T best = product_at(x, a, b, j, 0);
      for (int64_t q = 1; q < k; q++) {
        const T t = product_at(x, a, b, j, q);
        if (x.algebra == RealAlgebra::kMinPlus ? t < best : t > best) best = t, back.chosen[e] = q;
      }
    }
  }
}

template <class T>
void row_of_da(const AlgebraMatmulGrad<T>& x, const Back<T>& back, int64_t r) {
  const auto [batch, m, n, k] = x.sizes;
  const T *a = x.a + r * k, *b = x.b == nullptr ? nullptr : x.b + r / m * k * n;
  T* da = x.da + r * k;
  std::fill(da, da + k, T(0));
  const auto pass_on = [&](int64_t q, int64_t j) {
    const T d = reaching(x, back, a, b, r * n + j, j, q);
    da[q] += b == nullptr ? d : parts(x.algebra, a[q], b[q * n + j], d).a;
  };
  if (selects(x.algebra)) {
    for (int64_t j = 0; j < n; j++) pass_on(back.chosen[r * n + j], j);
  } else {
    for (int64_t q = 0; q < k; q++)
      for (int64_t j = 0; j < n; j++) pass_on(q, j);
  }
}

// The columns [first, last) of db of one batch.
template <class T>
void columns_of_db(const AlgebraMatmulGrad<T>& x, const Back<T>& back, int64_t t, int64_t first, int64_t last) {
  const auto [batch, m, n, k] = x.sizes;
  const T* b = x.b + t * k * n;
  T* db = x.db + t * k * n;
  for (int64_t q = 0; q < k; q++) std::fill(db + q * n + first, db + q * n + last, T(0));
  for (int64_t i = 0; i < m; i++) {
    const int64_t r = t * m + i;
    const T* a = x.a + r * k;
    const auto pass_on = [&](int64_t q, int64_t j) {
      const T d = reaching(x, back, a, b, r * n + j, j, q);
      db[q * n + j] += parts(x.algebra, a[q], b[q * n + j], d).b;
    };
    if (selects(x.algebra)) {
      for (int64_t j = first; j < last; j++) pass_on(back.chosen[r * n + j], j);
    } else {
      for (int64_t q = 0; q < k; q++)
        for (int64_t j = first; j < last; j++) pass_on(q, j);
    }
  }
}

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Below, packing costs more than it saves.
bool worth_packing(const MatrixSizes& s) { return s.m >= 16 && s.n >= 64 && s.k >= 64; }

void pack_row(const uint8_t* from, int64_t bits, uint64_t* to) {
  for (int64_t w = 0; w < bit_words(bits); w++) {
    uint64_t word = 0;
    for (int64_t i = 0; i < std::min<int64_t>(64, bits - 64 * w); i++)
      word |= static_cast<uint64_t>(from[64 * w + i] != 0) << i;
    to[w] = word;
  }
}

void boolean_rows(const MatrixSizes& s, const uint8_t* a, const uint8_t* b, uint8_t* c, int64_t first, int64_t last) {
  for (int64_t r = first; r < last; r++) {
    uint8_t* row = c + r * s.n;
    std::fill(row, row + s.n, uint8_t{0});
    for (int64_t q = 0; q < s.k; q++) {
      if (a[r * s.k + q] == 0) continue;
      const uint8_t* other = b + (r / s.m * s.k + q) * s.n;
      for (int64_t j = 0; j < s.n; j++) row[j] |= other[j];
    }
  }
}

}  // namespace

size_t algebra_matmul_grad_scratch(const MatrixSizes& s, size_t element_size) {
  const auto elements = static_cast<size_t>(s.batch * s.m * s.n);
  return rounded(elements * sizeof(int64_t)) + rounded(elements * element_size);
}

template <class T>
void algebra_matmul_grad(const AlgebraMatmulGrad<T>& x, void* scratch, const Team& team) {
  const auto [batch, m, n, k] = x.sizes;
  const auto [first, last] = team.share(batch * m);
  if (k > 0) {
    auto* chosen = static_cast<int64_t*>(scratch);
    auto* factor = reinterpret_cast<T*>(static_cast<std::byte*>(scratch) +
                                        rounded(static_cast<size_t>(batch * m * n) * sizeof(int64_t)));
    const Back<T> back{chosen, factor};
    for (int64_t r = first; r < last; r++) {
      look_back(x, back, r);
      row_of_da(x, back, r);
    }
    if (x.b == nullptr) return;
    team.barrier();
    const auto [left, right] = team.share(n, 16);
    for (int64_t t = 0; t < batch; t++) columns_of_db(x, back, t, left, right);
  }
}
template void algebra_matmul_grad(const AlgebraMatmulGrad<float>&, void*, const Team&);
template void algebra_matmul_grad(const AlgebraMatmulGrad<double>&, void*, const Team&);

size_t boolean_matmul_scratch(const MatrixSizes& s) {
  if (!worth_packing(s)) return 0;
  const int64_t inner = bit_words(s.k), across = bit_words(s.n);
  return sizeof(uint64_t) * static_cast<size_t>(s.batch * (s.m * inner + s.k * across + s.m * across));
}

void boolean_matmul(const MatrixSizes& s, const uint8_t* a, const uint8_t* b, uint8_t* c, void* scratch,
                    const Team& team) {
  const int64_t rows = s.batch * s.m;
  const auto [first, last] = team.share(rows);
  if (!worth_packing(s)) return boolean_rows(s, a, b, c, first, last);
  const int64_t inner = bit_words(s.k), across = bit_words(s.n);
  const BitRows pa{static_cast<uint64_t*>(scratch), inner}, pb{pa.words + rows * inner, across},
      pc{pb.words + s.batch * s.k * across, across};
  const auto [b_first, b_last] = team.share(s.batch * s.k);
  for (int64_t r = b_first; r < b_last; r++) pack_row(b + r * s.n, s.n, pb.row(r));
  for (int64_t r = first; r < last; r++) {
    pack_row(a + r * s.k, s.k, pa.row(r));
    std::fill(pc.row(r), pc.row(r) + across, uint64_t{0});
  }
  team.barrier();
  for (int64_t r = first; r < last;) {  // the member's rows, batch by batch
    const int64_t t = r / s.m, count = std::min(last, (t + 1) * s.m) - r;
    bit_matmul({pa.row(r), inner}, {pb.row(t * s.k), across}, {pc.row(r), across}, count, s.k, s.n);
    for (const int64_t end = r + count; r < end; r++)
      for (int64_t j = 0; j < s.n; j++) c[r * s.n + j] = pc.row(r)[j / 64] >> j % 64 & 1;
  }
}

void counting_matmul(const MatrixSizes& s, const int64_t* a, const int64_t* b, int64_t* c, const Team& team) {
  const auto [first, last] = team.share(s.batch * s.m);
  const auto* ua = reinterpret_cast<const uint64_t*>(a);  // whose overflow is defined
  const auto* ub = reinterpret_cast<const uint64_t*>(b);
  auto* uc = reinterpret_cast<uint64_t*>(c);
  for (int64_t r = first; r < last; r++) {
    uint64_t* row = uc + r * s.n;
    std::fill(row, row + s.n, uint64_t{0});
    for (int64_t q = 0; q < s.k; q++) {
      const uint64_t count = ua[r * s.k + q];
      for (int64_t j = 0; j < s.n; j++) row[j] += count * ub[(r / s.m * s.k + q) * s.n + j];
    }
  }
}

}  // namespace ingot::logic
