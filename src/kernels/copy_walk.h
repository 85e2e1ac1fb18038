// The iteration space of a copy: two operands, axes ordered by the destination's memory and merged where both allow it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "ingot/shape.h"
#include "ingot/threads.h"

namespace ingot::kernels {

struct CopyWalk {
  int rank = 0;
  int64_t size[kMaxRank], to[kMaxRank], from[kMaxRank];  // strides in elements, innermost axis last

  CopyWalk(const int64_t* shape, const int64_t* to_strides, const int64_t* from_strides, int axes) {
    for (int a = 0; a < axes; a++) {
      if (shape[a] == 1) continue;
      int at = rank++;
      for (; at > 0 && std::abs(to[at - 1]) < std::abs(to_strides[a]); at--)
        set(at, size[at - 1], to[at - 1], from[at - 1]);
      set(at, shape[a], to_strides[a], from_strides[a]);
    }
    merge();
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
  void merge() {
    int kept = 0;
    for (int a = 0; a < rank; a++) {
      const bool joins = kept > 0 && to[kept - 1] == to[a] * size[a] && from[kept - 1] == from[a] * size[a];
      if (joins)
        set(kept - 1, size[kept - 1] * size[a], to[a], from[a]);
      else
        set(kept, size[a], to[a], from[a]), kept++;
    }
    rank = kept;
  }
};

}  // namespace ingot::kernels
