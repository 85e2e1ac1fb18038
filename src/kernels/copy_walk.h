// The iteration space of a copy: two operands, axes ordered by the destination's memory and merged where both allow it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include "ingot/base/shape.h"
#include "ingot/base/threads.h"
#include "kernels/axes.h"

namespace ingot::kernels {

struct CopyWalk {
  int rank = 0;
  int64_t size[kMaxRank], to[kMaxRank], from[kMaxRank];  // strides in elements, innermost axis last

  CopyWalk(const int64_t* shape, const int64_t* to_strides, const int64_t* from_strides, int axes) {
    for (int a = 0; a < axes; a++) set(a, shape[a], to_strides[a], from_strides[a]);
    int64_t* const steps[] = {to, from};
    order_axes(axes, size, steps, 2);
    rank = merge_axes(axes, size, steps, 2);
    while (rank < 2) {  // callers want two axes: a row, and how rows follow
      set(rank, 1, 1, 1);
      for (int a = rank++; a > 0; a--) swap_axes(a - 1, a);
    }
  }

  void swap_axes(int a, int b) {
    std::swap(size[a], size[b]);
    std::swap(to[a], to[b]);
    std::swap(from[a], from[b]);
  }
  /// Makes axis `a` the last but one.
  void bring_beside_inner(int a) {
    for (; a + 2 < rank; a++) swap_axes(a, a + 1);
  }

  /// Calls block(to offset, from offset, rows, columns) for this member's blocks of the two innermost axes, each at
  /// most `grain_rows` × `grain_columns`.
  template <class Block>
  void for_each_block(int64_t grain_rows, int64_t grain_columns, const Team& team, Block&& block) const {
    const int64_t rows = size[rank - 2], columns = size[rank - 1];
    const int64_t down = (rows + grain_rows - 1) / grain_rows, across = (columns + grain_columns - 1) / grain_columns;
    int64_t outer = 1;
    for (int a = 0; a + 2 < rank; a++) outer *= size[a];
    const auto [first, last] = team.share(outer * down * across);
    for (int64_t unit = first; unit < last; unit++) {
      const int64_t column = unit % across * grain_columns, row = unit / across % down * grain_rows;
      int64_t rest = unit / across / down;
      int64_t to_at = row * to[rank - 2] + column * to[rank - 1],
              from_at = row * from[rank - 2] + column * from[rank - 1];
      for (int a = rank - 3; a >= 0; a--) {
        to_at += rest % size[a] * to[a];
        from_at += rest % size[a] * from[a];
        rest /= size[a];
      }
      block(to_at, from_at, std::min(grain_rows, rows - row), std::min(grain_columns, columns - column));
    }
  }

 private:
  void set(int a, int64_t n, int64_t t, int64_t f) { size[a] = n, to[a] = t, from[a] = f; }
};

}  // namespace ingot::kernels
