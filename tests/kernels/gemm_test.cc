// The matrix product against a plain loop in a wider type: shapes around every border, all layouts, epilogues, batches.
#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/base/simd.h"
#include "tests/kernels/on_target.h"

namespace ingot::kernels {
namespace {

// How a matrix lies in memory.
enum Layout { kRows, kColumns, kPaddedRows, kPaddedColumns, kSparse, kReversed, kLayouts };

template <class T>
struct Matrix {
  std::vector<T> cells;
  int64_t rows = 0, cols = 0, row = 0, col = 0, batch = 0, start = 0;

  // `count` matrices one behind the other, with guard cells around them and an odd start.
  Matrix(int64_t rows_, int64_t cols_, Layout layout, int64_t count = 1) : rows(rows_), cols(cols_) {
    const int64_t r = std::max<int64_t>(rows, 1), c = std::max<int64_t>(cols, 1);
    switch (layout) {
      case kRows: row = c, col = 1; break;
      case kColumns: row = 1, col = r; break;
      case kPaddedRows: row = c + 3, col = 1; break;
      case kPaddedColumns: row = 1, col = r + 5; break;
      case kSparse: row = 2 * c + 1, col = 2; break;
      default: row = -(c + 1), col = -1; break;
    }
    const int64_t extent = std::abs(row) * (r - 1) + std::abs(col) * (c - 1) + 1;
    batch = extent + 2;
    start = 17 + (row < 0 ? extent - 1 : 0);
    cells.resize(static_cast<size_t>(17 + batch * count + 33));
  }
  T* data() { return cells.data() + start; }
  const T* data() const { return cells.data() + start; }
  size_t index(int64_t b, int64_t i, int64_t j) const {
    return static_cast<size_t>(start + b * batch + i * row + j * col);
  }
  T at(int64_t b, int64_t i, int64_t j) const { return cells[index(b, i, j)]; }
  void fill(uint32_t seed) {
    for (T& x : cells) {
      seed = seed * 1664525u + 1013904223u;
      x = static_cast<T>(static_cast<double>(seed >> 8) / (1 << 23) - 1);
    }
  }
};

template <class T>
struct Problem {
  Matrix<T> a, b, c;
  std::vector<T> column_bias, row_bias;
  Gemm<T> g;

  Problem(int64_t m, int64_t n, int64_t k, Layout la, Layout lb, Layout lc, int64_t batch = 1)
      : a(m, k, la, batch),
        b(k, n, lb, batch),
        c(m, n, lc, batch),
        column_bias(static_cast<size_t>(n)),
        row_bias(static_cast<size_t>(m)) {
    a.fill(1), b.fill(2), c.fill(3);
    for (size_t i = 0; i < column_bias.size(); ++i) column_bias[i] = T(0.25) * static_cast<T>(i % 7) - 1;
    for (size_t i = 0; i < row_bias.size(); ++i) row_bias[i] = T(0.5) * static_cast<T>(i % 5) - 1;
    g.m = m, g.n = n, g.k = k, g.batch = batch;
    g.a = a.data(), g.a_row = a.row, g.a_col = a.col, g.a_batch = a.batch;
    g.b = b.data(), g.b_row = b.row, g.b_col = b.col, g.b_batch = b.batch;
    g.c = c.data(), g.c_row = c.row, g.c_col = c.col, g.c_batch = c.batch;
  }
};

long double activated(long double x, Activation activation) {
  switch (activation) {
    case Activation::kNone: return x;
    case Activation::kRelu: return x > 0 ? x : 0;
  }
  return x;
}

// Scratch of exactly the size that was asked for, 64-byte aligned, with a guard behind it.
class ExactScratch {
 public:
  explicit ExactScratch(size_t bytes)
      : bytes_(bytes), memory_(static_cast<unsigned char*>(::operator new(bytes + 64, std::align_val_t(64)))) {
    std::memset(memory_, 0xff, bytes + 64);  // NaN: scratch that is read before it is written shows
  }
  ~ExactScratch() { ::operator delete(memory_, std::align_val_t(64)); }
  ExactScratch(const ExactScratch&) = delete;
  ExactScratch& operator=(const ExactScratch&) = delete;
  void* get() { return memory_; }
  bool guard_is_whole() const {
    for (size_t i = 0; i < 64; ++i)
      if (memory_[bytes_ + i] != 0xff) return false;
    return true;
  }

 private:
  size_t bytes_;
  unsigned char* memory_;
};

template <class T>
void run(Problem<T>& p, int team = 1) {
  ExactScratch scratch(gemm_scratch(p.g, team));
  set_threads(team);
  parallel(team > 1, [&](const Team& t) { gemm(p.g, scratch.get(), t); });
  set_threads(1);
  EXPECT_TRUE(scratch.guard_is_whole());
}

// Runs the problem and checks every element, and that nothing outside c changed.
template <class T>
void check(Problem<T>& p, const std::string& what) {
  const Gemm<T>& g = p.g;
  std::vector<T> expected = p.c.cells;
  std::vector<T> tolerance(expected.size(), T(0));
  const long double eps = std::numeric_limits<T>::epsilon();
  for (int64_t batch = 0; batch < g.batch; ++batch) {
    for (int64_t i = 0; i < g.m; ++i) {
      for (int64_t j = 0; j < g.n; ++j) {
        long double sum = 0, size = 0;
        for (int64_t q = 0; q < g.k; ++q) {
          const long double term = static_cast<long double>(g.a[batch * g.a_batch + i * g.a_row + q * g.a_col]) *
                                   g.b[batch * g.b_batch + q * g.b_row + j * g.b_col];
          sum += term, size += std::abs(term);
        }
        const size_t at = p.c.index(batch, i, j);
        long double x = g.alpha * sum;
        size = std::abs(g.alpha) * size;
        if (g.accumulate) x += expected[at], size += std::abs(expected[at]);
        if (g.column_bias != nullptr) x += g.column_bias[j], size += std::abs(g.column_bias[j]);
        if (g.row_bias != nullptr) x += g.row_bias[i], size += std::abs(g.row_bias[i]);
        expected[at] = static_cast<T>(activated(x, g.activation));
        // Rounding errors of k steps grow like their square root; 8 covers activations too.
        tolerance[at] = static_cast<T>(eps * (8 + 2 * std::sqrt(static_cast<long double>(g.k))) * (size + 1));
      }
    }
  }
  run(p);
  int64_t wrong = 0;
  size_t first = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(p.c.cells[i] - expected[i]) <= tolerance[i]) continue;
    if (wrong++ == 0) first = i;
  }
  EXPECT_EQ(wrong, 0) << what << " m " << g.m << " n " << g.n << " k " << g.k << " batch " << g.batch << " target "
                      << name(simd()) << ": cell " << first << " is " << p.c.cells[first] << ", not "
                      << expected[first];
}

template <class T>
class GemmTest : public ::testing::Test {
 protected:
  void SetUp() override { before_ = simd(); }
  void TearDown() override { set_simd(before_); }

 private:
  Simd before_;
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GemmTest, Types);

TYPED_TEST(GemmTest, SmallShapesInFourForms) {
  for (Simd target : targets_here()) {
    set_simd(target);
    for (int64_t k : {0, 1, 3, 8, 17})
      for (int64_t m = 0; m <= 19; ++m)
        for (int64_t n = 0; n <= 35; n += n < 19 ? 1 : 2)
          for (int form = 0; form < 4; ++form) {
            Problem<TypeParam> p(m, n, k, form & 1 ? kColumns : kRows, form & 2 ? kColumns : kRows, kRows);
            check(p, "form " + std::to_string(form));
            if (this->HasFailure()) return;
          }
  }
}

TYPED_TEST(GemmTest, BlockBorders) {
  struct Shape {
    int64_t m, n, k;
  };
  const Shape shapes[] = {{7, 33, 383},   {7, 33, 385},   {25, 18, 769}, {40, 9, 1000},   {41, 9, 1000},
                          {1, 300, 801},  {300, 1, 801},  {3, 129, 400}, {2, 70, 900},    {193, 40, 350},
                          {200, 17, 400}, {385, 30, 200}, {9, 2065, 40}, {400, 2060, 17}, {200, 2049, 33},
                          {2, 2, 5000},   {1, 1, 70000},  {70, 70, 70}};
  for (Simd target : targets_here()) {
    set_simd(target);
    for (const Shape& s : shapes)
      for (int form = 0; form < 4; ++form) {
        Problem<TypeParam> p(s.m, s.n, s.k, form & 1 ? kColumns : kRows, form & 2 ? kColumns : kRows, kRows);
        check(p, "form " + std::to_string(form));
      }
  }
}

TYPED_TEST(GemmTest, EveryLayout) {
  for (Simd target : targets_here()) {
    set_simd(target);
    for (int la = 0; la < kLayouts; ++la)
      for (int lb = 0; lb < kLayouts; ++lb)
        for (int lc = 0; lc < kLayouts; ++lc)
          for (auto [m, n, k] : {std::tuple{13, 21, 30}, {1, 20, 40}, {20, 1, 40}, {5, 3, 100}, {220, 35, 330}}) {
            if (m == 220 && (lc + la + lb) % 3 != 0) continue;  // the large one for a third of the layouts
            Problem<TypeParam> p(m, n, k, static_cast<Layout>(la), static_cast<Layout>(lb), static_cast<Layout>(lc));
            check(p, "layouts " + std::to_string(la) + std::to_string(lb) + std::to_string(lc));
          }
  }
}

TYPED_TEST(GemmTest, Epilogues) {
  for (Simd target : targets_here()) {
    set_simd(target);
    for (Activation activation : {Activation::kNone, Activation::kRelu})
      for (int flags = 0; flags < 16; ++flags)
        for (auto [m, n, k] :
             {std::tuple{7, 37, 0}, {7, 37, 20}, {1, 70, 20}, {4, 19, 100}, {30, 1, 64}, {14, 32, 500}})
          for (Layout lc : {kRows, kColumns, kSparse}) {
            Problem<TypeParam> p(m, n, k, kRows, flags % 2 == 0 ? kRows : kColumns, lc);
            p.g.activation = activation;
            if (flags & 1) p.g.alpha = TypeParam(-0.75);
            p.g.accumulate = (flags & 2) != 0;
            if (flags & 4) p.g.column_bias = p.column_bias.data();
            if (flags & 8) p.g.row_bias = p.row_bias.data();
            check(p, "flags " + std::to_string(flags) + " activation " + std::to_string(static_cast<int>(activation)));
          }
  }
}

TYPED_TEST(GemmTest, BatchesShareOperands) {
  for (int shared = 0; shared < 3; ++shared)
    for (Layout lb : {kRows, kColumns}) {
      Problem<TypeParam> p(9, 20, 33, kPaddedRows, lb, kPaddedRows, 5);
      if (shared == 1) p.g.a_batch = 0;
      if (shared == 2) p.g.b_batch = 0;
      p.g.column_bias = p.column_bias.data();
      check(p, "shared " + std::to_string(shared));
    }
  Problem<TypeParam> none(4, 4, 4, kRows, kRows, kRows, 1);
  none.g.batch = 0;
  check(none, "no batch");
}

TYPED_TEST(GemmTest, SameBitsForEveryTeam) {
  for (Simd target : targets_here()) {
    set_simd(target);
    for (auto [m, n, k, batch] : {std::tuple{64, 144, 256, 1},
                                  {1, 256, 256, 1},
                                  {256, 1, 300, 1},
                                  {64, 6, 64, 1},
                                  {37, 61, 790, 1},
                                  {31, 100, 784, 1},
                                  {250, 90, 400, 1},
                                  {5, 7, 9, 7},
                                  {2, 5, 900, 2}})
      for (int form = 0; form < 4; ++form) {
        std::vector<TypeParam> alone;
        for (int team = 1; team <= 4; ++team) {
          Problem<TypeParam> p(m, n, k, form & 1 ? kColumns : kRows, form & 2 ? kColumns : kRows, kRows, batch);
          p.g.column_bias = p.column_bias.data();
          p.g.row_bias = p.row_bias.data();
          p.g.activation = Activation::kRelu;
          run(p, team);
          if (team == 1) alone = p.c.cells;
          EXPECT_EQ(std::memcmp(alone.data(), p.c.cells.data(), alone.size() * sizeof(TypeParam)), 0)
              << m << 'x' << k << 'x' << n << " form " << form << " team " << team;
        }
      }
  }
}

TYPED_TEST(GemmTest, NothingIsSkipped) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN(), inf = std::numeric_limits<TypeParam>::infinity();
  for (Simd target : targets_here()) {
    set_simd(target);
    for (TypeParam special : {nan, inf})
      for (auto [m, n, k] : {std::tuple{8, 20, 12}, {1, 20, 12}, {20, 1, 12}, {3, 21, 100}})
        for (Layout lb : {kRows, kColumns})
          for (Activation activation : {Activation::kNone, Activation::kRelu}) {
            Problem<TypeParam> p(m, n, k, kRows, lb, kRows);
            for (int64_t i = 0; i < m; ++i) p.a.cells[p.a.index(0, i, k - 1)] = 0;
            p.b.cells[p.b.index(0, k - 1, n / 2)] = special;
            p.g.activation = activation;
            run(p);
            for (int64_t i = 0; i < m; ++i)
              for (int64_t j = 0; j < n; ++j)
                EXPECT_EQ(std::isnan(p.c.at(0, i, j)), j == n / 2) << m << ' ' << n << ' ' << k;
          }
  }
}

// The surplus lanes of narrow tiles must not let a neighbour's NaN in.
TYPED_TEST(GemmTest, NeighboursOfTheOperandsDoNotMatter) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  for (Simd target : targets_here()) {
    set_simd(target);
    for (auto [m, n, k] : {std::tuple{7, 19, 13}, {1, 5, 13}, {5, 1, 13}, {3, 3, 70}, {200, 21, 340}})
      for (int form = 0; form < 4; ++form) {
        Problem<TypeParam> p(m, n, k, form & 1 ? kPaddedColumns : kPaddedRows, form & 2 ? kPaddedColumns : kPaddedRows,
                             kRows);
        Problem<TypeParam> clean = p;
        std::fill(p.a.cells.begin(), p.a.cells.end(), nan);
        std::fill(p.b.cells.begin(), p.b.cells.end(), nan);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t q = 0; q < k; ++q) p.a.cells[p.a.index(0, i, q)] = clean.a.at(0, i, q);
        for (int64_t q = 0; q < k; ++q)
          for (int64_t j = 0; j < n; ++j) p.b.cells[p.b.index(0, q, j)] = clean.b.at(0, q, j);
        check(p, "form " + std::to_string(form));
      }
  }
}

TEST(Gemm, NullOperandsWithoutDepth) {
  float c[6] = {1, 2, 3, 4, 5, 6};
  const float bias[3] = {10, 20, 30};
  Gemm<float> g{
      .m = 2, .n = 3, .k = 0, .a_row = 5, .b_row = 3, .c = c, .c_row = 3, .accumulate = true, .column_bias = bias};
  ExactScratch scratch(gemm_scratch(g, 1));
  gemm(g, scratch.get(), Team());
  const float expected[6] = {11, 22, 33, 14, 25, 36};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(c[i], expected[i]);
}

}  // namespace
}  // namespace ingot::kernels
