// Functions composed of ops, against plain loops and NumPy's definitions; their `_into` forms against them.
#include "ingot/ops/functions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "ingot/base/memory.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/ops/harness.h"

namespace ingot::harness {
namespace {

// `into` writes what `plain` returns, to any layout, leaves the rest alone and allocates nothing after the first call.
void check_into(const std::function<Tensor()>& plain, const std::function<void(const Tensor&)>& into) {
  const Tensor expected = plain();
  for (const Layout layout : kDestinationLayouts) {
    const Placed dst(expected.dtype(), expected.shape(), layout);
    into(dst.tensor());
    EXPECT_TRUE(same_bits(dst.tensor(), expected)) << name(layout);
    EXPECT_TRUE(dst.surroundings_untouched()) << name(layout);
    const uint64_t before = memory_stats().allocations, calls = malloc_calls();
    into(dst.tensor());
    EXPECT_EQ(memory_stats().allocations, before) << name(layout);
    EXPECT_EQ(malloc_calls(), calls) << name(layout);
  }
  const Tensor wrong = Tensor::empty({expected.rank() == 0 ? 1 : 997}, expected.dtype());
  EXPECT_NE(error_of([&] { into(wrong); }), "no error");
}

TEST(Functions, L2NormalizeHasLengthOne) {
  for (const DType type : {kF32, kF64}) {
    const Tensor x = normal({5, 7}, 1, 0, 1, 0, type);
    const Tensor y = l2_normalize(x), down = l2_normalize(x, 0);
    const std::vector<double> v = values_of(x), u = values_of(y), d = values_of(down);
    for (size_t r = 0; r < 5; r++) {
      double squares = 0;
      for (size_t c = 0; c < 7; c++) squares += v[7 * r + c] * v[7 * r + c];
      for (size_t c = 0; c < 7; c++) EXPECT_NEAR(u[7 * r + c], v[7 * r + c] / std::sqrt(squares), 1e-6);
    }
    for (size_t c = 0; c < 7; c++) {
      double squares = 0;
      for (size_t r = 0; r < 5; r++) squares += d[7 * r + c] * d[7 * r + c];
      EXPECT_NEAR(squares, 1, 1e-6);
    }
    check_into([&] { return l2_normalize(x, 0); }, [&](const Tensor& dst) { l2_normalize_into(dst, x, 0); });
  }
  EXPECT_TRUE(same_bits(l2_normalize(zeros({3})), zeros({3}))) << "a length below eps divides by eps";
  const Tensor x = normal({4, 3}, 2);
  const Tensor expected = l2_normalize(x);
  l2_normalize_into(x, x);
  EXPECT_TRUE(same_bits(x, expected)) << "in place";
}

TEST(Functions, ArgsortSorts) {
  const Tensor x = normal({6, 20}, 3);
  for (const bool descending : {false, true}) {
    const Tensor order = argsort(x, 1, descending);
    ASSERT_EQ(order.dtype(), kI64);
    const std::vector<double> v = values_of(x), o = values_of(order);
    for (size_t r = 0; r < 6; r++) {
      std::vector<double> seen(o.begin() + static_cast<int64_t>(20 * r), o.begin() + static_cast<int64_t>(20 * r + 20));
      for (size_t k = 1; k < 20; k++) {
        const double a = v[20 * r + static_cast<size_t>(seen[k - 1])], b = v[20 * r + static_cast<size_t>(seen[k])];
        EXPECT_TRUE(descending ? a >= b : a <= b);
      }
      std::sort(seen.begin(), seen.end());
      for (size_t k = 0; k < 20; k++) EXPECT_EQ(seen[k], static_cast<double>(k)) << "every index once";
    }
    check_into([&] { return argsort(x, 0, descending); },
               [&](const Tensor& dst) { argsort_into(dst, x, 0, descending); });
  }
}

TEST(Functions, SwishIsXTimesSigmoid) {
  const Tensor x = normal({3, 11}, 4, 0, 1, 0, kF64);
  EXPECT_TRUE(close(swish(x), multiply(x, sigmoid(x)), {8, 8}));
  check_into([&] { return swish(x); }, [&](const Tensor& dst) { swish_into(dst, x); });
}

TEST(Functions, GlobalPoolsLookAtWholeChannels) {
  for (const Dims& shape : {Dims{2, 3, 5}, Dims{2, 3, 4, 5}, Dims{1, 2, 3, 2, 2}}) {
    const Tensor x = normal(shape, 5, 0, 1, 0, kF64);
    const std::vector<double> v = values_of(x), means = values_of(global_avg_pool(x)),
                              most = values_of(global_max_pool(x));
    const size_t plane = v.size() / means.size();
    for (size_t p = 0; p < means.size(); p++) {
      const auto first = v.begin() + static_cast<int64_t>(p * plane), last = first + static_cast<int64_t>(plane);
      EXPECT_NEAR(means[p], std::accumulate(first, last, 0.0) / static_cast<double>(plane), 1e-12);
      EXPECT_EQ(most[p], *std::max_element(first, last));
    }
    check_into([&] { return global_avg_pool(x); }, [&](const Tensor& dst) { global_avg_pool_into(dst, x); });
    check_into([&] { return global_max_pool(x); }, [&](const Tensor& dst) { global_max_pool_into(dst, x); });
  }
  EXPECT_REFUSED(global_avg_pool(zeros({2, 3})), "global_avg_pool");
}

TEST(Functions, SplitIsTheInverseOfConcat) {
  const Tensor x = normal({4, 9, 2}, 6);
  const std::vector<Tensor> pieces = split(x, {2, 0, 7}, 1);
  ASSERT_EQ(pieces.size(), 3u);
  for (const Tensor& piece : pieces) EXPECT_TRUE(piece.shares_storage(x));
  EXPECT_TRUE(same_bits(concat(pieces, 1), x));
  const std::vector<Tensor> parts{Tensor::empty({4, 2, 2}), Tensor::empty({4, 0, 2}), Tensor::empty({4, 7, 2})};
  split_into(parts, x, 1);
  for (size_t i = 0; i < parts.size(); i++) EXPECT_TRUE(same_bits(parts[i], pieces[i])) << i;
  const uint64_t before = memory_stats().allocations;
  split_into(parts, x, 1);
  EXPECT_EQ(memory_stats().allocations, before);
  EXPECT_REFUSED(split(x, {2, 6}, 1), "do not add up");
  EXPECT_REFUSED(split_into(parts, x, 0), "split_into");
}

}  // namespace
}  // namespace ingot::harness
