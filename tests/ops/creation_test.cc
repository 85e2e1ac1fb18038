// What the table's tests cannot see of creation: the numbers themselves, their statistics, refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ingot/base/error.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

TEST(Creation, Ranges) {
  EXPECT_EQ(arange(0, 3).to_vector<float>(), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(arange(3, 0, -1, kI32).to_vector<int32_t>(), (std::vector<int32_t>{3, 2, 1}));
  EXPECT_EQ(arange(0, 1, 0.25, kF64).to_vector<double>(), (std::vector<double>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(arange(3, 0).numel(), 0);
  EXPECT_EQ(linspace(0, 1, 5).to_vector<float>(), (std::vector<float>{0, 0.25f, 0.5f, 0.75f, 1}));
  EXPECT_EQ(linspace(2, 5, 1).to_vector<float>(), (std::vector<float>{2}));
  EXPECT_EQ(linspace(0, 0.3, 4, kF64).to_vector<double>().back(), 0.3);
  EXPECT_EQ(eye(2, 3).to_vector<float>(), (std::vector<float>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(eye(2, -1, kI64).to_vector<int64_t>(), (std::vector<int64_t>{1, 0, 0, 1}));
}

TEST(Creation, BadArgumentsAreNamed) {
  EXPECT_NE(error_of([] { arange(0, 1, 0); }).find("arange: step is 0"), std::string::npos);
  EXPECT_NE(error_of([] { arange(0, NAN); }).find("finite"), std::string::npos);
  EXPECT_NE(error_of([] { arange(0, 1e300); }).find("no memory"), std::string::npos);
  EXPECT_NE(error_of([] { linspace(0, 1, -1); }).find("negative"), std::string::npos);
  EXPECT_NE(error_of([] { full({2, -1}, 0); }).find("full: shape [2, -1]"), std::string::npos);
  EXPECT_NE(error_of([] { eye(-2); }).find("negative"), std::string::npos);
  EXPECT_NE(error_of([] { eye(2, -2); }).find("negative"), std::string::npos);
  EXPECT_NE(error_of([] { full({}, 1, static_cast<DType>(42)); }).find("dtype 42"), std::string::npos);
  EXPECT_NE(error_of([] { uniform({3}, 1, 2, 1); }).find("uniform: the range"), std::string::npos);
  EXPECT_NE(error_of([] { uniform({3}, 1, 0, 1e39); }).find("not finite"), std::string::npos);
  EXPECT_NE(error_of([] { uniform({3}, 1, 0, 1, 0, kI32); }).find("i32"), std::string::npos);
  EXPECT_NE(error_of([] { normal({3}, 1, 0, -1); }).find("stddev"), std::string::npos);
  EXPECT_NE(error_of([] { normal({3}, 1, NAN); }).find("finite"), std::string::npos);
  EXPECT_NE(error_of([] { bernoulli({3}, 1, 1.5); }).find("probability"), std::string::npos);
  EXPECT_NE(error_of([] { permutation(-1, 1); }).find("negative"), std::string::npos);
}

TEST(Random, DependsOnSeedStreamAndIndexOnly) {
  const Tensor large = uniform({300, 200}, 7, -1, 1, 3), small = uniform({1000}, 7, -1, 1, 3);
  const std::vector<float> all = large.to_vector<float>(), first = small.to_vector<float>();
  EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin()));
  const Tensor columns = transpose(Tensor::empty({200, 300}));
  uniform_into(columns, {300, 200}, 7, -1, 1, 3);
  EXPECT_EQ(columns.to_vector<float>(), all);
  EXPECT_NE(uniform({1000}, 8, -1, 1, 3).to_vector<float>(), first);
  EXPECT_NE(uniform({1000}, 7, -1, 1, 4).to_vector<float>(), first);
}

TEST(Random, MomentsAreRight) {
  const int64_t n = 200000;
  const auto moments = [&](const Tensor& t) {
    double total = 0, squares = 0;
    for (double v : to(t, kF64).to_vector<double>()) total += v, squares += v * v;
    const double average = total / static_cast<double>(n);
    return std::pair{average, std::sqrt(squares / static_cast<double>(n) - average * average)};
  };
  for (const DType type : {kF32, kF64}) {
    const auto [u, du] = moments(uniform({n}, 1, 2, 4, 0, type));
    EXPECT_NEAR(u, 3, 0.01);
    EXPECT_NEAR(du, 2 / std::sqrt(12.0), 0.01);
    const auto [m, dm] = moments(normal({n}, 1, -1, 3, 0, type));
    EXPECT_NEAR(m, -1, 0.03);
    EXPECT_NEAR(dm, 3, 0.03);
  }
  EXPECT_NEAR(moments(bernoulli({n}, 1, 0.3)).first, 0.3, 0.01);
  EXPECT_EQ(moments(bernoulli({n}, 1, 1)).first, 1);
}

TEST(Random, PermutationsNameEveryNumberOnce) {
  std::vector<int64_t> order = permutation(1000, 5).to_vector<int64_t>();
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 1000; i++) ASSERT_EQ(order[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace ingot
