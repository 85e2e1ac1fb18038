// Integer reductions: plain loops, which the compiler vectorises; order does not matter to the bits.
#include <limits>
#include <type_traits>

#include "kernels/reduce.h"
#include "kernels/reduce_plan.h"

namespace ingot::kernels {
namespace {

// Sums and products wrap around, as in NumPy.
template <class R>
R wrapping_add(R a, R b) {
  return static_cast<R>(static_cast<std::make_unsigned_t<R>>(a) + static_cast<std::make_unsigned_t<R>>(b));
}
template <class R>
R wrapping_mul(R a, R b) {
  return static_cast<R>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <Reduce kKind, class R>
struct IntOp {
  static constexpr R identity() {
    if constexpr (kKind == Reduce::kMax) return std::numeric_limits<R>::lowest();
    if constexpr (kKind == Reduce::kMin) return std::numeric_limits<R>::max();
    return kKind == Reduce::kProd ? R(1) : R(0);
  }
  static R join(R a, R b) {
    if constexpr (kKind == Reduce::kMax) return a > b ? a : b;
    if constexpr (kKind == Reduce::kMin) return a < b ? a : b;
    if constexpr (kKind == Reduce::kProd) return wrapping_mul(a, b);
    return wrapping_add(a, b);
  }
};

template <class Op, class T, class R>
struct IntLeaf {
  using Partial = R;
  const T* in;

  R join(R a, R b) const { return Op::join(a, b); }
  R finish(R x) const { return x; }

  void rows(const ReducePlan& p, const ReducePiece& piece, R* out, bool) const {
    const int64_t n = p.row_length(), step = p.row_stride();
    Walk to(p.kept, p.kept.rank, piece.first);
    for (int64_t o = piece.first; o < piece.last; ++o, to.next()) {
      R value = Op::identity();
      int64_t i = piece.begin;
      Walk run(p.reduced, p.reduced.rank - 1, n == 0 ? 0 : i / n);
      for (; i < piece.end; run.next()) {
        const int64_t from = i % n, m = std::min(n - from, piece.end - i);
        const T* x = in + p.in_offset + to.in + run.in + from * step;
        if (step == 1) {
          for (int64_t j = 0; j < m; ++j) value = Op::join(value, static_cast<R>(x[j]));
        } else {
          for (int64_t j = 0; j < m; ++j) value = Op::join(value, static_cast<R>(x[j * step]));
        }
        i += m;
      }
      out[to.out] = value;
    }
  }

  void columns(const ReducePlan& p, const ReducePiece& piece, R* out, bool) const {
    constexpr int64_t kPanel = 512;
    const int inner = p.kept.rank - 1;
    for_columns(p, piece, kPanel, [&](int64_t outer, int64_t begin, int64_t end) {
      R sums[kPanel];
      const int64_t width = end - begin;
      std::fill_n(sums, width, Op::identity());
      const Walk at(p.kept, inner, outer);
      Walk row(p.reduced, p.reduced.rank, piece.begin);
      for (int64_t r = piece.begin; r < piece.end; ++r, row.next()) {
        const T* x = in + p.in_offset + at.in + begin + row.in;
        for (int64_t c = 0; c < width; ++c) sums[c] = Op::join(sums[c], static_cast<R>(x[c]));
      }
      R* to = out + at.out + begin * p.kept.out[inner];
      for (int64_t c = 0; c < width; ++c) to[c * p.kept.out[inner]] = sums[c];
    });
  }
};

}  // namespace

template <class T, class R>
void reduce(Reduce kind, const ReduceLayout& layout, const T* in, R* out, double, void* scratch, const Team& team) {
  const ReducePlan plan = plan_reduce(layout, false);
  const auto run = [&]<Reduce kKind>() {
    run_reduce(plan, IntLeaf<IntOp<kKind, R>, T, R>{in}, out, static_cast<R*>(scratch), team);
  };
  if constexpr (std::is_same_v<R, int64_t>) {
    if (kind == Reduce::kSum) run.template operator()<Reduce::kSum>();
    if (kind == Reduce::kProd) run.template operator()<Reduce::kProd>();
  }
  if constexpr (std::is_same_v<T, R>) {
    if (kind == Reduce::kMax) run.template operator()<Reduce::kMax>();
    if (kind == Reduce::kMin) run.template operator()<Reduce::kMin>();
  }
}
template void reduce(Reduce, const ReduceLayout&, const int32_t*, int32_t*, double, void*, const Team&);
template void reduce(Reduce, const ReduceLayout&, const int32_t*, int64_t*, double, void*, const Team&);
template void reduce(Reduce, const ReduceLayout&, const int64_t*, int64_t*, double, void*, const Team&);
template void reduce(Reduce, const ReduceLayout&, const uint8_t*, uint8_t*, double, void*, const Team&);
template void reduce(Reduce, const ReduceLayout&, const uint8_t*, int64_t*, double, void*, const Team&);

}  // namespace ingot::kernels
