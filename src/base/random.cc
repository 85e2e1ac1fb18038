// Everything here is integer arithmetic or IEEE + - * / sqrt in a fixed order, so the bits agree on every machine. The
// loops are plain and short-trip so that the compiler turns them into vector code for the baseline target.
#include "ingot/base/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "ingot/base/error.h"
#include "ingot/base/threads.h"

namespace ingot {
namespace {

constexpr uint32_t kMultiply0 = 0xD2511F53, kMultiply1 = 0xCD9E8D57, kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;
constexpr int kBlocks = 32;             // Philox blocks made at a time
constexpr int64_t kWideFill = 1 << 15;  // shorter fills are not worth a team

// The four words of kBlocks consecutive blocks, word by word.
struct Words {
  alignas(64) uint32_t word[4][kBlocks];
};

inline void philox_rounds(uint32_t& c0, uint32_t& c1, uint32_t& c2, uint32_t& c3, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = uint64_t{kMultiply0} * c0, product1 = uint64_t{kMultiply1} * c2;
    c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(product1);
    c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(product0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
}

inline uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
inline uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

// Counter words 0 and 1 are the block's number, 2 and 3 the stream; the key is the seed. `first` is a multiple of
// kBlocks, so the blocks share word 1.
void make_words(uint64_t first, RandomKey key, Words& out) {
  for (int b = 0; b < kBlocks; ++b) {
    uint32_t c0 = low(first) + static_cast<uint32_t>(b), c1 = high(first), c2 = low(key.stream), c3 = high(key.stream);
    philox_rounds(c0, c1, c2, c3, low(key.seed), high(key.seed));
    out.word[0][b] = c0;
    out.word[1][b] = c1;
    out.word[2][b] = c2;
    out.word[3][b] = c3;
  }
}

// Fills with `make(words, values)`, which turns kBlocks blocks into kBlocks * kPerBlock values in index order.
template <int kPerBlock, class T, class Make>
void fill(T* out, int64_t n, int64_t first_index, RandomKey key, const Make& make) {
  constexpr int64_t kBatch = kBlocks * kPerBlock;
  parallel(n >= kWideFill, [&](const Team& team) {
    const auto [first, last] = team.share(n, kBatch);
    Words words;
    alignas(64) T values[kBatch];
    for (int64_t i = first; i < last;) {
      const int64_t batch = (first_index + i) / kBatch, skip = (first_index + i) % kBatch;
      const int64_t count = std::min(kBatch - skip, last - i);
      make_words(static_cast<uint64_t>(batch) * kBlocks, key, words);
      make(words, values);
      std::copy_n(values + skip, count, out + i);
      i += count;
    }
  });
}

// Exact conversions by way of a double's own bits, which vectorise where u32 -> f64 instructions are missing.
inline double to_double(uint32_t x) { return std::bit_cast<double>(uint64_t{x} | 0x4330000000000000) - 0x1p52; }

// 53 bits in [0, 1).
inline double unit(uint32_t lower, uint32_t upper) {
  return to_double(upper) * 0x1p-32 + to_double(lower >> 11) * 0x1p-53;
}

// Natural logarithm of a normal x in (0, 1], within 1 ulp. Reduction and coefficients as in fdlibm (Sun Microsystems,
// 1993).
inline double log_unit(double x) {
  constexpr uint64_t kOne = 0x3FF0000000000000, kRootHalf = 0x3FE6A09E667F3BCD, kMantissa = 0x000FFFFFFFFFFFFF;
  const uint64_t shifted = std::bit_cast<uint64_t>(x) + (kOne - kRootHalf);  // x = 2^e * m, sqrt(1/2) <= m < sqrt(2)
  const double e = to_double(static_cast<uint32_t>(shifted >> 52)) - 1023.0;
  const double f = std::bit_cast<double>((shifted & kMantissa) + kRootHalf) - 1.0;
  const double s = f / (2.0 + f), z = s * s, w = z * z, half = 0.5 * f * f;
  const double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double tail = s * (half + (even + odd)) + e * 1.90821492927058770002e-10;
  return e * 6.93147180369123816490e-01 - ((half - tail) - f);
}

// Sine and cosine for |x| <= pi/4, within 1 ulp; coefficients as in fdlibm.
inline double sin_small(double x) {
  const double z = x * x;
  const double r =
      8.33333333332248946124e-03 +
      z * (-1.98412698298579493134e-04 +
           z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
  return x + x * z * (-1.66666666666666324348e-01 + z * r);
}
inline double cos_small(double x) {
  const double z = x * x;
  const double r = z * (4.16666666666666019037e-02 +
                        z * (-1.38888888888741095749e-03 +
                             z * (2.48015872894767294178e-05 +
                                  z * (-2.75573143513906633035e-07 +
                                       z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
  return 1.0 - (0.5 * z - z * r);
}

// Box and Muller: a point of the plane at squared distance -2 log(u) and in a uniform direction. The direction is a
// quadrant plus `turn` in [-1/2, 1/2) of a quadrant, so the polynomials only see |angle| <= pi/4.
inline void normal_pair(double u, uint32_t quadrant, double turn, double& first, double& second) {
  const double radius = std::sqrt(-2.0 * log_unit(u));
  const double angle = turn * 1.57079632679489661923;
  const double c = cos_small(angle), s = sin_small(angle);
  const double x = quadrant & 1 ? s : c, y = quadrant & 1 ? c : s;
  first = radius * ((quadrant + 1) & 2 ? -x : x);
  second = radius * (quadrant & 2 ? -y : y);
}

struct NormalFloat {
  double mean, deviation;
  void operator()(const Words& in, float* out) const {
    for (int w = 0; w < 4; w += 2)
      for (int b = 0; b < kBlocks; ++b) {
        const uint32_t turn = in.word[w + 1][b];
        double first, second;
        normal_pair((to_double(in.word[w][b]) + 0.5) * 0x1p-32, turn >> 30, to_double(turn << 2) * 0x1p-32 - 0.5, first,
                    second);
        out[4 * b + w] = static_cast<float>(mean + deviation * first);
        out[4 * b + w + 1] = static_cast<float>(mean + deviation * second);
      }
  }
};

struct NormalDouble {
  double mean, deviation;
  void operator()(const Words& in, double* out) const {
    for (int b = 0; b < kBlocks; ++b) {
      const uint32_t turn = in.word[3][b];
      double first, second;
      normal_pair(unit(in.word[0][b], in.word[1][b]) + 0x1p-54, turn >> 30,
                  to_double(turn << 2) * 0x1p-32 + to_double(in.word[2][b] >> 9) * 0x1p-53 - 0.5, first, second);
      out[2 * b] = mean + deviation * first;
      out[2 * b + 1] = mean + deviation * second;
    }
  }
};

void check_range(const char* fill_name, int64_t n, int64_t first_index) {
  if (n < 0 || first_index < 0 || first_index > INT64_MAX - n)
    throw Error(std::string(fill_name) + ": " + std::to_string(n) + " elements from index " +
                std::to_string(first_index) + " — both must be 0 or more, and their sum below 2^63");
}

template <class T>
void check_bounds(T lo, T hi) {
  if (!(lo <= hi) || !std::isfinite(hi - lo))
    throw Error("fill_uniform: the range [" + std::to_string(lo) + ", " + std::to_string(hi) +
                ") is empty or not finite — give finite lo <= hi");
}

template <class T>
void check_normal(T mean, T deviation) {
  if (!std::isfinite(mean) || !(deviation >= 0) || !std::isfinite(deviation))
    throw Error("fill_normal: mean " + std::to_string(mean) + ", deviation " + std::to_string(deviation) +
                " — both must be finite, and the deviation 0 or more");
}

template <class T>
void bernoulli(T* out, int64_t n, int64_t first_index, double p, RandomKey key) {
  check_range("fill_bernoulli", n, first_index);
  if (!(p >= 0 && p <= 1)) throw Error("fill_bernoulli: p = " + std::to_string(p) + " — a probability is from 0 to 1");
  const double words_below = std::round(p * 0x1p32);
  const bool always = words_below >= 0x1p32;
  const uint32_t limit = always ? 0 : static_cast<uint32_t>(words_below);
  fill<4>(out, n, first_index, key, [=](const Words& in, T* values) {
    for (int b = 0; b < kBlocks; ++b)
      for (int w = 0; w < 4; ++w) values[4 * b + w] = static_cast<T>((in.word[w][b] < limit) | always);
  });
}

// The integer below `range` (0 stands for 2^64) that the word `x` selects, by Lemire's multiplication. A word from the
// short part that would make some integers likelier is replaced by one drawn under another key, until one is good.
inline uint64_t bounded(uint64_t x, uint64_t range, int64_t index, RandomKey key) {
  if (range == 0) return x;
  if (x * range < range) {
    const auto block = static_cast<uint64_t>(index);
    for (const uint64_t uneven = -range % range; x * range < uneven;) {
      key.seed += 0x9E3779B97F4A7C15;
      const auto word =
          philox({low(block), high(block), low(key.stream), high(key.stream)}, {low(key.seed), high(key.seed)});
      x = word[0] | uint64_t{word[1]} << 32;
    }
  }
  return static_cast<uint64_t>(static_cast<unsigned __int128>(x) * range >> 64);
}

void make_words64(const Words& in, uint64_t* values) {
  for (int b = 0; b < kBlocks; ++b)
    for (int w = 0; w < 2; ++w) values[2 * b + w] = in.word[2 * w][b] | uint64_t{in.word[2 * w + 1][b]} << 32;
}

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  philox_rounds(counter[0], counter[1], counter[2], counter[3], key[0], key[1]);
  return counter;
}

void fill_uniform(float* out, int64_t n, int64_t first_index, float lo, float hi, RandomKey key) {
  check_range("fill_uniform", n, first_index);
  check_bounds(lo, hi);
  const float span = hi - lo, below = lo < hi ? std::nextafter(hi, lo) : hi;  // lo + u * span may round up to hi
  fill<4>(out, n, first_index, key, [=](const Words& in, float* values) {
    for (int b = 0; b < kBlocks; ++b)
      for (int w = 0; w < 4; ++w) {
        const float value = lo + static_cast<float>(static_cast<int32_t>(in.word[w][b] >> 8)) * 0x1p-24f * span;
        values[4 * b + w] = value < below ? value : below;
      }
  });
}

void fill_uniform(double* out, int64_t n, int64_t first_index, double lo, double hi, RandomKey key) {
  check_range("fill_uniform", n, first_index);
  check_bounds(lo, hi);
  const double span = hi - lo, below = lo < hi ? std::nextafter(hi, lo) : hi;
  fill<2>(out, n, first_index, key, [=](const Words& in, double* values) {
    for (int b = 0; b < kBlocks; ++b)
      for (int w = 0; w < 2; ++w) {
        const double value = lo + unit(in.word[2 * w][b], in.word[2 * w + 1][b]) * span;
        values[2 * b + w] = value < below ? value : below;
      }
  });
}

void fill_normal(float* out, int64_t n, int64_t first_index, float mean, float deviation, RandomKey key) {
  check_range("fill_normal", n, first_index);
  check_normal(mean, deviation);
  fill<4>(out, n, first_index, key, NormalFloat{mean, deviation});
}

void fill_normal(double* out, int64_t n, int64_t first_index, double mean, double deviation, RandomKey key) {
  check_range("fill_normal", n, first_index);
  check_normal(mean, deviation);
  fill<2>(out, n, first_index, key, NormalDouble{mean, deviation});
}

void fill_bernoulli(bool* out, int64_t n, int64_t first_index, double p, RandomKey key) {
  bernoulli(out, n, first_index, p, key);
}
void fill_bernoulli(uint8_t* out, int64_t n, int64_t first_index, double p, RandomKey key) {
  bernoulli(out, n, first_index, p, key);
}
void fill_bernoulli(float* out, int64_t n, int64_t first_index, double p, RandomKey key) {
  bernoulli(out, n, first_index, p, key);
}
void fill_bernoulli(double* out, int64_t n, int64_t first_index, double p, RandomKey key) {
  bernoulli(out, n, first_index, p, key);
}

void fill_integers(int64_t* out, int64_t n, int64_t first_index, int64_t lo, int64_t hi, RandomKey key) {
  check_range("fill_integers", n, first_index);
  if (lo >= hi)
    throw Error("fill_integers: the range [" + std::to_string(lo) + ", " + std::to_string(hi) +
                ") is empty — give lo < hi");
  const uint64_t range = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo);
  auto* raw = reinterpret_cast<uint64_t*>(out);
  fill<2>(raw, n, first_index, key, make_words64);
  parallel(n >= kWideFill, [&](const Team& team) {
    const auto [first, last] = team.share(n, 64);
    for (int64_t i = first; i < last; ++i)
      raw[i] = static_cast<uint64_t>(lo) + bounded(raw[i], range, first_index + i, key);
  });
}

// Fisher and Yates from the front: element i changes places with one of those before it or itself. Serial, since every
// step builds on the last.
void fill_permutation(int64_t* out, int64_t n, RandomKey key) {
  check_range("fill_permutation", n, 0);
  constexpr int64_t kBatch = 2 * kBlocks;
  Words words;
  uint64_t draws[kBatch];
  for (int64_t i = 0; i < n; ++i) {
    if (i % kBatch == 0) {
      make_words(static_cast<uint64_t>(i / 2), key, words);
      make_words64(words, draws);
    }
    const auto place = static_cast<int64_t>(bounded(draws[i % kBatch], static_cast<uint64_t>(i) + 1, i, key));
    out[i] = i;
    std::swap(out[i], out[place]);
  }
}

}  // namespace ingot
