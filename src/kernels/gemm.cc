#include "kernels/gemm.h"

#include <algorithm>
#include <utility>

#include "base/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/gemm-tile-inl.h"
//
#include "kernels/gemm-pack-inl.h"
//
#include "kernels/gemm-dot-inl.h"

#ifndef INGOT_KERNELS_GEMM_CC_ONCE_
#define INGOT_KERNELS_GEMM_CC_ONCE_
int64_t knob[8] = {384, 192, 0, 0, 24, 0, 0, 0};
namespace ingot::kernels {
namespace {

// Blocks are sized for 32 KB and 512 KB of first and second cache: a panel of b (64 bytes wide) stays in the first, a
// block of a in the second.
int64_t kMostBlockK() { return knob[0]; }
int64_t kMostBlockM() { return knob[1]; }
constexpr int64_t kMostBlockN = 2048;
constexpr int64_t kPanelBytes = 128;  // the widest panel of any target

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Blocks of k decide how sums are grouped, so their size depends on k alone.
int64_t block_of(int64_t n, int64_t most, int64_t grain) {
  const int64_t blocks = std::max<int64_t>(1, divide_up(n, most));
  return divide_up(divide_up(n, blocks), grain) * grain;
}
int64_t block_k(int64_t k) { return block_of(k, kMostBlockK(), 4); }

// Elements of scratch for one member: a block of a, panels of b.
template <class T>
struct Scratch {
  static constexpr int64_t kPanelWidth = kPanelBytes / static_cast<int64_t>(sizeof(T));
  int64_t a, b;
  explicit Scratch(const Gemm<T>& g) {
    const int64_t k = block_k(g.k), widest = std::max(g.m, g.n);  // the problem may be transposed
    a = std::max(k * std::min(widest, kMostBlockM() + 8), g.k) + kPanelWidth;
    b = k * (std::min(widest, kMostBlockN) + kPanelWidth);
    a = divide_up(a, kPanelWidth) * kPanelWidth;
    b = divide_up(b, kPanelWidth) * kPanelWidth;
  }
  int64_t bytes() const { return (a + b) * static_cast<int64_t>(sizeof(T)); }
};

}  // namespace
}  // namespace ingot::kernels
#endif  // INGOT_KERNELS_GEMM_CC_ONCE_

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

constexpr int64_t kBufferVectors = 2 * kTileRows;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V activate(D d, V x, Activation activation) {
  switch (activation) {
    case Activation::kRelu: return hn::Max(hn::Zero(d), x);
    default: return x;
  }
}

// Whole-vector form of what a tile does inline, for results that sit in a buffer: narrow tiles, any strides of c, every
// activation.
template <class T>
void finish_buffer(const T* HWY_RESTRICT buffer, int64_t buffer_row, int64_t rows, int64_t columns, const Output<T>& out,
                   int64_t c_col, Activation activation) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kWidth = kLanes<T>;
  HWY_ALIGN T lane[kLanes<T>] = {};
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; j += kWidth) {
      const int64_t width = std::min(kWidth, columns - j);
      const bool whole = width == kWidth && c_col == 1;
      T* c = out.c + i * out.c_row + j * c_col;
      auto x = hn::LoadU(d, buffer + i * buffer_row + j);
      if (out.add) {
        if (!whole)
          for (int64_t q = 0; q < width; ++q) lane[q] = c[q * c_col];
        x = hn::MulAdd(x, hn::Set(d, out.alpha), whole ? hn::LoadU(d, c) : hn::Load(d, lane));
      } else {
        x = hn::Mul(x, hn::Set(d, out.alpha));
      }
      if (out.column_bias != nullptr)
        x = hn::Add(x, width == kWidth ? hn::LoadU(d, out.column_bias + j) : load_few(d, out.column_bias + j, width));
      if (out.row_bias != nullptr) x = hn::Add(x, hn::Set(d, out.row_bias[i]));
      x = activate(d, x, activation);
      if (whole) {
        hn::StoreU(x, d, c);
      } else {
        hn::Store(x, d, lane);
        if (c_col == 1) {
          copy_few(c, lane, width);
        } else {
          for (int64_t q = 0; q < width; ++q) c[q * c_col] = lane[q];
        }
      }
    }
  }
}

// How rows are cut into tiles: `bigger` of small + 1 rows, then the others of `small` rows.
struct RowTiles {
  int64_t count, small, bigger;
  RowTiles(int64_t rows, int64_t most) : count(divide_up(rows, most)), small(rows / count), bigger(rows % count) {}
};

// One member's part of a product, or one of its products: a Gemm whose m and n are that part's.
template <class T>
class Tiles {
 public:
  Tiles(const Gemm<T>& g, T* scratch_a, T* scratch_b) : g_(g), scratch_a_(scratch_a), scratch_b_(scratch_b) {}

  void run() {
    const int64_t step_k = block_k(g_.k);
    const bool direct_a = (g_.a_col == 1 || g_.a_row == 1) && reads_a_in_place();
    const int64_t step_m = direct_a ? g_.m : block_of(g_.m, kMostBlockM(), kTileRows);
    for (int64_t n0 = 0; n0 < g_.n; n0 += kMostBlockN) {
      const int64_t n = std::min(kMostBlockN, g_.n - n0);
      int64_t k0 = 0;
      do {  // once even when k is zero: c still gets its biases
        const int64_t k = std::min(step_k, g_.k - k0);
        for (int64_t m0 = 0; m0 < g_.m; m0 += step_m)
          block(m0, std::min(step_m, g_.m - m0), n0, n, k0, k, direct_a, step_m < g_.m);
        k0 += step_k;
      } while (k0 < g_.k);
    }
  }

 private:
  bool reads_a_in_place() const { return knob[2] ? knob[2] == 1 : g_.m * g_.k <= 64 * 1024 ; }
  bool reads_b_in_place(int64_t m) const { return m <= knob[4]; }

  void block(int64_t m0, int64_t m, int64_t n0, int64_t n, int64_t k0, int64_t k, bool direct_a, bool keep_panels) {
    if (!direct_a) pack_a(m0, m, k0, k);
    const bool direct_b = g_.b_col == 1 && reads_b_in_place(g_.m);
    const int64_t wide = direct_a && direct_b && m <= 3 ? (m == 1 ? 8 : 4) * kLanes<T> : 0;
    int64_t step;
    for (int64_t j = 0; j < n; j += step) {
      step = wide > 0 && n - j >= wide ? wide : std::min(kPanel<T>, n - j);
      const T* b = g_.b + k0 * g_.b_row + (n0 + j) * g_.b_col;
      int64_t b_row = g_.b_row;
      if (!direct_b || (step % kLanes<T>) != 0) {
        T* panel = scratch_b_ + (keep_panels ? j * k : 0);
        if (!keep_panels || m0 == 0) pack_panel(k, step, b, g_.b_row, g_.b_col, panel);
        b = panel;
        b_row = step > kLanes<T> ? kPanel<T> : kLanes<T>;
      }
      columns(m0, m, n0 + j, step, k0, k, direct_a, b, b_row);
    }
  }

  void pack_a(int64_t m0, int64_t m, int64_t k0, int64_t k) {
    const RowTiles tiles(m, kTileRows);
    for (int64_t t = 0, i = 0; t < tiles.count; ++t) {
      const int64_t rows = tiles.small + (t < tiles.bigger);
      pack_rows(k, rows, g_.m - m0 - i - rows, g_.a + (m0 + i) * g_.a_row + k0 * g_.a_col, g_.a_row, g_.a_col, scratch_a_ + i * k);
      i += rows;
    }
  }

  static TileFn<T> kernel(int64_t rows, int64_t vectors, bool row_major) {
    switch (vectors) {
      case 1:
        return row_major ? choose_tile<T, 1, true, 2 * kTileRows>(rows) : choose_tile<T, 1, false, 2 * kTileRows>(rows);
      case 2: return row_major ? choose_tile<T, 2, true, kTileRows>(rows) : choose_tile<T, 2, false, kTileRows>(rows);
      case 4: return row_major ? choose_tile<T, 4, true, 3>(rows) : choose_tile<T, 4, false, 3>(rows);
      default: return &tile<1, 8, false, T>;
    }
  }

  // All rows of a block times one panel of b.
  void columns(int64_t m0, int64_t m, int64_t j, int64_t width, int64_t k0, int64_t k, bool direct_a, const T* b, int64_t b_row) {
    const bool last = k0 + k >= g_.k;
    const int64_t vectors = divide_up(width, kLanes<T>);
    const bool row_major = direct_a && (g_.a_col == 1 && (vectors < 8));
    const RowTiles tiles(m, vectors == 1 && direct_a ? 2 * kTileRows : kTileRows);
    const TileFn<T> small = kernel(tiles.small, vectors, row_major);
    const TileFn<T> bigger = tiles.bigger > 0 ? kernel(tiles.small + 1, vectors, row_major) : small;
    const bool buffered =
        g_.c_col != 1 || width % kLanes<T> != 0 || (last && g_.activation > Activation::kRelu);
    HWY_ALIGN T buffer[kBufferVectors * kLanes<T>];
    const Output<T> to_buffer{buffer, vectors * kLanes<T>, T(1), false, nullptr, nullptr, false};
    Output<T> out{g_.c + m0 * g_.c_row + j * g_.c_col, g_.c_row, g_.alpha, g_.accumulate || k0 > 0,
                  last && g_.column_bias != nullptr ? g_.column_bias + j : nullptr,
                  last && g_.row_bias != nullptr ? g_.row_bias + m0 : nullptr, last && g_.activation == Activation::kRelu};
    const Activation activation = last ? g_.activation : Activation::kNone;
    for (int64_t t = 0, i = 0; t < tiles.count; ++t) {
      const int64_t rows = tiles.small + (t < tiles.bigger);
      const T* a = direct_a ? g_.a + (m0 + i) * g_.a_row + k0 * g_.a_col : scratch_a_ + i * k;
      const int64_t a_stride = !direct_a ? rows : row_major ? g_.a_row : g_.a_col;
      (t < tiles.bigger ? bigger : small)(k, a, a_stride, b, b_row, buffered ? to_buffer : out);
      if (buffered) finish_buffer(buffer, vectors * kLanes<T>, rows, width, out, g_.c_col, activation);
      out.c += rows * g_.c_row;
      if (out.row_bias != nullptr) out.row_bias += rows;
      i += rows;
    }
  }

  const Gemm<T>& g_;
  T *scratch_a_, *scratch_b_;
};

// Few rows, everything along k.
template <class T>
void run_dots(const Gemm<T>& g, T* scratch) {
  constexpr int64_t kColumns = 32;
  HWY_ALIGN T buffer[3 * kColumns];
  const T* a = g.a;
  if (g.a_col != 1) {  // a single row: see along_k
    for (int64_t p = 0; p < g.k; ++p) scratch[p] = g.a[p * g.a_col];
    a = scratch;
  }
  const RowTiles tiles(g.m, 3);
  for (int64_t j0 = 0; j0 < g.n; j0 += kColumns) {
    const int64_t n = std::min(kColumns, g.n - j0);
    for (int64_t t = 0, i = 0; t < tiles.count; ++t) {
      const int64_t rows = tiles.small + (t < tiles.bigger);
      const T* b = g.b + j0 * g.b_col;
      const T* from = a + i * g.a_row;
      for (int64_t j = 0; j < n;) {
        const int64_t left = n - j;
        T* to = buffer + j;
        if (rows == 1) {
          if (left > 4) {
            dot_tile<1, 8>(g.k, from, g.a_row, b + j * g.b_col, g.b_col, left, to, kColumns);
            j += 8;
            continue;
          }
          dot_tile<1, 4>(g.k, from, g.a_row, b + j * g.b_col, g.b_col, left, to, kColumns);
        } else if (rows == 2) {
          dot_tile<2, 4>(g.k, from, g.a_row, b + j * g.b_col, g.b_col, left, to, kColumns);
        } else {
          dot_tile<3, 4>(g.k, from, g.a_row, b + j * g.b_col, g.b_col, left, to, kColumns);
        }
        j += 4;
      }
      const Output<T> out{g.c + i * g.c_row + j0 * g.c_col,
                          g.c_row,
                          g.alpha,
                          g.accumulate,
                          g.column_bias != nullptr ? g.column_bias + j0 : nullptr,
                          g.row_bias != nullptr ? g.row_bias + i : nullptr,
                          false};
      finish_buffer(buffer, kColumns, rows, n, out, g.c_col, g.activation);
      i += rows;
    }
  }
}

// By shape and strides only: the two ways sum in different orders.
template <class T>
bool along_k(const Gemm<T>& g) {
  if (g.b_row != 1 || g.b_col == 1 || g.k < 8) return false;
  if (g.m == 1) return true;
  return g.a_col == 1 && g.m <= (knob[3] ? knob[3] : 3 + g.k / 16);
}

// A member's part of the work: members form a grid over batches, rows and columns; the one whose largest part is smallest.
struct Part {
  int64_t batch0, batch1, m0, m1, n0, n1;
};

template <class T>
Part part_of(const Gemm<T>& g, const Team& team, int64_t grain) {
  const int64_t size = team.size(), panels = divide_up(g.n, grain);
  int64_t best = -1, best_m = 1, best_n = 1;
  for (int64_t by_m = 1; by_m <= size; ++by_m) {
    if (size % by_m != 0) continue;
    for (int64_t by_n = size / by_m; by_n >= 1; --by_n) {
      if ((size / by_m) % by_n != 0) continue;
      const int64_t by_batch = size / by_m / by_n;
      const int64_t work = divide_up(g.batch, by_batch) * divide_up(g.m, by_m) * std::min(divide_up(panels, by_n) * grain, g.n);
      if (best < 0 || work < best) best = work, best_m = by_m, best_n = by_n;
    }
  }
  const int64_t by_batch = size / best_m / best_n;
  const int64_t rank_n = team.rank() % best_n, rank_m = team.rank() / best_n % best_m, rank_batch = team.rank() / best_n / best_m;
  return {g.batch * rank_batch / by_batch,
          g.batch * (rank_batch + 1) / by_batch,
          g.m * rank_m / best_m,
          g.m * (rank_m + 1) / best_m,
          std::min(panels * rank_n / best_n * grain, g.n),
          std::min(panels * (rank_n + 1) / best_n * grain, g.n)};
}

template <class T>
void run(const Gemm<T>& whole, const Scratch<T>& layout, void* scratch, const Team& team) {
  const bool dots = along_k(whole);
  const Part part = part_of(whole, team, kPanel<T>);
  if (part.m0 >= part.m1 || part.n0 >= part.n1) return;
  T* scratch_a = static_cast<T*>(scratch) + team.rank() * (layout.a + layout.b);
  Gemm<T> g = whole;
  g.m = part.m1 - part.m0;
  g.n = part.n1 - part.n0;
  if (g.column_bias != nullptr) g.column_bias += part.n0;
  if (g.row_bias != nullptr) g.row_bias += part.m0;
  for (int64_t batch = part.batch0; batch < part.batch1; ++batch) {
    g.a = whole.a + batch * whole.a_batch + part.m0 * whole.a_row;
    g.b = whole.b + batch * whole.b_batch + part.n0 * whole.b_col;
    g.c = whole.c + batch * whole.c_batch + part.m0 * whole.c_row + part.n0 * whole.c_col;
    if (dots) {
      run_dots(g, scratch_a);
    } else {
      Tiles<T>(g, scratch_a, scratch_a + layout.a).run();
    }
  }
}

}  // namespace

void gemm_f32(const Gemm<float>& g, const Scratch<float>& layout, void* scratch, const Team& team) { run(g, layout, scratch, team); }
void gemm_f64(const Gemm<double>& g, const Scratch<double>& layout, void* scratch, const Team& team) { run(g, layout, scratch, team); }

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {
namespace {

template <class T>
Gemm<T> transposed(const Gemm<T>& g) {
  Gemm<T> t = g;
  std::swap(t.m, t.n);
  t.a = g.b, t.a_row = g.b_col, t.a_col = g.b_row, t.a_batch = g.b_batch;
  t.b = g.a, t.b_row = g.a_col, t.b_col = g.a_row, t.b_batch = g.a_batch;
  std::swap(t.c_row, t.c_col);
  std::swap(t.row_bias, t.column_bias);
  return t;
}

void dispatch(const Gemm<float>& g, void* scratch, const Team& team) {
  INGOT_DISPATCH(gemm_f32)(g, Scratch<float>(g), scratch, team);
}
void dispatch(const Gemm<double>& g, void* scratch, const Team& team) {
  INGOT_DISPATCH(gemm_f64)(g, Scratch<double>(g), scratch, team);
}

}  // namespace

template <class T>
size_t gemm_scratch(const Gemm<T>& g, int team_size) {
  return static_cast<size_t>(Scratch<T>(g).bytes()) * static_cast<size_t>(team_size);
}

template <class T>
void gemm(const Gemm<T>& g, void* scratch, const Team& team) {
  if (g.m <= 0 || g.n <= 0 || g.batch <= 0) return;
  const bool by_columns = g.n == 1 ? g.m > 1 : (g.m > 1 && g.c_col != 1 && g.c_row == 1);
  if (by_columns) return dispatch(transposed(g), scratch, team);
  dispatch(g, scratch, team);
}

template size_t gemm_scratch(const Gemm<float>&, int);
template size_t gemm_scratch(const Gemm<double>&, int);
template void gemm(const Gemm<float>&, void*, const Team&);
template void gemm(const Gemm<double>&, void*, const Team&);

}  // namespace ingot::kernels
#endif
