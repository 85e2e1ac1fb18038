#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ingot/base/dispatch.h"
#include "kernels/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/block-inl.h"
#include "kernels/math-exp-inl.h"

#ifndef INGOT_KERNELS_ATTENTION_CC_ONCE_
#define INGOT_KERNELS_ATTENTION_CC_ONCE_
namespace ingot::kernels {

// A block of scores: queries × keys. 32 KB of f32: it stays in the second cache from the product that makes it to the
// one that uses it.
constexpr int64_t kQueryBlock = 64, kKeyBlock = 128;

// The scores of a block, rows kKeyBlock apart; of row i only the first `seen(i)` keys count.
template <class T>
struct Scores {
  T* s;
  int64_t rows, keys;
  int64_t first_seen;  // keys that row 0 sees; each row below sees `more` more
  int64_t more;
  int64_t seen(int64_t i) const { return std::clamp<int64_t>(first_seen + i * more, 0, keys); }
};

// The running softmax of each row of a block of queries.
template <class T>
struct Running {
  T *max, *sum, *rescale;  // rescale: what earlier blocks' sums are multiplied by
};

}  // namespace ingot::kernels
#endif  // INGOT_KERNELS_ATTENTION_CC_ONCE_

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace {

// Calls f(j, vector) for whole vectors of the row's first `seen` keys and then for the rest up to `keys`, with the
// lanes beyond `seen` set to `beyond`. Rows have room for whole vectors.
template <class T, class F>
HWY_INLINE void for_each_score(const T* row, int64_t seen, int64_t keys, T beyond, F f) {
  const hn::ScalableTag<T> d;
  int64_t j = 0;
  for (; j + kLanes<T> <= seen; j += kLanes<T>) f(j, hn::Load(d, row + j));
  for (; j < keys; j += kLanes<T>) {
    const auto some = hn::FirstN(d, static_cast<size_t>(std::max<int64_t>(seen - j, 0)));
    f(j, hn::IfThenElse(some, hn::Load(d, row + j), hn::Set(d, beyond)));
  }
}

// Scores to exp(score - largest so far), and what that does to the running sums.
template <class T>
void soften(const Scores<T>& scores, const Running<T>& running) {
  const hn::ScalableTag<T> d;
  const T none = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < scores.rows; ++i) {
    T* row = scores.s + i * kKeyBlock;
    const int64_t seen = scores.seen(i);
    auto most = hn::Set(d, running.max[i]);
    for_each_score<T>(row, seen, scores.keys, none, [&](int64_t, auto s) HWY_ATTR { most = hn::Max(most, s); });
    const T max = hn::GetLane(hn::MaxOfLanes(d, most));
    const auto shift = hn::Set(d, max);
    auto sum = hn::Zero(d);
    for_each_score<T>(row, seen, scores.keys, none, [&](int64_t j, auto s) HWY_ATTR {
      const auto p = ExpNonPositive(d, hn::Sub(s, shift));
      sum = hn::Add(sum, p);
      hn::Store(p, d, row + j);
    });
    running.rescale[i] = std::exp(running.max[i] - max);
    running.sum[i] = running.sum[i] * running.rescale[i] + hn::GetLane(hn::SumOfLanes(d, sum));
    running.max[i] = max;
  }
}

template <class T>
void scale_row(T* row, int64_t n, T factor) {
  const hn::ScalableTag<T> d;
  for (int64_t j = 0; j < n; j += kLanes<T>)
    store_part(d, hn::Mul(load_part(d, row + j, n - j), hn::Set(d, factor)), row + j, n - j);
}

// Scores to probabilities p, and dp (gradients by them) to gradients by the unscaled scores: p (dp - shift) scale.
template <class T>
void harden_back(const Scores<T>& scores, T* dp, const T* lse, const T* shift, T scale) {
  const hn::ScalableTag<T> d;
  const T none = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < scores.rows; ++i) {
    T *row = scores.s + i * kKeyBlock, *slopes = dp + i * kKeyBlock;
    const int64_t seen = scores.seen(i);
    const auto total = hn::Set(d, lse[i]), less = hn::Set(d, shift[i]), factor = hn::Set(d, scale);
    for_each_score<T>(row, seen, scores.keys, none, [&](int64_t j, auto s) HWY_ATTR {
      const auto p = Exp(d, hn::Sub(s, total));
      const auto counts = hn::FirstN(d, static_cast<size_t>(std::clamp<int64_t>(seen - j, 0, kLanes<T>)));
      const auto slope = hn::Mul(hn::Mul(p, hn::Sub(hn::Load(d, slopes + j), less)), factor);
      hn::Store(p, d, row + j);
      hn::Store(hn::IfThenElseZero(counts, slope), d, slopes + j);
    });
  }
}

template <class T>
T dot_row(const T* a, const T* b, int64_t n) {
  const hn::ScalableTag<T> d;
  auto sum = hn::Zero(d);
  for (int64_t j = 0; j < n; j += kLanes<T>)
    sum = hn::MulAdd(load_part(d, a + j, n - j), load_part(d, b + j, n - j), sum);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace

#define INGOT_ATTENTION(T, suffix)                                                         \
  void soften_##suffix(const Scores<T>& s, const Running<T>& r) { soften(s, r); }          \
  void harden_##suffix(const Scores<T>& s, T* dp, const T* lse, const T* shift, T scale) { \
    harden_back(s, dp, lse, shift, scale);                                                 \
  }                                                                                        \
  void scale_row_##suffix(T* row, int64_t n, T factor) { scale_row(row, n, factor); }      \
  T dot_row_##suffix(const T* a, const T* b, int64_t n) { return dot_row(a, b, n); }
INGOT_ATTENTION(float, f32)
INGOT_ATTENTION(double, f64)
#undef INGOT_ATTENTION

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {
namespace {

#define INGOT_ATTENTION(T, suffix)                                                                    \
  void soften(const Scores<T>& s, const Running<T>& r) { INGOT_DISPATCH(soften_##suffix)(s, r); }     \
  void harden_back(const Scores<T>& s, T* dp, const T* lse, const T* shift, T scale) {                \
    INGOT_DISPATCH(harden_##suffix)(s, dp, lse, shift, scale);                                        \
  }                                                                                                   \
  void scale_row(T* row, int64_t n, T factor) { INGOT_DISPATCH(scale_row_##suffix)(row, n, factor); } \
  T dot_row(const T* a, const T* b, int64_t n) { return INGOT_DISPATCH(dot_row_##suffix)(a, b, n); }
INGOT_ATTENTION(float, f32)
INGOT_ATTENTION(double, f64)
#undef INGOT_ATTENTION

// The largest product of any block.
template <class T>
size_t product_scratch(const Attention& a) {
  const int64_t queries = std::min(a.queries, kQueryBlock), keys = std::min(a.keys, kKeyBlock);
  size_t most = 0;
  const int64_t sizes[][3] = {{queries, keys, a.depth}, {queries, a.depth, keys}, {keys, a.depth, queries}};
  for (const auto& [m, n, k] : sizes) {
    Gemm<T> g;
    g.m = m, g.n = n, g.k = k;
    most = std::max(most, gemm_scratch(g, 1));
  }
  return (most + 63) / 64 * 64;
}

// One member's scratch: two blocks of scores, a few numbers per row, and what products need.
template <class T>
struct Scratch {
  T *s, *dp;
  Running<T> running;
  void* product;
  static size_t bytes(const Attention& a) {
    return sizeof(T) * (2 * kQueryBlock * kKeyBlock + 3 * kQueryBlock) + product_scratch<T>(a);
  }
  Scratch(const Attention& a, void* all, const Team& team) {
    s = reinterpret_cast<T*>(static_cast<std::byte*>(all) + bytes(a) * static_cast<size_t>(team.rank()));
    dp = s + kQueryBlock * kKeyBlock;
    T* rows = dp + kQueryBlock * kKeyBlock;
    running = {rows, rows + kQueryBlock, rows + 2 * kQueryBlock};
    product = rows + 3 * kQueryBlock;
  }
};

template <class T>
struct Matrix {
  T* data;
  int64_t row, col = 1;
  Matrix transposed() const { return {data, col, row}; }
};

// c = alpha · a·b [+ c] with c [m, n].
template <class T>
void product(Matrix<T> c, Matrix<const T> a, Matrix<const T> b, int64_t m, int64_t n, int64_t k, T alpha, bool add,
             void* scratch) {
  Gemm<T> g;
  g.m = m, g.n = n, g.k = k;
  g.a = a.data, g.a_row = a.row, g.a_col = a.col;
  g.b = b.data, g.b_row = b.row, g.b_col = b.col;
  g.c = c.data, g.c_row = c.row, g.c_col = c.col;
  g.alpha = alpha, g.accumulate = add;
  gemm(g, scratch, Team());
}

// Keys that queries up to `last` see.
int64_t seen_by(const Attention& a, int64_t last) {
  return a.causal ? std::min(a.keys, last + 1 + a.keys - a.queries) : a.keys;
}

// One head of one sample.
template <class T>
class Head {
 public:
  Head(const Attention& a, int64_t batch, int64_t head) : a_(a), batch_(batch), head_(head) {}
  // Rows from `t` on.
  template <class U>
  Matrix<U> rows(const HeadRows<U>& all, int64_t t) const {
    return {all.data + batch_ * all.batch + t * all.row + head_ * a_.depth, all.row};
  }
  T* line(T* lse) const { return lse + (batch_ * a_.heads + head_) * a_.queries; }
  const T* line(const T* lse) const { return lse + (batch_ * a_.heads + head_) * a_.queries; }

 private:
  const Attention& a_;
  int64_t batch_, head_;
};

template <class T>
Scores<T> scores_of(const Attention& a, T* s, int64_t i0, int64_t rows, int64_t j0, int64_t keys) {
  return {s, rows, keys, seen_by(a, i0) - j0, a.causal ? 1 : 0};
}

template <class T>
void head_forward(const Attention& a, const Head<T>& head, HeadRows<const T> q, HeadRows<const T> k,
                  HeadRows<const T> v, HeadRows<T> y, T* lse, const Scratch<T>& own) {
  const T scale = static_cast<T>(a.scale);
  const Running<T>& r = own.running;
  for (int64_t i0 = 0; i0 < a.queries; i0 += kQueryBlock) {
    const int64_t rows = std::min(kQueryBlock, a.queries - i0), end = seen_by(a, i0 + rows - 1);
    std::fill_n(r.max, rows, std::numeric_limits<T>::lowest());
    std::fill_n(r.sum, rows, T(0));
    const Matrix<T> to = head.rows(y, i0);
    for (int64_t j0 = 0; j0 < end; j0 += kKeyBlock) {
      const int64_t keys = std::min(kKeyBlock, end - j0);
      product<T>({own.s, kKeyBlock}, head.rows(q, i0), head.rows(k, j0).transposed(), rows, keys, a.depth, scale, false,
                 own.product);
      soften(scores_of(a, own.s, i0, rows, j0, keys), r);
      if (j0 > 0)
        for (int64_t i = 0; i < rows; ++i)
          if (r.rescale[i] != T(1)) scale_row(to.data + i * to.row, a.depth, r.rescale[i]);
      product<T>(to, {own.s, kKeyBlock}, head.rows(v, j0), rows, a.depth, keys, T(1), j0 > 0, own.product);
    }
    for (int64_t i = 0; i < rows; ++i) {
      scale_row(to.data + i * to.row, a.depth, T(1) / r.sum[i]);
      lse[i0 + i] = r.max[i] + std::log(r.sum[i]);
    }
  }
}

template <class T>
struct Gradients {
  HeadRows<T> dq, dk, dv;
};

template <class T>
void head_backward(const Attention& a, const Head<T>& head, HeadRows<const T> q, HeadRows<const T> k,
                   HeadRows<const T> v, HeadRows<const T> y, HeadRows<const T> dy, const T* lse, const T* dlse,
                   const Gradients<T>& to, const Scratch<T>& own) {
  const T scale = static_cast<T>(a.scale);
  T* shift = own.running.sum;
  for (int64_t i0 = 0; i0 < a.queries; i0 += kQueryBlock) {
    const int64_t rows = std::min(kQueryBlock, a.queries - i0), end = seen_by(a, i0 + rows - 1);
    const int64_t touched =
        i0 == 0 ? 0 : seen_by(a, i0 - 1);  // keys that earlier blocks saw: their gradients have begun
    const Matrix<const T> yi = head.rows(y, i0), dyi = head.rows(dy, i0);
    for (int64_t i = 0; i < rows; ++i) {
      shift[i] = dot_row(yi.data + i * yi.row, dyi.data + i * dyi.row, a.depth);
      if (dlse != nullptr) shift[i] -= dlse[i0 + i];
    }
    int64_t keys;
    for (int64_t j0 = 0; j0 < end; j0 += keys) {
      keys = std::min(kKeyBlock, end - j0);
      if (j0 < touched) keys = std::min(keys, touched - j0);
      const Matrix<const T> kj = head.rows(k, j0), vj = head.rows(v, j0);
      product<T>({own.s, kKeyBlock}, head.rows(q, i0), kj.transposed(), rows, keys, a.depth, scale, false, own.product);
      product<T>({own.dp, kKeyBlock}, dyi, vj.transposed(), rows, keys, a.depth, T(1), false, own.product);
      harden_back(scores_of(a, own.s, i0, rows, j0, keys), own.dp, lse + i0, shift, scale);
      const Matrix<const T> p{own.s, kKeyBlock}, ds{own.dp, kKeyBlock};
      product<T>(head.rows(to.dq, i0), ds, kj, rows, a.depth, keys, T(1), j0 > 0, own.product);
      product<T>(head.rows(to.dk, j0), ds.transposed(), head.rows(q, i0), keys, a.depth, rows, T(1), j0 < touched,
                 own.product);
      product<T>(head.rows(to.dv, j0), p.transposed(), dyi, keys, a.depth, rows, T(1), j0 < touched, own.product);
    }
  }
}

}  // namespace

size_t attention_scratch(const Attention& a, size_t element_size, int team_size) {
  return static_cast<size_t>(team_size) * (element_size == 4 ? Scratch<float>::bytes(a) : Scratch<double>::bytes(a));
}

template <class T>
void attention(const Attention& a, HeadRows<const T> q, HeadRows<const T> k, HeadRows<const T> v, HeadRows<T> y, T* lse,
               void* scratch, const Team& team) {
  const Scratch<T> own(a, scratch, team);
  const auto [first, last] = team.share(a.batch * a.heads);
  for (int64_t i = first; i < last; ++i) {
    const Head<T> head(a, i / a.heads, i % a.heads);
    head_forward(a, head, q, k, v, y, head.line(lse), own);
  }
}

template <class T>
void attention_grad(const Attention& a, HeadRows<const T> q, HeadRows<const T> k, HeadRows<const T> v,
                    HeadRows<const T> y, HeadRows<const T> dy, const T* lse, const T* dlse, HeadRows<T> dq,
                    HeadRows<T> dk, HeadRows<T> dv, void* scratch, const Team& team) {
  const Scratch<T> own(a, scratch, team);
  const auto [first, last] = team.share(a.batch * a.heads);
  for (int64_t i = first; i < last; ++i) {
    const Head<T> head(a, i / a.heads, i % a.heads);
    head_backward(a, head, q, k, v, y, dy, head.line(lse), dlse != nullptr ? head.line(dlse) : nullptr, {dq, dk, dv},
                  own);
  }
}

#define INGOT_ATTENTION(T)                                                                                            \
  template void attention(const Attention&, HeadRows<const T>, HeadRows<const T>, HeadRows<const T>, HeadRows<T>, T*, \
                          void*, const Team&);                                                                        \
  template void attention_grad(const Attention&, HeadRows<const T>, HeadRows<const T>, HeadRows<const T>,             \
                               HeadRows<const T>, HeadRows<const T>, const T*, const T*, HeadRows<T>, HeadRows<T>,    \
                               HeadRows<T>, void*, const Team&);
INGOT_ATTENTION(float)
INGOT_ATTENTION(double)
#undef INGOT_ATTENTION

}  // namespace ingot::kernels
#endif
