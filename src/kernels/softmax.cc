#include "kernels/softmax.h"

#include <cmath>

#include "ingot/base/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include "kernels/math-exp-inl.h"
#include "kernels/reduce-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {

// e^x for x ≤ 0 (or NaN): no overflow to guard, and results below the normal numbers are 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_nonpositive(D d, V x) {
  const V low = Constant(d, -87.33f, -708.39);
  const auto e = ReduceExp(d, AtLeast(d, x, low), kExponentBias<D>);
  const V scale = PowerOfTwo(d, e.bits);
  return hn::IfThenZeroElse(hn::Lt(x, low), hn::MulAdd(scale, e.expm1_r, scale));
}

// A piece of a row as contiguous memory: the row itself, or a copy of strided elements.
template <class T>
struct Piece {
  T* data;
  int64_t step;
  T* buffer;
  HWY_INLINE T* at(int64_t i) const { return step == 1 ? data + i : buffer; }
  HWY_INLINE const T* fetch(int64_t i, int64_t n) const {
    if (step == 1) return data + i;
    for (int64_t j = 0; j < n; ++j) buffer[j] = data[(i + j) * step];
    return buffer;
  }
  HWY_INLINE void put_back(int64_t i, int64_t n) const {
    if (step == 1) return;
    for (int64_t j = 0; j < n; ++j) data[(i + j) * step] = buffer[j];
  }
};

/// A row's Σ over pieces: `piece(i, n)` gives the vector sum of one.
template <class T, class F>
HWY_INLINE T sum_row(int64_t length, const F& piece) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kPiece = kReduceBlock<hn::ScalableTag<T>>;
  if (length <= kPiece) return join_lanes<SumOp>(d, piece(0, length));
  Cascade<SumOp, hn::ScalableTag<T>> cascade(d);
  for (int64_t i = 0; i < length; i += kPiece) cascade.add(piece(i, std::min(kPiece, length - i)));
  return static_cast<T>(cascade.total());
}

template <class T>
HWY_INLINE T max_row(int64_t length, const Piece<T>& x) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kPiece = kReduceBlock<hn::ScalableTag<T>>;
  T max = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < length; i += kPiece) {
    const int64_t n = std::min(kPiece, length - i);
    max = MaxOp::join(max, join_lanes<MaxOp>(d, join_block<MaxOp>(d, x.fetch(i, n), n, hn::Zero(d))));
  }
  return max;
}

/// Σ exp(x - max) of a row; with `kStore` the exponentials go to y.
template <bool kStore, class T>
HWY_INLINE T sum_exp_row(int64_t length, const Piece<T>& x, const Piece<T>& y, T max) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, max);
  return sum_row<T>(length, [&](int64_t i, int64_t n) HWY_ATTR {
    const T* from = x.fetch(i, n);
    T* to = kStore ? y.at(i) : nullptr;
    const auto sum = sum_of(d, n, [&](int64_t j, int64_t k) HWY_ATTR {
      const auto e = exp_nonpositive(d, hn::Sub(load_upto(d, from + j, k), m));
      if constexpr (kStore) store_upto(e, d, to + j, k);
      return e;
    });
    if constexpr (kStore) y.put_back(i, n);
    return sum;
  });
}

/// y = f(x) element by element along a row.
template <class T, class F>
HWY_INLINE void map_row(int64_t length, const Piece<T>& x, const Piece<T>& y, const F& f) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kPiece = kReduceBlock<hn::ScalableTag<T>>;
  for (int64_t i = 0; i < length; i += kPiece) {
    const int64_t n = std::min(kPiece, length - i);
    const T* from = x.fetch(i, n);
    T* to = y.at(i);
    for_vectors(d, n, [&](int64_t j, int64_t k) HWY_ATTR { store_upto(f(load_upto(d, from + j, k)), d, to + j, k); });
    y.put_back(i, n);
  }
}

template <class T>
HWY_NOINLINE void softmax_row(int64_t length, bool log, const Piece<T>& x, const Piece<T>& y) {
  const hn::ScalableTag<T> d;
  const T max = max_row(length, x);
  if (log) {
    const auto log_sum = hn::Set(d, std::log(sum_exp_row<false>(length, x, y, max)));
    const auto m = hn::Set(d, max);
    return map_row(length, x, y, [&](auto v) HWY_ATTR { return hn::Sub(hn::Sub(v, m), log_sum); });
  }
  const auto inverse = hn::Set(d, T(1) / sum_exp_row<true>(length, x, y, max));
  map_row(length, y, y, [&](auto v) HWY_ATTR { return hn::Mul(v, inverse); });
}

template <class T>
HWY_NOINLINE void softmax_grad_row(int64_t length, bool log, const Piece<T>& y, const Piece<T>& dy,
                                   const Piece<T>& dx) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kPiece = kReduceBlock<hn::ScalableTag<T>>;
  const T total = sum_row<T>(length, [&](int64_t i, int64_t n) HWY_ATTR {
    const T *py = y.fetch(i, n), *pdy = dy.fetch(i, n);
    return sum_of(d, n, [&](int64_t j, int64_t k) HWY_ATTR {
      const auto g = load_upto(d, pdy + j, k);
      return log ? g : hn::Mul(g, load_upto(d, py + j, k));
    });
  });
  const auto s = hn::Set(d, total);
  for (int64_t i = 0; i < length; i += kPiece) {
    const int64_t n = std::min(kPiece, length - i);
    const T *py = y.fetch(i, n), *pdy = dy.fetch(i, n);
    T* to = dx.at(i);
    if (log) {
      for_vectors(d, n, [&](int64_t j, int64_t k) HWY_ATTR {
        const auto e = Exp(d, load_upto(d, py + j, k));
        store_upto(hn::NegMulAdd(e, s, load_upto(d, pdy + j, k)), d, to + j, k);
      });
    } else {
      for_vectors(d, n, [&](int64_t j, int64_t k) HWY_ATTR {
        store_upto(hn::Mul(load_upto(d, py + j, k), hn::Sub(load_upto(d, pdy + j, k), s)), d, to + j, k);
      });
    }
    dx.put_back(i, n);
  }
}

template <class T>
HWY_NOINLINE void softmax_columns(const AxisPlan& p, bool log, const T* in, T* out, int64_t width) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T max[kColumnPanel];
  std::fill_n(max, kColumnPanel, -std::numeric_limits<T>::infinity());
  for (int64_t i = 0; i < p.length; ++i)
    for_vectors(d, width, [&](int64_t j, int64_t k) HWY_ATTR {
      hn::Store(max_or_nan(hn::Load(d, max + j), load_upto(d, in + i * p.step[0] + j, k)), d, max + j);
    });
  PanelSum<T> sums(width);
  for (int64_t i = 0; i < p.length; ++i) {
    for_vectors(d, width, [&](int64_t j, int64_t k) HWY_ATTR {
      const auto x = hn::Sub(load_upto(d, in + i * p.step[0] + j, k), hn::Load(d, max + j));
      const auto e = exp_nonpositive(d, x);
      sums.add(j, e);
      if (!log) store_upto(e, d, out + i * p.step[1] + j, k);
    });
    sums.end_row();
  }
  T* total = sums.total();
  for (int64_t j = 0; j < width; ++j) total[j] = log ? std::log(total[j]) : T(1) / total[j];
  for (int64_t i = 0; i < p.length; ++i)
    for_vectors(d, width, [&](int64_t j, int64_t k) HWY_ATTR {
      T* to = out + i * p.step[1] + j;
      const auto t = hn::Load(d, total + j);
      if (log) {
        const auto x = hn::Sub(load_upto(d, in + i * p.step[0] + j, k), hn::Load(d, max + j));
        store_upto(hn::Sub(x, t), d, to, k);
      } else {
        store_upto(hn::Mul(load_upto(d, to, k), t), d, to, k);
      }
    });
}

template <class T>
HWY_NOINLINE void softmax_grad_columns(const AxisPlan& p, bool log, const T* y, const T* dy, T* dx, int64_t width) {
  const hn::ScalableTag<T> d;
  PanelSum<T> sums(width);
  for (int64_t i = 0; i < p.length; ++i) {
    for_vectors(d, width, [&](int64_t j, int64_t k) HWY_ATTR {
      const auto g = load_upto(d, dy + i * p.step[1] + j, k);
      sums.add(j, log ? g : hn::Mul(g, load_upto(d, y + i * p.step[0] + j, k)));
    });
    sums.end_row();
  }
  const T* total = sums.total();
  for (int64_t i = 0; i < p.length; ++i)
    for_vectors(d, width, [&](int64_t j, int64_t k) HWY_ATTR {
      const auto v = load_upto(d, y + i * p.step[0] + j, k), g = load_upto(d, dy + i * p.step[1] + j, k);
      const auto s = hn::Load(d, total + j);
      const auto r = log ? hn::NegMulAdd(Exp(d, v), s, g) : hn::Mul(v, hn::Sub(g, s));
      store_upto(r, d, dx + i * p.step[2] + j, k);
    });
}

template <class T>
void softmax_all(const AxisPlan& p, bool log, const T* in, T* out, const Team& team) {
  if (p.width > 0) {
    return for_panels(p, kColumnPanel, team, [&](int64_t row, int64_t first, int64_t last) {
      softmax_columns(p, log, in + p.offset(0, row) + first, out + p.offset(1, row) + first, last - first);
    });
  }
  HWY_ALIGN T buffers[2][kReduceBlock<hn::ScalableTag<T>>];
  const auto [first, last] = team.share(p.rows);
  for (int64_t row = first; row < last; ++row)
    softmax_row(p.length, log, Piece<T>{const_cast<T*>(in) + p.offset(0, row), p.step[0], buffers[0]},
                Piece<T>{out + p.offset(1, row), p.step[1], buffers[1]});
}

template <class T>
void softmax_grad_all(const AxisPlan& p, bool log, const T* y, const T* dy, T* dx, const Team& team) {
  if (p.width > 0) {
    return for_panels(p, kColumnPanel, team, [&](int64_t row, int64_t first, int64_t last) {
      softmax_grad_columns(p, log, y + p.offset(0, row) + first, dy + p.offset(1, row) + first,
                           dx + p.offset(2, row) + first, last - first);
    });
  }
  HWY_ALIGN T buffers[3][kReduceBlock<hn::ScalableTag<T>>];
  const auto [first, last] = team.share(p.rows);
  for (int64_t row = first; row < last; ++row)
    softmax_grad_row(p.length, log, Piece<T>{const_cast<T*>(y) + p.offset(0, row), p.step[0], buffers[0]},
                     Piece<T>{const_cast<T*>(dy) + p.offset(1, row), p.step[1], buffers[1]},
                     Piece<T>{dx + p.offset(2, row), p.step[2], buffers[2]});
}

// Cross-entropy of one row, if it is wanted, and with grad ≠ null its gradient.
template <class T>
T cross_entropy_row(int64_t classes, const T* logits, int64_t label, T scale, T* grad, bool loss) {
  const hn::ScalableTag<T> d;
  const Piece<T> x{const_cast<T*>(logits), 1, nullptr}, y{grad, 1, nullptr};
  const T max = max_row(classes, x);
  const T target = logits[label];  // the gradient may be written over the logits
  if (grad == nullptr) return std::log(sum_exp_row<false>(classes, x, y, max)) + (max - target);
  const T sum = sum_exp_row<true>(classes, x, y, max);
  const auto factor = hn::Set(d, scale / sum);
  map_row(classes, y, y, [&](auto v) HWY_ATTR { return hn::Mul(v, factor); });
  grad[label] -= scale;
  return loss ? std::log(sum) + (max - target) : T(0);
}

void softmax_f32(const AxisPlan& p, bool log, const float* in, float* out, const Team& team) {
  softmax_all(p, log, in, out, team);
}
void softmax_f64(const AxisPlan& p, bool log, const double* in, double* out, const Team& team) {
  softmax_all(p, log, in, out, team);
}
void softmax_grad_f32(const AxisPlan& p, bool log, const float* y, const float* dy, float* dx, const Team& team) {
  softmax_grad_all(p, log, y, dy, dx, team);
}
void softmax_grad_f64(const AxisPlan& p, bool log, const double* y, const double* dy, double* dx, const Team& team) {
  softmax_grad_all(p, log, y, dy, dx, team);
}
float cross_entropy_f32(int64_t classes, const float* logits, int64_t label, float scale, float* grad, bool loss) {
  return cross_entropy_row(classes, logits, label, scale, grad, loss);
}
double cross_entropy_f64(int64_t classes, const double* logits, int64_t label, double scale, double* grad, bool loss) {
  return cross_entropy_row(classes, logits, label, scale, grad, loss);
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {

template <class T>
void softmax(const AxisLayout& layout, bool log, const T* in, T* out, const Team& team) {
  const AxisPlan plan(layout, 2);
  if (plan.length == 0) return;
  if constexpr (sizeof(T) == 4) {
    INGOT_DISPATCH(softmax_f32)(plan, log, in, out, team);
  } else {
    INGOT_DISPATCH(softmax_f64)(plan, log, in, out, team);
  }
}
template void softmax(const AxisLayout&, bool, const float*, float*, const Team&);
template void softmax(const AxisLayout&, bool, const double*, double*, const Team&);

template <class T>
void softmax_grad(const AxisLayout& layout, bool log, const T* y, const T* dy, T* dx, const Team& team) {
  const AxisPlan plan(layout, 3);
  if (plan.length == 0) return;
  if constexpr (sizeof(T) == 4) {
    INGOT_DISPATCH(softmax_grad_f32)(plan, log, y, dy, dx, team);
  } else {
    INGOT_DISPATCH(softmax_grad_f64)(plan, log, y, dy, dx, team);
  }
}
template void softmax_grad(const AxisLayout&, bool, const float*, const float*, float*, const Team&);
template void softmax_grad(const AxisLayout&, bool, const double*, const double*, double*, const Team&);

namespace {
auto cross_entropy_kernel(float) { return &INGOT_DISPATCH(cross_entropy_f32); }
auto cross_entropy_kernel(double) { return &INGOT_DISPATCH(cross_entropy_f64); }
}  // namespace

template <class T, class Label>
void softmax_cross_entropy(int64_t rows, int64_t classes, const T* logits, int64_t row_stride, const Label* labels,
                           T* loss, const Team& team) {
  const auto kernel = cross_entropy_kernel(T());
  const auto [first, last] = team.share(rows);
  for (int64_t r = first; r < last; ++r)
    loss[r] = labels[r] < 0 ? T(0) : kernel(classes, logits + r * row_stride, labels[r], T(1), nullptr, true);
}

template <class T, class Label>
void softmax_cross_entropy_grad(int64_t rows, int64_t classes, const T* logits, int64_t row_stride, const Label* labels,
                                const T* scale, int64_t scale_stride, T* grad, int64_t grad_stride, T* loss,
                                const Team& team) {
  const auto kernel = cross_entropy_kernel(T());
  const auto [first, last] = team.share(rows);
  for (int64_t r = first; r < last; ++r) {
    T* to = grad + r * grad_stride;
    T value = 0;
    if (labels[r] < 0)
      std::fill_n(to, classes, T(0));
    else
      value = kernel(classes, logits + r * row_stride, labels[r], scale[r * scale_stride], to, loss != nullptr);
    if (loss != nullptr) loss[r] = value;
  }
}

#define INGOT_CROSS_ENTROPY(T, Label)                                                                                \
  template void softmax_cross_entropy(int64_t, int64_t, const T*, int64_t, const Label*, T*, const Team&);           \
  template void softmax_cross_entropy_grad(int64_t, int64_t, const T*, int64_t, const Label*, const T*, int64_t, T*, \
                                           int64_t, T*, const Team&);
INGOT_CROSS_ENTROPY(float, int32_t)
INGOT_CROSS_ENTROPY(float, int64_t)
INGOT_CROSS_ENTROPY(double, int32_t)
INGOT_CROSS_ENTROPY(double, int64_t)
#undef INGOT_CROSS_ENTROPY

}  // namespace ingot::kernels
#endif
