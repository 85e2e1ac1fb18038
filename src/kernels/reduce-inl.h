// Vector pieces that the reduction-like kernels share: short loads and stores, joins that keep NaN, blocked sums.
#if defined(INGOT_KERNELS_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_REDUCE_INL_H_
#undef INGOT_KERNELS_REDUCE_INL_H_
#else
#define INGOT_KERNELS_REDUCE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The first n < Lanes(d) elements; the other lanes are zero. Touches nothing beyond them.
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_few(D d, const T* p, int64_t n) {
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p);
}
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_few(hn::Vec<D> v, D d, T* p, int64_t n) {
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
}
#else  // element by element; out of line, because tails are rare
template <class D, class T = hn::TFromD<D>>
HWY_NOINLINE hn::Vec<D> load_few(D d, const T* p, int64_t n) {
  HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return hn::Load(d, lanes);
}
template <class D, class T = hn::TFromD<D>>
HWY_NOINLINE void store_few(hn::Vec<D> v, D d, T* p, int64_t n) {
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}
#endif

template <class D>
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_upto(D d, const T* p, int64_t n) {
  return n >= kLanes<D> ? hn::LoadU(d, p) : load_few(d, p, n);
}
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_upto(hn::Vec<D> v, D d, T* p, int64_t n) {
  n >= kLanes<D> ? hn::StoreU(v, d, p) : store_few(v, d, p, n);
}

// What a reduction does: `map` on each element (c is the output's centre), `join` of two partial results.
struct AddJoin {
  template <class D>
  static HWY_INLINE hn::Vec<D> identity(D d) {
    return hn::Zero(d);
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Add(a, b);
  }
  static float join(float a, float b) { return a + b; }
  static double join(double a, double b) { return a + b; }
};
struct PlainMap {
  template <class D, class V>
  static HWY_INLINE V map(D, V x, V) {
    return x;
  }
};
struct SumOp : AddJoin, PlainMap {};
struct SumSquaresOp : AddJoin {
  template <class D, class V>
  static HWY_INLINE V map(D, V x, V) {
    return hn::Mul(x, x);
  }
};
struct SumAbsOp : AddJoin {
  template <class D, class V>
  static HWY_INLINE V map(D, V x, V) {
    return hn::Abs(x);
  }
};
struct SquaredDifferenceOp : AddJoin {
  template <class D, class V>
  static HWY_INLINE V map(D, V x, V c) {
    const V difference = hn::Sub(x, c);
    return hn::Mul(difference, difference);
  }
};
struct ProdOp : PlainMap {
  template <class D>
  static HWY_INLINE hn::Vec<D> identity(D d) {
    return hn::Set(d, hn::TFromD<D>(1));
  }
  template <class V>
  static HWY_INLINE V join(V a, V b) {
    return hn::Mul(a, b);
  }
  static float join(float a, float b) { return a * b; }
  static double join(double a, double b) { return a * b; }
};

// The larger (smaller) of a and x; a NaN on either side stays. x86's max returns its second operand when either is NaN,
// so there only one that arrives in x needs care.
template <class V>
HWY_INLINE V max_or_nan(V a, V x) {
#if HWY_ARCH_X86
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Max(x, a));
#else
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Lt(a, x)), x, a);
#endif
}
template <class V>
HWY_INLINE V min_or_nan(V a, V x) {
#if HWY_ARCH_X86
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Min(x, a));
#else
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Lt(x, a)), x, a);
#endif
}
struct MaxOp : PlainMap {
  template <class D>
  static HWY_INLINE hn::Vec<D> identity(D d) {
    return hn::Set(d, -std::numeric_limits<hn::TFromD<D>>::infinity());
  }
  template <class V>
  static HWY_INLINE V join(V a, V x) {
    return max_or_nan(a, x);
  }
  static float join(float a, float b) { return a != a || a > b ? a : b; }
  static double join(double a, double b) { return a != a || a > b ? a : b; }
};
struct MinOp : PlainMap {
  template <class D>
  static HWY_INLINE hn::Vec<D> identity(D d) {
    return hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
  }
  template <class V>
  static HWY_INLINE V join(V a, V x) {
    return min_or_nan(a, x);
  }
  static float join(float a, float b) { return a != a || a < b ? a : b; }
  static double join(double a, double b) { return a != a || a < b ? a : b; }
};

/// Elements that are folded without a cascade: sixteen into each of eight accumulators.
template <class D>
constexpr int64_t kReduceBlock = 128 * static_cast<int64_t>(hn::MaxLanes(D()));

/// Folds the lanes of v, halves onto each other.
template <class Op, class D>
HWY_INLINE hn::TFromD<D> join_lanes(D d, hn::Vec<D> v) {
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (size_t half = hn::Lanes(d) / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i) lanes[i] = Op::join(lanes[i], lanes[i + half]);
  return lanes[0];
}

/// Folds n ≤ kReduceBlock<D> contiguous elements into the lanes of one vector.
template <class Op, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> join_block(D d, const T* p, int64_t n, hn::Vec<D> c) {
  using V = hn::Vec<D>;
  const int64_t N = static_cast<int64_t>(hn::Lanes(d));
  const auto at = [&](int64_t i) HWY_ATTR { return Op::map(d, hn::LoadU(d, p + i), c); };
  V a0 = Op::identity(d);
  int64_t i = 0;
  if (n >= 8 * N) {
    V a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0;
    for (; i + 8 * N <= n; i += 8 * N) {
      a0 = Op::join(a0, at(i));
      a1 = Op::join(a1, at(i + N));
      a2 = Op::join(a2, at(i + 2 * N));
      a3 = Op::join(a3, at(i + 3 * N));
      a4 = Op::join(a4, at(i + 4 * N));
      a5 = Op::join(a5, at(i + 5 * N));
      a6 = Op::join(a6, at(i + 6 * N));
      a7 = Op::join(a7, at(i + 7 * N));
    }
    a0 = Op::join(Op::join(Op::join(a0, a1), Op::join(a2, a3)), Op::join(Op::join(a4, a5), Op::join(a6, a7)));
  }
  for (; i + N <= n; i += N) a0 = Op::join(a0, at(i));
  if (i == n) return a0;
  if (n < N) {
    const V x = Op::map(d, load_few(d, p, n), c);
    return hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(n)), x, a0);
  }
  // The last full vector again, without the lanes that are already in.
  const auto seen = hn::FirstN(d, static_cast<size_t>(N - (n - i)));
  return Op::join(a0, hn::IfThenElse(seen, Op::identity(d), at(n - N)));
}

constexpr int kCascadeLevels = 6, kCascadeFan = 16;

/// Folds many vectors into one double. Floats are widened, so that only the error inside a block remains; doubles go
/// through levels, sixteen into one of the next, so that the error grows with the logarithm of their number.
template <class Op, class D, class T = hn::TFromD<D>>
class Cascade {
 public:
  explicit HWY_INLINE Cascade(D d) : d_(d) {
    for (auto& level : sums_) hn::Store(Op::identity(d), d, level);
  }
  HWY_INLINE void add(hn::Vec<D> v) {
    for (int k = 0;; ++k) {
      v = Op::join(hn::Load(d_, sums_[k]), v);
      if (k + 1 == kCascadeLevels || ++counts_[k] < kCascadeFan) return hn::Store(v, d_, sums_[k]);
      counts_[k] = 0;
      hn::Store(Op::identity(d_), d_, sums_[k]);
    }
  }
  HWY_INLINE double total() const {
    hn::Vec<D> v = hn::Load(d_, sums_[0]);
    for (int k = 1; k < kCascadeLevels; ++k) v = Op::join(hn::Load(d_, sums_[k]), v);
    return join_lanes<Op>(d_, v);
  }

 private:
  D d_;
  HWY_ALIGN T sums_[kCascadeLevels][hn::MaxLanes(D())];
  int counts_[kCascadeLevels] = {};
};

template <class Op, class D>
class Cascade<Op, D, float> {
  using Wide = hn::ScalableTag<double>;
  using Half = hn::Rebind<float, Wide>;

 public:
  explicit HWY_INLINE Cascade(D) {
    hn::Store(Op::identity(Wide()), Wide(), low_);
    hn::Store(Op::identity(Wide()), Wide(), high_);
  }
  HWY_INLINE void add(hn::Vec<D> v) {
    const Wide w;
    hn::Store(Op::join(hn::Load(w, low_), hn::PromoteTo(w, hn::LowerHalf(Half(), v))), w, low_);
    hn::Store(Op::join(hn::Load(w, high_), hn::PromoteTo(w, hn::UpperHalf(Half(), v))), w, high_);
  }
  HWY_INLINE double total() const {
    const Wide w;
    return join_lanes<Op>(w, Op::join(hn::Load(w, low_), hn::Load(w, high_)));
  }

 private:
  HWY_ALIGN double low_[hn::MaxLanes(Wide())];
  HWY_ALIGN double high_[hn::MaxLanes(Wide())];
};

/// Folds n elements a step apart.
template <class Op, class D, class T = hn::TFromD<D>>
HWY_INLINE void join_run(D d, const T* p, int64_t n, int64_t step, hn::Vec<D> c, Cascade<Op, D>& cascade) {
  if (step == 1) {
    for (int64_t i = 0; i < n; i += kReduceBlock<D>)
      cascade.add(join_block<Op>(d, p + i, std::min(n - i, kReduceBlock<D>), c));
    return;
  }
  constexpr int64_t kGather = 256;
  HWY_ALIGN T gathered[kGather];
  for (int64_t i = 0; i < n; i += kGather) {
    const int64_t m = std::min(n - i, kGather);
    for (int64_t j = 0; j < m; ++j) gathered[j] = p[(i + j) * step];
    cascade.add(join_block<Op>(d, gathered, m, c));
  }
}

/// Folds n contiguous elements to one value.
template <class Op, class D, class T = hn::TFromD<D>>
HWY_INLINE double join_all(D d, const T* p, int64_t n, T centre) {
  const hn::Vec<D> c = hn::Set(d, centre);
  if (n <= kReduceBlock<D>) return join_lanes<Op>(d, join_block<Op>(d, p, n, c));
  Cascade<Op, D> cascade(d);
  join_run<Op>(d, p, n, 1, c, cascade);
  return cascade.total();
}

/// Σ f(i) over a piece of n ≤ kReduceBlock elements: f(i, m) maps the m elements from i on; lanes beyond m are dropped.
template <class D, class F>
HWY_INLINE hn::Vec<D> sum_of(D d, int64_t n, const F& f) {
  constexpr int64_t N = kLanes<D>;
  auto a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0;
  int64_t i = 0;
  for (; i + 4 * N <= n; i += 4 * N) {
    a0 = hn::Add(a0, f(i, N));
    a1 = hn::Add(a1, f(i + N, N));
    a2 = hn::Add(a2, f(i + 2 * N, N));
    a3 = hn::Add(a3, f(i + 3 * N, N));
  }
  for (; i + N <= n; i += N) a0 = hn::Add(a0, f(i, N));
  if (i < n) a1 = hn::Add(a1, hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n - i)), f(i, n - i)));
  return hn::Add(hn::Add(a0, a1), hn::Add(a2, a3));
}

/// Calls f(i, m) for vectors of m ≤ lanes elements that cover n.
template <class D, class F>
HWY_INLINE void for_vectors(D, int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kLanes<D> <= n; i += kLanes<D>) f(i, kLanes<D>);
  if (i < n) f(i, n - i);
}

constexpr int64_t kColumnPanel = 256;  // columns that are worked on together

// Column sums in two levels, so that long axes lose no digits.
template <class T>
class PanelSum {
  static constexpr hn::ScalableTag<T> d{};
  static constexpr int kPerLevel = 64;

 public:
  explicit PanelSum(int64_t width) : width_(width) {
    std::fill_n(sum_, kColumnPanel, T(0));
    std::fill_n(part_, kColumnPanel, T(0));
  }
  HWY_INLINE void add(int64_t j, hn::Vec<hn::ScalableTag<T>> v) {
    hn::Store(hn::Add(hn::Load(d, part_ + j), v), d, part_ + j);
  }
  HWY_INLINE void end_row() {
    if (++rows_ % kPerLevel == 0) flush();
  }
  T* total() {
    flush();
    return sum_;
  }

 private:
  void flush() {
    for (int64_t j = 0; j < width_; j += kLanes<hn::ScalableTag<T>>) {
      hn::Store(hn::Add(hn::Load(d, sum_ + j), hn::Load(d, part_ + j)), d, sum_ + j);
      hn::Store(hn::Zero(d), d, part_ + j);
    }
  }
  int64_t width_, rows_ = 0;
  HWY_ALIGN T sum_[kColumnPanel], part_[kColumnPanel];
};

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
