#include "ingot/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/base/threads.h"

namespace ingot {
namespace {

constexpr RandomKey kKey{0x123456789abcdef0, 0xfedcba9876543210};

template <class T>
uint64_t fnv1a(const std::vector<T>& values) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

template <class T>
std::vector<T> uniform(int64_t n, RandomKey key = {}, T lo = 0, T hi = 1, int64_t first = 0) {
  std::vector<T> values(n);
  fill_uniform(values.data(), n, first, lo, hi, key);
  return values;
}

template <class T>
std::vector<T> normal(int64_t n, RandomKey key = {}, T mean = 0, T deviation = 1, int64_t first = 0) {
  std::vector<T> values(n);
  fill_normal(values.data(), n, first, mean, deviation, key);
  return values;
}

std::vector<int64_t> integers(int64_t n, int64_t lo, int64_t hi, RandomKey key = {}, int64_t first = 0) {
  std::vector<int64_t> values(n);
  fill_integers(values.data(), n, first, lo, hi, key);
  return values;
}

// The largest gap between the samples' distribution and the given one, times sqrt(n); 1.95 happens once in a thousand.
template <class T, class Cdf>
double kolmogorov_smirnov(std::vector<T> values, const Cdf& cdf) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double gap = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double at = cdf(static_cast<double>(values[i]));
    gap = std::max({gap, std::fabs(at - static_cast<double>(i) / n), std::fabs(at - static_cast<double>(i + 1) / n)});
  }
  return gap * std::sqrt(n);
}

TEST(Random, PhiloxKnownAnswers) {  // from the Random123 distribution
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The hashes are of numbers that a separate Python program computed from the definition, bit for bit the same; x86 with
// and without AVX2 and aarch64 agree.
TEST(Random, SameNumbersOnEveryMachine) {
  constexpr int64_t kN = 1000, kFirst = (int64_t{1} << 33) + 5;
  EXPECT_EQ(fnv1a(uniform<float>(kN, kKey, -1, 3, kFirst)), 0x1b5038aa254bb3c1u);
  EXPECT_EQ(fnv1a(uniform<double>(kN, kKey, -1, 3, kFirst)), 0xa32d3833e0065f62u);
  EXPECT_EQ(fnv1a(normal<float>(kN, kKey, 0.5f, 2, kFirst)), 0x065be05fc87defabu);
  EXPECT_EQ(fnv1a(normal<double>(kN, kKey, 0.5, 2, kFirst)), 0x75d0c4bc8c54bee1u);
  EXPECT_EQ(fnv1a(integers(kN, -10, 100, kKey, kFirst)), 0x289071393858d1e1u);
  EXPECT_EQ(fnv1a(integers(kN, INT64_MIN, int64_t{1} << 62, kKey, kFirst)), 0xd58241d4d670a829u);  // redraws a quarter
  std::vector<uint8_t> flags(kN);
  fill_bernoulli(flags.data(), kN, kFirst, 0.3, kKey);
  EXPECT_EQ(fnv1a(flags), 0x8d9f6d178c67f005u);
  std::vector<int64_t> order(kN);
  fill_permutation(order.data(), kN, kKey);
  EXPECT_EQ(fnv1a(order), 0x9aaab3899e8d08fdu);
}

// A fill of [0, n) equals any two fills of its parts, at any thread count.
template <class T, class Fill>
void expect_chunks_agree(const Fill& fill) {
  constexpr int64_t kN = 70001;
  std::vector<T> whole(kN), parts(kN);
  const int before = threads();
  set_threads(1);
  fill(whole.data(), kN, 0);
  set_threads(3);
  fill(parts.data(), kN, 0);
  EXPECT_EQ(fnv1a(whole), fnv1a(parts)) << "three threads";
  set_threads(before);
  for (int64_t cut : {1, 2, 3, 127, 128, 129, 1001, 40000}) {
    std::fill(parts.begin(), parts.end(), T(0));
    fill(parts.data(), cut, 0);
    fill(parts.data() + cut, kN - cut, cut);
    EXPECT_EQ(fnv1a(whole), fnv1a(parts)) << cut;
  }
}

TEST(Random, IndependentOfThreadsAndChunks) {
  expect_chunks_agree<float>([](float* out, int64_t n, int64_t i) { fill_uniform(out, n, i, -2.f, 2.f, kKey); });
  expect_chunks_agree<double>([](double* out, int64_t n, int64_t i) { fill_uniform(out, n, i, -2., 2., kKey); });
  expect_chunks_agree<float>([](float* out, int64_t n, int64_t i) { fill_normal(out, n, i, 1.f, 2.f, kKey); });
  expect_chunks_agree<double>([](double* out, int64_t n, int64_t i) { fill_normal(out, n, i, 1., 2., kKey); });
  expect_chunks_agree<uint8_t>([](uint8_t* out, int64_t n, int64_t i) { fill_bernoulli(out, n, i, 0.5, kKey); });
  expect_chunks_agree<float>([](float* out, int64_t n, int64_t i) { fill_bernoulli(out, n, i, 0.5, kKey); });
  expect_chunks_agree<int64_t>([](int64_t* out, int64_t n, int64_t i) { fill_integers(out, n, i, -9, 9, kKey); });
}

TEST(Random, MembersOfATeamFillTheirShares) {
  constexpr int64_t kN = 10000;
  std::vector<float> together(kN);
  parallel(true, [&](const Team& team) {
    const auto [first, last] = team.share(kN);
    fill_uniform(together.data() + first, last - first, first, 0.f, 1.f, kKey);
  });
  EXPECT_EQ(together, uniform<float>(kN, kKey));
}

TEST(Random, UniformIsUniform) {
  const auto cdf = [](double x) { return std::clamp(x, 0.0, 1.0); };
  EXPECT_LT(kolmogorov_smirnov(uniform<float>(100000, {7, 0}), cdf), 1.95);
  EXPECT_LT(kolmogorov_smirnov(uniform<double>(100000, {7, 1}), cdf), 1.95);
}

TEST(Random, UniformStaysInsideItsRange) {
  for (const auto& [lo, hi] : std::vector<std::pair<float, float>>{
           {0, 1}, {1, std::nextafter(1.f, 2.f)}, {16777216.f, 16777220.f}, {-1e-40f, 1e-40f}, {-1.5e38f, 1.5e38f}}) {
    for (float x : uniform<float>(100000, {3, 0}, lo, hi))
      ASSERT_TRUE(x >= lo && x < hi) << x << " in " << lo << ", " << hi;
  }
  for (double x : uniform<double>(1000, {3, 0}, 1.0, std::nextafter(1.0, 2.0))) ASSERT_EQ(x, 1.0);
  for (float x : uniform<float>(10, {3, 0}, 2.f, 2.f)) ASSERT_EQ(x, 2.f);
}

TEST(Random, NormalIsNormal) {
  const auto cdf = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  EXPECT_LT(kolmogorov_smirnov(normal<float>(100000, {8, 0}), cdf), 1.95);
  EXPECT_LT(kolmogorov_smirnov(normal<double>(100000, {8, 1}), cdf), 1.95);
  const std::vector<double> values = normal<double>(1000000, {8, 2});
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, next = 0, farthest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = values[i], n = static_cast<double>(values.size());
    m1 += x / n, m2 += x * x / n, m3 += x * x * x / n, m4 += x * x * x * x / n;
    next += x * values[(i + 1) % values.size()] / n;
    farthest = std::max(farthest, std::fabs(x));
  }
  EXPECT_NEAR(m1, 0, 0.004);  // four standard errors each
  EXPECT_NEAR(m2, 1, 0.006);
  EXPECT_NEAR(m3, 0, 0.016);
  EXPECT_NEAR(m4, 3, 0.04);
  EXPECT_NEAR(next, 0, 0.004);
  EXPECT_GT(farthest, 4.4);
  EXPECT_LT(farthest, 6.5);
}

TEST(Random, KeysAreIndependent) {
  const auto one = uniform<double>(100000, {1, 0}), seed = uniform<double>(100000, {2, 0}),
             stream = uniform<double>(100000, {1, 1});
  for (const auto* other : {&seed, &stream}) {
    double product = 0;
    for (size_t i = 0; i < one.size(); ++i) product += (one[i] - 0.5) * ((*other)[i] - 0.5) * 12;
    EXPECT_NEAR(product / 100000, 0, 0.0127);
  }
}

TEST(Random, BernoulliHasItsProbability) {
  std::vector<uint8_t> flags(100000);
  for (double p : {0.0, 0.01, 0.5, 0.9, 1.0}) {
    fill_bernoulli(flags.data(), 100000, 0, p, {9, 0});
    const double mean = std::accumulate(flags.begin(), flags.end(), 0.0) / 100000;
    EXPECT_NEAR(mean, p, 4 * std::sqrt(p * (1 - p) / 100000));
  }
}

TEST(Random, BernoulliIsTheSameInEveryType) {
  std::vector<uint8_t> bytes(1000);
  std::vector<float> floats(1000);
  std::vector<double> doubles(1000);
  bool flags[1000];
  fill_bernoulli(bytes.data(), 1000, 0, 0.4, kKey);
  fill_bernoulli(floats.data(), 1000, 0, 0.4, kKey);
  fill_bernoulli(doubles.data(), 1000, 0, 0.4, kKey);
  fill_bernoulli(flags, 1000, 0, 0.4, kKey);
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(floats[i] == bytes[i] && doubles[i] == bytes[i] && flags[i] == (bytes[i] == 1));
}

TEST(Random, IntegersAreEquallyLikely) {
  std::vector<int> count(6);
  for (int64_t x : integers(60000, 1, 7, {4, 0})) {
    ASSERT_TRUE(x >= 1 && x < 7);
    ++count[x - 1];
  }
  double chi2 = 0;
  for (int c : count) chi2 += (c - 10000.0) * (c - 10000.0) / 10000.0;
  EXPECT_LT(chi2, 20.5);  // 5 degrees of freedom, once in a thousand
  for (int64_t x : integers(100, 5, 6)) EXPECT_EQ(x, 5);
  const auto all = integers(1000, INT64_MIN, INT64_MAX);
  EXPECT_LT(*std::min_element(all.begin(), all.end()), INT64_MIN / 2);
  EXPECT_GT(*std::max_element(all.begin(), all.end()), INT64_MAX / 2);
}

TEST(Random, PermutationsAreEquallyLikely) {
  std::vector<int> count(24);
  for (uint64_t stream = 0; stream < 24000; ++stream) {
    int64_t p[4];
    fill_permutation(p, 4, {5, stream});
    int rank = 0;  // Lehmer code
    for (int i = 0; i < 4; ++i) {
      int smaller = 0;
      for (int j = i + 1; j < 4; ++j) smaller += p[j] < p[i];
      rank = rank * (4 - i) + smaller;
    }
    ++count[rank];
  }
  double chi2 = 0;
  for (int c : count) chi2 += (c - 1000.0) * (c - 1000.0) / 1000.0;
  EXPECT_LT(chi2, 49.7);  // 23 degrees of freedom, once in a thousand
  std::vector<int64_t> large(100000), expected(100000);
  fill_permutation(large.data(), 100000, kKey);
  std::sort(large.begin(), large.end());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(large, expected);
}

TEST(Random, EmptyFillsTouchNothing) {
  fill_uniform(static_cast<float*>(nullptr), 0, 0, 0.f, 1.f, kKey);
  fill_normal(static_cast<double*>(nullptr), 0, 0, 0., 1., kKey);
  fill_integers(nullptr, 0, 0, 0, 1, kKey);
  fill_permutation(nullptr, 0, kKey);
}

TEST(Random, BadInputIsASentence) {
  float f[4];
  uint8_t b[4];
  int64_t l[4];
  const float nan = std::nanf("");
  EXPECT_THROW(fill_uniform(f, 4, 0, 1.f, 0.f, kKey), Error);
  EXPECT_THROW(fill_uniform(f, 4, 0, nan, 0.f, kKey), Error);
  EXPECT_THROW(fill_uniform(f, 4, 0, -3e38f, 3e38f, kKey), Error);
  EXPECT_THROW(fill_uniform(f, -1, 0, 0.f, 1.f, kKey), Error);
  EXPECT_THROW(fill_uniform(f, 4, -1, 0.f, 1.f, kKey), Error);
  EXPECT_THROW(fill_uniform(f, 4, INT64_MAX - 2, 0.f, 1.f, kKey), Error);
  EXPECT_THROW(fill_normal(f, 4, 0, 0.f, -1.f, kKey), Error);
  EXPECT_THROW(fill_normal(f, 4, 0, nan, 1.f, kKey), Error);
  EXPECT_THROW(fill_bernoulli(b, 4, 0, 1.5, kKey), Error);
  EXPECT_THROW(fill_bernoulli(b, 4, 0, nan, kKey), Error);
  EXPECT_THROW(fill_integers(l, 4, 0, 3, 3, kKey), Error);
  EXPECT_THROW(fill_permutation(l, -1, kKey), Error);
  try {
    fill_bernoulli(b, 4, 0, 1.5, kKey);
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "fill_bernoulli: p = 1.500000 — a probability is from 0 to 1");
  }
}

}  // namespace
}  // namespace ingot
