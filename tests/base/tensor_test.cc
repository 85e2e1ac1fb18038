#include "ingot/base/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

TEST(Tensor, UndefinedByDefault) {
  Tensor t;
  EXPECT_FALSE(t.defined());
  EXPECT_EQ(t.numel(), 0);
  EXPECT_NE(error_of([&] { t.item(); }).find("undefined"), std::string::npos);
  EXPECT_NE(error_of([&] { t.data<float>(); }).find("undefined"), std::string::npos);
}

TEST(Tensor, EmptyIsAlignedContiguousAndCounted) {
  const uint64_t before = memory_stats().allocations;
  const Tensor t = Tensor::empty({3, 4, 5}, kF64);
  EXPECT_EQ(memory_stats().allocations, before + 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.raw()) % 64, 0u);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_EQ(t.numel(), 60);
  EXPECT_EQ(t.rank(), 3);
  EXPECT_EQ(t.size(-1), 5);
  EXPECT_EQ(t.strides(), (Dims{20, 5, 1}));
  EXPECT_EQ(Tensor::empty({2, 0}).numel(), 0);
  EXPECT_EQ(Tensor::empty({}).numel(), 1);
}

TEST(Tensor, CopiesShareAndTheLastOneFrees) {
  const uint64_t before = memory_stats().bytes_in_use;
  {
    Tensor a = Tensor::empty({1000});
    EXPECT_EQ(a.storage()->references, 1);
    Tensor b = a, c;
    c = b;
    EXPECT_EQ(a.storage()->references, 3);
    EXPECT_TRUE(a.shares_storage(c));
    Tensor d = std::move(b);
    EXPECT_FALSE(b.defined());  // NOLINT(bugprone-use-after-move): what is left behind is looked at
    EXPECT_EQ(b.numel(), 0);
    EXPECT_EQ(a.storage()->references, 3);
    a = Tensor();
    c = d.view(d.raw(), {10, 10}, {100, 1});
    EXPECT_EQ(d.storage()->references, 2);
    Tensor& self = d;  // by another name: compilers warn of what is meant here
    d = self;
    d = std::move(self);
    EXPECT_TRUE(d.defined());
    EXPECT_GT(memory_stats().bytes_in_use, before);
  }
  EXPECT_EQ(memory_stats().bytes_in_use, before);
}

TEST(Tensor, WrapCallsBackOnceAtTheEnd) {
  int calls = 0;
  float memory[6] = {0, 1, 2, 3, 4, 5};
  {
    const Tensor t = Tensor::wrap(memory, {2, 2}, kF32, {3, 1}, [&] { calls++; });
    EXPECT_EQ(t.raw(), memory);
    EXPECT_EQ(t.to_vector<float>(), (std::vector<float>{0, 1, 3, 4}));
    const Tensor view = t.view(memory + 1, {2}, {3});
    t.at<float>({1, 1}) = 9;
    EXPECT_EQ(memory[4], 9);
    EXPECT_EQ(view.at<float>({1}), 9);
    EXPECT_EQ(calls, 0);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(Tensor::wrap(memory, {6}).dtype(), kF32);
}

TEST(Tensor, WrapRefusesWhatCannotBe) {
  alignas(8) char memory[64];
  EXPECT_NE(error_of([&] { Tensor::wrap(nullptr, {2}, kF32); }).find("null"), std::string::npos);
  EXPECT_NE(error_of([&] { Tensor::wrap(memory + 1, {2}, kF32); }).find("aligned"), std::string::npos);
  EXPECT_NE(error_of([&] { Tensor::wrap(memory, {2, 2}, kF32, {1}); }).find("strides"), std::string::npos);
  EXPECT_NE(error_of([&] { Tensor::wrap(memory, {-1}, kF32); }).find("negative"), std::string::npos);
  EXPECT_EQ(Tensor::wrap(nullptr, {0}, kF32).numel(), 0);
}

TEST(Tensor, FromAtItemAndTheirErrors) {
  const Tensor t = Tensor::from(std::vector<int32_t>{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(t.at<int32_t>({1, 0}), 4);
  EXPECT_EQ(t.to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Tensor::from(std::vector<double>{2.5}).item<double>(), 2.5);
  EXPECT_EQ(Tensor::from(std::vector<uint8_t>{7}, {1, 1}).item<int>(), 7);
  EXPECT_NE(error_of([&] { t.at<float>({0, 0}); }).find("i32"), std::string::npos);
  EXPECT_NE(error_of([&] { t.at<int32_t>({0}); }).find("[2, 3]"), std::string::npos);
  EXPECT_NE(error_of([&] { t.at<int32_t>({2, 0}); }).find("outside"), std::string::npos);
  EXPECT_NE(error_of([&] { t.at<int32_t>({0, -1}); }).find("outside"), std::string::npos);
  EXPECT_NE(error_of([&] { t.item(); }).find("6 elements"), std::string::npos);
  EXPECT_NE(error_of([&] { t.to_vector<int64_t>(); }).find("i64"), std::string::npos);
  EXPECT_NE(error_of([&] { Tensor::from(std::vector<float>{1, 2}, {3}); }).find("2 values"), std::string::npos);
  EXPECT_NE(error_of([&] { t.size(2); }).find("axis 2"), std::string::npos);
}

TEST(Tensor, ContiguousOnlyWithoutGaps) {
  const Tensor t = Tensor::empty({4, 6});
  const auto is_contiguous = [&](const Dims& shape, const Dims& strides) {
    return t.view(t.raw(), shape, strides).is_contiguous();
  };
  EXPECT_TRUE(is_contiguous({4, 6}, {6, 1}));
  EXPECT_TRUE(is_contiguous({4, 1, 6}, {6, 99, 1}));  // the stride of an axis of one does not matter
  EXPECT_TRUE(is_contiguous({0, 6}, {9, 9}));
  EXPECT_TRUE(is_contiguous({1, 1}, {3, 3}));
  EXPECT_FALSE(is_contiguous({4, 3}, {6, 1}));
  EXPECT_FALSE(is_contiguous({6, 4}, {1, 6}));
  EXPECT_FALSE(is_contiguous({4}, {-1}));
  EXPECT_FALSE(is_contiguous({4}, {0}));
}

// A random view of 400 bytes: any strides, any type, inside the memory.
Tensor random_view(std::mt19937& random, const Tensor& memory) {
  static constexpr DType kTypes[] = {kU8, kF16, kF32, kF64};
  for (;;) {
    const DType type = kTypes[random() % 4];
    const int64_t room = 400 / static_cast<int64_t>(size_of(type));
    Dims shape, strides;
    int64_t low = static_cast<int64_t>(random() % static_cast<uint64_t>(room)), high = low;
    const int64_t start = low;
    for (int rank = static_cast<int>(random() % 4); rank > 0; rank--) {
      shape.push_back(static_cast<int64_t>(random() % 4 + (random() % 20 != 0)));
      strides.push_back(static_cast<int64_t>(random() % 25) - 10);
      (strides.back() < 0 ? low : high) += (std::max<int64_t>(shape.back(), 1) - 1) * strides.back();
    }
    if (low < 0 || high >= room) continue;
    std::byte* data = static_cast<std::byte*>(memory.raw()) + start * static_cast<int64_t>(size_of(type));
    return Tensor::wrap(data, shape, type, strides);
  }
}

std::vector<const char*> addresses(const Tensor& t) {
  std::vector<const char*> result;
  Dims index = Dims::filled(t.rank(), 0);
  for (int64_t k = 0; k < t.numel(); k++) {
    int64_t offset = 0;
    for (int a = 0; a < t.rank(); a++) offset += index[a] * t.strides()[a];
    result.push_back(static_cast<const char*>(t.raw()) + offset * static_cast<int64_t>(size_of(t.dtype())));
    for (int a = t.rank() - 1; a >= 0 && ++index[a] == t.shape()[a]; a--) index[a] = 0;
  }
  return result;
}

std::set<const char*> bytes_of(const Tensor& t) {
  std::set<const char*> result;
  for (const char* p : addresses(t))
    for (size_t i = 0; i < size_of(t.dtype()); i++) result.insert(p + i);
  return result;
}

TEST(Overlap, AgreesWithListingEveryByte) {
  std::mt19937 random(1);
  const Tensor memory = Tensor::empty({400}, kU8);
  int overlapping = 0;
  for (int round = 0; round < 6000; round++) {
    const Tensor a = random_view(random, memory), b = random_view(random, memory);
    const std::set<const char*> in_a = bytes_of(a), in_b = bytes_of(b);
    bool expected = false;
    for (const char* p : in_a) expected = expected || in_b.count(p) > 0;
    overlapping += expected;
    ASSERT_EQ(overlaps(a, b), expected) << to_string(a.shape()) << to_string(a.strides()) << " and "
                                        << to_string(b.shape()) << to_string(b.strides());
    ASSERT_EQ(overlaps(b, a), expected);
  }
  EXPECT_GT(overlapping, 500);
}

TEST(Overlap, InterleavedViewsDoNot) {
  const Tensor t = Tensor::empty({10, 10});
  const Tensor even = t.view(t.raw(), {10, 5}, {10, 2}), odd = t.view(t.data<float>() + 1, {10, 5}, {10, 2});
  EXPECT_FALSE(overlaps(even, odd));
  EXPECT_TRUE(overlaps(even, t));
  const Tensor left = t.view(t.raw(), {10, 4}, {10, 1}), right = t.view(t.data<float>() + 4, {10, 6}, {10, 1});
  EXPECT_FALSE(overlaps(left, right));
}

// May call a view that happens to be free of overlap overlapping, never the other way round.
TEST(Overlap, WithItselfIsNeverMissed) {
  std::mt19937 random(2);
  const Tensor memory = Tensor::empty({400}, kU8);
  int self = 0;
  for (int round = 0; round < 6000; round++) {
    const Tensor t = random_view(random, memory);
    const std::vector<const char*> all = addresses(t);
    const bool expected = std::set<const char*>(all.begin(), all.end()).size() < all.size();
    self += expected;
    ASSERT_TRUE(overlaps_itself(t) || !expected) << to_string(t.shape()) << to_string(t.strides());
  }
  EXPECT_GT(self, 500);
  const Tensor t = Tensor::empty({4, 6});
  EXPECT_FALSE(overlaps_itself(t.view(t.raw(), {6, 4}, {1, 6})));
  EXPECT_FALSE(overlaps_itself(t.view(t.raw(), {2, 3}, {12, 2})));
  EXPECT_FALSE(overlaps_itself(t.view(t.raw(), {1, 5}, {0, 1})));
  EXPECT_TRUE(overlaps_itself(t.view(t.raw(), {2, 5}, {0, 1})));
}

TEST(SixteenBits, EveryHalfGoesThereAndBack) {
  for (uint32_t bits = 0; bits < 65536; bits++) {
    const Half h{static_cast<uint16_t>(bits)};
    const float f = to_float(h);
    const int exponent = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
    if (exponent == 31 && mantissa != 0) {
      ASSERT_TRUE(std::isnan(f));
      ASSERT_TRUE(std::isnan(to_float(to_half(f))));
      continue;
    }
    const double magnitude = exponent == 31  ? INFINITY
                             : exponent == 0 ? std::ldexp(mantissa, -24)
                                             : std::ldexp(1024 + mantissa, exponent - 25);
    ASSERT_EQ(f, bits & 0x8000 ? -magnitude : magnitude);
    ASSERT_EQ(std::signbit(f), (bits & 0x8000) != 0);
    ASSERT_EQ(to_half(f).bits, bits);
  }
}

TEST(SixteenBits, HalvesRoundToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7c00; bits++) {  // between each neighbouring pair of halves
    const Half below{static_cast<uint16_t>(bits)}, above{static_cast<uint16_t>(bits + 1)};
    const float low = to_float(below), high = bits + 1 == 0x7c00 ? 65536.f : to_float(above), middle = (low + high) / 2;
    const uint32_t even = bits & 1 ? bits + 1 : bits;
    ASSERT_EQ(to_half(middle).bits, even);
    ASSERT_EQ(to_half(-middle).bits, even | 0x8000);
    ASSERT_EQ(to_half(std::nextafter(middle, 0.f)).bits, bits);
    ASSERT_EQ(to_half(std::nextafter(middle, INFINITY)).bits, bits + 1);
  }
  EXPECT_EQ(to_half(1e30f).bits, 0x7c00);
  EXPECT_EQ(to_half(-1e-30f).bits, 0x8000);
}

TEST(SixteenBits, BFloatIsTheUpperHalfRoundedToNearestEven) {
  for (uint32_t bits = 0; bits < 65536; bits++) {
    const BFloat16 b{static_cast<uint16_t>(bits)};
    const float f = to_float(b);
    uint32_t wide;
    std::memcpy(&wide, &f, 4);
    if (std::isnan(f)) {
      ASSERT_TRUE(std::isnan(to_float(to_bfloat16(f))));
      continue;
    }
    ASSERT_EQ(wide, bits << 16);
    ASSERT_EQ(to_bfloat16(f).bits, bits);
    const auto rounded = [&](uint32_t low) {
      const uint32_t all = bits << 16 | low;
      float x;
      std::memcpy(&x, &all, 4);
      return to_bfloat16(x).bits;
    };
    if ((bits & 0x7f80) == 0x7f80) continue;  // infinity has no neighbours beyond
    ASSERT_EQ(rounded(0x7fff), bits);
    ASSERT_EQ(rounded(0x8000), (bits & 1) ? bits + 1 : bits);
    ASSERT_EQ(rounded(0x8001), bits + 1);
  }
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(NAN))));
}

TEST(Elements, DoublesSaturateAndTruncate) {
  EXPECT_EQ(saturate<int32_t>(3e9), INT32_MAX);
  EXPECT_EQ(saturate<int32_t>(-3e9), INT32_MIN);
  EXPECT_EQ(saturate<int64_t>(1e19), INT64_MAX);
  EXPECT_EQ(saturate<int64_t>(-1e19), INT64_MIN);
  EXPECT_EQ(saturate<uint8_t>(-0.5), 0);
  EXPECT_EQ(saturate<uint8_t>(255.9), 255);
  EXPECT_EQ(saturate<int32_t>(-2.9), -2);
  EXPECT_EQ(saturate<int64_t>(NAN), 0);
  EXPECT_EQ(saturate<int64_t>(INFINITY), INT64_MAX);
}

TEST(Elements, LoadAndStoreEveryType) {
  for (const DType type : {kF32, kF64, kI32, kI64, kU8, kBool, kF16, kBF16}) {
    alignas(8) char element[8] = {};
    store_from_double(element, type, 1);
    EXPECT_EQ(load_as_double(element, type), 1) << name(type);
    EXPECT_EQ(Tensor::empty({3}, type).dtype(), type);
  }
}

TEST(Dims, HoldsUpToEight) {
  Dims d{1, 2, 3};
  d.push_back(4);
  d.insert(0, 0);
  EXPECT_EQ(d, (Dims{0, 1, 2, 3, 4}));
  d.erase(1);
  EXPECT_EQ(d, (Dims{0, 2, 3, 4}));
  EXPECT_EQ(d.back(), 4);
  EXPECT_FALSE(d == (Dims{0, 2, 3}));
  EXPECT_EQ(to_string(d), "[0, 2, 3, 4]");
  EXPECT_EQ(to_string(Dims{}), "[]");
  Dims full = Dims::filled(8, 1);
  EXPECT_NE(error_of([&] { full.push_back(1); }).find("at most 8"), std::string::npos);
  EXPECT_NE(error_of([] { Dims(std::vector<int64_t>(9, 1)); }).find("9 dimensions"), std::string::npos);
}

TEST(Dims, ElementCountRefusesNonsense) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 0, int64_t{1} << 40, int64_t{1} << 40}), 0);
  EXPECT_NE(error_of([] { element_count({2, -1}); }).find("[2, -1]"), std::string::npos);
  EXPECT_NE(error_of([] {
              element_count({int64_t{1} << 40, int64_t{1} << 40});
            }).find("more elements"),
            std::string::npos);
}

TEST(Dims, BroadcastShapes) {
  EXPECT_EQ(broadcast_shapes("t", {3, 1}, {4}), (Dims{3, 4}));
  EXPECT_EQ(broadcast_shapes("t", {}, {2, 2}), (Dims{2, 2}));
  EXPECT_EQ(broadcast_shapes("t", {1}, {0}), (Dims{0}));
  const std::string text = error_of([] { broadcast_shapes("add", {2, 3}, {4}); });
  EXPECT_NE(text.find("add: shapes [2, 3] and [4]"), std::string::npos) << text;
}

TEST(Dims, Axes) {
  EXPECT_EQ(normalize_axis("t", -1, 3), 2);
  EXPECT_EQ(normalize_axes("t", {-1, 0}, 3), (Dims{0, 2}));
  EXPECT_EQ(normalize_axes("t", {}, 2), (Dims{0, 1}));
  EXPECT_NE(error_of([] { normalize_axis("sum", 3, 3); }).find("sum: axis 3"), std::string::npos);
  EXPECT_NE(error_of([] { normalize_axis("sum", 0, 0); }).find("scalar"), std::string::npos);
  EXPECT_NE(error_of([] { normalize_axes("sum", {1, -1}, 2); }).find("twice"), std::string::npos);
}

}  // namespace
}  // namespace ingot
