#include "kernels/optimizer.h"

#include <cmath>
#include <limits>

#include "ingot/base/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimizer.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include "kernels/reduce-inl.h"
// clang-format on

#ifndef INGOT_KERNELS_OPTIMIZER_ONCE
#define INGOT_KERNELS_OPTIMIZER_ONCE
namespace ingot::kernels {

template <class T>
struct SgdArrays {
  const T *p, *g, *b;
  T *new_p, *new_b;
};

// The constants of a step, computed in double and rounded once.
template <class T>
struct GradientTerms {
  GradientTerms(const GradientScaling& s, double weight_decay)
      : scale(static_cast<T>(s.scale)),
        limit(s.clip_value > 0 ? static_cast<T>(s.clip_value) : std::numeric_limits<T>::infinity()),
        decay(static_cast<T>(weight_decay)) {}
  T scale, limit, decay;
};

template <class T>
struct SgdTerms {
  explicit SgdTerms(const SgdStep& s)
      : gradient(s.scaling, s.weight_decay), lr(static_cast<T>(s.lr)), momentum(static_cast<T>(s.momentum)) {}
  GradientTerms<T> gradient;
  T lr, momentum;
};

template <class T>
struct AdamTerms {
  explicit AdamTerms(const AdamStep& s)
      : gradient(s.scaling, s.decoupled ? 0 : s.weight_decay),
        beta1(static_cast<T>(s.beta1)),
        beta2(static_cast<T>(s.beta2)),
        rest1(static_cast<T>(1 - s.beta1)),
        rest2(static_cast<T>(1 - s.beta2)),
        eps(static_cast<T>(s.eps)),
        keep(s.decoupled && s.weight_decay != 0 ? static_cast<T>(1 - s.lr * s.weight_decay) : T(1)) {
    const double count = static_cast<double>(s.count);
    rate = static_cast<T>(s.lr / (1 - std::pow(s.beta1, count)));
    unbias = static_cast<T>(1 / std::sqrt(1 - std::pow(s.beta2, count)));
  }
  GradientTerms<T> gradient;
  T beta1, beta2, rest1, rest2, eps, keep;
  T rate, unbias;  // lr / (1 - beta1^count), 1 / √(1 - beta2^count)
};

}  // namespace ingot::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {

// Runs a rule over this member's share. A rule says what it loads, how it changes that and what it stores. Two vectors
// are loaded before either is stored, so that the second need not wait for the first's square root and division.
template <class T, class Rule>
HWY_INLINE void sweep(int64_t n, const Rule& rule, const Team& team) {
  constexpr int64_t N = kLanes<hn::ScalableTag<T>>;
  const auto [first, last] = team.share(n, 64);
  int64_t i = first;
  for (; i + 2 * N <= last; i += 2 * N) {
    auto a = rule.load(i, N), b = rule.load(i + N, N);
    rule.update(a);
    rule.update(b);
    rule.store(a, i, N);
    rule.store(b, i + N, N);
  }
  for (; i < last; i += N) {
    const int64_t k = std::min(N, last - i);
    auto a = rule.load(i, k);
    rule.update(a);
    rule.store(a, i, k);
  }
}

// x limited to [low, high]; NaN stays, so that nobody trains on without noticing. x86 returns the second operand when
// one is NaN, others the number.
template <class V>
HWY_INLINE V limited(V low, V high, V x) {
  const V within = hn::Min(high, hn::Max(low, x));
#if HWY_ARCH_X86
  return within;
#else
  return hn::IfThenElse(hn::IsNaN(x), x, within);
#endif
}

// The gradient that an optimiser uses: scaled, limited, with weight decay.
template <bool kDecay, class T>
class GradientRule {
  static constexpr hn::ScalableTag<T> d{};
  using V = hn::Vec<hn::ScalableTag<T>>;

 public:
  explicit GradientRule(const GradientTerms<T>& t)
      : scale_(hn::Set(d, t.scale)),
        low_(hn::Set(d, -t.limit)),
        high_(hn::Set(d, t.limit)),
        decay_(hn::Set(d, t.decay)) {}
  HWY_INLINE V operator()(V g, V p) const {
    g = limited(low_, high_, hn::Mul(g, scale_));
    return kDecay ? hn::MulAdd(p, decay_, g) : g;
  }

 private:
  V scale_, low_, high_, decay_;
};

enum class Momentum { kNone, kPlain, kNesterov };

template <Momentum kMomentum, bool kDecay, class T>
class SgdRule {
  static constexpr hn::ScalableTag<T> d{};
  using V = hn::Vec<hn::ScalableTag<T>>;
  struct Vectors {
    V p, g, b;
  };

 public:
  SgdRule(const SgdTerms<T>& t, const SgdArrays<T>& x)
      : x_(x), gradient_(t.gradient), lr_(hn::Set(d, t.lr)), momentum_(hn::Set(d, t.momentum)) {}

  HWY_INLINE Vectors load(int64_t i, int64_t k) const {
    const V p = load_upto(d, x_.p + i, k), g = load_upto(d, x_.g + i, k);
    if constexpr (kMomentum == Momentum::kNone) return {p, g, g};
    return {p, g, load_upto(d, x_.b + i, k)};
  }
  HWY_INLINE void update(Vectors& v) const {
    V by = gradient_(v.g, v.p);
    if constexpr (kMomentum != Momentum::kNone) {
      v.b = hn::MulAdd(v.b, momentum_, by);
      by = kMomentum == Momentum::kNesterov ? hn::MulAdd(v.b, momentum_, by) : v.b;
    }
    v.p = hn::NegMulAdd(by, lr_, v.p);
  }
  HWY_INLINE void store(const Vectors& v, int64_t i, int64_t k) const {
    store_upto(v.p, d, x_.new_p + i, k);
    if constexpr (kMomentum != Momentum::kNone) store_upto(v.b, d, x_.new_b + i, k);
  }

 private:
  SgdArrays<T> x_;
  GradientRule<kDecay, T> gradient_;
  V lr_, momentum_;
};

template <bool kDecay, class T>
class AdamRule {
  static constexpr hn::ScalableTag<T> d{};
  using V = hn::Vec<hn::ScalableTag<T>>;
  struct Vectors {
    V p, g, m, v;
  };

 public:
  AdamRule(const AdamTerms<T>& t, const AdamArrays<T>& x)
      : x_(x),
        gradient_(t.gradient),
        beta1_(hn::Set(d, t.beta1)),
        beta2_(hn::Set(d, t.beta2)),
        rest1_(hn::Set(d, t.rest1)),
        rest2_(hn::Set(d, t.rest2)),
        eps_(hn::Set(d, t.eps)),
        keep_(hn::Set(d, t.keep)),
        rate_(hn::Set(d, t.rate)),
        unbias_(hn::Set(d, t.unbias)) {}

  HWY_INLINE Vectors load(int64_t i, int64_t k) const {
    return {load_upto(d, x_.p + i, k), load_upto(d, x_.g + i, k), load_upto(d, x_.m + i, k), load_upto(d, x_.v + i, k)};
  }
  HWY_INLINE void update(Vectors& x) const {
    const V g = gradient_(x.g, x.p);
    x.m = hn::MulAdd(x.m, beta1_, hn::Mul(g, rest1_));
    x.v = hn::MulAdd(x.v, beta2_, hn::Mul(hn::Mul(g, g), rest2_));
    const V by = hn::Div(x.m, hn::MulAdd(hn::Sqrt(x.v), unbias_, eps_));
    x.p = hn::NegMulAdd(by, rate_, hn::Mul(x.p, keep_));
  }
  HWY_INLINE void store(const Vectors& x, int64_t i, int64_t k) const {
    store_upto(x.p, d, x_.new_p + i, k);
    store_upto(x.m, d, x_.new_m + i, k);
    store_upto(x.v, d, x_.new_v + i, k);
  }

 private:
  AdamArrays<T> x_;
  GradientRule<kDecay, T> gradient_;
  V beta1_, beta2_, rest1_, rest2_, eps_, keep_, rate_, unbias_;
};

template <Momentum kMomentum, class T>
HWY_INLINE void sgd_sweep(int64_t n, const SgdTerms<T>& terms, const SgdArrays<T>& x, const Team& team) {
  terms.gradient.decay != 0 ? sweep<T>(n, SgdRule<kMomentum, true, T>(terms, x), team)
                            : sweep<T>(n, SgdRule<kMomentum, false, T>(terms, x), team);
}
template <class T>
void sgd_any(int64_t n, const SgdTerms<T>& terms, bool nesterov, const SgdArrays<T>& x, const Team& team) {
  if (x.b == nullptr) return sgd_sweep<Momentum::kNone>(n, terms, x, team);
  if (nesterov) return sgd_sweep<Momentum::kNesterov>(n, terms, x, team);
  sgd_sweep<Momentum::kPlain>(n, terms, x, team);
}
template <class T>
void adam_any(int64_t n, const AdamTerms<T>& terms, const AdamArrays<T>& x, const Team& team) {
  terms.gradient.decay != 0 ? sweep<T>(n, AdamRule<true, T>(terms, x), team)
                            : sweep<T>(n, AdamRule<false, T>(terms, x), team);
}

#define INGOT_OPTIMIZER_TARGETS(T, suffix)                                                                     \
  void sgd_##suffix(int64_t n, const SgdTerms<T>& t, bool nesterov, const SgdArrays<T>& x, const Team& team) { \
    sgd_any(n, t, nesterov, x, team);                                                                          \
  }                                                                                                            \
  void adam_##suffix(int64_t n, const AdamTerms<T>& t, const AdamArrays<T>& x, const Team& team) {             \
    adam_any(n, t, x, team);                                                                                   \
  }
INGOT_OPTIMIZER_TARGETS(float, f32)
INGOT_OPTIMIZER_TARGETS(double, f64)
#undef INGOT_OPTIMIZER_TARGETS

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {
namespace {

void sgd(int64_t n, const SgdStep& step, const SgdArrays<float>& x, const Team& team) {
  INGOT_DISPATCH(sgd_f32)(n, SgdTerms<float>(step), step.nesterov, x, team);
}
void sgd(int64_t n, const SgdStep& step, const SgdArrays<double>& x, const Team& team) {
  INGOT_DISPATCH(sgd_f64)(n, SgdTerms<double>(step), step.nesterov, x, team);
}

}  // namespace

template <class T>
void sgd_step(const SgdStep& step, int64_t n, const T* p, const T* g, T* new_p, const Team& team) {
  sgd(n, step, SgdArrays<T>{p, g, nullptr, new_p, nullptr}, team);
}
template <class T>
void sgd_momentum_step(const SgdStep& step, int64_t n, const T* p, const T* g, const T* b, T* new_p, T* new_b,
                       const Team& team) {
  sgd(n, step, SgdArrays<T>{p, g, b, new_p, new_b}, team);
}

template <>
void adam_step(const AdamStep& step, int64_t n, const AdamArrays<float>& x, const Team& team) {
  INGOT_DISPATCH(adam_f32)(n, AdamTerms<float>(step), x, team);
}
template <>
void adam_step(const AdamStep& step, int64_t n, const AdamArrays<double>& x, const Team& team) {
  INGOT_DISPATCH(adam_f64)(n, AdamTerms<double>(step), x, team);
}

#define INGOT_SGD(T)                                                                    \
  template void sgd_step(const SgdStep&, int64_t, const T*, const T*, T*, const Team&); \
  template void sgd_momentum_step(const SgdStep&, int64_t, const T*, const T*, const T*, T*, T*, const Team&);
INGOT_SGD(float)
INGOT_SGD(double)
#undef INGOT_SGD

}  // namespace ingot::kernels
#endif
