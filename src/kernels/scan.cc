#include "kernels/scan.h"

#include <algorithm>
#include <type_traits>

namespace ingot::kernels {
namespace {

template <class T>
struct Item {
  T value;
  int64_t index;
};
constexpr size_t kItemBytes = 16;

// A total order: no two items are equal, so an unstable algorithm sorts stably. NaN counts as larger than everything.
template <bool kDescending, class T>
bool before(const Item<T>& a, const Item<T>& b) {
  const T &x = kDescending ? b.value : a.value, &y = kDescending ? a.value : b.value;
  const bool x_nan = x != x, y_nan = y != y;
  if (x < y || (y_nan && !x_nan)) return true;
  if (y < x || (x_nan && !y_nan)) return false;
  return a.index < b.index;
}

template <bool kDescending, class T>
void sort_items(Item<T>* items, int64_t n, int64_t count) {
  if (count < n) std::nth_element(items, items + count, items + n, before<kDescending, T>);
  std::sort(items, items + count, before<kDescending, T>);
}

// Unsigned sums wrap where signed ones would be undefined.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

}  // namespace

template <class T>
void cumsum(const AxisLayout& layout, bool reverse, const T* in, T* out, const Team& team) {
  const AxisPlan plan(layout, 2);
  const int64_t n = plan.length, start = reverse ? n - 1 : 0, turn = reverse ? -1 : 1;
  if (plan.width > 0) {  // many neighbouring lines at once
    constexpr int64_t kPanel = 64;
    for_panels(plan, kPanel, team, [&](int64_t row, int64_t first, int64_t last) {
      const T* x = in + plan.offset(0, row);
      T* y = out + plan.offset(1, row);
      Sum<T> total[kPanel] = {};
      for (int64_t i = 0, k = start; i < n; i++, k += turn)
        for (int64_t c = first; c < last; c++) {
          total[c - first] += static_cast<Sum<T>>(x[k * plan.step[0] + c]);
          y[k * plan.step[1] + c] = static_cast<T>(total[c - first]);
        }
    });
    return;
  }
  const auto [begin, end] = team.share(plan.rows);
  for (int64_t row = begin; row < end; row++) {
    const T* x = in + plan.offset(0, row);
    T* y = out + plan.offset(1, row);
    Sum<T> total = 0;
    for (int64_t i = 0, k = start; i < n; i++, k += turn) {
      total += static_cast<Sum<T>>(x[k * plan.step[0]]);
      y[k * plan.step[1]] = static_cast<T>(total);
    }
  }
}

size_t sort_scratch(int64_t length, int team_size) { return static_cast<size_t>(length * team_size) * kItemBytes; }

template <class T>
void sort(const AxisLayout& layout, bool descending, int64_t count, const T* in, T* values, int64_t* indices,
          void* scratch, const Team& team) {
  static_assert(sizeof(Item<T>) == kItemBytes);
  const int64_t n = layout.length;
  Item<T>* items = static_cast<Item<T>*>(scratch) + n * team.rank();
  int64_t rows = 1;
  for (int a = 0; a < layout.outer_rank; a++) rows *= layout.outer[a];
  const auto [begin, end] = team.share(rows);
  for (int64_t row = begin; row < end; row++) {
    int64_t offset[3] = {};
    for (int64_t a = layout.outer_rank - 1, rest = row; a >= 0; rest /= layout.outer[a], a--)
      for (int k = 0; k < 3; k++) offset[k] += rest % layout.outer[a] * layout.operand[k].outer[a];
    for (int64_t i = 0; i < n; i++) items[i] = {in[offset[0] + i * layout.operand[0].axis], i};
    descending ? sort_items<true>(items, n, count) : sort_items<false>(items, n, count);
    for (int64_t i = 0; i < count; i++) {
      values[offset[1] + i * layout.operand[1].axis] = items[i].value;
      indices[offset[2] + i * layout.operand[2].axis] = items[i].index;
    }
  }
}

#define INGOT_SCAN_INSTANCES(T)                                             \
  template void cumsum(const AxisLayout&, bool, const T*, T*, const Team&); \
  template void sort(const AxisLayout&, bool, int64_t, const T*, T*, int64_t*, void*, const Team&);
INGOT_SCAN_INSTANCES(float)
INGOT_SCAN_INSTANCES(double)
INGOT_SCAN_INSTANCES(int32_t)
INGOT_SCAN_INSTANCES(int64_t)

}  // namespace ingot::kernels
