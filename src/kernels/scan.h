// Along one axis: running sums, sorting, the largest k. f32, f64, i32 and i64.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ingot/base/threads.h"
#include "kernels/reduce_axis.h"

namespace ingot::kernels {

/// out[i] = in[0] + … + in[i] along the axis, or in[i] + … + in[n - 1] with `reverse`. Floats add up in f64; integers
/// wrap. Operands: in, out; they may be the same memory with the same strides.
template <class T>
void cumsum(const AxisLayout& layout, bool reverse, const T* in, T* out, const Team& team);

/// The first `count` elements of each line in sorted order, and where they were: ascending with NaN last, or descending
/// with NaN first; equal elements in the order they came. Operands: in (layout.length elements), values, indices
/// (`count` each).
template <class T>
void sort(const AxisLayout& layout, bool descending, int64_t count, const T* in, T* values, int64_t* indices,
          void* scratch, const Team& team);
size_t sort_scratch(int64_t length, int team_size);

}  // namespace ingot::kernels
