// Reading and adding at places that a tensor of indices names. Indices are taken on trust: the ops check them first.
#pragma once
#include <cstdint>

#include "ingot/base/shape.h"
#include "ingot/base/threads.h"

namespace ingot::kernels {

/// Three operands walked together over `shape`, strides in elements: the values, the indices, and the data, which an
/// index moves by `data_step` on top of its strides.
struct IndexWalk {
  int rank = 0;
  int64_t shape[kMaxRank], values[kMaxRank], indices[kMaxRank], data[kMaxRank];
  int64_t data_step = 0;

  void add_axis(int64_t size, int64_t value_stride, int64_t index_stride, int64_t data_stride) {
    shape[rank] = size, values[rank] = value_stride, indices[rank] = index_stride, data[rank] = data_stride;
    rank++;
  }
};

/// Indices of either width.
struct Indices {
  const void* first;
  bool wide;  // i64, else i32
};

/// values[p] = data[p + data_step · indices[p]] for every place p; elements of 1, 2, 4 or 8 bytes.
void gather(void* values, const void* data, Indices indices, const IndexWalk& walk, int64_t element_bytes,
            const Team& team);

/// data[p + data_step · indices[p]] += values[p] for every place p, in row-major order at each element of data, so the
/// sums do not depend on the team. Data must not move (stride 0) along the axes that are summed, and must move along
/// all others.
void scatter_add(float* data, const float* values, Indices indices, const IndexWalk& walk, const Team& team);
void scatter_add(double* data, const double* values, Indices indices, const IndexWalk& walk, const Team& team);
void scatter_add(int32_t* data, const int32_t* values, Indices indices, const IndexWalk& walk, const Team& team);
void scatter_add(int64_t* data, const int64_t* values, Indices indices, const IndexWalk& walk, const Team& team);

}  // namespace ingot::kernels
