#include "kernels/copy.h"

#include <hwy/highway.h>

#include <cstring>

#include "kernels/copy_walk.h"

namespace ingot::kernels {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kUnitBytes = 64 << 10;  // what a member takes at a time, about

// Transposes a square of vectors' worth of elements: from[r · from_step + c] to to[c · to_step + r].
template <class T>
HWY_INLINE void transpose_tile(T* to, int64_t to_step, const T* from, int64_t from_step) {
  const hn::Full128<T> d;
  constexpr int kN = 16 / sizeof(T);
  hn::Vec<decltype(d)> a[kN], b[kN];
  for (int r = 0; r < kN; r++) a[r] = hn::LoadU(d, from + r * from_step);
  // Interleaving row r with row r + n/2, log₂ n times over, is a transposition.
  for (int stage = 1; stage < kN; stage *= 2) {
    for (int r = 0; r < kN / 2; r++) {
      b[2 * r] = hn::InterleaveLower(d, a[r], a[r + kN / 2]);
      b[2 * r + 1] = hn::InterleaveUpper(d, a[r], a[r + kN / 2]);
    }
    for (int r = 0; r < kN; r++) a[r] = b[r];
  }
  for (int c = 0; c < kN; c++) hn::StoreU(a[c], d, to + c * to_step);
}

// A block whose destination is contiguous along columns and whose source is along rows: to[r · to_step + c] = from[c ·
// from_step + r].
template <class T>
void transpose_block(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t rows, int64_t columns) {
  constexpr int64_t kN = 16 / sizeof(T), kLine = 64 / sizeof(T);
  const int64_t full_rows = rows - rows % kN, full_columns = columns - columns % kN;
  for (int64_t c0 = 0; c0 < full_columns; c0 += kLine)  // a line of the destination is finished before the next
    for (int64_t r = 0; r < full_rows; r += kN)
      for (int64_t c = c0; c < std::min(c0 + kLine, full_columns); c += kN)
        transpose_tile(to + r * to_step + c, to_step, from + c * from_step + r, from_step);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = r < full_rows ? full_columns : 0; c < columns; c++) to[r * to_step + c] = from[c * from_step + r];
}

template <class T>
void copy_row(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t n) {
  if (to_step == 1 && from_step == 0) {
    const T value = *from;
    for (int64_t i = 0; i < n; i++) to[i] = value;
  } else if (to_step == 1) {
    for (int64_t i = 0; i < n; i++) to[i] = from[i * from_step];
  } else {
    for (int64_t i = 0; i < n; i++) to[i * to_step] = from[i * from_step];
  }
}

template <class T>
void copy_as(T* to, const T* from, CopyWalk& walk, const Team& team) {
  const int inner = walk.rank - 1, outer = walk.rank - 2;
  constexpr int64_t kUnit = kUnitBytes / sizeof(T);
  if (walk.to[inner] == 1 && walk.from[inner] == 1) {
    if (walk.size[outer] == 1 && walk.rank == 2) {  // one piece: as few, long memcpys as there are members
      const auto [first, last] = team.share(walk.size[inner], 64);
      if (first < last) std::memcpy(to + first, from + first, static_cast<size_t>(last - first) * sizeof(T));
      return;
    }
    walk.for_each_block(std::max<int64_t>(1, kUnit / walk.size[inner]), kUnit, team,
                        [&](int64_t t, int64_t f, int64_t rows, int64_t columns) {
                          const int64_t to_step = walk.to[outer], from_step = walk.from[outer];
                          if (columns <= 8) {  // too short to be worth a call
                            for (int64_t r = 0; r < rows; r++)
                              for (int64_t c = 0; c < columns; c++)
                                to[t + r * to_step + c] = from[f + r * from_step + c];
                          } else {
                            for (int64_t r = 0; r < rows; r++)
                              std::memcpy(to + t + r * to_step, from + f + r * from_step,
                                          static_cast<size_t>(columns) * sizeof(T));
                          }
                        });
    return;
  }
  if (walk.to[inner] == 1 && walk.from[inner] != 0) {
    for (int a = 0; a < inner; a++) {
      if (walk.from[a] != 1 || walk.size[a] < 4 || walk.size[inner] < 4) continue;
      walk.bring_beside_inner(a);
      walk.for_each_block(64, 64, team, [&](int64_t t, int64_t f, int64_t rows, int64_t columns) {
        transpose_block(to + t, walk.to[outer], from + f, walk.from[inner], rows, columns);
      });
      return;
    }
  }
  walk.for_each_block(std::max<int64_t>(1, kUnit / walk.size[inner]), kUnit, team,
                      [&](int64_t t, int64_t f, int64_t rows, int64_t columns) {
                        for (int64_t r = 0; r < rows; r++)
                          copy_row(to + t + r * walk.to[outer], walk.to[inner], from + f + r * walk.from[outer],
                                   walk.from[inner], columns);
                      });
}

}  // namespace

void copy(void* to, const int64_t* to_strides, const void* from, const int64_t* from_strides, const int64_t* shape,
          int rank, int64_t element_bytes, const Team& team) {
  for (int a = 0; a < rank; a++)
    if (shape[a] == 0) return;
  CopyWalk walk(shape, to_strides, from_strides, rank);
  switch (element_bytes) {
    case 8: return copy_as(static_cast<uint64_t*>(to), static_cast<const uint64_t*>(from), walk, team);
    case 4: return copy_as(static_cast<uint32_t*>(to), static_cast<const uint32_t*>(from), walk, team);
    case 2: return copy_as(static_cast<uint16_t*>(to), static_cast<const uint16_t*>(from), walk, team);
    default: return copy_as(static_cast<uint8_t*>(to), static_cast<const uint8_t*>(from), walk, team);
  }
}

void convert(void* to, DType to_type, const int64_t* to_strides, const void* from, DType from_type,
             const int64_t* from_strides, const int64_t* shape, int rank, const Team& team) {
  for (int a = 0; a < rank; a++)
    if (shape[a] == 0) return;
  const int64_t to_bytes = static_cast<int64_t>(size_of(to_type)),
                from_bytes = static_cast<int64_t>(size_of(from_type));
  const ConvertFn row = conversion(to_type, from_type);
  const CopyWalk walk(shape, to_strides, from_strides, rank);
  const int inner = walk.rank - 1, outer = walk.rank - 2;
  const bool to_direct = walk.to[inner] == 1, from_direct = walk.from[inner] == 1;
  const int64_t unit = kUnitBytes / std::max(to_bytes, from_bytes);
  const auto gather = [](void* packed, const void* strided, int64_t step, int64_t n, int64_t bytes) {
    const int64_t one = 1;
    copy(packed, &one, strided, &step, &n, 1, bytes, Team());
  };
  const auto convert_row = [&](char* to_at, const char* from_at, int64_t n) {
    if (to_direct && from_direct) return row(to_at, from_at, n);
    constexpr int64_t kTile = 256;
    alignas(64) char source[kTile * 8], result[kTile * 8];
    for (int64_t i = 0; i < n; i += kTile) {
      const int64_t m = std::min(kTile, n - i), one = 1;
      const char* f = from_at + i * walk.from[inner] * from_bytes;
      char* t = to_at + i * walk.to[inner] * to_bytes;
      if (!from_direct) gather(source, f, walk.from[inner], m, from_bytes);
      row(to_direct ? t : result, from_direct ? f : source, m);
      if (!to_direct) copy(t, &walk.to[inner], result, &one, &m, 1, to_bytes, Team());
    }
  };
  walk.for_each_block(std::max<int64_t>(1, unit / walk.size[inner]), unit, team,
                      [&](int64_t t, int64_t f, int64_t rows, int64_t columns) {
                        for (int64_t r = 0; r < rows; r++)
                          convert_row(static_cast<char*>(to) + (t + r * walk.to[outer]) * to_bytes,
                                      static_cast<const char*>(from) + (f + r * walk.from[outer]) * from_bytes,
                                      columns);
                      });
}

}  // namespace ingot::kernels
