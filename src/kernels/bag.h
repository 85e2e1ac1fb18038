// Sums of the rows of a table that indices name, a bag of them for each result, and their gradient. Indices are taken on
// trust: the ops check them first.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ingot/base/threads.h"
#include "kernels/index.h"

namespace ingot::kernels {

/// `count` bags of `length` indices each, of a table with `rows` rows of `width`; strides in elements.
struct Bags {
  int64_t count, length, rows, width;
  int64_t index_bag, index_entry;     // of the indices
  int64_t table_row, table_column;    // of the table, or of its gradient
  int64_t result_row, result_column;  // of the sums, or of their gradient
};

/// sums[b] = Σₑ table[indices[b, e]], added in order of e.
template <class T>
void bag_sums(T* sums, const T* table, Indices indices, const Bags& bags, const Team& team);

/// table[r] = Σ dy[b] over all b, e with indices[b, e] = r, added in order of b, then e.
template <class T>
void bag_gradient(T* table, const T* dy, Indices indices, const Bags& bags, void* scratch, const Team& team);
size_t bag_gradient_scratch(const Bags& bags, int team_size);

}  // namespace ingot::kernels
