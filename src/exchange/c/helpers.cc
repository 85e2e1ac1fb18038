#include "exchange/c/helpers.h"

#include "exchange/c/own_math.h"

namespace ingot::exchange {
namespace {

// Within a unit in the last place, also without fused multiply-add.
const std::string kNewtonRoot = R"c(static float root(float x) {
  const float z = x < 1e-30f ? x * 1.2676506e30f : x, half = 0.5f * z;
  union {
    float number;
    uint32_t bits;
  } y;
  y.number = z;
  y.bits = UINT32_C(0x5F3759DF) - (y.bits >> 1);
  float t = y.number;
  t *= 1.5f - half * t * t;
  t *= 1.5f - half * t * t;
  t *= 1.5f - half * t * t;
  const float s = z * t, r = s + 0.5f * t * (z - s * s);
  if (x < 0) return 0.0f / 0.0f;
  return x > 0 && x <= 3.4028235e38f ? (x < 1e-30f ? r * 8.8817842e-16f : r) : x;
}
)c";
const std::string kOwnRoot = "/* The square root, by Newton's method. */\n" + kNewtonRoot;
const std::string kRoot =
    R"c(/* sqrtf may set errno, which keeps compilers from doing many side by side; Newton's method does not. */
#if defined(__GNUC__) && !defined(__TINYC__) && (defined(__SSE2__) || defined(__ARM_NEON))
)c" +
    kNewtonRoot + R"c(#else
static float root(float x) { return sqrtf(x); }
#endif
)c";

const std::vector<Helper>& helpers() {
  static const std::vector<Helper> all = [] {
    std::vector<Helper> list = {
        {"unroll",
         {},
         R"c(#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__) && !defined(__TINYC__)
#define UNROLL _Pragma("GCC unroll 32")
#else
#define UNROLL
#endif
)c"},
        {"vec",
         {"unroll"},
         R"c(/* As many floats as the machine adds at once, in the vectors of GCC and Clang; elsewhere one. */
#if defined(__GNUC__) && !defined(__TINYC__) && defined(__AVX512F__)
#define LANES 16
#elif defined(__GNUC__) && !defined(__TINYC__) && defined(__AVX__)
#define LANES 8
#elif defined(__GNUC__) && !defined(__TINYC__) && (defined(__SSE2__) || defined(__ARM_NEON) || defined(__wasm_simd128__))
#define LANES 4
#else
#define LANES 1
#endif
#if LANES > 1
typedef float vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#else
typedef f32 vec;
#endif
#if LANES == 16
#define REGISTERS 28
#else
#define REGISTERS 12
#endif
#define LOAD(p) (*(const vec *)(p))
#define STORE(p, v) (*(vec *)(p) = (v))
)c"},
        {"vecd",
         {"unroll"},
         R"c(/* The same of doubles. */
#if defined(__GNUC__) && !defined(__TINYC__) && defined(__AVX512F__)
#define LANES_D 8
#elif defined(__GNUC__) && !defined(__TINYC__) && defined(__AVX__)
#define LANES_D 4
#elif defined(__GNUC__) && !defined(__TINYC__) && (defined(__SSE2__) || defined(__aarch64__))
#define LANES_D 2
#else
#define LANES_D 1
#endif
#if LANES_D > 1
typedef double vecd __attribute__((vector_size(8 * LANES_D), aligned(8), may_alias));
#else
typedef f64 vecd;
#endif
#if LANES_D == 8
#define REGISTERS_D 28
#else
#define REGISTERS_D 12
#endif
#define LOAD_D(p) (*(const vecd *)(p))
#define STORE_D(p, v) (*(vecd *)(p) = (v))
)c"},
        {"lanes_sum",
         {"vec"},
         R"c(static float lanes_sum(const vec *v) {
  float part[LANES];
  for (int l = 0; l < LANES; l++) part[l] = ((const f32 *)v)[l];
  for (int n = LANES / 2; n > 0; n /= 2)
    for (int l = 0; l < n; l++) part[l] += part[l + n];
  return part[0];
}
)c"},
        {"lanes_sum_d",
         {"vecd"},
         R"c(static double lanes_sum_d(const vecd *v) {
  double part[LANES_D];
  for (int l = 0; l < LANES_D; l++) part[l] = ((const f64 *)v)[l];
  for (int n = LANES_D / 2; n > 0; n /= 2)
    for (int l = 0; l < n; l++) part[l] += part[l + n];
  return part[0];
}
)c"},
        {"floats_sum",
         {},
         R"c(/* Sums of floats that follow each other: 16 side by side, and from time to time into a double. */
static double floats_sum(const f32 *x, long n) {
  double total = 0;
  long i = 0;
  while (i + 16 <= n) {
    const long end = n - i > 1024 ? i + 1024 : i + (n - i) / 16 * 16;
    float lane[16] = {0};
    for (; i < end; i += 16)
      for (int l = 0; l < 16; l++) lane[l] += x[i + l];
    for (int l = 0; l < 16; l++) total += (double)lane[l];
  }
  for (; i < n; i++) total += (double)x[i];
  return total;
}
)c"},
        {"floats_squares",
         {},
         R"c(/* The same of squared distances from m. */
static double floats_squares(const f32 *x, float m, long n) {
  double total = 0;
  long i = 0;
  while (i + 16 <= n) {
    const long end = n - i > 1024 ? i + 1024 : i + (n - i) / 16 * 16;
    float lane[16] = {0};
    for (; i < end; i += 16)
      for (int l = 0; l < 16; l++) lane[l] += (x[i + l] - m) * (x[i + l] - m);
    for (int l = 0; l < 16; l++) total += (double)lane[l];
  }
  for (; i < n; i++) total += (double)((x[i] - m) * (x[i] - m));
  return total;
}
)c"},
        {"floats_dot",
         {},
         R"c(/* The same of a * (b - m). */
static double floats_dot(const f32 *a, const f32 *b, float m, long n) {
  double total = 0;
  long i = 0;
  while (i + 16 <= n) {
    const long end = n - i > 1024 ? i + 1024 : i + (n - i) / 16 * 16;
    float lane[16] = {0};
    for (; i < end; i += 16)
      for (int l = 0; l < 16; l++) lane[l] += a[i + l] * (b[i + l] - m);
    for (int l = 0; l < 16; l++) total += (double)lane[l];
  }
  for (; i < n; i++) total += (double)(a[i] * (b[i] - m));
  return total;
}
)c"},
        {"power",
         {},
         R"c(static double power(double base, int64_t n) {
  double result = 1;
  for (; n > 0; n /= 2, base *= base)
    if (n % 2 == 1) result *= base;
  return result;
}
)c"},
        {"to_i64",
         {},
         R"c(/* Towards zero, NaN to 0, out of range to the nearest end. */
static int64_t to_i64(double v) {
  if (v != v) return 0;
  if (v >= 9223372036854775808.0) return INT64_MAX;
  return v <= -9223372036854775808.0 ? INT64_MIN : (int64_t)v;
}
)c"},
        {"to_i32",
         {},
         R"c(static int32_t to_i32(double v) {
  if (v != v) return 0;
  if (v >= 2147483647.0) return INT32_MAX;
  return v <= -2147483648.0 ? INT32_MIN : (int32_t)v;
}
)c"},
        {"to_u8",
         {},
         R"c(static uint8_t to_u8(double v) {
  if (v != v || v <= 0) return 0;
  return v >= 255 ? 255 : (uint8_t)v;
}
)c"},
        {"float_bits",
         {},
         R"c(static uint32_t float_bits(float v) {
  union {
    float number;
    uint32_t bits;
  } u;
  u.number = v;
  return u.bits;
}
)c"},
        {"bits_float",
         {},
         R"c(static float bits_float(uint32_t v) {
  union {
    uint32_t bits;
    float number;
  } u;
  u.bits = v;
  return u.number;
}
)c"},
        {"root", {}, kRoot.c_str()},
        {"own_root", {}, kOwnRoot.c_str()},
        {"from_bf16", {"bits_float"}, R"c(static float from_bf16(uint16_t h) { return bits_float((uint32_t)h << 16); }
)c"},
        {"to_bf16",
         {"float_bits"},
         R"c(static uint16_t to_bf16(float v) {
  const uint32_t b = float_bits(v);
  if (v != v) return (uint16_t)(b >> 16 | 0x40);
  return (uint16_t)((b + 0x7FFF + (b >> 16 & 1)) >> 16);
}
)c"},
        {"from_f16",
         {"bits_float"},
         R"c(static float from_f16(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
  if (exponent == 31) return bits_float(sign | 0x7F800000 | fraction << 13);
  if (exponent > 0) return bits_float(sign | (exponent + 112) << 23 | fraction << 13);
  const float tiny = (float)fraction * (1.0f / 16777216.0f);
  return sign != 0 ? -tiny : tiny;
}
)c"},
        {"to_f16",
         {"float_bits", "bits_float"},
         R"c(/* To nearest even. */
static uint16_t to_f16(float v) {
  const uint32_t b = float_bits(v), sign = b >> 16 & 0x8000, a = b & 0x7FFFFFFF;
  if (a > 0x7F800000) return (uint16_t)(sign | 0x7E00 | (a >> 13 & 0x3FF));
  if (a >= 0x477FF000) return (uint16_t)(sign | 0x7C00);
  if (a >= 0x38800000) return (uint16_t)(sign | ((a - 0x38000000 + 0xFFF + (a >> 13 & 1)) >> 13));
  /* Subnormal: adding a half of the right size rounds. */
  return (uint16_t)(sign | (float_bits(bits_float(a) + 0.5f) - 0x3F000000));
}
)c"},
        {"philox",
         {},
         R"c(/* Philox4x32-10 (Salmon et al., 2011): four random words of a block's number, a stream and a seed. */
static void philox(uint64_t block, uint64_t stream, uint64_t seed, uint32_t *word) {
  uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)UINT32_C(0xD2511F53) * c0, p1 = (uint64_t)UINT32_C(0xCD9E8D57) * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += UINT32_C(0x9E3779B9);
    k1 += UINT32_C(0xBB67AE85);
  }
  word[0] = c0;
  word[1] = c1;
  word[2] = c2;
  word[3] = c3;
}
)c"},
        {"bounded",
         {"philox"},
         R"c(/* The number below `range` that x selects (Lemire); words that would make some likelier are drawn again. */
static uint64_t bounded(uint64_t x, uint64_t range, uint64_t index, uint64_t stream, uint64_t seed) {
  const uint64_t uneven = (0 - range) % range;
  while (x * range < uneven) {
    uint32_t word[4];
    seed += UINT64_C(0x9E3779B97F4A7C15);
    philox(index, stream, seed, word);
    x = (uint64_t)word[0] | (uint64_t)word[1] << 32;
  }
  const uint64_t a = x >> 32, b = x & 0xFFFFFFFF, c = range >> 32, d = range & 0xFFFFFFFF;
  const uint64_t low = b * d, middle = a * d + (low >> 32), other = b * c + (middle & 0xFFFFFFFF);
  return a * c + (middle >> 32) + (other >> 32);
}
)c"},
    };
    const auto own = own_math();
    list.insert(list.end(), own.begin(), own.end());
    return list;
  }();
  return all;
}

}  // namespace

std::span<const Helper> all_helpers() { return helpers(); }

}  // namespace ingot::exchange
