// Where the largest (smallest) element is: blocks are folded by the vector kernels, and only a block that beats the
// best so far is searched.
#include <limits>

#include "ingot/base/dispatch.h"
#include "kernels/reduce.h"
#include "kernels/reduce_plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce_arg.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include "kernels/reduce-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {

// Where the best of n contiguous elements stands first, if it beats `best` (or `any` does); else -1.
template <class Op, class T>
int64_t find_better(const T* p, int64_t n, bool any, T& best) {
  const hn::ScalableTag<T> d;
  const int64_t N = static_cast<int64_t>(hn::Lanes(d));
  const T found = join_lanes<Op>(d, join_block<Op>(d, p, n, hn::Zero(d)));
  const bool better = best == best && (found != found || (Op::join(found, best) == found && found != best));
  if (!any && !better) return -1;
  best = found;
  const auto target = hn::Set(d, found);
  int64_t i = 0;
  for (; i + N <= n; i += N) {
    const auto x = hn::LoadU(d, p + i);
    const auto hit = hn::Or(hn::Eq(x, target), found != found ? hn::IsNaN(x) : hn::Eq(x, target));
    const intptr_t lane = hn::FindFirstTrue(d, hit);
    if (lane >= 0) return i + lane;
  }
  while (p[i] != found && p[i] == p[i]) ++i;
  return i;
}
template <class T>
int64_t find_better(bool largest, const T* p, int64_t n, bool any, T& best) {
  return largest ? find_better<MaxOp>(p, n, any, best) : find_better<MinOp>(p, n, any, best);
}
int64_t find_better_f32(bool largest, const float* p, int64_t n, bool any, float& best) {
  return find_better(largest, p, n, any, best);
}
int64_t find_better_f64(bool largest, const double* p, int64_t n, bool any, double& best) {
  return find_better(largest, p, n, any, best);
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {
namespace {

int64_t find_better(bool largest, const float* p, int64_t n, bool any, float& best) {
  return INGOT_DISPATCH(find_better_f32)(largest, p, n, any, best);
}
int64_t find_better(bool largest, const double* p, int64_t n, bool any, double& best) {
  return INGOT_DISPATCH(find_better_f64)(largest, p, n, any, best);
}

template <class T>
struct Best {
  T value;
  int64_t index;  // -1: none yet
};

template <class T>
struct ArgLeaf {
  const T* in;
  bool largest;

  bool beats(T a, T b) const { return b == b && (a != a || (largest ? a > b : a < b)); }
  Best<T> join(Best<T> a, Best<T> b) const { return beats(b.value, a.value) ? b : a; }
  int64_t finish(Best<T> best) const { return best.index; }

  void search(const T* p, int64_t n, int64_t step, int64_t first, Best<T>& best) const {
    if constexpr (std::is_floating_point_v<T>) {
      constexpr int64_t kBlock = 1024;
      for (int64_t i = 0; step == 1 && n >= 16 && i < n; i += kBlock) {
        const int64_t at = find_better(largest, p + i, std::min(kBlock, n - i), best.index < 0, best.value);
        if (at >= 0) best.index = first + i + at;
      }
      if (step == 1 && n >= 16) return;
    }
    for (int64_t j = 0; j < n; ++j)
      if (best.index < 0 || beats(p[j * step], best.value)) best = {p[j * step], first + j};
  }

  template <class Put>
  void rows(const ReducePlan& p, const ReducePiece& piece, const Put& put) const {
    const int64_t n = p.row_length(), step = p.row_stride();
    Walk to(p.kept, p.kept.rank, piece.first);
    for (int64_t o = piece.first; o < piece.last; ++o, to.next()) {
      Best<T> best{T(0), -1};
      Walk run(p.reduced, p.reduced.rank - 1, piece.begin / n);
      for (int64_t i = piece.begin; i < piece.end; run.next()) {
        const int64_t from = i % n, m = std::min(n - from, piece.end - i);
        search(in + p.in_offset + to.in + run.in + from * step, m, step, i, best);
        i += m;
      }
      put(to.out, best);
    }
  }

  template <class Put>
  void columns(const ReducePlan& p, const ReducePiece& piece, const Put& put) const {
    constexpr int64_t kPanel = 512;
    const int inner = p.kept.rank - 1;
    for_columns(p, piece, kPanel, [&](int64_t outer, int64_t begin, int64_t end) {
      T values[kPanel];
      int64_t indices[kPanel];
      const int64_t width = end - begin;
      const Walk at(p.kept, inner, outer);
      Walk row(p.reduced, p.reduced.rank, piece.begin);
      for (int64_t r = piece.begin; r < piece.end; ++r, row.next()) {
        const T* x = in + p.in_offset + at.in + begin + row.in;
        for (int64_t c = 0; c < width; ++c)
          if (r == piece.begin || beats(x[c], values[c])) {
            values[c] = x[c];
            indices[c] = r;
          }
      }
      for (int64_t c = 0; c < width; ++c) put(at.out + (begin + c) * p.kept.out[inner], Best<T>{values[c], indices[c]});
    });
  }
};

// Partial results carry their value, final ones only the index, so this is run_reduce with two kinds of output.
template <class T>
void run_arg(const ReducePlan& plan, const ArgLeaf<T>& leaf, int64_t* out, Best<T>* partials, const Team& team) {
  const int64_t units = plan.columns ? plan.outputs / plan.width() * column_blocks(plan) : plan.outputs;
  const auto run = [&](const ReducePlan& p, const ReducePiece& piece, const auto& put) {
    if (piece.first >= piece.last) return;
    p.columns ? leaf.columns(p, piece, put) : leaf.rows(p, piece, put);
  };
  if (plan.segments == 1) {
    const auto [first, last] = team.share(units);
    out += plan.out_offset;
    return run(plan, {first, last, 0, plan.count}, [&](int64_t at, Best<T> best) { out[at] = best.index; });
  }
  const ReducePlan packed = packed_outputs(plan);
  const auto [begin, end] = team.share(plan.segments);
  for (int64_t s = begin; s < end; ++s)
    run(packed, {0, units, s * plan.segment, std::min((s + 1) * plan.segment, plan.count)},
        [&](int64_t at, Best<T> best) { partials[s * plan.outputs + at] = best; });
  team.barrier();
  const auto [first, last] = team.share(plan.outputs);
  Walk to(plan.kept, plan.kept.rank, first);
  for (int64_t o = first; o < last; ++o, to.next()) {
    Best<T> best = partials[o];
    for (int64_t s = 1; s < plan.segments; ++s) best = leaf.join(best, partials[s * plan.outputs + o]);
    out[plan.out_offset + to.out] = best.index;
  }
}

}  // namespace

template <class T>
void arg_reduce(bool largest, const ReduceLayout& layout, const T* in, int64_t* out, void* scratch, const Team& team) {
  const ReducePlan plan = plan_reduce(layout, true);
  if (plan.outputs == 0 || plan.count == 0) return;
  run_arg(plan, ArgLeaf<T>{in, largest}, out, static_cast<Best<T>*>(scratch), team);
}
template void arg_reduce(bool, const ReduceLayout&, const float*, int64_t*, void*, const Team&);
template void arg_reduce(bool, const ReduceLayout&, const double*, int64_t*, void*, const Team&);
template void arg_reduce(bool, const ReduceLayout&, const int32_t*, int64_t*, void*, const Team&);
template void arg_reduce(bool, const ReduceLayout&, const int64_t*, int64_t*, void*, const Team&);
template void arg_reduce(bool, const ReduceLayout&, const uint8_t*, int64_t*, void*, const Team&);

}  // namespace ingot::kernels
#endif
