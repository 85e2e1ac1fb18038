// Functions in double, after fdlibm (Sun Microsystems, 1993) and Kahan; those of float are rounded from them. Few and
// small rather than fast: whoever has math.h has better ones.
#include "exchange/c/own_math.h"

#include <vector>

namespace ingot::exchange {
namespace {

const Helper kDouble[] = {
    {"double_bits", {}, R"c(static uint64_t double_bits(double v) {
  union {
    double number;
    uint64_t bits;
  } u;
  u.number = v;
  return u.bits;
}
)c"},
    {"bits_double", {}, R"c(static double bits_double(uint64_t v) {
  union {
    uint64_t bits;
    double number;
  } u;
  u.bits = v;
  return u.number;
}
)c"},
};

const std::vector<Helper>& all() {
  static const std::vector<Helper> list = [] {
    std::vector<Helper> h(std::begin(kDouble), std::end(kDouble));
    h.push_back({"own_sqrt", {"double_bits", "bits_double"}, R"c(static double own_sqrt(double x) {
  double scale = 1;
  if (!(x > 0) || x > 1.7976931348623157e308) return x == 0 || x > 0 ? x : (x - x) / (x - x);
  if (x < 2.2250738585072014e-308) x *= 18014398509481984.0, scale = 1.0 / 134217728.0;
  double y = bits_double(UINT64_C(0x1FF7A3BEA91D9B1B) + (double_bits(x) >> 1));
  for (int i = 0; i < 4; i++) y = 0.5 * (y + x / y);
  return y * scale;
}
)c"});
    h.push_back({"own_exp", {"bits_double"}, R"c(static double own_exp(double x) {
  if (x != x) return x;
  if (x > 709.782712893384) return 1e300 * 1e300;
  if (x < -745.1332191019412) return 0;
  const int k = (int)(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
  const double high = x - k * 6.93147180369123816490e-01, low = k * 1.90821492927058770002e-10, r = high - low, t = r * r;
  const double c = r - t * (1.66666666666666019037e-01 + t * (-2.77777777770155933842e-03 + t * (6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
  const double y = 1 - ((low - r * c / (2 - c)) - high);
  const int half = k / 2;
  return y * bits_double((uint64_t)(1023 + half) << 52) * bits_double((uint64_t)(1023 + k - half) << 52);
}
)c"});
    h.push_back({"own_log", {"double_bits", "bits_double"}, R"c(static double own_log(double x) {
  int e = 0;
  if (!(x > 0)) return x == 0 ? -1e300 * 1e300 : (x - x) / (x - x);
  if (x > 1.7976931348623157e308) return x;
  if (x < 2.2250738585072014e-308) x *= 18014398509481984.0, e = -54;
  const uint64_t shifted = double_bits(x) + (UINT64_C(0x3FF0000000000000) - UINT64_C(0x3FE6A09E667F3BCD));
  e += (int)(shifted >> 52) - 1023;
  const double f = bits_double((shifted & UINT64_C(0x000FFFFFFFFFFFFF)) + UINT64_C(0x3FE6A09E667F3BCD)) - 1;
  const double s = f / (2 + f), z = s * s, w = z * z, half = 0.5 * f * f;
  const double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  return e * 6.93147180369123816490e-01 - ((half - (s * (half + (even + odd)) + e * 1.90821492927058770002e-10)) - f);
}
)c"});
    h.push_back({"own_expm1", {"own_exp", "own_log"}, R"c(static double own_expm1(double x) {
  const double u = own_exp(x);
  if (u == 1) return x;
  if (u - 1 == -1 || u > 1e300) return u - 1;
  return x > -0.5 && x < 0.5 ? (u - 1) * x / own_log(u) : u - 1;
}
)c"});
    h.push_back({"own_log1p", {"own_log"}, R"c(static double own_log1p(double x) {
  const double u = 1 + x;
  if (u == 1 || x > 1e300) return u == 1 ? x : own_log(x);
  return own_log(u) * x / (u - 1);
}
)c"});
    h.push_back({"own_tanh", {"own_expm1"}, R"c(static double own_tanh(double x) {
  const double a = x < 0 ? -x : x;
  if (x != x || a < 1e-9) return x;
  const double t = a > 22 ? -1 : own_expm1(-2 * a), y = -t / (t + 2);
  return x < 0 ? -y : y;
}
)c"});
    h.push_back(
        {"own_turn", {}, R"c(/* x without quarters of a circle; which quarter it is in. Exact enough up to a million. */
static double own_turn(double x, int *quarter) {
  const double n = (double)(int64_t)(x * 0.6366197723675814 + (x < 0 ? -0.5 : 0.5));
  *quarter = (int)((int64_t)n & 3);
  return ((x - n * 1.57079632673412561417e+00) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
}
static double own_small_sin(double x) {
  const double z = x * x;
  return x + x * z * (-1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
}
static double own_small_cos(double x) {
  const double z = x * x;
  return 1 - (0.5 * z - z * z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 - z * 1.13596475577881948265e-11))))));
}
)c"});
    h.push_back({"own_sin", {"own_turn"}, R"c(static double own_sin(double x) {
  int quarter = 0;
  if (!(x > -1e15 && x < 1e15)) return (x - x) / (x - x);
  const double r = own_turn(x, &quarter), y = quarter & 1 ? own_small_cos(r) : own_small_sin(r);
  return quarter & 2 ? -y : y;
}
)c"});
    h.push_back({"own_cos", {"own_turn"}, R"c(static double own_cos(double x) {
  int quarter = 0;
  if (!(x > -1e15 && x < 1e15)) return (x - x) / (x - x);
  const double r = own_turn(x, &quarter), y = quarter & 1 ? own_small_sin(r) : own_small_cos(r);
  return (quarter + 1) & 2 ? -y : y;
}
)c"});
    h.push_back({"own_erfc", {"own_exp"}, R"c(/* A series of positive terms near 0, a continued fraction far out. */
static double own_erf_series(double x) {
  double term = x, sum = x;
  for (int n = 1; n < 80; n++) {
    term *= 2 * x * x / (2 * n + 1);
    sum += term;
  }
  return 1.1283791670955126 * own_exp(-x * x) * sum;
}
static double own_erfc(double x) {
  const double a = x < 0 ? -x : x;
  if (x != x) return x;
  if (a < 2) return 1 - own_erf_series(x);
  double f = a;
  for (int n = 120; n > 0; n--) f = a + 0.5 * n / f;
  const double y = a > 28 ? 0 : own_exp(-a * a) * 0.5641895835477563 / f;
  return x < 0 ? 2 - y : y;
}
)c"});
    h.push_back({"own_erf", {"own_erfc"}, R"c(static double own_erf(double x) {
  if (x > -2 && x < 2) return own_erf_series(x);
  return 1 - own_erfc(x);
}
)c"});
    h.push_back({"own_pow", {"own_exp", "own_log"}, R"c(static double own_pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  const double a = x < 0 ? -x : x;
  const int whole = y > 9007199254740992.0 || y < -9007199254740992.0 || (double)(int64_t)y == y;
  const int odd = whole && y < 9007199254740992.0 && y > -9007199254740992.0 && ((int64_t)y & 1) != 0;
  double r = 1;
  if (a == 0) r = y > 0 ? 0 : 1e300 * 1e300;
  else if (a != 1) r = own_exp(y * own_log(a));
  if (x >= 0) return r;
  if (!whole) return a > 1.7976931348623157e308 || a == 0 ? r : (x - x) / (x - x);
  return odd ? -r : r;
}
)c"});
#define INGOT_OWN_FLOAT(name)    \
  h.push_back({"own_" #name "f", \
               {"own_" #name},   \
               "static float own_" #name "f(float x) { return (float)own_" #name "((double)x); }\n"})
    INGOT_OWN_FLOAT(exp);
    INGOT_OWN_FLOAT(log);
    INGOT_OWN_FLOAT(expm1);
    INGOT_OWN_FLOAT(log1p);
    INGOT_OWN_FLOAT(tanh);
    INGOT_OWN_FLOAT(sin);
    INGOT_OWN_FLOAT(cos);
    INGOT_OWN_FLOAT(erf);
    INGOT_OWN_FLOAT(erfc);
#undef INGOT_OWN_FLOAT
    h.push_back({"own_powf",
                 {"own_pow"},
                 "static float own_powf(float x, float y) { return (float)own_pow((double)x, (double)y); }\n"});
    return h;
  }();
  return list;
}

}  // namespace

std::span<const Helper> own_math() { return all(); }

}  // namespace ingot::exchange
