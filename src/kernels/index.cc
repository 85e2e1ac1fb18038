#include "kernels/index.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "kernels/axes.h"

namespace ingot::kernels {
namespace {

bool is_empty(const IndexWalk& walk) {
  for (int a = 0; a < walk.rank; a++)
    if (walk.shape[a] == 0) return true;
  return false;
}

// The same places with fewer axes: those of size 1 dropped, neighbours merged where all operands allow it. At least one
// is left.
IndexWalk simplified(const IndexWalk& walk) {
  IndexWalk result;
  result.data_step = walk.data_step;
  for (int a = 0; a < walk.rank; a++) result.add_axis(walk.shape[a], walk.values[a], walk.indices[a], walk.data[a]);
  result.rank = merge_axes(result.rank, result.shape, result.values, result.indices, result.data);
  if (result.rank == 0) result.add_axis(1, 0, 0, 0);
  return result;
}

struct Offsets {
  int64_t value = 0, index = 0, data = 0;
};

// Where the place with row-major number k lies.
Offsets offsets_at(const IndexWalk& walk, int64_t k) {
  Offsets at;
  for (int a = walk.rank - 1; a >= 0; k /= walk.shape[a], a--) {
    const int64_t i = k % walk.shape[a];
    at.value += i * walk.values[a];
    at.index += i * walk.indices[a];
    at.data += i * walk.data[a];
  }
  return at;
}

template <class T, class I>
void gather_row(T* values, int64_t value_step, const T* data, int64_t data_stride, const I* indices, int64_t index_step,
                int64_t n, int64_t data_step) {
  if (index_step != 0) {
    for (int64_t i = 0; i < n; i++)
      values[i * value_step] = data[i * data_stride + static_cast<int64_t>(indices[i * index_step]) * data_step];
    return;
  }
  data += static_cast<int64_t>(*indices) * data_step;
  if (value_step == 1 && data_stride == 1 && n > 8)
    std::memcpy(values, data, static_cast<size_t>(n) * sizeof(T));
  else
    for (int64_t i = 0; i < n; i++) values[i * value_step] = data[i * data_stride];
}

template <class T, class I>
void gather_as(T* values, const T* data, const I* indices, const IndexWalk& walk, const Team& team) {
  const int inner = walk.rank - 1;
  int64_t total = 1;
  for (int a = 0; a < walk.rank; a++) total *= walk.shape[a];
  const auto [first, last] = team.share(total, 64);
  for (int64_t k = first; k < last;) {
    const int64_t n = std::min(walk.shape[inner] - k % walk.shape[inner], last - k);
    const Offsets at = offsets_at(walk, k);
    gather_row(values + at.value, walk.values[inner], data + at.data, walk.data[inner], indices + at.index,
               walk.indices[inner], n, walk.data_step);
    k += n;
  }
}

template <class T>
void gather_typed(void* values, const void* data, Indices indices, const IndexWalk& walk, const Team& team) {
  T* to = static_cast<T*>(values);
  const T* from = static_cast<const T*>(data);
  if (indices.wide)
    gather_as(to, from, static_cast<const int64_t*>(indices.first), walk, team);
  else
    gather_as(to, from, static_cast<const int32_t*>(indices.first), walk, team);
}

template <class T>
T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {  // wraps
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}

// Adds for `n` neighbouring lines, at every place of the summed axes in turn.
template <class T, class I>
void add_lines(T* data, const T* values, const I* indices, const IndexWalk& lines, const IndexWalk& summed, int64_t n) {
  const int inner = lines.rank - 1, last = summed.rank - 1;
  const int64_t line_data = lines.data[inner], line_value = lines.values[inner], line_index = lines.indices[inner];
  int64_t total = 1;
  for (int a = 0; a < summed.rank; a++) total *= summed.shape[a];
  for (int64_t k = 0; k < total; k += summed.shape[last]) {
    const Offsets start = offsets_at(summed, k);
    const T* value = values + start.value;
    const I* index = indices + start.index;
    for (int64_t j = 0; j < summed.shape[last]; j++, value += summed.values[last], index += summed.indices[last]) {
      if (line_index == 0 && line_data == 1 && line_value == 1) {
        T* to = data + static_cast<int64_t>(*index) * lines.data_step;
        for (int64_t i = 0; i < n; i++) to[i] = plus(to[i], value[i]);
        continue;
      }
      for (int64_t i = 0; i < n; i++) {
        T& to = data[i * line_data + static_cast<int64_t>(index[i * line_index]) * lines.data_step];
        to = plus(to, value[i * line_value]);
      }
    }
  }
}

template <class T, class I>
void scatter_add_as(T* data, const T* values, const I* indices, const IndexWalk& walk, const Team& team) {
  // Members share the lines, along which data moves; whoever has a line adds all that falls on it, in order.
  IndexWalk lines, summed;
  for (int a = 0; a < walk.rank; a++)
    (walk.data[a] != 0 ? lines : summed).add_axis(walk.shape[a], walk.values[a], walk.indices[a], walk.data[a]);
  lines.data_step = walk.data_step;
  if (lines.rank == 0) lines.add_axis(1, 1, 0, 1);
  if (summed.rank == 0) summed.add_axis(1, 0, 0, 0);
  const int inner = lines.rank - 1;
  // Whichever of the two lies closer together in memory is the inner loop.
  const bool one_by_one =
      std::abs(lines.values[inner]) > std::abs(summed.values[summed.rank - 1]) && summed.shape[summed.rank - 1] > 1;
  int64_t count = 1;
  for (int a = 0; a < lines.rank; a++) count *= lines.shape[a];
  const auto [first, last] = team.share(count, one_by_one ? 1 : 16);
  for (int64_t k = first; k < last;) {
    const int64_t n = one_by_one ? 1 : std::min(lines.shape[inner] - k % lines.shape[inner], last - k);
    const Offsets at = offsets_at(lines, k);
    add_lines(data + at.data, values + at.value, indices + at.index, lines, summed, n);
    k += n;
  }
}

template <class T>
void scatter_add_typed(T* data, const T* values, Indices indices, const IndexWalk& walk, const Team& team) {
  if (is_empty(walk)) return;
  const IndexWalk simple = simplified(walk);
  if (indices.wide)
    scatter_add_as(data, values, static_cast<const int64_t*>(indices.first), simple, team);
  else
    scatter_add_as(data, values, static_cast<const int32_t*>(indices.first), simple, team);
}

}  // namespace

void gather(void* values, const void* data, Indices indices, const IndexWalk& walk, int64_t element_bytes,
            const Team& team) {
  if (is_empty(walk)) return;
  const IndexWalk simple = simplified(walk);
  switch (element_bytes) {
    case 8: return gather_typed<uint64_t>(values, data, indices, simple, team);
    case 4: return gather_typed<uint32_t>(values, data, indices, simple, team);
    case 2: return gather_typed<uint16_t>(values, data, indices, simple, team);
    default: return gather_typed<uint8_t>(values, data, indices, simple, team);
  }
}

void scatter_add(float* data, const float* values, Indices indices, const IndexWalk& walk, const Team& team) {
  scatter_add_typed(data, values, indices, walk, team);
}
void scatter_add(double* data, const double* values, Indices indices, const IndexWalk& walk, const Team& team) {
  scatter_add_typed(data, values, indices, walk, team);
}
void scatter_add(int32_t* data, const int32_t* values, Indices indices, const IndexWalk& walk, const Team& team) {
  scatter_add_typed(data, values, indices, walk, team);
}
void scatter_add(int64_t* data, const int64_t* values, Indices indices, const IndexWalk& walk, const Team& team) {
  scatter_add_typed(data, values, indices, walk, team);
}

}  // namespace ingot::kernels
