// How a reduction walks memory: the layout sorted, flipped and merged, and the cut of the work into pieces.
#pragma once
#include <algorithm>
#include <cstdint>

#include "ingot/base/threads.h"
#include "kernels/reduce.h"

namespace ingot::kernels {

struct Axes {
  int rank = 0;
  int64_t size[kMaxReduceRank], in[kMaxReduceRank], out[kMaxReduceRank];
};

/// Position in the row-major walk over the first `rank` axes.
class Walk {
 public:
  Walk(const Axes& axes, int rank, int64_t flat = 0) : axes_(axes), rank_(rank) {
    for (int a = rank - 1; a >= 0; --a) {
      index_[a] = flat % axes.size[a];
      flat /= axes.size[a];
      in += index_[a] * axes.in[a];
      out += index_[a] * axes.out[a];
    }
  }
  void next() {
    for (int a = rank_ - 1; a >= 0; --a) {
      in += axes_.in[a];
      out += axes_.out[a];
      if (++index_[a] < axes_.size[a]) return;
      in -= axes_.in[a] * axes_.size[a];
      out -= axes_.out[a] * axes_.size[a];
      index_[a] = 0;
    }
  }
  int64_t in = 0, out = 0;

 private:
  const Axes& axes_;
  int rank_;
  int64_t index_[kMaxReduceRank];
};

/// Two shapes of inner loop: along the innermost reduced axis ("rows"), or, when the innermost kept axis is contiguous,
/// across it ("columns": one accumulator per column). Few outputs and a long range: the range is cut into segments
/// whose partial results are combined in order. Everything here depends on the layout alone, never on the team.
struct ReducePlan {
  Axes kept, reduced;  // both have at least one axis
  int64_t in_offset = 0, out_offset = 0;
  int64_t outputs = 1, count = 1;  // how many results, of how many elements each
  bool columns = false;
  int64_t segments = 1, segment = 0;

  int64_t row_length() const { return reduced.size[reduced.rank - 1]; }
  int64_t row_stride() const { return reduced.in[reduced.rank - 1]; }
  int64_t width() const { return kept.size[kept.rank - 1]; }
};

/// `ordered` keeps the order of the reduced axes (an index into them is wanted).
ReducePlan plan_reduce(const ReduceLayout& layout, bool ordered);

/// The same plan with the results packed one after another, in the order the plan visits them.
ReducePlan packed_outputs(const ReducePlan& plan);

/// A piece of the work: outputs [first, last) (in columns: blocks of columns), over the range [begin, end).
struct ReducePiece {
  int64_t first, last, begin, end;
};

constexpr int64_t kColumnGrain = 16;
inline int64_t column_blocks(const ReducePlan& plan) { return (plan.width() + kColumnGrain - 1) / kColumnGrain; }

/// Calls `body(outer kept index, first column, last column)` for every stretch of the piece's column blocks.
template <class Body>
void for_columns(const ReducePlan& plan, const ReducePiece& piece, int64_t panel, const Body& body) {
  const int64_t blocks = column_blocks(plan), width = plan.width();
  for (int64_t u = piece.first; u < piece.last;) {
    const int64_t outer = u / blocks, last = std::min((outer + 1) * blocks, piece.last);
    const int64_t end = std::min((last - outer * blocks) * kColumnGrain, width);
    for (int64_t c = (u - outer * blocks) * kColumnGrain; c < end; c += panel) body(outer, c, std::min(c + panel, end));
    u = last;
  }
}

/// Runs a leaf — `leaf.rows/columns(plan, piece, out, last)` and `leaf.join(a, b)` — over the team's shares. `last`
/// says that results are final. `partials` has segments × outputs elements.
template <class Leaf, class R>
void run_reduce(const ReducePlan& plan, const Leaf& leaf, R* out, typename Leaf::Partial* partials, const Team& team) {
  if (plan.outputs == 0) return;
  const int64_t units = plan.columns ? plan.outputs / plan.width() * column_blocks(plan) : plan.outputs;
  const auto run = [&](const ReducePlan& p, const ReducePiece& piece, auto* to, bool last) {
    if (piece.first >= piece.last) return;
    p.columns ? leaf.columns(p, piece, to, last) : leaf.rows(p, piece, to, last);
  };
  if (plan.segments == 1) {
    const auto [first, last] = team.share(units);
    return run(plan, {first, last, 0, plan.count}, out + plan.out_offset, true);
  }
  const ReducePlan packed = packed_outputs(plan);
  const auto [begin, end] = team.share(plan.segments);
  for (int64_t s = begin; s < end; ++s)
    run(packed, {0, units, s * plan.segment, std::min((s + 1) * plan.segment, plan.count)}, partials + s * plan.outputs,
        false);
  team.barrier();
  const auto [first, last] = team.share(plan.outputs);
  Walk to(plan.kept, plan.kept.rank, first);
  for (int64_t o = first; o < last; ++o, to.next()) {
    for (int64_t step = 1; step < plan.segments; step *= 2)  // a tree over the segments, in place
      for (int64_t s = 0; s + step < plan.segments; s += 2 * step)
        partials[s * plan.outputs + o] =
            leaf.join(partials[s * plan.outputs + o], partials[(s + step) * plan.outputs + o]);
    out[plan.out_offset + to.out] = static_cast<R>(leaf.finish(partials[o]));
  }
}

}  // namespace ingot::kernels
