// Gradients of products over an algebra. Nothing but the operands and the result is kept of a product: what an element
// of the result is made of is computed again.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "ingot/base/dispatch.h"
#include "logic/tensor/algebra_kernels.h"

// Plain loops, which the compiler turns into vectors of each target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "logic/tensor/algebra_grad.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ingot::logic::HWY_NAMESPACE {
namespace {

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

template <RealAlgebra kAlgebra, class T>
T product(T a, T b) {
  if constexpr (kAlgebra == RealAlgebra::kMaxMin) {
    const T least = b < a ? b : a;
    return std::isnan(b) ? b : least;  // a NaN stays one
  }
  if constexpr (kAlgebra == RealAlgebra::kLukasiewicz) return std::max(a + b - 1, T(0));
  if constexpr (adds(kAlgebra)) return a + b;
  return a * b;
}

// What a product passes on to a and to b, of the gradient that reaches it.
template <class T>
struct Parts {
  T a, b;
};
template <RealAlgebra kAlgebra, class T>
Parts<T> parts(T a, T b, T d) {
  if constexpr (kAlgebra == RealAlgebra::kMaxMin) return b < a ? Parts<T>{0, d} : Parts<T>{d, 0};
  if constexpr (kAlgebra == RealAlgebra::kLukasiewicz) return a + b > 1 ? Parts<T>{d, d} : Parts<T>{0, 0};
  if constexpr (adds(kAlgebra)) return {d, d};
  return {d * b, d * a};
}

template <RealAlgebra kAlgebra, class T>
class Backward {
 public:
  Backward(const AlgebraMatmulGrad<T>& x, void* scratch) : x_(x), s_(x.sizes) {
    const auto elements = static_cast<size_t>(s_.batch * s_.m * s_.n);
    chosen_ = static_cast<int64_t*>(scratch);
    factor_ = reinterpret_cast<T*>(static_cast<std::byte*>(scratch) + rounded(elements * sizeof(int64_t)));
  }

  void run(const Team& team) const {
    const auto [first, last] = team.share(s_.batch * s_.m);
    for (int64_t r = first; r < last; r++) {
      const Row row{x_.a + r * s_.k, x_.b == nullptr ? nullptr : x_.b + r / s_.m * s_.k * s_.n, r * s_.n};
      look_back(row);
      row_of_da(row, x_.da + r * s_.k);
    }
    if (x_.b == nullptr) return;
    team.barrier();
    const auto [left, right] = team.share(s_.n, 16);
    for (int64_t t = 0; t < s_.batch; t++) columns_of_db(t, left, right);
  }

 private:
  // A row of c: that of a, the matrix b, and the number of its first element.
  struct Row {
    const T *a, *b;
    int64_t first;
  };

  T product_at(const Row& row, int64_t j, int64_t q) const {
    return row.b == nullptr ? row.a[q] : product<kAlgebra>(row.a[q], row.b[q * s_.n + j]);
  }

  // Of every element of a row: the first of the best products where ⊕ selects; otherwise a factor, and for noisy-or
  // the number of products that are 1, which alone decide.
  void look_back(const Row& row) const {
    int64_t* chosen = chosen_ + row.first;
    T* factor = factor_ + row.first;
    std::fill(chosen, chosen + s_.n, int64_t{0});
    if constexpr (kAlgebra == RealAlgebra::kPMean) {
      for (int64_t j = 0; j < s_.n; j++)
        factor[j] = static_cast<T>(std::pow(x_.c[row.first + j], 1 - x_.p)) / static_cast<T>(s_.k);
    } else if constexpr (kAlgebra == RealAlgebra::kNoisyOr) {
      std::fill(factor, factor + s_.n, T(1));
      for (int64_t q = 0; q < s_.k; q++)
        for (int64_t j = 0; j < s_.n; j++) {
          const T none = 1 - product_at(row, j, q);
          chosen[j] += none == 0;
          factor[j] *= none == 0 ? 1 : none;
        }
    } else if constexpr (selects(kAlgebra)) {  // `factor` has the best so far
      for (int64_t j = 0; j < s_.n; j++) factor[j] = product_at(row, j, 0);
      for (int64_t q = 1; q < s_.k; q++) {
        if (row.b == nullptr)
          choose(
              q, s_.n, [&](int64_t) { return row.a[q]; }, factor, chosen);
        else
          choose(
              q, s_.n, [a = row.a[q], b = row.b + q * s_.n](int64_t j) { return product<kAlgebra>(a, b[j]); }, factor,
              chosen);
      }
    }
  }

  // Puts product q in the place of those before it that it is better than.
  template <class Product>
  static void choose(int64_t q, int64_t n, Product product_of, T* HWY_RESTRICT best, int64_t* HWY_RESTRICT chosen) {
    for (int64_t j = 0; j < n; j++) {
      const T t = product_of(j);
      const bool better = kAlgebra == RealAlgebra::kMinPlus ? t < best[j] : t > best[j];
      best[j] = better ? t : best[j];
      chosen[j] = better ? q : chosen[j];
    }
  }

  // The gradient that reaches product q of the element in column j.
  T reaching(const Row& row, int64_t j, int64_t q) const {
    const int64_t e = row.first + j;
    const T d = x_.dc[e];
    if constexpr (selects(kAlgebra)) return d;
    const T t = product_at(row, j, q);
    if constexpr (kAlgebra == RealAlgebra::kLogSumExp) return std::isinf(x_.c[e]) ? T(0) : d * std::exp(t - x_.c[e]);
    if constexpr (kAlgebra == RealAlgebra::kPMean) {
      if (x_.c[e] == 0 && x_.p != 1) return 0;
      return d * factor_[e] * (x_.p == 2 ? t : static_cast<T>(std::pow(t, x_.p - 1)));
    }
    if (chosen_[e] > 0) return chosen_[e] == 1 && t == 1 ? d * factor_[e] : T(0);
    const T rest = factor_[e] / (1 - t);
    return d * (std::isfinite(rest) ? rest : none_of_others(row, j, q));
  }

  // Π (1 - t) over all products but number q.
  T none_of_others(const Row& row, int64_t j, int64_t q) const {
    T none = 1;
    for (int64_t other = 0; other < s_.k; other++)
      if (other != q) none *= 1 - product_at(row, j, other);
    return none;
  }

  void row_of_da(const Row& row, T* da) const {
    std::fill(da, da + s_.k, T(0));
    const auto pass_on = [&](int64_t q, int64_t j) {
      const T d = reaching(row, j, q);
      da[q] += row.b == nullptr ? d : parts<kAlgebra>(row.a[q], row.b[q * s_.n + j], d).a;
    };
    if constexpr (selects(kAlgebra)) {
      for (int64_t j = 0; j < s_.n; j++) pass_on(chosen_[row.first + j], j);
    } else {
      for (int64_t q = 0; q < s_.k; q++)
        for (int64_t j = 0; j < s_.n; j++) pass_on(q, j);
    }
  }

  // The columns [first, last) of db of one batch.
  void columns_of_db(int64_t t, int64_t first, int64_t last) const {
    const T* b = x_.b + t * s_.k * s_.n;
    T* db = x_.db + t * s_.k * s_.n;
    for (int64_t q = 0; q < s_.k; q++) std::fill(db + q * s_.n + first, db + q * s_.n + last, T(0));
    for (int64_t r = t * s_.m; r < (t + 1) * s_.m; r++) {
      const Row row{x_.a + r * s_.k, b, r * s_.n};
      const auto pass_on = [&](int64_t q, int64_t j) {
        db[q * s_.n + j] += parts<kAlgebra>(row.a[q], b[q * s_.n + j], reaching(row, j, q)).b;
      };
      if constexpr (selects(kAlgebra)) {
        for (int64_t j = first; j < last; j++) pass_on(chosen_[row.first + j], j);
      } else {
        for (int64_t q = 0; q < s_.k; q++)
          for (int64_t j = first; j < last; j++) pass_on(q, j);
      }
    }
  }

  const AlgebraMatmulGrad<T>& x_;
  const MatrixSizes& s_;
  int64_t* chosen_;
  T* factor_;
};

template <class T>
void backward(const AlgebraMatmulGrad<T>& x, void* scratch, const Team& team) {
  switch (x.algebra) {
    case RealAlgebra::kMaxMin: return Backward<RealAlgebra::kMaxMin, T>(x, scratch).run(team);
    case RealAlgebra::kMaxProduct: return Backward<RealAlgebra::kMaxProduct, T>(x, scratch).run(team);
    case RealAlgebra::kLukasiewicz: return Backward<RealAlgebra::kLukasiewicz, T>(x, scratch).run(team);
    case RealAlgebra::kMinPlus: return Backward<RealAlgebra::kMinPlus, T>(x, scratch).run(team);
    case RealAlgebra::kLogSumExp: return Backward<RealAlgebra::kLogSumExp, T>(x, scratch).run(team);
    case RealAlgebra::kNoisyOr: return Backward<RealAlgebra::kNoisyOr, T>(x, scratch).run(team);
    case RealAlgebra::kPMean: return Backward<RealAlgebra::kPMean, T>(x, scratch).run(team);
  }
}

}  // namespace

void backward_f32(const AlgebraMatmulGrad<float>& x, void* scratch, const Team& team) { backward(x, scratch, team); }
void backward_f64(const AlgebraMatmulGrad<double>& x, void* scratch, const Team& team) { backward(x, scratch, team); }
size_t scratch_bytes(const MatrixSizes& s, size_t element_size) {
  const auto elements = static_cast<size_t>(s.batch * s.m * s.n);
  return rounded(elements * sizeof(int64_t)) + rounded(elements * element_size);
}

}  // namespace ingot::logic::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::logic {

size_t algebra_matmul_grad_scratch(const MatrixSizes& s, size_t element_size) {
  return HWY_STATIC_DISPATCH(scratch_bytes)(s, element_size);
}

// Without products there is nothing to write to.
template <>
void algebra_matmul_grad(const AlgebraMatmulGrad<float>& x, void* scratch, const Team& team) {
  if (x.sizes.k > 0) INGOT_DISPATCH(backward_f32)(x, scratch, team);
}
template <>
void algebra_matmul_grad(const AlgebraMatmulGrad<double>& x, void* scratch, const Team& team) {
  if (x.sizes.k > 0) INGOT_DISPATCH(backward_f64)(x, scratch, team);
}

}  // namespace ingot::logic
#endif  // HWY_ONCE
