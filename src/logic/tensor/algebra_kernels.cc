#include "logic/tensor/algebra_kernels.h"

#include <algorithm>
#include <limits>

#include "ingot/base/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "logic/tensor/algebra_kernels.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ingot::logic::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A sum takes products t = a ⊗ b one after another, vectors of independent ones:
//   add, alone       another product of a and b; one that is already there
//   partial, absorb  what it has of a vector's products so far; takes over a lane of that
//   finish           the result
//   largest, shift   for sums that must know the largest product first (kRounds == 2)
// Products that are no numbers reach the result, whatever the vectors' own minimum and maximum make of them.
template <class D>
using V = hn::Vec<D>;

template <class D>
HWY_INLINE V<D> not_a_number(D d) {
  return hn::Set(d, std::numeric_limits<hn::TFromD<D>>::quiet_NaN());
}
template <class D>
HWY_INLINE V<D> infinity(D d) {
  return hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
}

struct Lesser {
  template <class D>
  static HWY_INLINE V<D> of(D d, V<D> a, V<D> b) {
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), not_a_number(d), hn::Min(a, b));
  }
};
struct Times {
  template <class D>
  static HWY_INLINE V<D> of(D, V<D> a, V<D> b) {
    return hn::Mul(a, b);
  }
};
struct Bounded {  // max(0, a + b - 1)
  template <class D>
  static HWY_INLINE V<D> of(D d, V<D> a, V<D> b) {
    const V<D> t = hn::Sub(hn::Add(a, b), hn::Set(d, 1));
    return hn::IfThenElse(hn::Lt(t, hn::Zero(d)), hn::Zero(d), t);
  }
};
struct Sum {
  template <class D>
  static HWY_INLINE V<D> of(D, V<D> a, V<D> b) {
    return hn::Add(a, b);
  }
};

template <class D, class Product, bool kLargest>
struct Selection {
  static constexpr int kRounds = 1;
  V<D> best;
  hn::Mask<D> bad;
  explicit Selection(D d = D())
      : best(kLargest ? hn::Neg(infinity(d)) : infinity(d)), bad(hn::Lt(hn::Zero(d), hn::Zero(d))) {}
  HWY_INLINE void add(D d, V<D> a, V<D> b) { alone(d, Product::of(d, a, b)); }
  HWY_INLINE void alone(D, V<D> t) {
    best = kLargest ? hn::Max(best, t) : hn::Min(best, t);
    bad = hn::Or(bad, hn::IsNaN(t));
  }
  HWY_INLINE V<D> partial(D d) const { return hn::IfThenElse(bad, not_a_number(d), best); }
  HWY_INLINE void absorb(D d, V<D> lane) { alone(d, lane); }
  HWY_INLINE V<D> finish(D d, int64_t) const { return partial(d); }
};
template <class D>
using MaxMin = Selection<D, Lesser, true>;
template <class D>
using MaxProduct = Selection<D, Times, true>;
template <class D>
using Lukasiewicz = Selection<D, Bounded, true>;
template <class D>
using MinPlus = Selection<D, Sum, false>;

// The largest first, then powers of differences to it, none of which overflows.
template <class D>
struct LogSumExp {
  static constexpr int kRounds = 2;
  using Largest = Selection<D, Sum, true>;
  V<D> largest, shift, sum;
  explicit LogSumExp(D d = D()) : largest(hn::Zero(d)), shift(hn::Zero(d)), sum(hn::Zero(d)) {}
  HWY_INLINE void know(D d, V<D> value) {
    largest = value;
    shift = hn::IfThenElse(hn::IsFinite(value), value, hn::Zero(d));
  }
  HWY_INLINE void add(D d, V<D> a, V<D> b) { alone(d, hn::Add(a, b)); }
  HWY_INLINE void alone(D d, V<D> t) { sum = hn::Add(sum, hn::Exp(d, hn::Sub(t, shift))); }
  HWY_INLINE V<D> partial(D) const { return sum; }
  HWY_INLINE void absorb(D, V<D> lane) { sum = hn::Add(sum, lane); }
  HWY_INLINE V<D> finish(D d, int64_t) const {
    return hn::IfThenElse(hn::IsFinite(largest), hn::Add(largest, hn::Log(d, sum)), largest);
  }
};

template <class D>
struct NoisyOr {
  static constexpr int kRounds = 1;
  V<D> none;  // the product of 1 - t
  explicit NoisyOr(D d = D()) : none(hn::Set(d, 1)) {}
  HWY_INLINE void add(D d, V<D> a, V<D> b) { alone(d, hn::Mul(a, b)); }
  HWY_INLINE void alone(D d, V<D> t) { none = hn::Mul(none, hn::Sub(hn::Set(d, 1), t)); }
  HWY_INLINE V<D> partial(D) const { return none; }
  HWY_INLINE void absorb(D, V<D> lane) { none = hn::Mul(none, lane); }
  HWY_INLINE V<D> finish(D d, int64_t) const { return hn::Sub(hn::Set(d, 1), none); }
};

// x to a power that is not whole.
template <class D>
HWY_NOINLINE V<D> any_power(D d, V<D> x, double p) {
  using T = hn::TFromD<D>;
  const V<D> y = hn::Exp(d, hn::Mul(hn::Set(d, static_cast<T>(p)), hn::Log(d, x)));
  const auto plain = hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, infinity(d)));
  const V<D> odd = hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Lt(x, hn::Zero(d))), not_a_number(d), x);
  return hn::IfThenElse(plain, y, odd);  // 0 and infinity are their own powers
}

template <class D>
HWY_INLINE V<D> power(D d, V<D> x, double p) {
  if (p == 1) return x;
  if (p == 2) return hn::Mul(x, x);
  if (p != static_cast<int>(p)) return any_power(d, x, p);
  V<D> result = hn::Set(d, 1);
  for (auto bits = static_cast<unsigned>(p); bits != 0; bits >>= 1, x = hn::Mul(x, x))
    if (bits & 1) result = hn::Mul(result, x);
  return result;
}

template <class D>
struct PMean {
  static constexpr int kRounds = 1;
  V<D> sum;
  double p = 2;
  explicit PMean(D d = D()) : sum(hn::Zero(d)) {}
  HWY_INLINE void add(D d, V<D> a, V<D> b) { alone(d, hn::Mul(a, b)); }
  HWY_INLINE void alone(D d, V<D> t) { sum = hn::Add(sum, power(d, t, p)); }
  HWY_INLINE V<D> partial(D) const { return sum; }
  HWY_INLINE void absorb(D, V<D> lane) { sum = hn::Add(sum, lane); }
  HWY_INLINE V<D> finish(D d, int64_t k) const {
    const V<D> mean = hn::Div(sum, hn::Set(d, static_cast<hn::TFromD<D>>(k)));
    return p == 1 ? mean : p == 2 ? hn::Sqrt(mean) : any_power(d, mean, 1 / p);
  }
};

template <class State>
HWY_INLINE void set_p(State& state, double p) {
  if constexpr (requires { state.p = p; }) state.p = p;
}

// kRows rows of c, a vector of columns each: every load of b serves all of them.
template <template <class> class S, int kRows, class D, class T>
HWY_INLINE void columns(D d, const AlgebraMatmul<T>& x, const T* a, const T* b, T* c) {
  const int64_t k = x.sizes.k, n = x.sizes.n;
  S<D> sums[kRows];
  for (S<D>& sum : sums) set_p(sum, x.p);
  const auto walk = [&](auto& states) {
    for (int64_t q = 0; q < k; q++) {
      const auto column = hn::LoadU(d, b + q * n);
      for (int r = 0; r < kRows; r++) states[r].add(d, hn::Set(d, a[r * k + q]), column);
    }
  };
  if constexpr (S<D>::kRounds == 2) {
    typename S<D>::Largest largest[kRows];
    walk(largest);
    for (int r = 0; r < kRows; r++) sums[r].know(d, largest[r].partial(d));
  }
  walk(sums);
  for (int r = 0; r < kRows; r++) hn::StoreU(sums[r].finish(d, k), d, c + r * n);
}

// Sums over vectors of products that follow each other, then over what is left of both.
template <class State, class Single, class D, class T>
HWY_INLINE void walk_row(D d, State* states, Single& rest, const T* a, const T* b, int64_t k) {
  using One = hn::CappedTag<T, 1>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  int64_t q = 0;
  for (; q + 2 * kLanes <= k; q += 2 * kLanes)
    for (int s = 0; s < 2; s++) {
      const int64_t at = q + s * kLanes;
      b == nullptr ? states[s].alone(d, hn::LoadU(d, a + at))
                   : states[s].add(d, hn::LoadU(d, a + at), hn::LoadU(d, b + at));
    }
  for (; q < k; q++)
    b == nullptr ? rest.alone(One(), hn::Set(One(), a[q]))
                 : rest.add(One(), hn::Set(One(), a[q]), hn::Set(One(), b[q]));
  if (k < 2 * kLanes) return;
  for (int s = 0; s < 2; s++) {
    HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(states[s].partial(d), d, lanes);
    for (int64_t lane = 0; lane < kLanes; lane++) rest.absorb(One(), hn::Set(One(), lanes[lane]));
  }
}

template <template <class> class S, class D, class T>
HWY_INLINE void row(D d, const AlgebraMatmul<T>& x, const T* a, const T* b, T* c) {
  using One = hn::CappedTag<T, 1>;
  const int64_t k = x.sizes.k;
  S<D> sums[2];
  S<One> sum;
  for (S<D>& each : sums) set_p(each, x.p);
  set_p(sum, x.p);
  if constexpr (S<D>::kRounds == 2) {
    typename S<D>::Largest largest[2];
    typename S<One>::Largest last;
    walk_row(d, largest, last, a, b, k);
    const T value = hn::GetLane(last.partial(One()));
    for (S<D>& each : sums) each.know(d, hn::Set(d, value));
    sum.know(One(), hn::Set(One(), value));
  }
  walk_row(d, sums, sum, a, b, k);
  hn::StoreU(sum.finish(One(), k), One(), c);
}

// Members share rows, or columns where there are few rows; every element is computed in the same way by any of them.
template <template <class> class S, class T>
HWY_NOINLINE void multiply(const AlgebraMatmul<T>& x, const Team& team) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const auto [batch, m, n, k] = x.sizes;
  const int64_t rows = batch * m;
  using Range = std::pair<int64_t, int64_t>;
  const bool by_rows = rows >= 8 || n == 1;
  const auto [first, last] = by_rows ? team.share(rows) : Range(0, rows);
  const auto [left, right] = by_rows ? Range(0, n) : team.share(n, kLanes);
  for (int64_t r = first, step = 1; r < last; r += step) {
    const T *a = x.a + r * k, *b = x.b == nullptr ? nullptr : x.b + r / m * k * n;
    T* c = x.c + r * n;
    step = 1;
    if (n == 1) {
      row<S>(d, x, a, b, c);
      continue;
    }
    if (r + 4 <= last && r % m + 4 <= m) step = 4;
    int64_t j = left;
    for (; j + kLanes <= right; j += kLanes)
      step == 4 ? columns<S, 4>(d, x, a, b + j, c + j) : columns<S, 1>(d, x, a, b + j, c + j);
    for (; j < right; j++)
      for (int64_t i = 0; i < step; i++) columns<S, 1>(one, x, a + i * k, b + j, c + i * n + j);
  }
}

template <class T>
void matmul(const AlgebraMatmul<T>& x, const Team& team) {
  switch (x.algebra) {
    case RealAlgebra::kMaxMin: return multiply<MaxMin>(x, team);
    case RealAlgebra::kMaxProduct: return multiply<MaxProduct>(x, team);
    case RealAlgebra::kLukasiewicz: return multiply<Lukasiewicz>(x, team);
    case RealAlgebra::kMinPlus: return multiply<MinPlus>(x, team);
    case RealAlgebra::kLogSumExp: return multiply<LogSumExp>(x, team);
    case RealAlgebra::kNoisyOr: return multiply<NoisyOr>(x, team);
    case RealAlgebra::kPMean: return multiply<PMean>(x, team);
  }
}
void matmul_f32(const AlgebraMatmul<float>& x, const Team& team) { matmul(x, team); }
void matmul_f64(const AlgebraMatmul<double>& x, const Team& team) { matmul(x, team); }

}  // namespace ingot::logic::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::logic {

double zero_of(RealAlgebra algebra) {
  const double infinity = std::numeric_limits<double>::infinity();
  return algebra == RealAlgebra::kMinPlus ? infinity : algebra == RealAlgebra::kLogSumExp ? -infinity : 0;
}

// The ⊕ of nothing, if that is what there is.
template <class T>
static bool empty(const AlgebraMatmul<T>& x, const Team& team) {
  if (x.sizes.k > 0) return false;
  const auto [first, last] = team.share(x.sizes.batch * x.sizes.m * x.sizes.n);
  std::fill(x.c + first, x.c + last, static_cast<T>(zero_of(x.algebra)));
  return true;
}

template <>
void algebra_matmul(const AlgebraMatmul<float>& x, const Team& team) {
  if (!empty(x, team)) INGOT_DISPATCH(matmul_f32)(x, team);
}
template <>
void algebra_matmul(const AlgebraMatmul<double>& x, const Team& team) {
  if (!empty(x, team)) INGOT_DISPATCH(matmul_f64)(x, team);
}

}  // namespace ingot::logic
#endif  // HWY_ONCE
