#include "kernels/gemm.h"

#include <algorithm>
#include <utility>

#include "ingot/base/dispatch.h"
#include "ingot/base/numbers.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/gemm-dot-inl.h"
#include "kernels/gemm-finish-inl.h"
#include "kernels/gemm-pack-inl.h"
#include "kernels/gemm-tile-inl.h"

#ifndef INGOT_KERNELS_GEMM_CC_ONCE_
#define INGOT_KERNELS_GEMM_CC_ONCE_
namespace ingot::kernels {
namespace {

// Blocks are sized for 32 KB and 512 KB of first and second cache: a panel of b stays in the first, a block of a in the
// second. Measured flat around these values.
constexpr int64_t kMostBlockK = 384, kMostBlockM = 192, kMostBlockN = 2048;
constexpr int64_t kReadInPlace = 64 * 1024;  // an a of that many elements stays in the second cache: no packing
constexpr int64_t kMostPanelBytes = 128;     // of any target

// Equal blocks of at most about `most`, in multiples of `grain`.
int64_t block_size(int64_t n, int64_t most, int64_t grain) {
  const int64_t blocks = std::max<int64_t>(1, ceil_div(n, most));
  return round_up(ceil_div(n, blocks), grain);
}

// Blocks of k decide how sums are grouped, so nothing but k decides their size.
int64_t block_k(int64_t k) { return block_size(k, kMostBlockK, 4); }

// One member's scratch, in elements: rows of a, panels of b. Panels are kept only when several blocks of rows use them.
template <class T>
struct Scratch {
  static constexpr int64_t kGrain = kMostPanelBytes / static_cast<int64_t>(sizeof(T));
  int64_t a, b;
  Scratch(int64_t m, int64_t n, int64_t k) {
    a = round_up(std::max(block_k(k) * std::min(m, kMostBlockM + kGrain), std::min(m * (k + kGrain), 2 * kReadInPlace)),
                 kGrain);
    b = block_k(k) * (m > kMostBlockM ? round_up(std::min(n, kMostBlockN), kGrain) : kGrain);
  }
};

// From one member's scratch to the next: the same for a product and for its transpose.
template <class T>
int64_t member_scratch(int64_t m, int64_t n, int64_t k) {
  const Scratch<T> upright(m, n, k), turned(n, m, k);
  return m == 1   ? upright.a + upright.b
         : n == 1 ? turned.a + turned.b
                  : std::max(upright.a + upright.b, turned.a + turned.b);
}

}  // namespace
}  // namespace ingot::kernels
#endif  // INGOT_KERNELS_GEMM_CC_ONCE_

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace {

// How rows are cut into tiles: `bigger` of small + 1 rows, then the others of `small` rows. Equal tiles, because a tile
// of a row or two cannot keep the multipliers busy.
struct RowTiles {
  int64_t count, small, bigger;
  RowTiles(int64_t rows, int64_t most) : count(ceil_div(rows, most)), small(rows / count), bigger(rows % count) {}
  int64_t rows(int64_t tile_index) const { return small + (tile_index < bigger ? 1 : 0); }
};

// A block of k: what it adds to c, and whether c is then finished.
struct Depth {
  int64_t k0, k;
  bool first, last;
};

// A panel of b as the tiles read it. With `keep`, the first tile reads b itself and leaves the panel there for the
// others.
template <class T>
struct Panel {
  const T* b;
  int64_t b_row;
  T* keep;
};

// One member's part of one product, by tiles: g's m and n are that part's.
template <class T>
class Tiles {
 public:
  Tiles(const Gemm<T>& g, T* scratch_a, T* scratch_b)
      : g_(g),
        scratch_a_(scratch_a),
        scratch_b_(scratch_b),
        a_in_place_((g.a_col == 1 || g.a_row == 1) && g.m * g.k <= kReadInPlace),
        b_in_place_(g.b_col == 1 && g.m <= 4 * kTileRows && !g.b_packed),
        block_m_(a_in_place_ ? g.m : block_size(g.m, kMostBlockM, kTileRows)) {}

  void run() {
    const int64_t step = block_k(g_.k);
    for (int64_t n0 = 0; n0 < g_.n; n0 += kMostBlockN) {
      const int64_t n = std::min(kMostBlockN, g_.n - n0);
      int64_t k0 = 0;
      do {  // once even when k is zero: c still gets its biases
        const Depth depth{k0, std::min(step, g_.k - k0), k0 == 0, k0 + step >= g_.k};
        for (int64_t m0 = 0; m0 < g_.m; m0 += block_m_) run_block(m0, std::min(block_m_, g_.m - m0), n0, n, depth);
        k0 += step;
      } while (k0 < g_.k);
    }
  }

 private:
  void run_block(int64_t m0, int64_t m, int64_t n0, int64_t n, const Depth& depth) {
    if (!a_in_place_) pack_block(m0, m, depth);
    // Few rows take more columns at a time, for as many sums as other tiles have.
    const int64_t wide = a_in_place_ && b_in_place_ && m <= 3 ? 2 * kPanel<T> : kPanel<T>;
    int64_t width;
    for (int64_t j = n0; j < n0 + n; j += width) {
      width = n0 + n - j >= wide ? wide : std::min(kPanel<T>, n0 + n - j);
      T* kept = scratch_b_ + (block_m_ < g_.m ? (j - n0) * depth.k : 0);
      run_panel(m0, m, j, width, depth, panel(j, width, depth, kept, m0 == 0 || block_m_ >= g_.m));
    }
  }

  void pack_block(int64_t m0, int64_t m, const Depth& depth) {
    const RowTiles tiles(m, kTileRows);
    // A column-major a is read in strips of whole cache lines.
    const int64_t strip = g_.a_row == 1 ? 16 : std::max<int64_t>(depth.k, 1);
    for (int64_t p = 0; p < depth.k; p += strip) {
      for (int64_t t = 0, i = 0; t < tiles.count; i += tiles.rows(t++)) {
        const int64_t rows = tiles.rows(t);
        const T* from = g_.a + (m0 + i) * g_.a_row + (depth.k0 + p) * g_.a_col;
        pack_rows(std::min(strip, depth.k - p), rows, g_.m - m0 - i - rows, from, g_.a_row, g_.a_col,
                  scratch_a_ + i * depth.k + p * rows);
      }
    }
  }

  Panel<T> panel(int64_t j, int64_t width, const Depth& depth, T* kept, bool first_use) const {
    if (g_.b_packed) return {g_.b + (j / kPanel<T> * g_.k + depth.k0) * kPanel<T>, kPanel<T>, nullptr};
    const T* b = g_.b + depth.k0 * g_.b_row + j * g_.b_col;
    if (b_in_place_ && width % kLanes<T> == 0) return {b, g_.b_row, nullptr};
    const int64_t kept_row = width > kLanes<T> ? kPanel<T> : kLanes<T>;
    if (!first_use) return {kept, kept_row, nullptr};
    if (g_.b_col == 1 && width == kPanel<T>) return {b, g_.b_row, kept};
    pack_panel(depth.k, width, b, g_.b_row, g_.b_col, kept);
    return {kept, kept_row, nullptr};
  }

  template <bool kRowMajorA>
  static TileFn<T> kernel(int64_t rows, int64_t vectors, bool keep) {
    switch (vectors) {
      case 1: return choose_tile<T, 1, kRowMajorA, false, 2 * kTileRows>(rows);
      case 2:
        if (keep) return choose_tile<T, 2, kRowMajorA, true, kTileRows>(rows);
        return choose_tile<T, 2, kRowMajorA, false, kTileRows>(rows);
      default: return choose_tile<T, 4, kRowMajorA, false, 3>(rows);
    }
  }

  Output<T> output(int64_t m0, int64_t j, const Depth& depth) const {
    return {.c = g_.c + m0 * g_.c_row + j * g_.c_col,
            .c_row = g_.c_row,
            .alpha = g_.alpha,
            .add = g_.accumulate || !depth.first,
            .column_bias = depth.last && g_.column_bias != nullptr ? g_.column_bias + j : nullptr,
            .row_bias = depth.last && g_.row_bias != nullptr ? g_.row_bias + m0 : nullptr,
            .relu = depth.last && g_.activation == Activation::kRelu};
  }

  // The rows of a block times one panel of b.
  void run_panel(int64_t m0, int64_t m, int64_t j, int64_t width, const Depth& depth, Panel<T> panel) {
    const int64_t vectors = ceil_div(width, kLanes<T>);
    const bool row_major = a_in_place_ && g_.a_col == 1;
    const RowTiles tiles(m, vectors == 1 && a_in_place_ ? 2 * kTileRows : kTileRows);
    const auto kernel_for = [&](int64_t rows, bool keep) {
      return row_major ? kernel<true>(rows, vectors, keep) : kernel<false>(rows, vectors, keep);
    };
    const TileFn<T> small = kernel_for(tiles.small, false);
    const TileFn<T> bigger = tiles.bigger > 0 ? kernel_for(tiles.small + 1, false) : small;
    const bool buffered = g_.c_col != 1 || width % kLanes<T> != 0;
    HWY_ALIGN T buffer[2 * kTileRows * kLanes<T>], bias[kPanel<T>];
    Output<T> out = output(m0, j, depth);
    Window<T> window{out.c, g_.c_row, g_.c_col, 0, width, buffer, vectors * kLanes<T>};
    if (buffered) {
      out.c = buffer;
      out.c_row = window.buffer_row;
      if (out.column_bias != nullptr && width < kPanel<T>) {
        copy_few(bias, out.column_bias, width);
        out.column_bias = bias;
      }
    }
    for (int64_t t = 0, i = 0; t < tiles.count; ++t) {
      const int64_t rows = tiles.rows(t);
      const T* a = a_in_place_ ? g_.a + (m0 + i) * g_.a_row + depth.k0 * g_.a_col : scratch_a_ + i * depth.k;
      const int64_t a_stride = !a_in_place_ ? rows : row_major ? g_.a_row : g_.a_col;
      const TileFn<T> run_tile = panel.keep != nullptr ? kernel_for(rows, true) : t < tiles.bigger ? bigger : small;
      window.rows = rows;
      if (buffered && out.add) fetch(window);
      run_tile(depth.k, a, a_stride, panel.b, panel.b_row, panel.keep, out);
      if (panel.keep != nullptr) panel = {panel.keep, kPanel<T>, nullptr};
      if (buffered) {
        deliver(window);
        window.c += rows * g_.c_row;
      } else {
        out.c += rows * g_.c_row;
      }
      if (out.row_bias != nullptr) out.row_bias += rows;
      i += rows;
    }
  }

  const Gemm<T>& g_;
  T *scratch_a_, *scratch_b_;
  const bool a_in_place_, b_in_place_;
  const int64_t block_m_;
};

// Whether the vectors run along k. The two ways sum in different orders, so only the whole problem's shape and strides
// decide.
template <class T>
bool is_along_k(const Gemm<T>& g) {
  if (g.b_packed || g.b_row != 1 || (g.b_col == 1 && g.n > 1) || g.k < 8) return false;
  if (g.a_col != 1 && g.m * g.k > kReadInPlace) return false;
  return g.m == 1 || g.m <= std::min<int64_t>(40, 2 + g.k / 20);  // measured: more rows pay for packing b
}

// The members form a grid over batches, rows and columns: the grid whose busiest member is done first, unless the
// caller wants another. Costs are in multiplications of a k-column; packing one element of a costs about as much as 8
// of them, of b 1 (row-major) or 5.
template <class T>
GemmPart part_of(const Gemm<T>& g, int rank, int team_size) {
  const int64_t size = team_size, panels = ceil_div(g.n, kPanel<T>);
  const int64_t a_cost = g.m * g.k > kReadInPlace ? 8 : 0, b_cost = g.b_col == 1 ? 1 : 5;
  int64_t best = -1, by_m = 1, by_n = 1;
  if (g.split == GemmSplit::kRows) by_m = size;
  if (g.split == GemmSplit::kColumns) by_n = size;
  for (int64_t rows = 1; rows <= size && g.split == GemmSplit::kAuto; ++rows) {
    for (int64_t columns = size / rows; columns >= 1; --columns) {
      if (size % (rows * columns) != 0) continue;
      const int64_t m = ceil_div(g.m, rows), n = std::min(ceil_div(panels, columns) * kPanel<T>, g.n);
      const int64_t cost = ceil_div(g.batch, size / (rows * columns)) * (m * n + m * a_cost + n * b_cost);
      if (best < 0 || cost < best) best = cost, by_m = rows, by_n = columns;
    }
  }
  const int64_t by_batch = size / (by_m * by_n);
  const int64_t in_n = rank % by_n, in_m = rank / by_n % by_m, in_batch = rank / (by_n * by_m);
  return {g.batch * in_batch / by_batch,
          g.batch * (in_batch + 1) / by_batch,
          g.m * in_m / by_m,
          g.m * (in_m + 1) / by_m,
          std::min(panels * in_n / by_n * kPanel<T>, g.n),
          std::min(panels * (in_n + 1) / by_n * kPanel<T>, g.n)};
}

template <class T>
void run_part(const Gemm<T>& whole, void* scratch, const Team& team) {
  const bool along_k = is_along_k(whole), single_row = whole.m == 1 && whole.b_col == 1;
  const GemmPart part = part_of(whole, team.rank(), team.size());
  if (part.m0 == part.m1 || part.n0 == part.n1) return;
  const Scratch<T> mine(whole.m, whole.n, whole.k);
  T* scratch_a = static_cast<T*>(scratch) + team.rank() * member_scratch<T>(whole.m, whole.n, whole.k);
  Gemm<T> g = whole;
  g.m = part.m1 - part.m0;
  g.n = part.n1 - part.n0;
  if (g.column_bias != nullptr) g.column_bias += part.n0;
  if (g.row_bias != nullptr) g.row_bias += part.m0;
  for (int64_t batch = part.batch0; batch < part.batch1; ++batch) {
    g.a = whole.a + batch * whole.a_batch + part.m0 * whole.a_row;
    g.b = whole.b + batch * whole.b_batch + part.n0 * (whole.b_packed ? whole.k : whole.b_col);
    g.c = whole.c + batch * whole.c_batch + part.m0 * whole.c_row + part.n0 * whole.c_col;
    if (along_k) {
      run_dots(g, scratch_a);
    } else if (single_row) {
      run_row(g);
    } else {
      Tiles<T>(g, scratch_a, scratch_a + mine.a).run();
    }
  }
}

}  // namespace

void gemm_f32(const Gemm<float>& g, void* scratch, const Team& team) { run_part(g, scratch, team); }
void gemm_f64(const Gemm<double>& g, void* scratch, const Team& team) { run_part(g, scratch, team); }
template <class T>
void pack_all(int64_t k, int64_t n, const T* b, int64_t b_row, int64_t b_col, T* packed) {
  for (int64_t j = 0; j < n; j += kPanel<T>)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t i = 0; i < kPanel<T>; ++i) *packed++ = j + i < n ? b[p * b_row + (j + i) * b_col] : T(0);
}
void pack_f32(int64_t k, int64_t n, const float* b, int64_t b_row, int64_t b_col, float* packed) {
  pack_all(k, n, b, b_row, b_col, packed);
}
void pack_f64(int64_t k, int64_t n, const double* b, int64_t b_row, int64_t b_col, double* packed) {
  pack_all(k, n, b, b_row, b_col, packed);
}
int64_t packed_columns_f32(int64_t n) { return ceil_div(n, kPanel<float>) * kPanel<float>; }
int64_t packed_columns_f64(int64_t n) { return ceil_div(n, kPanel<double>) * kPanel<double>; }

GemmPart part_f32(const Gemm<float>& g, int rank, int size) { return part_of(g, rank, size); }
GemmPart part_f64(const Gemm<double>& g, int rank, int size) { return part_of(g, rank, size); }

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {
namespace {

// The same product with rows and columns exchanged: cᵀ = bᵀ·aᵀ.
template <class T>
Gemm<T> transposed(const Gemm<T>& g) {
  Gemm<T> t = g;
  std::swap(t.m, t.n);
  std::swap(t.a, t.b);
  t.a_row = g.b_col, t.a_col = g.b_row, t.a_batch = g.b_batch;
  t.b_row = g.a_col, t.b_col = g.a_row, t.b_batch = g.a_batch;
  std::swap(t.c_row, t.c_col);
  std::swap(t.row_bias, t.column_bias);
  if (g.split != GemmSplit::kAuto) t.split = g.split == GemmSplit::kRows ? GemmSplit::kColumns : GemmSplit::kRows;
  return t;
}

// A tall c of few columns from a column-major a, such as the gradient of a weight with few inputs: a, which would be
// packed for a few columns only, is better read as it is, as the right operand.
template <class T>
bool is_better_turned(const Gemm<T>& g) {
  return g.a_row == 1 && g.a_col != 1 && g.b_col == 1 && g.n >= 8 && g.m >= 4 * g.n && g.m * g.k > kReadInPlace &&
         g.n * g.k <= kReadInPlace && !g.b_packed;
}

// Is it computed as cᵀ = bᵀ·aᵀ?
template <class T>
bool is_turned(const Gemm<T>& g) {
  return g.m > 1 && (g.n == 1 || (g.c_row == 1 && g.c_col != 1) || is_better_turned(g));
}

void dispatch(const Gemm<float>& g, void* scratch, const Team& team) { INGOT_DISPATCH(gemm_f32)(g, scratch, team); }
void dispatch(const Gemm<double>& g, void* scratch, const Team& team) { INGOT_DISPATCH(gemm_f64)(g, scratch, team); }
GemmPart dispatch_part(const Gemm<float>& g, int rank, int size) { return INGOT_DISPATCH(part_f32)(g, rank, size); }
GemmPart dispatch_part(const Gemm<double>& g, int rank, int size) { return INGOT_DISPATCH(part_f64)(g, rank, size); }

}  // namespace

template <class T>
size_t gemm_scratch(const Gemm<T>& g, int team_size) {
  if (g.m <= 0 || g.n <= 0 || g.batch <= 0) return 0;
  return static_cast<size_t>(member_scratch<T>(g.m, g.n, g.k)) * sizeof(T) * static_cast<size_t>(team_size);
}

template <class T>
void gemm(const Gemm<T>& g, void* scratch, const Team& team) {
  if (g.m <= 0 || g.n <= 0 || g.batch <= 0) return;
  Gemm<T> whole = g;
  if (g.k <= 0) {  // nothing of a and b is read: they may be null
    whole.k = 0;
    whole.a = whole.b = g.c;
    whole.a_row = whole.a_col = whole.a_batch = whole.b_row = whole.b_col = whole.b_batch = 0;
  }
  dispatch(is_turned(whole) ? transposed(whole) : whole, scratch, team);
}

template <>
int64_t gemm_packed_size<float>(int64_t k, int64_t n) {
  return k * INGOT_DISPATCH(packed_columns_f32)(n);
}
template <>
int64_t gemm_packed_size<double>(int64_t k, int64_t n) {
  return k * INGOT_DISPATCH(packed_columns_f64)(n);
}
template <>
void gemm_pack(int64_t k, int64_t n, const float* b, int64_t b_row, int64_t b_col, float* packed) {
  INGOT_DISPATCH(pack_f32)(k, n, b, b_row, b_col, packed);
}
template <>
void gemm_pack(int64_t k, int64_t n, const double* b, int64_t b_row, int64_t b_col, double* packed) {
  INGOT_DISPATCH(pack_f64)(k, n, b, b_row, b_col, packed);
}

template <class T>
GemmPart gemm_part(const Gemm<T>& g, int rank, int team_size) {
  if (!is_turned(g)) return dispatch_part(g, rank, team_size);
  const GemmPart p = dispatch_part(transposed(g), rank, team_size);
  return {p.batch0, p.batch1, p.n0, p.n1, p.m0, p.m1};
}

template size_t gemm_scratch(const Gemm<float>&, int);
template size_t gemm_scratch(const Gemm<double>&, int);
template void gemm(const Gemm<float>&, void*, const Team&);
template void gemm(const Gemm<double>&, void*, const Team&);
template GemmPart gemm_part(const Gemm<float>&, int, int);
template GemmPart gemm_part(const Gemm<double>&, int, int);

}  // namespace ingot::kernels
#endif
