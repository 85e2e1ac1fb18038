#include "kernels/copy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "ingot/base/shape.h"
#include "ingot/base/tensor.h"

namespace ingot {
namespace {

struct Case {
  Dims shape, to, from;
  int64_t to_first = 0, from_first = 0, to_room = 1, from_room = 1;
};

// Strides of a random layout without overlap: axes in some order, with gaps, some reversed; returns the room it needs.
int64_t random_strides(std::mt19937& random, const Dims& shape, bool repeats, Dims& strides, int64_t& first) {
  std::vector<int> order(static_cast<size_t>(shape.size()));
  std::iota(order.begin(), order.end(), 0);
  if (random() % 2) std::shuffle(order.begin(), order.end(), random);
  strides = shape;
  first = 0;
  int64_t step = random() % 4 == 0 ? 2 : 1;
  for (int i = shape.size() - 1; i >= 0; i--) {
    const int a = order[static_cast<size_t>(i)];
    strides[a] = repeats && random() % 5 == 0 ? 0 : random() % 6 == 0 ? -step : step;
    if (strides[a] < 0) first += step * (shape[a] - 1);
    step *= shape[a] + static_cast<int64_t>(random() % 4 == 0);
  }
  return step + 1;
}

Case random_case(std::mt19937& random, const Dims& shape) {
  Case c{.shape = shape, .to = {}, .from = {}};
  c.to_room = random_strides(random, shape, false, c.to, c.to_first);
  c.from_room = random_strides(random, shape, true, c.from, c.from_first);
  return c;
}

Dims random_shape(std::mt19937& random) {
  Dims shape;
  int64_t room = 6000;
  for (int rank = static_cast<int>(random() % 6); rank > 0; rank--) {
    const int64_t sizes[] = {1, 2, 3, 5, 8, 17, 40, 100};
    const int64_t size = std::min(sizes[random() % 8], room);
    shape.push_back(size);
    room = std::max<int64_t>(1, room / size);
  }
  return shape;
}

template <class F>
void for_each_place(const Case& c, F&& f) {
  Dims index = Dims::filled(c.shape.size(), 0);
  for (int64_t k = 0; k < element_count(c.shape); k++) {
    int64_t t = c.to_first, s = c.from_first;
    for (int a = 0; a < c.shape.size(); a++) t += index[a] * c.to[a], s += index[a] * c.from[a];
    f(t, s);
    for (int a = c.shape.size() - 1; a >= 0 && ++index[a] == c.shape[a]; a--) index[a] = 0;
  }
}

template <class T>
void check_copies() {
  std::mt19937 random(sizeof(T));
  for (int round = 0; round < 400; round++) {
    const Case c = random_case(random, random_shape(random));
    std::vector<T> from(static_cast<size_t>(c.from_room)), to(static_cast<size_t>(c.to_room), T{7}), expected;
    for (T& x : from) x = static_cast<T>(random());
    expected = to;
    for_each_place(c, [&](int64_t t, int64_t s) { expected[static_cast<size_t>(t)] = from[static_cast<size_t>(s)]; });
    parallel(round % 2, [&](const Team& team) {
      kernels::copy(to.data() + c.to_first, c.to.begin(), from.data() + c.from_first, c.from.begin(), c.shape.begin(),
                    c.shape.size(), sizeof(T), team);
    });
    ASSERT_EQ(to, expected) << to_string(c.shape) << " to " << to_string(c.to) << " from " << to_string(c.from);
  }
}

TEST(Copy, RandomLayoutsOfEveryElementSize) {
  check_copies<uint8_t>();
  check_copies<uint16_t>();
  check_copies<uint32_t>();
  check_copies<uint64_t>();
}

TEST(Copy, LargePiecesReachEveryMember) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 100001}, {300, 301}, {257, 1000}, {3, 70000}}) {
    std::vector<float> from(static_cast<size_t>(rows * columns)), to(from.size()), back(from.size());
    std::iota(from.begin(), from.end(), 0.f);
    const int64_t shape[] = {rows, columns}, plain[] = {columns, 1}, flipped[] = {1, rows};
    parallel(true, [&](const Team& team) {
      kernels::copy(to.data(), flipped, from.data(), plain, shape, 2, 4, team);
      team.barrier();
      kernels::copy(back.data(), plain, to.data(), flipped, shape, 2, 4, team);
    });
    for (int64_t r = 0; r < rows; r++)
      for (int64_t c = 0; c < columns; c++)
        ASSERT_EQ(to[static_cast<size_t>(c * rows + r)], from[static_cast<size_t>(r * columns + c)]);
    ASSERT_EQ(back, from);
  }
}

TEST(Convert, EveryPairOfTypesAgreesWithThePlainConversion) {
  const double values[] = {0,    -0.0,     1,        -1,      0.5,
                           -0.5, 1.5,      2.5,      254.9,   255,
                           256,  -3.7,     65504,    65519.9, 65520,
                           1e-8, 6e-8,     3e-5,     1e10,    -1e10,
                           1e19, -1e19,    1e300,    100.3,   3.14159265358979,
                           NAN,  INFINITY, -INFINITY};
  for (int to_type = 0; to_type < 8; to_type++)
    for (int from_type = 0; from_type < 8; from_type++) {
      const DType to = static_cast<DType>(to_type), from = static_cast<DType>(from_type);
      constexpr int64_t kN = 61;
      alignas(64) char source[kN * 8], result[kN * 8] = {}, expected[kN * 8] = {};
      for (int64_t i = 0; i < kN; i++)
        store_from_double(source + i * size_of(from), from, values[static_cast<size_t>(i) % std::size(values)]);
      for (int64_t i = 0; i < kN; i++)
        store_from_double(expected + i * size_of(to), to, load_as_double(source + i * size_of(from), from));
      kernels::conversion(to, from)(result, source, kN);
      if (from == kI64 && to == kI64) continue;  // beyond what a double holds
      for (int64_t i = 0; i < kN; i++) {
        const char *got = result + i * size_of(to), *want = expected + i * size_of(to);
        const bool both_nan = std::isnan(load_as_double(got, to)) && std::isnan(load_as_double(want, to));
        EXPECT_TRUE(both_nan || std::memcmp(got, want, size_of(to)) == 0)
            << name(from) << " to " << name(to) << ": " << load_as_double(source + i * size_of(from), from) << " gives "
            << load_as_double(got, to) << " instead of " << load_as_double(want, to);
      }
    }
}

TEST(Convert, AllSixteenBitPatterns) {
  std::vector<uint16_t> bits(65536), back(65536);
  std::iota(bits.begin(), bits.end(), uint16_t{0});
  std::vector<float> wide(65536);
  for (const DType type : {kF16, kBF16}) {
    kernels::conversion(kF32, type)(wide.data(), bits.data(), 65536);
    for (size_t i = 0; i < bits.size(); i++) {
      const float plain = type == kF16 ? to_float(Half{bits[i]}) : to_float(BFloat16{bits[i]});
      ASSERT_EQ(std::memcmp(&wide[i], &plain, 4), 0) << i;
    }
    kernels::conversion(type, kF32)(back.data(), wide.data(), 65536);
    for (size_t i = 0; i < bits.size(); i++)
      if (std::isnan(wide[i]))
        ASSERT_TRUE(std::isnan(load_as_double(&back[i], type))) << i;
      else
        ASSERT_EQ(back[i], bits[i]);
  }
  std::mt19937 random(3);
  std::vector<float> any(100000);
  for (float& x : any) {
    const uint32_t b = static_cast<uint32_t>(random());
    std::memcpy(&x, &b, 4);
  }
  std::vector<uint16_t> half(any.size()), brain(any.size());
  kernels::conversion(kF16, kF32)(half.data(), any.data(), static_cast<int64_t>(any.size()));
  kernels::conversion(kBF16, kF32)(brain.data(), any.data(), static_cast<int64_t>(any.size()));
  for (size_t i = 0; i < any.size(); i++) {
    ASSERT_EQ(half[i], to_half(any[i]).bits) << any[i];
    ASSERT_EQ(brain[i], to_bfloat16(any[i]).bits) << any[i];
  }
}

TEST(Convert, LargeIntegersStayExact) {
  const int64_t big[] = {(int64_t{1} << 53) + 1, INT64_MAX, INT64_MIN, -5, 300};
  int64_t same[5];
  int32_t narrow[5];
  uint8_t byte[5];
  kernels::conversion(kI64, kI64)(same, big, 5);
  kernels::conversion(kI32, kI64)(narrow, big, 5);
  kernels::conversion(kU8, kI64)(byte, big, 5);
  EXPECT_EQ(std::memcmp(same, big, sizeof(big)), 0);
  EXPECT_EQ(narrow[0], INT32_MAX);
  EXPECT_EQ(narrow[2], INT32_MIN);
  EXPECT_EQ(narrow[3], -5);
  EXPECT_EQ(byte[0], 255);
  EXPECT_EQ(byte[2], 0);
  EXPECT_EQ(byte[4], 255);
}

TEST(Convert, RandomLayouts) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; round++) {
    const Case c = random_case(random, random_shape(random));
    std::vector<float> from(static_cast<size_t>(c.from_room));
    std::vector<double> to(static_cast<size_t>(c.to_room), -1), expected;
    for (float& x : from) x = static_cast<float>(random() % 1000);
    expected = to;
    for_each_place(c, [&](int64_t t, int64_t s) { expected[static_cast<size_t>(t)] = from[static_cast<size_t>(s)]; });
    parallel(round % 2, [&](const Team& team) {
      kernels::convert(to.data() + c.to_first, kF64, c.to.begin(), from.data() + c.from_first, kF32, c.from.begin(),
                       c.shape.begin(), c.shape.size(), team);
    });
    ASSERT_EQ(to, expected);
  }
}

}  // namespace
}  // namespace ingot
