#include "kernels/bag.h"

#include "ingot/base/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bag.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sums for kVectors neighbouring vectors of columns stay in registers while the rows pass by.
template <int kVectors, class T, class I>
HWY_INLINE void add_rows(T* sums, const T* table, const I* indices, const Bags& s) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[kVectors];
  for (auto& v : sum) v = hn::Zero(d);
  for (int64_t e = 0; e < s.length; e++) {
    const T* row = table + static_cast<int64_t>(indices[e * s.index_entry]) * s.table_row;
    for (int i = 0; i < kVectors; i++) sum[i] = hn::Add(sum[i], hn::LoadU(d, row + i * lanes));
  }
  for (int i = 0; i < kVectors; i++) hn::StoreU(sum[i], d, sums + i * lanes);
}

template <class T, class I>
void sums_of(T* sums, const T* table, const I* indices, const Bags& s, const Team& team) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const bool dense = s.table_column == 1 && s.result_column == 1;
  const auto [first, last] = team.share(s.count);
  for (int64_t b = first; b < last; b++) {
    T* to = sums + b * s.result_row;
    const I* bag = indices + b * s.index_bag;
    int64_t c = 0;
    for (; dense && c + 8 * lanes <= s.width; c += 8 * lanes) add_rows<8>(to + c, table + c, bag, s);
    for (; dense && c + lanes <= s.width; c += lanes) add_rows<1>(to + c, table + c, bag, s);
    for (; c < s.width; c++) {
      T sum = 0;
      for (int64_t e = 0; e < s.length; e++)
        sum += table[static_cast<int64_t>(bag[e * s.index_entry]) * s.table_row + c * s.table_column];
      to[c * s.result_column] = sum;
    }
  }
}

// Members share the columns: whoever has one adds all that falls on it, in order.
template <class T, class I>
void gradient_of(T* table, const T* dy, const I* indices, const Bags& s, const Team& team) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const bool dense = s.table_column == 1 && s.result_column == 1;
  const auto [first, last] = team.share(s.width, 16);
  for (int64_t r = 0; r < s.rows; r++)
    for (int64_t c = first; c < last; c++) table[r * s.table_row + c * s.table_column] = 0;
  for (int64_t b = 0; b < s.count; b++) {
    const T* from = dy + b * s.result_row;
    for (int64_t e = 0; e < s.length; e++) {
      T* to = table + static_cast<int64_t>(indices[b * s.index_bag + e * s.index_entry]) * s.table_row;
      int64_t c = first;
      for (; dense && c + lanes <= last; c += lanes)
        hn::StoreU(hn::Add(hn::LoadU(d, to + c), hn::LoadU(d, from + c)), d, to + c);
      for (; c < last; c++) to[c * s.table_column] += from[c * s.result_column];
    }
  }
}

#define INGOT_BAG_TARGETS(T, suffix)                                                          \
  void sums_##suffix(T* sums, const T* table, Indices i, const Bags& s, const Team& team) {   \
    i.wide ? sums_of(sums, table, static_cast<const int64_t*>(i.first), s, team)              \
           : sums_of(sums, table, static_cast<const int32_t*>(i.first), s, team);             \
  }                                                                                           \
  void gradient_##suffix(T* table, const T* dy, Indices i, const Bags& s, const Team& team) { \
    i.wide ? gradient_of(table, dy, static_cast<const int64_t*>(i.first), s, team)            \
           : gradient_of(table, dy, static_cast<const int32_t*>(i.first), s, team);           \
  }
INGOT_BAG_TARGETS(float, f32)
INGOT_BAG_TARGETS(double, f64)
#undef INGOT_BAG_TARGETS

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {

template <>
void bag_sums(float* sums, const float* table, Indices indices, const Bags& bags, const Team& team) {
  INGOT_DISPATCH(sums_f32)(sums, table, indices, bags, team);
}
template <>
void bag_sums(double* sums, const double* table, Indices indices, const Bags& bags, const Team& team) {
  INGOT_DISPATCH(sums_f64)(sums, table, indices, bags, team);
}
template <>
void bag_gradient(float* table, const float* dy, Indices indices, const Bags& bags, const Team& team) {
  INGOT_DISPATCH(gradient_f32)(table, dy, indices, bags, team);
}
template <>
void bag_gradient(double* table, const double* dy, Indices indices, const Bags& bags, const Team& team) {
  INGOT_DISPATCH(gradient_f64)(table, dy, indices, bags, team);
}

}  // namespace ingot::kernels
#endif
