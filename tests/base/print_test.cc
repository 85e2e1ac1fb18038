#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <sstream>

#include "ingot/base/tensor.h"

namespace ingot {
namespace {

Tensor counting(const Dims& shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 0.f);
  return Tensor::from(values, shape);
}

TEST(Print, Scalars) {
  EXPECT_EQ(to_string(Tensor::from(std::vector<float>{0.1f}, {})), "f32 [] 0.1");
  EXPECT_EQ(to_string(Tensor::from(std::vector<double>{1.0 / 3}, {})), "f64 [] 0.3333333333333333");
  EXPECT_EQ(to_string(Tensor::from(std::vector<int64_t>{INT64_MAX}, {})), "i64 [] 9223372036854775807");
  EXPECT_EQ(to_string(Tensor::from(std::vector<uint8_t>{200}, {})), "u8 [] 200");
  EXPECT_EQ(to_string(Tensor::from(std::vector<bool>{true}, {})), "bool [] true");
}

TEST(Print, EmptyAndUndefined) {
  EXPECT_EQ(to_string(Tensor()), "undefined tensor");
  EXPECT_EQ(to_string(Tensor::empty({0})), "f32 [0]");
  EXPECT_EQ(to_string(Tensor::empty({2, 0, 3}, kI32)), "i32 [2, 0, 3]");
}

TEST(Print, ColumnsAlignAndDigitsAreCommon) {
  EXPECT_EQ(to_string(Tensor::from(std::vector<float>{1, -2.5f, 100, 0}, {2, 2})),
            "f32 [2, 2]\n"
            "[[  1.0,  -2.5],\n"
            " [100.0,   0.0]]");
  EXPECT_EQ(to_string(Tensor::from(std::vector<double>{1, 2, 30})), "f64 [3]\n[ 1,  2, 30]");
  EXPECT_EQ(to_string(Tensor::from(std::vector<float>{0.123456f, 2})), "f32 [2]\n[0.1235, 2.0000]");
  EXPECT_EQ(to_string(Tensor::from(std::vector<int32_t>{-1, 20})), "i32 [2]\n[-1, 20]");
  EXPECT_EQ(to_string(Tensor::from(std::vector<bool>{true, false})), "bool [2]\n[ true, false]");
}

TEST(Print, LargeAndSmallNumbersAreScientific) {
  EXPECT_EQ(to_string(Tensor::from(std::vector<float>{1e-6f, 2.5f})), "f32 [2]\n[1.0e-06, 2.5e+00]");
  EXPECT_EQ(to_string(Tensor::from(std::vector<double>{1.23456e20, 1})), "f64 [2]\n[1.2346e+20, 1.0000e+00]");
}

TEST(Print, NotANumberAndInfinity) {
  EXPECT_EQ(to_string(Tensor::from(std::vector<float>{NAN, INFINITY, -INFINITY, 1.5f})),
            "f32 [4]\n[ nan,  inf, -inf,  1.5]");
  EXPECT_EQ(to_string(Tensor::from(std::vector<double>{NAN})), "f64 [1]\n[nan]");
}

TEST(Print, StorageTypes) {
  EXPECT_EQ(to_string(Tensor::from(std::vector<Half>{to_half(0.5f), to_half(2)})), "f16 [2]\n[0.5, 2.0]");
  EXPECT_EQ(to_string(Tensor::from(std::vector<BFloat16>{to_bfloat16(-1)}, {})), "bf16 [] -1");
}

TEST(Print, MatricesAreSetApart) {
  EXPECT_EQ(to_string(counting({2, 2, 2})),
            "f32 [2, 2, 2]\n"
            "[[[0, 1],\n"
            "  [2, 3]],\n"
            "\n"
            " [[4, 5],\n"
            "  [6, 7]]]");
}

TEST(Print, ViewsShowWhatTheySee) {
  const Tensor t = counting({2, 3});
  EXPECT_EQ(to_string(t.view(t.raw(), {3, 2}, {1, 3})), "f32 [3, 2]\n[[0, 3],\n [1, 4],\n [2, 5]]");
}

TEST(Print, LargeTensorsByTheirCorners) {
  EXPECT_EQ(to_string(counting({1001})), "f32 [1001]\n[   0,    1,    2, …,  998,  999, 1000]");
  EXPECT_EQ(to_string(counting({50, 50})),
            "f32 [50, 50]\n"
            "[[   0,    1,    2, …,   47,   48,   49],\n"
            " [  50,   51,   52, …,   97,   98,   99],\n"
            " [ 100,  101,  102, …,  147,  148,  149],\n"
            " …,\n"
            " [2350, 2351, 2352, …, 2397, 2398, 2399],\n"
            " [2400, 2401, 2402, …, 2447, 2448, 2449],\n"
            " [2450, 2451, 2452, …, 2497, 2498, 2499]]");
  EXPECT_EQ(to_string(counting({300, 4})).find("…"),
            to_string(counting({300, 4})).rfind("…"));  // short axes stay whole
}

TEST(Print, LongRowsWrap) {
  const std::string text = to_string(counting({1000}));
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); count++) {
    EXPECT_LE(line.size(), 101u) << line;
    EXPECT_TRUE(count <= 1 || line[0] == ' ') << line;
  }
  EXPECT_GT(count, 40);
}

TEST(Print, Streams) {
  std::ostringstream out;
  out << Tensor::from(std::vector<int32_t>{7});
  EXPECT_EQ(out.str(), "i32 [1]\n[7]");
}

}  // namespace
}  // namespace ingot
