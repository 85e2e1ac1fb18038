#include "kernels/norm.h"

#include <cmath>
#include <limits>

#include "ingot/base/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include "kernels/reduce-inl.h"
// clang-format on

#ifndef INGOT_KERNELS_NORM_ONCE
#define INGOT_KERNELS_NORM_ONCE
namespace ingot::kernels {

// A set of elements: equal runs, a step apart.
struct Runs {
  int64_t count, length, step;
};

// Row blocks whose weight and bias gradients are summed apart; they depend on the shape alone.
struct RowBlocks {
  explicit RowBlocks(const RowNorm& norm) {
    count = std::min<int64_t>(std::max<int64_t>(norm.rows / 8, 1), 32);
    rows = (norm.rows + count - 1) / count;
  }
  int64_t count, rows;
};

// Short runs of a batch norm are worked on across channels and positions.
inline bool across_columns(const ChannelNorm& norm) { return norm.groups == 0 && norm.positions < 32; }

template <class T>
struct RowNormGradients {
  const T *x, *weight, *dy;
  T *dx, *dweight, *dbias, *partials;
};
template <class T>
struct ChannelNormGradients {
  const T *x, *weight, *dy;
  T *dx, *dweight, *dbias;
  double* sums;  // Σ dy and Σ dy·x̂ of every (sample, channel)
};

}  // namespace ingot::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {

template <class T>
struct Moments {
  T mean, rstd;
  double variance;
};

template <class Op, class T>
HWY_INLINE double fold_runs(const Runs& runs, const T* x, T centre) {
  const hn::ScalableTag<T> d;
  if (runs.count == 1) return join_all<Op>(d, x, runs.length, centre);
  Cascade<Op, hn::ScalableTag<T>> cascade(d);
  for (int64_t r = 0; r < runs.count; ++r)
    join_run<Op>(d, x + r * runs.step, runs.length, 1, hn::Set(d, centre), cascade);
  return cascade.total();
}

template <class T>
HWY_INLINE Moments<T> moments(const Runs& runs, const T* x, bool centred, double eps) {
  const double n = static_cast<double>(runs.count * runs.length);
  const T mean = centred ? static_cast<T>(fold_runs<SumOp>(runs, x, T(0)) / n) : T(0);
  const double variance = fold_runs<SquaredDifferenceOp>(runs, x, mean) / n;
  return {mean, static_cast<T>(1 / std::sqrt(variance + eps)), variance};
}

// Short rows are worked on four at a time, step by step: the sums of one do not wait for the square root of another.
constexpr int64_t kRowsAtOnce = 4;
inline int64_t rows_at_once(int64_t cols) { return cols <= 1024 ? kRowsAtOnce : 1; }

template <class T>
HWY_INLINE void row_moments(const RowNorm& norm, const T* x, int64_t rows, Moments<T>* m) {
  const Runs row{1, norm.cols, 0};
  const auto n = static_cast<double>(norm.cols);
  for (int64_t r = 0; r < rows; ++r)
    m[r].mean = norm.rms ? T(0) : static_cast<T>(fold_runs<SumOp>(row, x + r * norm.cols, T(0)) / n);
  for (int64_t r = 0; r < rows; ++r)
    m[r].variance = fold_runs<SquaredDifferenceOp>(row, x + r * norm.cols, m[r].mean) / n;
  for (int64_t r = 0; r < rows; ++r) m[r].rstd = static_cast<T>(1 / std::sqrt(m[r].variance + norm.eps));
}

struct GradSums {
  double dy = 0, dy_xhat = 0;
};

/// Σ g and Σ g x̂ over n contiguous elements, where g = dy · weight (weight null: 1).
template <class T>
HWY_INLINE GradSums grad_sums(const T* x, const T* weight, const T* dy, int64_t n, const Moments<T>& m) {
  const hn::ScalableTag<T> d;
  const auto mean = hn::Set(d, m.mean);
  constexpr int64_t kPiece = kReduceBlock<hn::ScalableTag<T>>;
  GradSums total;
  for (int64_t i = 0; i < n; i += kPiece) {
    const T *px = x + i, *pdy = dy + i, *pw = weight == nullptr ? nullptr : weight + i;
    auto a0 = hn::Zero(d), a1 = a0, b0 = a0, b1 = a0;
    const auto add = [&](int64_t j, int64_t k, auto& a, auto& b) HWY_ATTR {
      auto g = load_upto(d, pdy + j, k);
      if (pw != nullptr) g = hn::Mul(g, load_upto(d, pw + j, k));
      a = hn::Add(a, g);
      b = hn::MulAdd(g, hn::Sub(load_upto(d, px + j, k), mean), b);
    };
    constexpr int64_t N = kLanes<hn::ScalableTag<T>>;
    const int64_t m_end = std::min(kPiece, n - i);
    int64_t j = 0;
    for (; j + 2 * N <= m_end; j += 2 * N) {
      add(j, N, a0, b0);
      add(j + N, N, a1, b1);
    }
    for (; j < m_end; j += N) add(j, std::min(N, m_end - j), a0, b0);  // lanes beyond the end have dy = 0
    total.dy += static_cast<double>(join_lanes<SumOp>(d, hn::Add(a0, a1)));
    total.dy_xhat += static_cast<double>(join_lanes<SumOp>(d, hn::Add(b0, b1))) * static_cast<double>(m.rstd);
  }
  return total;
}

// ---- rows: weight and bias run along the row ----

template <bool kWeight, bool kBias, class T>
HWY_INLINE void normalise_row(const T* x, const T* weight, const T* bias, T* y, int64_t n, const Moments<T>& m,
                              bool relu) {
  const hn::ScalableTag<T> d;
  const auto least = hn::Set(d, relu ? T(0) : -std::numeric_limits<T>::infinity());
  const auto mean = hn::Set(d, m.mean), rstd = hn::Set(d, m.rstd);
  for_vectors(d, n, [&](int64_t i, int64_t k) HWY_ATTR {
    auto v = hn::Mul(hn::Sub(load_upto(d, x + i, k), mean), rstd);
    if constexpr (kWeight && kBias) {
      v = hn::MulAdd(v, load_upto(d, weight + i, k), load_upto(d, bias + i, k));
    } else if constexpr (kWeight) {
      v = hn::Mul(v, load_upto(d, weight + i, k));
    } else if constexpr (kBias) {
      v = hn::Add(v, load_upto(d, bias + i, k));
    }
    store_upto(hn::Max(least, v), d, y + i, k);  // v second: NaN comes out
  });
}

template <bool kWeight, bool kBias, class T>
HWY_INLINE void normalise_rows(const RowNorm& norm, const T* x, const T* weight, const T* bias, T* y,
                               const Team& team) {
  const auto [first, last] = team.share(norm.rows);
  const int64_t n = norm.cols, most = rows_at_once(n);
  for (int64_t at = first; at < last; at += most) {
    const int64_t rows = std::min(most, last - at);
    Moments<T> m[kRowsAtOnce];
    row_moments(norm, x + at * n, rows, m);
    for (int64_t r = 0; r < rows; ++r)
      normalise_row<kWeight, kBias>(x + (at + r) * n, weight, bias, y + (at + r) * n, n, m[r], norm.relu);
  }
}

template <class T>
void row_norm_any(const RowNorm& norm, const T* x, const T* weight, const T* bias, T* y, const Team& team) {
  if (weight != nullptr && bias != nullptr) return normalise_rows<true, true>(norm, x, weight, bias, y, team);
  if (weight != nullptr) return normalise_rows<true, false>(norm, x, weight, bias, y, team);
  if (bias != nullptr) return normalise_rows<false, true>(norm, x, weight, bias, y, team);
  normalise_rows<false, false>(norm, x, weight, bias, y, team);
}

/// dx = rstd (g - mean of g - x̂ · mean of g x̂), g = dy · weight; and dy x̂ and dy join the column sums, if there are
/// any.
template <bool kWeight, bool kSums, class T>
HWY_INLINE void grad_row(const RowNormGradients<T>& p, int64_t at, int64_t n, const Moments<T>& m, T mean_g, T mean_gx,
                         T* dweight, T* dbias) {
  const hn::ScalableTag<T> d;
  const auto mean = hn::Set(d, m.mean), rstd = hn::Set(d, m.rstd);
  const auto c0 = hn::Set(d, mean_g), c1 = hn::Set(d, mean_gx);
  const T *x = p.x + at, *dy = p.dy + at;
  T* dx = p.dx + at;
  for_vectors(d, n, [&](int64_t i, int64_t k) HWY_ATTR {
    const auto xhat = hn::Mul(hn::Sub(load_upto(d, x + i, k), mean), rstd);
    const auto gradient = load_upto(d, dy + i, k);
    if constexpr (kSums) {
      store_upto(hn::MulAdd(gradient, xhat, load_upto(d, dweight + i, k)), d, dweight + i, k);
      store_upto(hn::Add(gradient, load_upto(d, dbias + i, k)), d, dbias + i, k);
    }
    auto g = gradient;
    if constexpr (kWeight) g = hn::Mul(g, load_upto(d, p.weight + i, k));
    store_upto(hn::Mul(hn::NegMulAdd(xhat, c1, hn::Sub(g, c0)), rstd), d, dx + i, k);
  });
}

// A block of rows; its column sums go through two levels so that long batches lose no digits.
template <bool kWeight, bool kSums, class T>
HWY_INLINE void grad_block(const RowNorm& norm, const RowNormGradients<T>& p, int64_t first, int64_t last, T* sums) {
  constexpr int64_t kRowsPerLevel = 64;
  const int64_t n = norm.cols;
  T* recent = sums + 2 * n;
  if (kSums) std::fill_n(sums, 4 * n, T(0));
  Moments<T> m[kRowsAtOnce];
  GradSums s[kRowsAtOnce];
  for (int64_t r = first; r < last; ++r) {
    const int64_t k = (r - first) % rows_at_once(n);
    if (k == 0) {
      const int64_t rows = std::min(rows_at_once(n), last - r);
      row_moments(norm, p.x + r * n, rows, m);
      for (int64_t i = 0; i < rows; ++i) s[i] = grad_sums(p.x + (r + i) * n, p.weight, p.dy + (r + i) * n, n, m[i]);
    }
    const T mean_g = norm.rms ? T(0) : static_cast<T>(s[k].dy / static_cast<double>(n));
    grad_row<kWeight, kSums>(p, r * n, n, m[k], mean_g, static_cast<T>(s[k].dy_xhat / static_cast<double>(n)), recent,
                             recent + n);
    if (kSums && ((r - first) % kRowsPerLevel == kRowsPerLevel - 1 || r + 1 == last)) {
      for (int64_t j = 0; j < 2 * n; ++j) sums[j] += recent[j];
      std::fill_n(recent, 2 * n, T(0));
    }
  }
}

template <class T>
void row_norm_grad_any(const RowNorm& norm, const RowNormGradients<T>& p, const Team& team) {
  const RowBlocks blocks(norm);
  const int64_t n = norm.cols;
  const bool sums = p.dweight != nullptr || p.dbias != nullptr;
  const auto [begin, end] = team.share(blocks.count);
  for (int64_t b = begin; b < end; ++b) {
    const int64_t first = std::min(b * blocks.rows, norm.rows), last = std::min(first + blocks.rows, norm.rows);
    T* to = p.partials + b * 4 * n;
    if (sums) {
      p.weight != nullptr ? grad_block<true, true>(norm, p, first, last, to)
                          : grad_block<false, true>(norm, p, first, last, to);
    } else {
      p.weight != nullptr ? grad_block<true, false>(norm, p, first, last, to)
                          : grad_block<false, false>(norm, p, first, last, to);
    }
  }
  if (!sums) return;
  team.barrier();
  const auto [from, to] = team.share(n, 16);
  for (int part = 0; part < 2; ++part) {
    T* total = part == 0 ? p.dweight : p.dbias;
    if (total == nullptr) continue;
    for (int64_t j = from; j < to; ++j) total[j] = p.partials[part * n + j];
    for (int64_t b = 1; b < blocks.count; ++b)
      for (int64_t j = from; j < to; ++j) total[j] += p.partials[(b * 4 + part) * n + j];
  }
}

// ---- channels: weight and bias are constant along a run of positions ----

template <class T>
HWY_INLINE void affine_run(const T* x, T* y, int64_t n, T mean, T scale, T shift) {
  const hn::ScalableTag<T> d;
  const auto c = hn::Set(d, mean), a = hn::Set(d, scale), b = hn::Set(d, shift);
  for_vectors(d, n, [&](int64_t i, int64_t k) HWY_ATTR {
    store_upto(hn::MulAdd(hn::Sub(load_upto(d, x + i, k), c), a, b), d, y + i, k);
  });
}

/// dx = dy · a + (x - mean) · b + c
template <class T>
HWY_INLINE void grad_run(const T* x, const T* dy, T* dx, int64_t n, T mean, T of_dy, T of_x, T constant) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean), a = hn::Set(d, of_dy), b = hn::Set(d, of_x), c = hn::Set(d, constant);
  for_vectors(d, n, [&](int64_t i, int64_t k) HWY_ATTR {
    const auto v = hn::MulAdd(hn::Sub(load_upto(d, x + i, k), m), b, c);
    store_upto(hn::MulAdd(load_upto(d, dy + i, k), a, v), d, dx + i, k);
  });
}

// The sets of a channel norm: where each starts, its runs as memory and as (run, channel) pairs.
struct Sets {
  explicit Sets(const ChannelNorm& norm) : S(norm.positions) {
    if (norm.groups == 0) {
      count = norm.channels;
      runs = norm.batch;
      run_step = norm.channels * S;
      memory = {norm.batch, S, run_step};
    } else {
      count = norm.batch * norm.groups;
      runs = norm.channels / norm.groups;
      groups = norm.groups;
      run_step = S;
      memory = {1, runs * S, 0};
    }
  }
  int64_t S, count, runs, run_step, groups = 0;
  Runs memory;
  int64_t start(int64_t set) const { return groups == 0 ? set * S : set * runs * S; }
  int64_t channel(int64_t set, int64_t run) const { return groups == 0 ? set : set % groups * runs + run; }
  int64_t elements() const { return runs * S; }
};

template <class T>
void channel_norm_sets(const ChannelNorm& norm, const T* x, const T* weight, const T* bias, T* y, T* mean, T* variance,
                       const Team& team) {
  const Sets sets(norm);
  const auto [first, last] = team.share(sets.count);
  for (int64_t s = first; s < last; ++s) {
    const auto m = moments<T>(sets.memory, x + sets.start(s), true, norm.eps);
    if (mean != nullptr) mean[s] = m.mean;
    if (variance != nullptr) variance[s] = static_cast<T>(m.variance);
    for (int64_t r = 0; r < sets.runs; ++r) {
      const int64_t at = sets.start(s) + r * sets.run_step, c = sets.channel(s, r);
      affine_run(x + at, y + at, sets.S, m.mean, weight == nullptr ? m.rstd : m.rstd * weight[c],
                 bias == nullptr ? T(0) : bias[c]);
    }
  }
}

template <class T>
void channel_norm_grad_sets(const ChannelNorm& norm, const ChannelNormGradients<T>& p, const Team& team) {
  const Sets sets(norm);
  const auto [first, last] = team.share(sets.count);
  const double n = static_cast<double>(sets.elements());
  for (int64_t s = first; s < last; ++s) {
    const auto m = moments<T>(sets.memory, p.x + sets.start(s), true, norm.eps);
    const auto weight = [&](int64_t r) { return p.weight == nullptr ? T(1) : p.weight[sets.channel(s, r)]; };
    GradSums all, plain;  // with and without the weight
    for (int64_t r = 0; r < sets.runs; ++r) {
      const int64_t at = sets.start(s) + r * sets.run_step;
      const GradSums run = grad_sums<T>(p.x + at, nullptr, p.dy + at, sets.S, m);
      all.dy += run.dy * static_cast<double>(weight(r));
      all.dy_xhat += run.dy_xhat * static_cast<double>(weight(r));
      plain.dy += run.dy;
      plain.dy_xhat += run.dy_xhat;
      if (sets.groups != 0) {  // the set has many channels: their sums over the batch come after the barrier
        p.sums[2 * (s * sets.runs + r)] = run.dy;
        p.sums[2 * (s * sets.runs + r) + 1] = run.dy_xhat;
      }
    }
    if (sets.groups == 0) {
      if (p.dbias != nullptr) p.dbias[s] = static_cast<T>(plain.dy);
      if (p.dweight != nullptr) p.dweight[s] = static_cast<T>(plain.dy_xhat);
    }
    const T constant = static_cast<T>(-all.dy / n * static_cast<double>(m.rstd));
    const T of_x = static_cast<T>(-all.dy_xhat / n * static_cast<double>(m.rstd) * static_cast<double>(m.rstd));
    for (int64_t r = 0; r < sets.runs; ++r) {
      const int64_t at = sets.start(s) + r * sets.run_step;
      grad_run(p.x + at, p.dy + at, p.dx + at, sets.S, m.mean, m.rstd * weight(r), of_x, constant);
    }
  }
  if (sets.groups == 0 || (p.dweight == nullptr && p.dbias == nullptr)) return;
  team.barrier();
  const auto [from, to] = team.share(norm.channels, 16);
  for (int64_t c = from; c < to; ++c) {
    GradSums total;
    for (int64_t b = 0; b < norm.batch; ++b) {
      total.dy += p.sums[2 * (b * norm.channels + c)];
      total.dy_xhat += p.sums[2 * (b * norm.channels + c) + 1];
    }
    if (p.dbias != nullptr) p.dbias[c] = static_cast<T>(total.dy);
    if (p.dweight != nullptr) p.dweight[c] = static_cast<T>(total.dy_xhat);
  }
}

// ---- batch norm of few positions: [batch, channels · positions], vectors run across the columns ----

template <class T>
class BatchColumns {
  static constexpr hn::ScalableTag<T> d{};
  using V = hn::Vec<hn::ScalableTag<T>>;

 public:
  BatchColumns(const ChannelNorm& norm, const T* x, int64_t first_channel, int64_t channels)
      : positions_(norm.positions),
        step_(norm.channels * norm.positions),
        rows_(norm.batch),
        channels_(channels),
        width_(channels * norm.positions),
        first_(first_channel),
        x_(x + first_channel * norm.positions) {
    for_sums([&](int64_t r, int64_t j, int64_t k) HWY_ATTR { return load_upto(d, x_ + r * step_ + j, k); }, mean_);
    for_sums(
        [&](int64_t r, int64_t j, int64_t k) HWY_ATTR {
          const V v = hn::Sub(load_upto(d, x_ + r * step_ + j, k), hn::Load(d, mean_ + j));
          return hn::Mul(v, v);
        },
        variance_);
    for (int64_t j = 0; j < width_; ++j)
      rstd_[j] = static_cast<T>(1 / std::sqrt(static_cast<double>(variance_[j]) + norm.eps));
  }

  void statistics(T* mean, T* variance) const {
    for (int64_t c = 0; c < channels_; ++c) {
      if (mean != nullptr) mean[first_ + c] = mean_[c * positions_];
      if (variance != nullptr) variance[first_ + c] = variance_[c * positions_];
    }
  }

  void forward(const T* weight, const T* bias, T* y) {
    HWY_ALIGN T scale[kColumnPanel], shift[kColumnPanel];
    for (int64_t j = 0; j < width_; ++j) {
      scale[j] = weight == nullptr ? rstd_[j] : rstd_[j] * weight[first_ + j / positions_];
      shift[j] = bias == nullptr ? T(0) : bias[first_ + j / positions_];
    }
    for (int64_t r = 0; r < rows_; ++r) {
      T* to = y + first_ * positions_ + r * step_;
      for_vectors(d, width_, [&](int64_t j, int64_t k) HWY_ATTR {
        const V v = hn::Sub(load_upto(d, x_ + r * step_ + j, k), hn::Load(d, mean_ + j));
        store_upto(hn::MulAdd(v, hn::Load(d, scale + j), hn::Load(d, shift + j)), d, to + j, k);
      });
    }
  }

  void backward(const ChannelNormGradients<T>& p) {
    const T* dy = p.dy + first_ * positions_;
    HWY_ALIGN T mean_dy[kColumnPanel], mean_dyx[kColumnPanel], scale[kColumnPanel], of_x[kColumnPanel];
    for_sums([&](int64_t r, int64_t j, int64_t k) HWY_ATTR { return load_upto(d, dy + r * step_ + j, k); }, mean_dy);
    for_sums(
        [&](int64_t r, int64_t j, int64_t k) HWY_ATTR {
          const V v = hn::Sub(load_upto(d, x_ + r * step_ + j, k), hn::Load(d, mean_ + j));
          return hn::Mul(load_upto(d, dy + r * step_ + j, k), hn::Mul(v, hn::Load(d, rstd_ + j)));
        },
        mean_dyx);
    const T n = static_cast<T>(rows_ * positions_);
    for (int64_t c = 0; c < channels_; ++c) {
      if (p.dbias != nullptr) p.dbias[first_ + c] = mean_dy[c * positions_] * n;
      if (p.dweight != nullptr) p.dweight[first_ + c] = mean_dyx[c * positions_] * n;
    }
    for (int64_t j = 0; j < width_; ++j) {
      scale[j] = p.weight == nullptr ? rstd_[j] : rstd_[j] * p.weight[first_ + j / positions_];
      of_x[j] = -mean_dyx[j] * rstd_[j];
    }
    for (int64_t r = 0; r < rows_; ++r) {
      T* to = p.dx + first_ * positions_ + r * step_;
      for_vectors(d, width_, [&](int64_t j, int64_t k) HWY_ATTR {
        const V v = hn::Sub(load_upto(d, x_ + r * step_ + j, k), hn::Load(d, mean_ + j));
        const V g = hn::Sub(load_upto(d, dy + r * step_ + j, k), hn::Load(d, mean_dy + j));
        store_upto(hn::Mul(hn::MulAdd(v, hn::Load(d, of_x + j), g), hn::Load(d, scale + j)), d, to + j, k);
      });
    }
  }

 private:
  // The mean of f over the rows and the positions of a channel, repeated for each of its columns.
  template <class F>
  HWY_INLINE void for_sums(const F& f, T* means) {
    PanelSum<T> sums(width_);
    for (int64_t r = 0; r < rows_; ++r) {
      for_vectors(d, width_, [&](int64_t j, int64_t k) HWY_ATTR { sums.add(j, f(r, j, k)); });
      sums.end_row();
    }
    const T* total = sums.total();
    for (int64_t c = 0; c < channels_; ++c) {
      T sum = 0;
      for (int64_t s = 0; s < positions_; ++s) sum += total[c * positions_ + s];
      for (int64_t s = 0; s < positions_; ++s) means[c * positions_ + s] = sum / static_cast<T>(rows_ * positions_);
    }
  }

  int64_t positions_, step_, rows_, channels_, width_, first_;
  const T* x_;
  HWY_ALIGN T mean_[kColumnPanel];
  HWY_ALIGN T variance_[kColumnPanel];
  HWY_ALIGN T rstd_[kColumnPanel];
};

// Calls body(columns of some whole channels) over the team's share.
template <class T, class Body>
void for_channel_panels(const ChannelNorm& norm, const T* x, const Team& team, const Body& body) {
  const int64_t panel = kColumnPanel / std::max<int64_t>(norm.positions, 1);  // no channel has none
  const auto [first, last] = team.share(norm.channels, std::min<int64_t>(panel, 16));
  for (int64_t c = first; c < last; c += panel) {
    BatchColumns<T> columns(norm, x, c, std::min(panel, last - c));
    body(columns);
  }
}

template <class T>
void channel_norm_any(const ChannelNorm& norm, const T* x, const T* weight, const T* bias, T* y, T* mean, T* variance,
                      const Team& team) {
  if (!across_columns(norm)) return channel_norm_sets(norm, x, weight, bias, y, mean, variance, team);
  for_channel_panels(norm, x, team, [&](BatchColumns<T>& columns) {
    columns.statistics(mean, variance);
    columns.forward(weight, bias, y);
  });
}

template <class T>
void channel_norm_grad_any(const ChannelNorm& norm, const ChannelNormGradients<T>& p, const Team& team) {
  if (!across_columns(norm)) return channel_norm_grad_sets(norm, p, team);
  for_channel_panels(norm, p.x, team, [&](BatchColumns<T>& columns) { columns.backward(p); });
}

#define INGOT_NORM_TARGETS(T, suffix)                                                                               \
  void row_norm_##suffix(const RowNorm& norm, const T* x, const T* weight, const T* bias, T* y, const Team& team) { \
    row_norm_any(norm, x, weight, bias, y, team);                                                                   \
  }                                                                                                                 \
  void row_norm_grad_##suffix(const RowNorm& norm, const RowNormGradients<T>& p, const Team& team) {                \
    row_norm_grad_any(norm, p, team);                                                                               \
  }                                                                                                                 \
  void channel_norm_##suffix(const ChannelNorm& norm, const T* x, const T* weight, const T* bias, T* y, T* mean,    \
                             T* variance, const Team& team) {                                                       \
    channel_norm_any(norm, x, weight, bias, y, mean, variance, team);                                               \
  }                                                                                                                 \
  void channel_norm_grad_##suffix(const ChannelNorm& norm, const ChannelNormGradients<T>& p, const Team& team) {    \
    channel_norm_grad_any(norm, p, team);                                                                           \
  }
INGOT_NORM_TARGETS(float, f32)
INGOT_NORM_TARGETS(double, f64)
#undef INGOT_NORM_TARGETS

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {

size_t row_norm_grad_scratch(const RowNorm& norm, size_t element_size) {
  return static_cast<size_t>(RowBlocks(norm).count * 4 * norm.cols) * element_size;
}
size_t channel_norm_grad_scratch(const ChannelNorm& norm, size_t) {
  return norm.groups == 0 ? 0 : static_cast<size_t>(2 * norm.batch * norm.channels) * sizeof(double);
}

// One kernel of the chosen target for the type.
#define INGOT_BY_TYPE(T, kernel, ...)          \
  if constexpr (sizeof(T) == 4) {              \
    INGOT_DISPATCH(kernel##_f32)(__VA_ARGS__); \
  } else {                                     \
    INGOT_DISPATCH(kernel##_f64)(__VA_ARGS__); \
  }

template <class T>
void row_norm(const RowNorm& norm, const T* x, const T* weight, const T* bias, T* y, const Team& team) {
  INGOT_BY_TYPE(T, row_norm, norm, x, weight, bias, y, team)
}
template <class T>
void row_norm_grad(const RowNorm& norm, const T* x, const T* weight, const T* dy, T* dx, T* dweight, T* dbias,
                   void* scratch, const Team& team) {
  const RowNormGradients<T> p{x, weight, dy, dx, dweight, dbias, static_cast<T*>(scratch)};
  INGOT_BY_TYPE(T, row_norm_grad, norm, p, team)
}
template <class T>
void channel_norm(const ChannelNorm& norm, const T* x, const T* weight, const T* bias, T* y, T* mean, T* variance,
                  const Team& team) {
  INGOT_BY_TYPE(T, channel_norm, norm, x, weight, bias, y, mean, variance, team)
}
template <class T>
void channel_norm_grad(const ChannelNorm& norm, const T* x, const T* weight, const T* dy, T* dx, T* dweight, T* dbias,
                       void* scratch, const Team& team) {
  const ChannelNormGradients<T> p{x, weight, dy, dx, dweight, dbias, static_cast<double*>(scratch)};
  INGOT_BY_TYPE(T, channel_norm_grad, norm, p, team)
}

#define INGOT_NORM(T)                                                                                        \
  template void row_norm(const RowNorm&, const T*, const T*, const T*, T*, const Team&);                     \
  template void row_norm_grad(const RowNorm&, const T*, const T*, const T*, T*, T*, T*, void*, const Team&); \
  template void channel_norm(const ChannelNorm&, const T*, const T*, const T*, T*, T*, T*, const Team&);     \
  template void channel_norm_grad(const ChannelNorm&, const T*, const T*, const T*, T*, T*, T*, void*, const Team&);
INGOT_NORM(float)
INGOT_NORM(double)
#undef INGOT_NORM
#undef INGOT_BY_TYPE

}  // namespace ingot::kernels
#endif
