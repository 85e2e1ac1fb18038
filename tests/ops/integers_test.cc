// Numbers for integer tensors: what their type does not hold is an Error, in eager code and in plans.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

const Tensor kLong = Tensor::from<int64_t>({1, 2, 3}), kInt = Tensor::from<int32_t>({1, 2, 3}),
             kByte = Tensor::from<uint8_t>({1, 2, 3});

TEST(Integers, RefuseFractions) {
  EXPECT_REFUSED(kLong + 0.5, "value is 0.5, which i64 does not hold");
  EXPECT_REFUSED(kLong * 1.5, "convert first, to(x, kF32)");
  EXPECT_REFUSED(1.5 - kInt, "i32 does not hold");
  EXPECT_REFUSED(clamp(kLong, 0.5, 2), "low is 0.5");
  EXPECT_REFUSED(clamp(kLong, 0, 2.5), "high is 2.5");
  EXPECT_REFUSED(full({2}, 0.5, kI64), "choose another dtype");
  EXPECT_REFUSED(full({2}, 0.5, kU8), "u8 does not hold");
  EXPECT_REFUSED(fill(zeros({2}, kI32), 0.1), "value is 0.1");
  EXPECT_REFUSED(pad(kByte, {1}, {1}, 0.25), "value is 0.25");
  EXPECT_REFUSED(arange(0.5, 3, 1, kI64), "the first number is 0.5");
  EXPECT_REFUSED(arange(0, 3, 0.5, kI64), "is 2.5");
  EXPECT_REFUSED(arange(0, 1.5, 0.5, kI64), "the step is 0.5");
  EXPECT_REFUSED(linspace(0, 1, 4, kI64), "the step is 0.333");
  EXPECT_REFUSED(full({2}, std::nan(""), kI64), "does not hold");
}

TEST(Integers, RefuseNumbersBeyondTheirRange) {
  EXPECT_REFUSED(full({2}, 256, kU8), "value is 256, which u8 does not hold");
  EXPECT_REFUSED(full({2}, -1, kU8), "value is -1");
  EXPECT_REFUSED(kInt + 0x1p31, "i32 does not hold");
  EXPECT_REFUSED(kLong * 0x1p63, "i64 does not hold");
  EXPECT_REFUSED(full({2}, HUGE_VAL, kI64), "does not hold");
  EXPECT_REFUSED(clamp(kInt, 0, 1e10), "high is 1e+10");
  EXPECT_REFUSED(arange(0, 257, 1, kU8), "the last number is 256");
}

TEST(Integers, TakeWhatTheyHold) {
  EXPECT_EQ((kLong + 2.0).to_vector<int64_t>(), (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(full({1}, -0x1p63, kI64).item<double>(), -0x1p63);
  EXPECT_EQ(full({1}, 255, kU8).item<int>(), 255);
  EXPECT_EQ(clamp(kLong, 2, std::numeric_limits<double>::infinity()).to_vector<int64_t>(),
            (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(clamp(kInt, -HUGE_VAL, 2).to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 2}));
  EXPECT_EQ(arange(0, 256, 1, kU8).numel(), 256);
  EXPECT_EQ(arange(0, 2.5, 1, kI64).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(linspace(0, 6, 4, kI32).to_vector<int32_t>(), (std::vector<int32_t>{0, 2, 4, 6}));
  EXPECT_TRUE(full({1}, 0.5, kBool).item<bool>()) << "a bool is whether a number is not 0";
}

// Compared as real numbers, 2 < 2.5 is true: nothing is cut off.
TEST(Integers, CompareWithFractions) {
  EXPECT_EQ(less(kLong, 2.5).to_vector<bool>(), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(equal(kInt, 2.5).to_vector<bool>(), (std::vector<bool>{false, false, false}));
}

}  // namespace
}  // namespace ingot
