// Plain loops over indices, for the reference form of ops that are not element-wise.
#pragma once
#include <cstddef>

#include "ingot/base/tensor.h"

namespace ingot {

/// Calls f(index) for every index of `shape`, in row-major order.
template <class F>
void for_each_index(const Dims& shape, F&& f) {
  const int64_t n = element_count(shape);
  Dims index = Dims::filled(shape.size(), 0);
  for (int64_t k = 0; k < n; k++) {
    f(index);
    for (int a = shape.size() - 1; a >= 0 && ++index[a] == shape[a]; a--) index[a] = 0;
  }
}

/// The address of the element at `index`.
inline std::byte* element_at(const Tensor& t, const Dims& index) {
  int64_t offset = 0;
  for (int a = 0; a < index.size(); a++) offset += index[a] * t.strides()[a];
  return static_cast<std::byte*>(t.raw()) + offset * static_cast<int64_t>(size_of(t.dtype()));
}

}  // namespace ingot
