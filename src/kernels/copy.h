// Moving elements between memory of any layout, up to eight axes; strides in elements, zero and negative ones welcome
// (but the destination's elements must not share memory).
#pragma once
#include <cstdint>

#include "ingot/base/dtype.h"
#include "ingot/base/threads.h"

namespace ingot::kernels {

/// to[i] = from[i] for every index i of `shape`; elements of 1, 2, 4 or 8 bytes. This member's share.
void copy(void* to, const int64_t* to_strides, const void* from, const int64_t* from_strides, const int64_t* shape,
          int rank, int64_t element_bytes, const Team& team);

/// The same with a change of type: towards zero and saturating to integers (NaN to 0), x ≠ 0 to bool, to nearest even
/// else.
void convert(void* to, DType to_type, const int64_t* to_strides, const void* from, DType from_type,
             const int64_t* from_strides, const int64_t* shape, int rank, const Team& team);

/// Converts n contiguous elements.
using ConvertFn = void (*)(void* to, const void* from, int64_t n);
ConvertFn conversion(DType to, DType from);

}  // namespace ingot::kernels
