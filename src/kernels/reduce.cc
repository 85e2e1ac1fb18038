#include "kernels/reduce.h"

#include <cmath>

#include "ingot/base/dispatch.h"
#include "kernels/reduce_plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include "kernels/math-exp-inl.h"
#include "kernels/reduce-inl.h"
// clang-format on

#ifndef INGOT_KERNELS_REDUCE_ONCE
#define INGOT_KERNELS_REDUCE_ONCE
namespace ingot::kernels {
// The public kinds, then those whose elements are taken relative to a centre per output.
enum class Fold : uint8_t { kSum, kProd, kMax, kMin, kSumSquares, kSumAbs, kSquaredDifference, kExpDifference };
}  // namespace ingot::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {

struct ExpDifferenceOp : AddJoin {
  template <class D, class V>
  static HWY_INLINE V map(D d, V x, V c) {
    return Exp(d, hn::Sub(x, c));
  }
};

constexpr int64_t kPanel = 1024;  // columns that are folded together
constexpr int64_t kRowGroup = 8;  // rows read side by side
constexpr int kGroupsPerLevel = 8;

// One accumulator vector per slot of N columns, in levels as in Cascade. The last slot overlaps its neighbour when the
// width is no multiple of N: those columns are computed twice, alike.
template <class Op, class T>
class ColumnFold {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

 public:
  ColumnFold(int64_t width, const T* centre) : width_(width), centre_(centre) {
    slots_ = width <= N ? 1 : (width + N - 1) / N;
    clear(0);
  }

  void add_rows(const ReducePlan& plan, const T* in, int64_t begin, int64_t end) {
    Walk row(plan.reduced, plan.reduced.rank, begin);
    int64_t r = begin;
    for (; r + kRowGroup <= end; r += kRowGroup) {
      const T* rows[kRowGroup];
      for (auto& p : rows) {
        p = in + row.in;
        row.next();
      }
      width_ < N ? add_group<true>(rows) : add_group<false>(rows);
      carry();
    }
    for (; r < end; ++r, row.next()) width_ < N ? add_one<true>(in + row.in) : add_one<false>(in + row.in);
  }

  /// The folded columns; valid until the next call.
  const T* total() {
    for (int k = 1; k < used_; ++k)
      for (int64_t s = 0; s < slots_; ++s) put(0, s, Op::join(get(k, s), get(0, s)));
    for (int64_t s = 0; s < slots_; ++s) hn::StoreU(get(0, s), d, total_ + column(s));
    return total_;
  }

 private:
  static constexpr D d{};
  static constexpr int64_t N = hn::MaxLanes(D());

  int64_t column(int64_t slot) const { return width_ < N ? 0 : std::min(slot * N, width_ - N); }
  V get(int level, int64_t slot) const { return hn::Load(d, sums_[level] + slot * N); }
  void put(int level, int64_t slot, V v) { hn::Store(v, d, sums_[level] + slot * N); }
  void clear(int level) {
    counts_[level] = 0;
    for (int64_t s = 0; s < slots_; ++s) put(level, s, Op::identity(d));
  }
  template <bool kNarrow>
  HWY_INLINE V load(const T* p) const {
    if constexpr (kNarrow) return load_few(d, p, width_);
    return hn::LoadU(d, p);
  }
  template <bool kNarrow>
  HWY_INLINE void add_group(const T* const* rows) {
    const T *p0 = rows[0], *p1 = rows[1], *p2 = rows[2], *p3 = rows[3];
    const T *p4 = rows[4], *p5 = rows[5], *p6 = rows[6], *p7 = rows[7];
    for (int64_t s = 0; s < slots_; ++s) {
      const int64_t i = column(s);
      const V c = centre_ == nullptr ? hn::Zero(d) : load<kNarrow>(centre_ + i);
      const auto at = [&](const T* p) HWY_ATTR { return Op::map(d, load<kNarrow>(p + i), c); };
      const V a = Op::join(Op::join(at(p0), at(p1)), Op::join(at(p2), at(p3)));
      const V b = Op::join(Op::join(at(p4), at(p5)), Op::join(at(p6), at(p7)));
      put(0, s, Op::join(get(0, s), Op::join(a, b)));
    }
  }
  template <bool kNarrow>
  HWY_INLINE void add_one(const T* p) {
    for (int64_t s = 0; s < slots_; ++s) {
      const int64_t i = column(s);
      const V c = centre_ == nullptr ? hn::Zero(d) : load<kNarrow>(centre_ + i);
      put(0, s, Op::join(get(0, s), Op::map(d, load<kNarrow>(p + i), c)));
    }
  }
  // Full levels move up.
  void carry() {
    int fan = kGroupsPerLevel;
    for (int k = 0; k + 1 < kCascadeLevels && ++counts_[k] == fan; ++k, fan = kCascadeFan) {
      if (used_ == k + 1) {
        ++used_;
        clear(k + 1);
      }
      for (int64_t s = 0; s < slots_; ++s) put(k + 1, s, Op::join(get(k + 1, s), get(k, s)));
      clear(k);
    }
  }

  int64_t width_, slots_;
  const T* centre_;
  int used_ = 1;
  int counts_[kCascadeLevels];
  HWY_ALIGN T sums_[kCascadeLevels][kPanel + N];
  T total_[kPanel + N];
};

template <class Op, class T>
struct FloatLeaf {
  using Partial = double;
  const T* in;
  const T* centre;  // one per output in the plan's order, or null
  double scale;

  double join(double a, double b) const { return Op::join(a, b); }
  double finish(double x) const { return x * scale; }

  template <class Out>
  void rows(const ReducePlan& p, const ReducePiece& piece, Out* out, bool last) const {
    const hn::ScalableTag<T> d;
    const int64_t n = p.row_length(), step = p.row_stride();
    const double factor = last ? scale : 1;
    const bool single = p.reduced.rank == 1 && step == 1 && piece.end - piece.begin <= kReduceBlock<hn::ScalableTag<T>>;
    Walk to(p.kept, p.kept.rank, piece.first);
    for (int64_t o = piece.first; o < piece.last; ++o, to.next()) {
      const T* base = in + p.in_offset + to.in;
      const auto c = hn::Set(d, centre == nullptr ? T(0) : centre[o]);
      double value;
      if (single) {
        value = join_lanes<Op>(d, join_block<Op>(d, base + piece.begin, piece.end - piece.begin, c));
      } else {
        Cascade<Op, hn::ScalableTag<T>> cascade(d);
        int64_t i = piece.begin;
        Walk run(p.reduced, p.reduced.rank - 1, n == 0 ? 0 : i / n);
        for (; i < piece.end; run.next()) {
          const int64_t from = i % n, m = std::min(n - from, piece.end - i);
          join_run<Op>(d, base + run.in + from * step, m, step, c, cascade);
          i += m;
        }
        value = cascade.total();
      }
      out[to.out] = static_cast<Out>(value * factor);
    }
  }

  template <class Out>
  void columns(const ReducePlan& p, const ReducePiece& piece, Out* out, bool last) const {
    const int inner = p.kept.rank - 1;
    const int64_t step = p.kept.out[inner];
    const T factor = static_cast<T>(last ? scale : 1);
    for_columns(p, piece, kPanel, [&](int64_t outer, int64_t begin, int64_t end) {
      const Walk at(p.kept, inner, outer);
      ColumnFold<Op, T> fold(end - begin, centre == nullptr ? nullptr : centre + outer * p.width() + begin);
      fold.add_rows(p, in + p.in_offset + at.in + begin, piece.begin, piece.end);
      const T* total = fold.total();
      Out* to = out + at.out + begin * step;
      if (step == 1) {
        for (int64_t c = 0; c < end - begin; ++c) to[c] = total[c] * factor;
      } else {
        for (int64_t c = 0; c < end - begin; ++c) to[c * step] = total[c] * factor;
      }
    });
  }
};

template <class T>
void fold(Fold kind, const ReducePlan& plan, const T* in, const T* centre, T* out, double scale, void* scratch,
          const Team& team) {
  const auto run = [&](auto op) {
    const FloatLeaf<decltype(op), T> leaf{in, centre, scale};
    run_reduce(plan, leaf, out, static_cast<double*>(scratch), team);
  };
  switch (kind) {
    case Fold::kSum: return run(SumOp());
    case Fold::kProd: return run(ProdOp());
    case Fold::kMax: return run(MaxOp());
    case Fold::kMin: return run(MinOp());
    case Fold::kSumSquares: return run(SumSquaresOp());
    case Fold::kSumAbs: return run(SumAbsOp());
    case Fold::kSquaredDifference: return run(SquaredDifferenceOp());
    case Fold::kExpDifference: return run(ExpDifferenceOp());
  }
}

void fold_f32(Fold kind, const ReducePlan& plan, const float* in, const float* centre, float* out, double scale,
              void* scratch, const Team& team) {
  fold(kind, plan, in, centre, out, scale, scratch, team);
}
void fold_f64(Fold kind, const ReducePlan& plan, const double* in, const double* centre, double* out, double scale,
              void* scratch, const Team& team) {
  fold(kind, plan, in, centre, out, scale, scratch, team);
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {
namespace {

void fold(Fold kind, const ReducePlan& plan, const float* in, const float* centre, float* out, double scale,
          void* scratch, const Team& team) {
  INGOT_DISPATCH(fold_f32)(kind, plan, in, centre, out, scale, scratch, team);
}
void fold(Fold kind, const ReducePlan& plan, const double* in, const double* centre, double* out, double scale,
          void* scratch, const Team& team) {
  INGOT_DISPATCH(fold_f64)(kind, plan, in, centre, out, scale, scratch, team);
}

// Two passes: a first fold gives the centre of each output (adjusted by `prepare`), a second folds what is left.
template <class T, class Prepare>
void centred_fold(Fold first, double first_scale, Fold second, double second_scale, const ReducePlan& plan, const T* in,
                  T* out, T* centre, const Prepare& prepare, const Team& team) {
  void* partials = reinterpret_cast<double*>(centre) + plan.outputs;
  fold(first, packed_outputs(plan), in, nullptr, centre, first_scale, partials, team);
  team.barrier();
  const auto [begin, end] = team.share(plan.outputs);
  for (int64_t o = begin; o < end; ++o) prepare(centre[o]);
  team.barrier();
  fold(second, plan, in, centre, out, second_scale, partials, team);
}

}  // namespace

template <class T, class R>
void reduce(Reduce kind, const ReduceLayout& layout, const T* in, R* out, double scale, void* scratch,
            const Team& team) {
  fold(static_cast<Fold>(kind), plan_reduce(layout, false), in, nullptr, out, scale, scratch, team);
}
template void reduce(Reduce, const ReduceLayout&, const float*, float*, double, void*, const Team&);
template void reduce(Reduce, const ReduceLayout&, const double*, double*, double, void*, const Team&);

template <class T>
void variance(const ReduceLayout& layout, const T* in, T* out, int64_t correction, void* scratch, const Team& team) {
  const ReducePlan plan = plan_reduce(layout, false);
  const double n = static_cast<double>(plan.count), divisor = n - static_cast<double>(correction);
  centred_fold(
      Fold::kSum, 1 / n, Fold::kSquaredDifference, divisor > 0 ? 1 / divisor : std::nan(""), plan, in, out,
      static_cast<T*>(scratch), [](T&) {}, team);
}
template void variance(const ReduceLayout&, const float*, float*, int64_t, void*, const Team&);
template void variance(const ReduceLayout&, const double*, double*, int64_t, void*, const Team&);

template <class T>
void logsumexp(const ReduceLayout& layout, const T* in, T* out, void* scratch, const Team& team) {
  const ReducePlan plan = plan_reduce(layout, false);
  T* centre = static_cast<T*>(scratch);
  const auto finite = [](T& m) { m = std::isfinite(m) ? m : T(0); };  // inf - inf would be NaN
  centred_fold(Fold::kMax, 1, Fold::kExpDifference, 1, plan, in, out, centre, finite, team);
  team.barrier();
  const auto [first, last] = team.share(plan.outputs);
  if (first >= last) return;
  Walk at(plan.kept, plan.kept.rank, first);
  for (int64_t o = first; o < last; ++o, at.next()) {
    T& y = out[plan.out_offset + at.out];
    y = std::log(y) + centre[o];
  }
}
template void logsumexp(const ReduceLayout&, const float*, float*, void*, const Team&);
template void logsumexp(const ReduceLayout&, const double*, double*, void*, const Team&);

}  // namespace ingot::kernels
#endif
