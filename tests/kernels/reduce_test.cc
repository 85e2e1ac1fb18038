#include "kernels/reduce.h"

#include <cmath>

#include "reduce_test_util.h"

namespace ingot::kernels {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// A random view: axes of random sizes in random memory order, some reversed, some with gaps, some broadcast.
struct View {
  ReduceLayout layout;
  int64_t in_size = 1, in_base = 0, out_size = 1, out_base = 0;
};

View random_view(std::mt19937& rng, int max_rank, int64_t max_axis, bool allow_empty) {
  View view;
  const int rank = static_cast<int>(rng() % static_cast<unsigned>(max_rank + 1));
  std::vector<int> order(static_cast<size_t>(rank));
  std::vector<int64_t> size(order.size()), in(order.size()), out(order.size());
  std::vector<bool> reduced(order.size());
  for (int a = 0; a < rank; ++a) {
    const auto i = static_cast<size_t>(a);
    order[i] = a;
    size[i] = static_cast<int64_t>(rng() % static_cast<unsigned>(max_axis)) + (allow_empty && rng() % 8 == 0 ? 0 : 1);
    reduced[i] = rng() % 2 == 0;
  }
  const auto place = [&](std::vector<int64_t>& strides, int64_t& total, int64_t& base, bool output) {
    std::shuffle(order.begin(), order.end(), rng);
    int64_t step = rng() % 4 == 0 ? 2 : 1;
    for (int a : order) {
      const auto i = static_cast<size_t>(a);
      if (output && reduced[i]) continue;
      if (!output && rng() % 8 == 0) {
        strides[i] = 0;
        continue;
      }
      const int64_t span = step * std::max<int64_t>(size[i], 1);
      strides[i] = rng() % 4 == 0 ? -step : step;
      if (strides[i] < 0) base += span - step;
      step = span + (rng() % 4 == 0 ? 3 : 0);
    }
    total = step;
  };
  place(in, view.in_size, view.in_base, false);
  place(out, view.out_size, view.out_base, true);
  for (size_t i = 0; i < size.size(); ++i) {
    ReduceLayout& l = view.layout;
    if (reduced[i]) {
      l.reduced[l.reduced_rank] = size[i];
      l.reduced_in[l.reduced_rank++] = in[i];
    } else {
      l.kept[l.kept_rank] = size[i];
      l.kept_in[l.kept_rank] = in[i];
      l.kept_out[l.kept_rank++] = out[i];
    }
  }
  return view;
}

// Calls body(offset) for every index of the axes, row-major.
template <class Body>
void each(int rank, const int64_t* size, const int64_t* stride, const int64_t* other, int64_t at, int64_t at_other,
          const Body& body) {
  if (rank == 0) return body(at, at_other);
  for (int64_t i = 0; i < size[0]; ++i)
    each(rank - 1, size + 1, stride + 1, other == nullptr ? nullptr : other + 1, at + i * stride[0],
         other == nullptr ? 0 : at_other + i * other[0], body);
}

// Runs body(elements of this output in order, output position) for every output.
template <class T, class Body>
void each_output(const View& v, const T* in, const Body& body) {
  const ReduceLayout& l = v.layout;
  each(l.kept_rank, l.kept, l.kept_in, l.kept_out, v.in_base, v.out_base, [&](int64_t at, int64_t to) {
    std::vector<T> xs;
    each(l.reduced_rank, l.reduced, l.reduced_in, nullptr, at, 0, [&](int64_t i, int64_t) { xs.push_back(in[i]); });
    body(xs, to);
  });
}

template <class T>
std::vector<T> random_values(std::mt19937& rng, int64_t n) {
  std::vector<T> values(static_cast<size_t>(n));
  for (T& x : values) {
    if constexpr (std::is_floating_point_v<T>) {
      x = std::normal_distribution<T>()(rng);
    } else {
      x = static_cast<T>(rng() % 100) - (std::is_signed_v<T> ? T(50) : T(0));
    }
  }
  return values;
}

template <class T>
double expected(Reduce kind, const std::vector<T>& xs) {
  long double r = kind == Reduce::kProd ? 1 : kind == Reduce::kMax ? -kInf : kind == Reduce::kMin ? kInf : 0;
  for (T value : xs) {
    const long double x = static_cast<long double>(value);
    switch (kind) {
      case Reduce::kSum: r += x; break;
      case Reduce::kProd: r *= x; break;
      case Reduce::kMax: r = r != r || r > x ? r : x; break;
      case Reduce::kMin: r = r != r || r < x ? r : x; break;
      case Reduce::kSumSquares: r += x * x; break;
      case Reduce::kSumAbs: r += std::abs(x); break;
    }
  }
  return static_cast<double>(r);
}

constexpr Reduce kKinds[] = {Reduce::kSum, Reduce::kProd,       Reduce::kMax,
                             Reduce::kMin, Reduce::kSumSquares, Reduce::kSumAbs};

using ReduceTest = OnTarget;
INGOT_ON_TARGETS(ReduceTest);

template <class T>
void check_random_views(unsigned seed) {
  std::mt19937 rng(seed);
  for (int round = 0; round < 300; ++round) {
    const View v = random_view(rng, 5, round % 3 == 0 ? 16 : 6, true);
    const auto in = random_values<T>(rng, v.in_size);
    Scratch scratch(reduce_scratch(v.layout));
    for (Reduce kind : kKinds) {
      const T guard = T(-77.5);
      std::vector<T> out(static_cast<size_t>(v.out_size), guard), want(out);
      reduce(kind, v.layout, in.data() + v.in_base, out.data() + v.out_base, 0.5, scratch.data(), Team());
      each_output(v, in.data(), [&](const std::vector<T>& xs, int64_t to) {
        const auto i = static_cast<size_t>(to);
        double magnitude = std::max(std::abs(expected(kind, xs)), 1e-30);
        if (kind == Reduce::kSum) magnitude = expected(Reduce::kSumAbs, xs) + 1e-30;
        EXPECT_TRUE(close(out[i], expected(kind, xs) * 0.5, magnitude * (kind == Reduce::kProd ? xs.size() + 1 : 1)));
        want[i] = out[i];
      });
      ASSERT_EQ(out, want) << "wrote outside its outputs, round " << round;
    }
  }
}
TEST_P(ReduceTest, RandomViewsF32) { check_random_views<float>(1); }
TEST_P(ReduceTest, RandomViewsF64) { check_random_views<double>(2); }

template <class T, class R>
void check_integers(unsigned seed) {
  std::mt19937 rng(seed);
  for (int round = 0; round < 200; ++round) {
    const View v = random_view(rng, 4, 9, round % 2 == 0);
    const auto in = random_values<T>(rng, v.in_size);
    Scratch scratch(reduce_scratch(v.layout));
    for (Reduce kind : kKinds) {
      if (kind == Reduce::kSumSquares || kind == Reduce::kSumAbs) continue;  // for floats
      const bool extreme = kind == Reduce::kMax || kind == Reduce::kMin;
      if (!(extreme ? std::is_same_v<T, R> : std::is_same_v<R, int64_t>)) continue;
      std::vector<R> out(static_cast<size_t>(v.out_size), R(99)), want(out);
      reduce(kind, v.layout, in.data() + v.in_base, out.data() + v.out_base, 1, scratch.data(), Team());
      each_output(v, in.data(), [&](const std::vector<T>& xs, int64_t to) {
        R& w = want[static_cast<size_t>(to)];
        if (xs.empty() && kind == Reduce::kMax) {
          w = std::numeric_limits<R>::lowest();
        } else if (xs.empty() && kind == Reduce::kMin) {
          w = std::numeric_limits<R>::max();
        } else if (kind == Reduce::kProd) {
          uint64_t product = 1;
          for (T x : xs) product *= static_cast<uint64_t>(static_cast<int64_t>(x));
          w = static_cast<R>(product);
        } else {
          w = static_cast<R>(expected(kind, xs));
        }
      });
      ASSERT_EQ(out, want) << "kind " << static_cast<int>(kind) << " round " << round;
    }
  }
}
TEST(ReduceIntegers, RandomViews) {
  check_integers<int32_t, int32_t>(1);
  check_integers<int32_t, int64_t>(2);
  check_integers<int64_t, int64_t>(3);
  check_integers<uint8_t, int64_t>(4);
  check_integers<uint8_t, uint8_t>(5);
}

template <class T>
void check_arg(unsigned seed) {
  std::mt19937 rng(seed);
  for (int round = 0; round < 300; ++round) {
    const View v = random_view(rng, 4, round % 4 == 0 ? 20 : 6, false);
    auto in = random_values<T>(rng, v.in_size);
    for (T& x : in) {
      if (round % 2 == 0) x = static_cast<T>(static_cast<int>(x));  // ties
      if constexpr (std::is_floating_point_v<T>)
        if (round % 5 == 0 && rng() % 16 == 0) x = static_cast<T>(kNan);
    }
    Scratch scratch(arg_reduce_scratch(v.layout));
    for (bool largest : {true, false}) {
      std::vector<int64_t> out(static_cast<size_t>(v.out_size), -5), want(out);
      arg_reduce(largest, v.layout, in.data() + v.in_base, out.data() + v.out_base, scratch.data(), Team());
      each_output(v, in.data(), [&](const std::vector<T>& xs, int64_t to) {
        size_t best = 0;
        for (size_t i = 1; i < xs.size(); ++i)
          if (xs[best] == xs[best] && (xs[i] != xs[i] || (largest ? xs[i] > xs[best] : xs[i] < xs[best]))) best = i;
        want[static_cast<size_t>(to)] = static_cast<int64_t>(best);
      });
      ASSERT_EQ(out, want) << "round " << round;
    }
  }
}
TEST_P(ReduceTest, ArgOfRandomViews) {
  check_arg<float>(1);
  check_arg<double>(2);
  check_arg<int32_t>(3);
  check_arg<int64_t>(4);
  check_arg<uint8_t>(5);
}

template <class T>
void check_centred(unsigned seed) {
  std::mt19937 rng(seed);
  for (int round = 0; round < 200; ++round) {
    const View v = random_view(rng, 4, round % 3 == 0 ? 16 : 6, false);
    auto in = random_values<T>(rng, v.in_size);
    const T offset = round % 2 == 0 ? T(100) : T(0);
    for (T& x : in) x += offset;
    Scratch scratch(centred_reduce_scratch(v.layout));
    std::vector<T> var(static_cast<size_t>(v.out_size)), lse(var);
    variance(v.layout, in.data() + v.in_base, var.data() + v.out_base, 1, scratch.data(), Team());
    logsumexp(v.layout, in.data() + v.in_base, lse.data() + v.out_base, scratch.data(), Team());
    each_output(v, in.data(), [&](const std::vector<T>& xs, int64_t to) {
      double mean = 0, ssd = 0, sum = 0;
      for (T x : xs) mean += static_cast<double>(x) / static_cast<double>(xs.size());
      for (T x : xs) ssd += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
      for (T x : xs) sum += std::exp(static_cast<double>(x) - mean);
      const auto i = static_cast<size_t>(to);
      const double n = static_cast<double>(xs.size());
      EXPECT_TRUE(close(var[i], n == 1 ? kNan : ssd / (n - 1), 100 * (ssd / n + 1e-3)));
      EXPECT_TRUE(close(lse[i], std::log(sum) + mean, 1 + std::abs(mean)));
    });
  }
}
TEST_P(ReduceTest, VarianceAndLogsumexp) {
  check_centred<float>(1);
  check_centred<double>(2);
}

ReduceLayout matrix(int64_t rows, int64_t cols, bool reduce_rows) {
  ReduceLayout l;
  l.kept_rank = l.reduced_rank = 1;
  l.kept[0] = reduce_rows ? cols : rows;
  l.kept_in[0] = reduce_rows ? 1 : cols;
  l.kept_out[0] = 1;
  l.reduced[0] = reduce_rows ? rows : cols;
  l.reduced_in[0] = reduce_rows ? cols : 1;
  return l;
}

template <class T>
T reduce_row(Reduce kind, const std::vector<T>& in, bool as_column) {
  // As a column: every element nine times side by side, so that the vector path across columns is taken.
  const int64_t n = static_cast<int64_t>(in.size()), copies = as_column ? 9 : 1;
  std::vector<T> wide(in.size() * static_cast<size_t>(copies));
  for (size_t i = 0; i < wide.size(); ++i) wide[i] = in[i / static_cast<size_t>(copies)];
  const ReduceLayout l = as_column ? matrix(n, copies, true) : matrix(1, n, false);
  Scratch scratch(reduce_scratch(l));
  std::vector<T> out(static_cast<size_t>(copies));
  reduce(kind, l, wide.data(), out.data(), 1, scratch.data(), Team());
  return out.back();
}

TEST_P(ReduceTest, MaxAndMinKeepNanWhereverItStands) {
  for (bool as_column : {false, true})
    for (int n : {1, 3, 8, 17, 70, 3000, 40000})
      for (int where : {0, n / 2, n - 1}) {
        std::vector<float> x(static_cast<size_t>(n), 1.5f);
        EXPECT_EQ(reduce_row(Reduce::kMax, x, as_column), 1.5f);
        x[static_cast<size_t>(where)] = static_cast<float>(kNan);
        EXPECT_TRUE(std::isnan(reduce_row(Reduce::kMax, x, as_column))) << n << " " << where;
        EXPECT_TRUE(std::isnan(reduce_row(Reduce::kMin, x, as_column))) << n << " " << where;
        x[static_cast<size_t>(where)] = static_cast<float>(-kInf);
        EXPECT_EQ(reduce_row(Reduce::kMin, x, as_column), static_cast<float>(-kInf));
        EXPECT_EQ(reduce_row(Reduce::kSum, x, as_column), static_cast<float>(-kInf));
      }
}

TEST_P(ReduceTest, LogsumexpOfInfinities) {
  for (int64_t cols : {3, 20}) {
    std::vector<double> x(static_cast<size_t>(4 * cols), -kInf), out(4);
    x[static_cast<size_t>(cols) + 1] = kInf;
    x[static_cast<size_t>(2 * cols) + 1] = kNan;
    x[static_cast<size_t>(3 * cols) + 1] = 3;
    const ReduceLayout l = matrix(4, cols, false);
    Scratch scratch(centred_reduce_scratch(l));
    logsumexp(l, x.data(), out.data(), scratch.data(), Team());
    EXPECT_EQ(out[0], -kInf);
    EXPECT_EQ(out[1], kInf);
    EXPECT_TRUE(std::isnan(out[2]));
    EXPECT_DOUBLE_EQ(out[3], 3);
  }
}

TEST_P(ReduceTest, LongSumsAreAccurate) {
  const std::vector<float> tenths(10'000'000, 0.1f);
  const double want = 1e7 * static_cast<double>(0.1f);
  EXPECT_NEAR(static_cast<double>(reduce_row(Reduce::kSum, tenths, false)), want, 3 * 0.0625);  // 3 ulp
  std::mt19937 rng(3);
  std::vector<float> x(1'000'000);
  double exact = 0;
  for (float& v : x) {
    v = std::uniform_real_distribution<float>()(rng);
    exact += static_cast<double>(v);
  }
  EXPECT_NEAR(static_cast<double>(reduce_row(Reduce::kSum, x, false)), exact, 4 * 0.03125);
  x.resize(200'000);
  exact = 0;
  for (float v : x) exact += static_cast<double>(v);
  EXPECT_NEAR(static_cast<double>(reduce_row(Reduce::kSum, x, true)), exact, 4 * 0.0078125);
}

TEST_P(ReduceTest, SameBitsForEveryTeam) {
  std::mt19937 rng(5);
  struct Case {
    int64_t rows, cols;
    bool reduce_rows;
  };
  for (const Case& c : {Case{1, 300'001, false},
                        {3, 100'000, false},
                        {1000, 77, false},
                        {100'000, 7, true},
                        {333, 1000, true},
                        {70'000, 1, true},
                        {64, 40, true},
                        {500, 3, true}}) {
    const ReduceLayout l = matrix(c.rows, c.cols, c.reduce_rows);
    const auto in = random_values<float>(rng, c.rows * c.cols);
    const auto run = [&](int workers) {
      set_threads(workers);
      std::vector<float> out(static_cast<size_t>(l.kept[0]) * 4);
      std::vector<int64_t> arg(static_cast<size_t>(l.kept[0]));
      Scratch scratch(std::max(centred_reduce_scratch(l), arg_reduce_scratch(l)));
      parallel(true, [&](const Team& team) {
        reduce(Reduce::kSum, l, in.data(), out.data(), 0.25, scratch.data(), team);
        team.barrier();
        variance(l, in.data(), out.data() + l.kept[0], 1, scratch.data(), team);
        team.barrier();
        logsumexp(l, in.data(), out.data() + 2 * l.kept[0], scratch.data(), team);
        team.barrier();
        reduce(Reduce::kMax, l, in.data(), out.data() + 3 * l.kept[0], 1, scratch.data(), team);
        team.barrier();
        arg_reduce(true, l, in.data(), arg.data(), scratch.data(), team);
      });
      for (int64_t i : arg) out.push_back(static_cast<float>(i));
      return out;
    };
    const auto alone = run(1);
    for (int workers : {2, 3}) {
      const auto together = run(workers);
      EXPECT_EQ(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)), 0)
          << c.rows << "x" << c.cols << " with " << workers;
    }
  }
}

}  // namespace
}  // namespace ingot::kernels
