#include "kernels/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include "kernels/pool-inl.h"
// clang-format on
#include "ingot/base/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows or columns [first, last) of a window that lie inside the input, in steps of dilation.
struct Taps {
  int64_t first, last;  // values of k
};
HWY_INLINE Taps taps_inside(int64_t at, int64_t kernel, int64_t dilation, int64_t in) {
  const int64_t first = at < 0 ? (-at + dilation - 1) / dilation : 0;
  const int64_t last = at >= in ? 0 : (in - at + dilation - 1) / dilation;
  return {first, last < kernel ? last : kernel};
}

// Output columns [first, last) whose windows lie wholly inside a row and whose vector loads stay in the row, or go one
// element beyond it where `slack` says that there is one: a load of every second element ends with one it does not
// need.
struct Interior {
  int64_t first, last;
};
HWY_INLINE Interior interior_columns(const PoolShape& s, int64_t lanes, int64_t slack) {
  const int64_t first = (s.pad[1] + s.stride[1] - 1) / s.stride[1], span = s.dilation[1] * (s.kernel[1] - 1);
  // A block of `lanes` outputs from column o reads up to o·stride - pad + span + lanes·stride - 1.
  const int64_t room = s.in[1] + s.pad[1] - span - lanes * s.stride[1] + (s.stride[1] == 2 ? slack : 0);
  if (s.stride[1] > 2 || room < first * s.stride[1] || s.out[1] < first + lanes) return {s.out[1], s.out[1]};
  return {first, std::min(room / s.stride[1] + lanes, s.out[1])};
}

// Covers the interior [first, last) of a row with blocks of `lanes`; the last one may overlap its neighbour.
template <class Block>
HWY_INLINE void for_blocks(Interior inside, int64_t lanes, Block block) {
  for (int64_t ox = inside.first; ox + lanes <= inside.last; ox += lanes) block(ox);
  if ((inside.last - inside.first) % lanes != 0) block(inside.last - lanes);
}

// `lanes` elements from p on, `stride` apart (1 or 2).
template <int kStride, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_strided(D d, const T* p) {
  if constexpr (kStride == 1) return hn::LoadU(d, p);
  const auto low = hn::LoadU(d, p), high = hn::LoadU(d, p + hn::Lanes(d));
  return hn::ConcatEven(d, high, low);
}

// What to tell about the largest element: nothing, its position in the plane, its tap.
enum class Where { kNone, kPosition, kTap };

template <Where kWhere, class T, class I>
HWY_INLINE void max_one(const PoolShape& s, const T* x, int64_t oy, int64_t ox, T* y, I* index) {
  const int64_t top = oy * s.stride[0] - s.pad[0], left = ox * s.stride[1] - s.pad[1];
  const Taps rows = taps_inside(top, s.kernel[0], s.dilation[0], s.in[0]),
             cols = taps_inside(left, s.kernel[1], s.dilation[1], s.in[1]);
  T best = -std::numeric_limits<T>::infinity();
  const auto place = [&](int64_t ky, int64_t kx) {
    return (top + ky * s.dilation[0]) * s.in[1] + left + kx * s.dilation[1];
  };
  int64_t by = rows.first, bx = cols.first;
  for (int64_t ky = rows.first; ky < rows.last; ky++)
    for (int64_t kx = cols.first; kx < cols.last; kx++) {
      const T v = x[place(ky, kx)];
      if (is_larger(v, best)) best = v, by = ky, bx = kx;
    }
  *y = best;
  if constexpr (kWhere != Where::kNone)
    *index = static_cast<I>(kWhere == Where::kTap ? by * s.kernel[1] + bx : place(by, bx));
}

// The interior of one row; positions in the plane are counted in lanes as wide as T.
template <int kStride, Where kWhere, class T, class I>
HWY_INLINE void max_row(const PoolShape& s, const T* x, int64_t oy, Interior inside, T* y, I* indices) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  using TI = hn::TFromD<decltype(di)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t top = oy * s.stride[0] - s.pad[0];
  const Taps rows = taps_inside(top, s.kernel[0], s.dilation[0], s.in[0]);
  const auto steps = hn::Mul(hn::Iota(d, 0), hn::Set(d, static_cast<T>(kStride)));
  const auto offsets = hn::ConvertTo(di, steps);
  for_blocks(inside, lanes, [&](int64_t ox) HWY_ATTR {
    const int64_t left = ox * kStride - s.pad[1];
    auto best = hn::Set(d, -std::numeric_limits<T>::infinity());
    const auto name = [&](int64_t ky, int64_t kx, int64_t here) HWY_ATTR {
      if constexpr (kWhere == Where::kTap) return hn::Set(di, static_cast<TI>(ky * s.kernel[1] + kx));
      return hn::Add(hn::Set(di, static_cast<TI>(here)), offsets);
    };
    auto at = name(rows.first, 0, (top + rows.first * s.dilation[0]) * s.in[1] + left);
    for (int64_t ky = rows.first; ky < rows.last; ky++)
      for (int64_t kx = 0; kx < s.kernel[1]; kx++) {
        const int64_t here = (top + ky * s.dilation[0]) * s.in[1] + left + kx * s.dilation[1];
        const auto v = load_strided<kStride>(d, x + here);
        const auto better = hn::And(hn::Or(hn::Gt(v, best), hn::IsNaN(v)), hn::Eq(best, best));
        best = hn::IfThenElse(better, v, best);
        if constexpr (kWhere != Where::kNone) at = hn::IfThenElse(hn::RebindMask(di, better), name(ky, kx, here), at);
      }
    hn::StoreU(best, d, y + ox);
    if constexpr (kWhere != Where::kNone) {
      HWY_ALIGN TI buffer[hn::MaxLanes(d)];
      hn::Store(at, di, buffer);
      for (int64_t i = 0; i < lanes; i++) indices[ox + i] = static_cast<I>(buffer[i]);
    }
  });
}

// The interior of output row `oy` of plane `p`: only the last row of the last plane has nothing behind it.
template <class T>
HWY_INLINE Interior interior_of(const PoolShape& s, int64_t p, int64_t oy) {
  const int64_t bottom = oy * s.stride[0] - s.pad[0] + s.dilation[0] * (s.kernel[0] - 1);
  const int64_t slack = p + 1 < s.planes || bottom + 1 < s.in[0] ? 1 : 0;
  return interior_columns(s, static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>())), slack);
}

// Windows side by side, every one of them whole.
HWY_INLINE bool tiles(const PoolShape& s) {
  for (int a = 0; a < 2; a++)
    if (s.stride[a] != s.kernel[a] || s.pad[a] != 0 || s.dilation[a] != 1 || s.out[a] * s.kernel[a] > s.in[a])
      return false;
  return true;
}

// One row of windows that lie anyhow.
template <Where kWhere, class T, class I>
HWY_INLINE void max_any_row(const PoolShape& s, int64_t p, int64_t oy, const T* from, T* to, I* at) {
  Interior inside = interior_of<T>(s, p, oy);
  if (s.in[0] * s.in[1] >= (int64_t{1} << 30)) inside = {s.out[1], s.out[1]};  // positions would not fit in a lane
  const auto one = [&](int64_t ox) HWY_ATTR {
    max_one<kWhere>(s, from, oy, ox, to + ox, kWhere == Where::kNone ? nullptr : at + ox);
  };
  for (int64_t ox = 0; ox < inside.first; ox++) one(ox);
  s.stride[1] == 1 ? max_row<1, kWhere>(s, from, oy, inside, to, at) : max_row<2, kWhere>(s, from, oy, inside, to, at);
  for (int64_t ox = inside.last; ox < s.out[1]; ox++) one(ox);
}

template <Where kWhere, class T, class I>
void max_planes(const PoolShape& s, const T* x, T* y, I* indices, const Team& team) {
  const auto [begin, end] = team.share(s.planes);
  for (int64_t row = begin * s.out[0]; row < end * s.out[0]; row++) {
    const int64_t p = row / s.out[0];
    max_any_row<kWhere>(s, p, row % s.out[0], x + p * s.in[0] * s.in[1], y + row * s.out[1],
                        kWhere == Where::kNone ? nullptr : indices + row * s.out[1]);
  }
}

// Positions are made of taps, a piece of a row at a time.
template <class T>
void max_tiles_at(const PoolShape& s, const T* x, T* y, int64_t* indices, const Team& team) {
  constexpr int64_t kPiece = 256;
  uint8_t taps[kPiece];
  const auto [begin, end] = team.share(s.planes);
  for (int64_t row = begin * s.out[0]; row < end * s.out[0]; row++)
    for (int64_t first = 0; first < s.out[1]; first += kPiece) {
      const int64_t count = std::min(kPiece, s.out[1] - first), p = row / s.out[0];
      const int64_t corner = row % s.out[0] * s.kernel[0] * s.in[1] + first * 2;
      pool_row<true>(s.kernel[0], 2, count, x + p * s.in[0] * s.in[1] + corner, s.in[1], false,
                     y + row * s.out[1] + first, taps);
      int64_t* to = indices + row * s.out[1] + first;
      for (int64_t i = 0; i < count; i++) to[i] = corner + 2 * i + (taps[i] >> 1) * s.in[1] + (taps[i] & 1);
    }
}

template <class T>
void max_pool(const PoolShape& s, const T* x, T* y, int64_t* indices, const Team& team) {
  if (indices == nullptr) return max_planes<Where::kNone>(s, x, y, indices, team);
  if (tiles(s) && s.kernel[1] == 2 && s.kernel[0] <= 128) return max_tiles_at(s, x, y, indices, team);
  max_planes<Where::kPosition>(s, x, y, indices, team);
}

template <class T>
void max_pool_taps(const PoolShape& s, const T* x, T* y, uint8_t* taps, const Team& team, bool relu) {
  const auto [begin, end] = team.share(s.planes);
  if (tiles(s)) {
    for (int64_t row = begin * s.out[0]; row < end * s.out[0]; row++) {
      const T* from = x + (row / s.out[0] * s.in[0] + row % s.out[0] * s.kernel[0]) * s.in[1];
      T* to = y + row * s.out[1];
      if (taps != nullptr)
        pool_row<true>(s.kernel[0], s.kernel[1], s.out[1], from, s.in[1], relu, to, taps + row * s.out[1]);
      else
        pool_row<false, T>(s.kernel[0], s.kernel[1], s.out[1], from, s.in[1], relu, to, nullptr);
    }
    return;
  }
  taps == nullptr ? max_planes<Where::kNone>(s, x, y, taps, team) : max_planes<Where::kTap>(s, x, y, taps, team);
  const int64_t out_size = s.out[0] * s.out[1];
  for (int64_t i = begin * out_size; relu && i < end * out_size; i++) y[i] = y[i] < 0 ? T{0} : y[i];
}

// The gradient of one row of windows two columns wide: each dy at its tap, zeros elsewhere.
template <class T>
HWY_INLINE void spread_pairs(const PoolShape& s, const T* dy, const uint8_t* taps, T* dx) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  using TI [[maybe_unused]] = hn::TFromD<decltype(di)>;
  [[maybe_unused]] const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t count = s.out[1];
  for (int64_t r = 0; r < s.kernel[0]; r++, dx += s.in[1]) {
    int64_t i = 0;
    if constexpr (sizeof(T) == 4) {  // there is no short way from bytes to 64-bit lanes
      for (; i + lanes <= count; i += lanes) {
        const auto v = hn::LoadU(d, dy + i);
        const auto tap = hn::PromoteTo(di, hn::LoadU(hn::Rebind<uint8_t, decltype(di)>(), taps + i));
        const auto left = hn::RebindMask(d, hn::Eq(tap, hn::Set(di, static_cast<TI>(2 * r)))),
                   right = hn::RebindMask(d, hn::Eq(tap, hn::Set(di, static_cast<TI>(2 * r + 1))));
        hn::StoreInterleaved2(hn::IfThenElseZero(left, v), hn::IfThenElseZero(right, v), d, dx + 2 * i);
      }
    }
    for (; i < count; i++) {
      dx[2 * i] = taps[i] == 2 * r ? dy[i] : T{0};
      dx[2 * i + 1] = taps[i] == 2 * r + 1 ? dy[i] : T{0};
    }
    std::fill(dx + 2 * count, dx + s.in[1], T{0});
  }
}

template <class T>
void max_pool_taps_grad(const PoolShape& s, const T* dy, const uint8_t* taps, T* dx, const Team& team) {
  const int64_t in_size = s.in[0] * s.in[1], columns = s.kernel[1], area = s.kernel[0] * columns;
  const bool pairs = tiles(s) && columns == 2;
  const auto [begin, end] = team.share(s.planes);
  for (int64_t p = begin; p < end; p++) {
    T* to = dx + p * in_size;
    const int64_t first = p * s.out[0] * s.out[1];
    if (pairs) {
      for (int64_t oy = 0; oy < s.out[0]; oy++)
        spread_pairs(s, dy + first + oy * s.out[1], taps + first + oy * s.out[1], to + oy * s.kernel[0] * s.in[1]);
      std::fill(to + s.out[0] * s.kernel[0] * s.in[1], to + in_size, T{0});
      continue;
    }
    std::fill(to, to + in_size, T{0});
    for (int64_t oy = 0, i = first; oy < s.out[0]; oy++)
      for (int64_t ox = 0; ox < s.out[1]; ox++, i++) {
        const int64_t row = oy * s.stride[0] - s.pad[0] + taps[i] / columns * s.dilation[0],
                      col = ox * s.stride[1] - s.pad[1] + taps[i] % columns * s.dilation[1];
        if (taps[i] < area && row >= 0 && row < s.in[0] && col >= 0 && col < s.in[1]) to[row * s.in[1] + col] += dy[i];
      }
  }
}

// 1 / the number of elements that a window's mean divides by.
template <class T>
HWY_INLINE T window_scale(const PoolShape& s, bool count_pad, int64_t oy, int64_t ox) {
  int64_t count = 1;
  for (int a = 0; a < 2; a++) {
    const int64_t at = (a == 0 ? oy : ox) * s.stride[a] - s.pad[a];
    const Taps taps = taps_inside(at, s.kernel[a], 1, s.in[a]);
    count *= count_pad ? std::min(at + s.kernel[a], s.in[a] + s.pad[a]) - at : taps.last - taps.first;
  }
  return T{1} / static_cast<T>(count);
}

template <class T>
HWY_INLINE T avg_one(const PoolShape& s, bool count_pad, const T* x, int64_t oy, int64_t ox) {
  const int64_t top = oy * s.stride[0] - s.pad[0], left = ox * s.stride[1] - s.pad[1];
  const Taps rows = taps_inside(top, s.kernel[0], 1, s.in[0]), cols = taps_inside(left, s.kernel[1], 1, s.in[1]);
  T sum = 0;
  for (int64_t ky = rows.first; ky < rows.last; ky++)
    for (int64_t kx = cols.first; kx < cols.last; kx++) sum += x[(top + ky) * s.in[1] + left + kx];
  return sum * window_scale<T>(s, count_pad, oy, ox);
}

template <int kStride, class T>
HWY_INLINE void avg_row(const PoolShape& s, bool count_pad, const T* x, int64_t oy, Interior inside, T* y) {
  const hn::ScalableTag<T> d;
  const int64_t top = oy * s.stride[0] - s.pad[0];
  const Taps rows = taps_inside(top, s.kernel[0], 1, s.in[0]);
  const auto scale = hn::Set(d, window_scale<T>(s, count_pad, oy, inside.first));
  for_blocks(inside, static_cast<int64_t>(hn::Lanes(d)), [&](int64_t ox) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int64_t ky = rows.first; ky < rows.last; ky++)
      for (int64_t kx = 0; kx < s.kernel[1]; kx++)
        sum = hn::Add(sum, load_strided<kStride>(d, x + (top + ky) * s.in[1] + ox * kStride - s.pad[1] + kx));
    hn::StoreU(hn::Mul(sum, scale), d, y + ox);
  });
}

template <class T>
void avg_pool(const PoolShape& s, bool count_pad, const T* x, T* y, const Team& team) {
  const int64_t in_size = s.in[0] * s.in[1], out_size = s.out[0] * s.out[1];
  const auto [begin, end] = team.share(s.planes);
  for (int64_t p = begin; p < end; p++)
    for (int64_t oy = 0; oy < s.out[0]; oy++) {
      const Interior inside = interior_of<T>(s, p, oy);
      const T* from = x + p * in_size;
      T* to = y + p * out_size + oy * s.out[1];
      for (int64_t ox = 0; ox < inside.first; ox++) to[ox] = avg_one(s, count_pad, from, oy, ox);
      if (s.stride[1] == 1)
        avg_row<1>(s, count_pad, from, oy, inside, to);
      else
        avg_row<2>(s, count_pad, from, oy, inside, to);
      for (int64_t ox = inside.last; ox < s.out[1]; ox++) to[ox] = avg_one(s, count_pad, from, oy, ox);
    }
}

template <class T>
void avg_pool_grad(const PoolShape& s, bool count_pad, const T* dy, T* dx, const Team& team) {
  const int64_t in_size = s.in[0] * s.in[1], out_size = s.out[0] * s.out[1];
  const auto [begin, end] = team.share(s.planes);
  for (int64_t p = begin; p < end; p++) {
    T* to = dx + p * in_size;
    std::fill(to, to + in_size, T{0});
    for (int64_t oy = 0; oy < s.out[0]; oy++)
      for (int64_t ox = 0; ox < s.out[1]; ox++) {
        const T share = dy[p * out_size + oy * s.out[1] + ox] * window_scale<T>(s, count_pad, oy, ox);
        const int64_t top = oy * s.stride[0] - s.pad[0], left = ox * s.stride[1] - s.pad[1];
        const Taps rows = taps_inside(top, s.kernel[0], 1, s.in[0]), cols = taps_inside(left, s.kernel[1], 1, s.in[1]);
        for (int64_t ky = rows.first; ky < rows.last; ky++)
          for (int64_t kx = cols.first; kx < cols.last; kx++) to[(top + ky) * s.in[1] + left + kx] += share;
      }
  }
}

template <class T>
void max_pool_grad(int64_t planes, int64_t in_size, int64_t out_size, const T* dy, const int64_t* indices, T* dx,
                   const Team& team) {
  const auto [begin, end] = team.share(planes);
  for (int64_t p = begin; p < end; p++) {
    T* to = dx + p * in_size;
    std::fill(to, to + in_size, T{0});
    for (int64_t i = p * out_size; i < (p + 1) * out_size; i++) to[indices[i]] += dy[i];
  }
}

// The bin of output o along an axis of `in` elements divided into `out` bins.
struct Bin {
  int64_t first, last;
};
HWY_INLINE Bin bin_of(int64_t o, int64_t in, int64_t out) { return {o * in / out, ((o + 1) * in + out - 1) / out}; }

template <class T>
HWY_INLINE T sum_run(const T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = hn::Add(a, hn::LoadU(d, x + i));
    b = hn::Add(b, hn::LoadU(d, x + i + lanes));
  }
  T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
  for (; i < n; i++) sum += x[i];
  return sum;
}

// Calls f(plane, output position, rows, columns) for every bin of this member's planes.
template <class F>
HWY_INLINE void for_each_bin(const PoolShape& s, const Team& team, F f) {
  const auto [begin, end] = team.share(s.planes);
  for (int64_t p = begin; p < end; p++)
    for (int64_t oy = 0; oy < s.out[0]; oy++)
      for (int64_t ox = 0; ox < s.out[1]; ox++)
        f(p, (p * s.out[0] + oy) * s.out[1] + ox, bin_of(oy, s.in[0], s.out[0]), bin_of(ox, s.in[1], s.out[1]));
}

template <class T>
void adaptive_avg_pool(const PoolShape& s, const T* x, T* y, const Team& team) {
  for_each_bin(s, team, [&](int64_t p, int64_t o, Bin rows, Bin cols) {
    const T* plane = x + p * s.in[0] * s.in[1];
    T sum = 0;
    for (int64_t r = rows.first; r < rows.last; r++)
      sum += sum_run(plane + r * s.in[1] + cols.first, cols.last - cols.first);
    y[o] = sum / static_cast<T>((rows.last - rows.first) * (cols.last - cols.first));
  });
}

template <class T>
void adaptive_avg_pool_grad(const PoolShape& s, const T* dy, T* dx, const Team& team) {
  const int64_t in_size = s.in[0] * s.in[1];
  const auto [begin, end] = team.share(s.planes);
  std::fill(dx + begin * in_size, dx + end * in_size, T{0});
  for_each_bin(s, team, [&](int64_t p, int64_t o, Bin rows, Bin cols) {
    const T share = dy[o] / static_cast<T>((rows.last - rows.first) * (cols.last - cols.first));
    for (int64_t r = rows.first; r < rows.last; r++)
      for (int64_t c = cols.first; c < cols.last; c++) dx[p * in_size + r * s.in[1] + c] += share;
  });
}

template <class T>
void adaptive_max_pool(const PoolShape& s, const T* x, T* y, int64_t* indices, const Team& team) {
  for_each_bin(s, team, [&](int64_t p, int64_t o, Bin rows, Bin cols) {
    const T* plane = x + p * s.in[0] * s.in[1];
    int64_t at = rows.first * s.in[1] + cols.first;
    T best = plane[at];
    for (int64_t r = rows.first; r < rows.last; r++)
      for (int64_t c = cols.first; c < cols.last; c++) {
        const T v = plane[r * s.in[1] + c];
        if (is_larger(v, best)) best = v, at = r * s.in[1] + c;
      }
    y[o] = best;
    indices[o] = at;
  });
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {

template <class T>
void max_pool(const PoolShape& s, const T* x, T* y, int64_t* indices, const Team& team) {
  INGOT_DISPATCH(max_pool<T>)(s, x, y, indices, team);
}
template <class T>
void max_pool_grad(int64_t planes, int64_t in_size, int64_t out_size, const T* dy, const int64_t* indices, T* dx,
                   const Team& team) {
  INGOT_DISPATCH(max_pool_grad<T>)(planes, in_size, out_size, dy, indices, dx, team);
}
template <class T>
void max_pool_taps(const PoolShape& s, const T* x, T* y, uint8_t* taps, const Team& team, bool relu) {
  INGOT_DISPATCH(max_pool_taps<T>)(s, x, y, taps, team, relu);
}
template <class T>
void max_pool_taps_grad(const PoolShape& s, const T* dy, const uint8_t* taps, T* dx, const Team& team) {
  INGOT_DISPATCH(max_pool_taps_grad<T>)(s, dy, taps, dx, team);
}
template <class T>
void avg_pool(const PoolShape& s, bool count_pad, const T* x, T* y, const Team& team) {
  INGOT_DISPATCH(avg_pool<T>)(s, count_pad, x, y, team);
}
template <class T>
void avg_pool_grad(const PoolShape& s, bool count_pad, const T* dy, T* dx, const Team& team) {
  INGOT_DISPATCH(avg_pool_grad<T>)(s, count_pad, dy, dx, team);
}
template <class T>
void adaptive_avg_pool(const PoolShape& s, const T* x, T* y, const Team& team) {
  INGOT_DISPATCH(adaptive_avg_pool<T>)(s, x, y, team);
}
template <class T>
void adaptive_avg_pool_grad(const PoolShape& s, const T* dy, T* dx, const Team& team) {
  INGOT_DISPATCH(adaptive_avg_pool_grad<T>)(s, dy, dx, team);
}
template <class T>
void adaptive_max_pool(const PoolShape& s, const T* x, T* y, int64_t* indices, const Team& team) {
  INGOT_DISPATCH(adaptive_max_pool<T>)(s, x, y, indices, team);
}
#define INGOT_POOL_INSTANCES(T)                                                                      \
  template void max_pool(const PoolShape&, const T*, T*, int64_t*, const Team&);                     \
  template void max_pool_taps(const PoolShape&, const T*, T*, uint8_t*, const Team&, bool);          \
  template void max_pool_taps_grad(const PoolShape&, const T*, const uint8_t*, T*, const Team&);     \
  template void avg_pool(const PoolShape&, bool, const T*, T*, const Team&);                         \
  template void adaptive_avg_pool(const PoolShape&, const T*, T*, const Team&);                      \
  template void max_pool_grad(int64_t, int64_t, int64_t, const T*, const int64_t*, T*, const Team&); \
  template void avg_pool_grad(const PoolShape&, bool, const T*, T*, const Team&);                    \
  template void adaptive_avg_pool_grad(const PoolShape&, const T*, T*, const Team&);                 \
  template void adaptive_max_pool(const PoolShape&, const T*, T*, int64_t*, const Team&);
INGOT_POOL_INSTANCES(float)
INGOT_POOL_INSTANCES(double)

}  // namespace ingot::kernels
#endif
