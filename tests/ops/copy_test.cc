// What the table's tests cannot see of copies and joins: 16-bit types, large transposed copies, conversions back and
// forth.
#include <gtest/gtest.h>

#include <cmath>

#include "ingot/base/error.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

Tensor counting(const Dims& shape, DType dtype = kF32) {
  return reshape(arange(0, static_cast<double>(element_count(shape)), 1, dtype), shape);
}

TEST(Copy, GivesMemoryOfItsOwnInRowMajorOrder) {
  const Tensor x = counting({3, 4}), y = copy(transpose(x));
  EXPECT_FALSE(y.shares_storage(x));
  EXPECT_TRUE(y.is_contiguous());
  EXPECT_EQ(y.to_vector<float>(), transpose(x).to_vector<float>());
  EXPECT_TRUE(contiguous(x).shares_storage(x));
  EXPECT_FALSE(clone(x).shares_storage(x));
}

TEST(Copy, IntoAnyView) {
  const Tensor x = counting({3, 4}), y = zeros({8, 6});
  copy_into(slice(slice(transpose(y), 0, 5, 0, -2), 1, 0, 8, 2), x);
  for (int64_t i = 0; i < 3; i++)
    for (int64_t j = 0; j < 4; j++) EXPECT_EQ(y.at<float>({2 * j, 5 - 2 * i}), x.at<float>({i, j}));
  EXPECT_EQ(sum(y).item(), sum(x).item());
}

TEST(Copy, LargeTransposes) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1024, 512}, {701, 333}, {3, 50000}}) {
    const Tensor x = counting({rows, columns}), y = copy(transpose(x));
    for (int64_t i = 0; i < rows; i += 7)
      for (int64_t j = 0; j < columns; j++)
        ASSERT_EQ(y.data<float>()[j * rows + i], static_cast<float>(i * columns + j));
  }
}

TEST(Fill, AnyTypeAndLayout) {
  const Tensor y = zeros({4, 5});
  fill(slice(y, 1, 1, 5, 2), 2.5);
  EXPECT_EQ(sum(y).item(), 20);
  const Tensor mask = Tensor::empty({3}, kBool);
  fill(mask, 7);
  EXPECT_EQ(static_cast<int>(*mask.data<bool>()), 1);
  const Tensor half = full({3}, 1.5, kF16);
  EXPECT_EQ(to(half, kF32).to_vector<float>(), (std::vector<float>{1.5f, 1.5f, 1.5f}));
  EXPECT_NE(error_of([] { fill(Tensor(), 1); }).find("undefined"), std::string::npos);
  EXPECT_NE(error_of([&] { fill(broadcast_to(y, {2, 4, 5}), 1); }).find("share memory"), std::string::npos);
}

TEST(To, NarrowTypesAndBack) {
  const std::vector<float> values = {0, 1, -2.5f, 65504, 70000, 1e-7f, INFINITY, 3.14159f};
  const Tensor x = Tensor::from(values);
  for (const DType type : {kF16, kBF16}) {
    const Tensor narrow = to(x, type), back = to(narrow, kF32), wide = to(narrow, kF64);
    ASSERT_EQ(narrow.dtype(), type);
    for (size_t i = 0; i < values.size(); i++) {
      const float expected = type == kF16 ? to_float(to_half(values[i])) : to_float(to_bfloat16(values[i]));
      EXPECT_EQ(back.to_vector<float>()[i], expected);
      EXPECT_EQ(wide.to_vector<double>()[i], expected);
    }
    // Movement takes 16-bit types everywhere.
    const Tensor moved = index_select(concat({narrow, narrow}), arange(8, 16, 1, kI64));
    EXPECT_EQ(to(moved, kF64).to_vector<double>(), wide.to_vector<double>());
    EXPECT_EQ(to(copy(slice(pad(narrow, {1}, {0}, 2), 0, 1, 9)), kF64).to_vector<double>(), wide.to_vector<double>());
  }
}

TEST(To, IntegersSaturateAndBoolsAreNotZero) {
  const Tensor x = Tensor::from(std::vector<double>{-1.9, 300, NAN, INFINITY, -INFINITY, 0.2});
  EXPECT_EQ(to(x, kU8).to_vector<uint8_t>(), (std::vector<uint8_t>{0, 255, 0, 255, 0, 0}));
  EXPECT_EQ(to(x, kI32).to_vector<int32_t>(), (std::vector<int32_t>{-1, 300, 0, INT32_MAX, INT32_MIN, 0}));
  EXPECT_EQ(to(x, kI64).to_vector<int64_t>(), (std::vector<int64_t>{-1, 300, 0, INT64_MAX, INT64_MIN, 0}));
  EXPECT_EQ(to(to(x, kBool), kI32).to_vector<int32_t>(), (std::vector<int32_t>{1, 1, 1, 1, 1, 1}));
  const Tensor big = Tensor::from(std::vector<int64_t>{(int64_t{1} << 53) + 1, -1, 1 << 20});
  EXPECT_EQ(to(big, kI64).to_vector<int64_t>()[0], (int64_t{1} << 53) + 1);
  EXPECT_EQ(to(big, kI32).to_vector<int32_t>(), (std::vector<int32_t>{INT32_MAX, -1, 1 << 20}));
  EXPECT_EQ(to(big, kU8).to_vector<uint8_t>(), (std::vector<uint8_t>{255, 0, 255}));
}

TEST(To, GradientConvertsBack) {
  const Tensor x = counting({3}, kF64), dy = full({3}, 2, kF32);
  const Op& op = *find_op("to");
  const Tensor* in[] = {&x};
  const Tensor y = to(x, kF32);
  const Attrs attrs = Attrs().set("dtype", kF32);
  const std::vector<Tensor> dx = gradient(op, in, attrs, {&y, 1}, {&dy, 1}, {});
  EXPECT_EQ(dx[0].to_vector<double>(), (std::vector<double>{2, 2, 2}));
  Attrs wrong;
  wrong.set("dtype", 99);
  EXPECT_NE(error_of([&] { call(op, in, wrong); }).find("no dtype 99"), std::string::npos);
}

TEST(Join, BadArgumentsAreNamed) {
  const Tensor x = counting({2, 3});
  EXPECT_NE(error_of([&] { concat(std::vector<Tensor>{}); }).find("concat: no tensors"), std::string::npos);
  EXPECT_NE(error_of([&] {
              concat({x, counting({2, 4})});
            }).find("concat: input 1 has shape [2, 4]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { concat({x, arange(0, 3)}); }).find("number of axes"), std::string::npos);
  EXPECT_NE(error_of([&] { concat({x, to(x, kF64)}); }).find("f32 and f64"), std::string::npos);
  EXPECT_NE(error_of([&] { stack({x, counting({3, 2})}); }).find("stack: input 1"), std::string::npos);
  EXPECT_NE(error_of([&] { stack({Tensor::empty({1, 1, 1, 1, 1, 1, 1, 1})}); }).find("at most 8"), std::string::npos);
  EXPECT_NE(error_of([&] { pad(x, {1}, {1}); }).find("pad: before is [1]"), std::string::npos);
  EXPECT_NE(error_of([&] { pad(x, {0, -1}, {0, 0}); }).find("0 or more"), std::string::npos);
  EXPECT_NE(error_of([&] { concat(std::vector<Tensor>(65, x)); }).find("65 tensors"), std::string::npos);
}

}  // namespace
}  // namespace ingot
