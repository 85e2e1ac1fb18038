#include "kernels/bag.h"

#include <algorithm>
#include <utility>

#include "ingot/base/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bag.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include <hwy/highway.h>
// clang-format on

#ifndef INGOT_KERNELS_BAG_ONCE
#define INGOT_KERNELS_BAG_ONCE
namespace ingot::kernels {

// Numbers in one member's lists of bags by rows.
inline int64_t bag_lists(const Bags& s) { return s.rows + s.count * s.length; }

}  // namespace ingot::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Rows of a matrix, of which some are added up; strides in elements.
template <class T>
struct RowsOf {
  const T* first;
  int64_t row, column;
};

// Sums for kVectors neighbouring vectors of columns stay in registers while the rows pass by.
template <int kVectors, class T, class I>
HWY_INLINE void add_rows(T* sums, const T* table, int64_t row_step, const I* which, int64_t n, int64_t step) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[kVectors];
  for (auto& v : sum) v = hn::Zero(d);
  for (int64_t e = 0; e < n; e++) {
    const T* row = table + static_cast<int64_t>(which[e * step]) * row_step;
    for (int i = 0; i < kVectors; i++) sum[i] = hn::Add(sum[i], hn::LoadU(d, row + i * lanes));
  }
  for (int i = 0; i < kVectors; i++) hn::StoreU(sum[i], d, sums + i * lanes);
}

// Columns `first` to `last` of the sum of n rows, which[0], which[step], …, in this order.
template <class T, class I>
HWY_INLINE void sum_rows(T* to, int64_t to_column, const RowsOf<T>& rows, const I* which, int64_t n, int64_t step,
                         int64_t first, int64_t last) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const bool dense = rows.column == 1 && to_column == 1;
  int64_t c = first;
  for (; dense && c + 8 * lanes <= last; c += 8 * lanes) add_rows<8>(to + c, rows.first + c, rows.row, which, n, step);
  for (; dense && c + lanes <= last; c += lanes) add_rows<1>(to + c, rows.first + c, rows.row, which, n, step);
  for (; c < last; c++) {
    T sum = 0;
    for (int64_t e = 0; e < n; e++)
      sum += rows.first[static_cast<int64_t>(which[e * step]) * rows.row + c * rows.column];
    to[c * to_column] = sum;
  }
}

template <class T, class I>
void sums_of(T* sums, const T* table, const I* indices, const Bags& s, const Team& team) {
  const auto [first, last] = team.share(s.count);
  for (int64_t b = first; b < last; b++)
    sum_rows(sums + b * s.result_row, s.result_column, {table, s.table_row, s.table_column}, indices + b * s.index_bag,
             s.length, s.index_entry, 0, s.width);
}

// Lists for every row of the table the bags that name it, in order: those of row r are bags[end[r - 1]] to bags[end[r]].
template <class I>
void invert(const I* indices, const Bags& s, int64_t* end, int64_t* bags) {
  std::fill(end, end + s.rows, 0);
  const auto row_of = [&](int64_t b, int64_t e) {
    return static_cast<int64_t>(indices[b * s.index_bag + e * s.index_entry]);
  };
  for (int64_t b = 0; b < s.count; b++)
    for (int64_t e = 0; e < s.length; e++) end[row_of(b, e)]++;
  for (int64_t r = 0, begin = 0; r < s.rows; r++) begin += std::exchange(end[r], begin);
  for (int64_t b = 0; b < s.count; b++)  // beginnings move on to ends
    for (int64_t e = 0; e < s.length; e++) bags[end[row_of(b, e)]++] = b;
}

// The sums of an inverted table. Members share the columns, and have lists of their own.
template <class T, class I>
void gradient_of(T* table, const T* dy, const I* indices, const Bags& s, int64_t* lists, const Team& team) {
  const auto [first, last] = team.share(s.width, 16);
  if (first == last) return;
  int64_t* end = lists + team.rank() * bag_lists(s);
  int64_t* bags = end + s.rows;
  invert(indices, s, end, bags);
  for (int64_t r = 0, begin = 0; r < s.rows; begin = end[r++])
    sum_rows(table + r * s.table_row, s.table_column, {dy, s.result_row, s.result_column}, bags + begin, end[r] - begin,
             1, first, last);
}

#define INGOT_BAG_TARGETS(T, suffix)                                                                          \
  void sums_##suffix(T* sums, const T* table, Indices i, const Bags& s, const Team& team) {                   \
    i.wide ? sums_of(sums, table, static_cast<const int64_t*>(i.first), s, team)                              \
           : sums_of(sums, table, static_cast<const int32_t*>(i.first), s, team);                             \
  }                                                                                                           \
  void gradient_##suffix(T* table, const T* dy, Indices i, const Bags& s, int64_t* lists, const Team& team) { \
    i.wide ? gradient_of(table, dy, static_cast<const int64_t*>(i.first), s, lists, team)                     \
           : gradient_of(table, dy, static_cast<const int32_t*>(i.first), s, lists, team);                    \
  }
INGOT_BAG_TARGETS(float, f32)
INGOT_BAG_TARGETS(double, f64)
#undef INGOT_BAG_TARGETS

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {

size_t bag_gradient_scratch(const Bags& bags, int team_size) {
  return static_cast<size_t>(bag_lists(bags)) * sizeof(int64_t) * static_cast<size_t>(team_size);
}

template <>
void bag_sums(float* sums, const float* table, Indices indices, const Bags& bags, const Team& team) {
  INGOT_DISPATCH(sums_f32)(sums, table, indices, bags, team);
}
template <>
void bag_sums(double* sums, const double* table, Indices indices, const Bags& bags, const Team& team) {
  INGOT_DISPATCH(sums_f64)(sums, table, indices, bags, team);
}
template <>
void bag_gradient(float* table, const float* dy, Indices indices, const Bags& bags, void* scratch, const Team& team) {
  INGOT_DISPATCH(gradient_f32)(table, dy, indices, bags, static_cast<int64_t*>(scratch), team);
}
template <>
void bag_gradient(double* table, const double* dy, Indices indices, const Bags& bags, void* scratch, const Team& team) {
  INGOT_DISPATCH(gradient_f64)(table, dy, indices, bags, static_cast<int64_t*>(scratch), team);
}

}  // namespace ingot::kernels
#endif
