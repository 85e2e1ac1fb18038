// Conversions between element types: plain branch-free loops that the compiler turns into vector code for each target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ingot/base/dispatch.h"
#include "kernels/copy.h"

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels {
namespace HWY_NAMESPACE {

struct Bool {
  uint8_t byte;
};

HWY_INLINE float widen(Half h) {
  const uint32_t sign = uint32_t{h.bits & 0x8000u} << 16, rest = h.bits & 0x7fffu;
  const uint32_t small = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(rest)) * 0x1p-24f);
  const uint32_t normal = (rest << 13) + (112u << 23), special = (rest << 13) | 0x7f800000u;
  return std::bit_cast<float>(sign | (rest < 0x400 ? small : rest < 0x7c00 ? normal : special));
}
HWY_INLINE float widen(BFloat16 b) { return std::bit_cast<float>(uint32_t{b.bits} << 16); }

HWY_INLINE Half narrow(float f, Half) {
  const uint32_t bits = std::bit_cast<uint32_t>(f), sign = (bits >> 16) & 0x8000u, m = bits & 0x7fffffffu;
  // Adding ½ rounds a subnormal into the low bits of the sum.
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(m) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (m + 0xfff + ((m >> 13) & 1) - 0x38000000u) >> 13;
  const uint32_t large = m > 0x7f800000u ? 0x7e00u : 0x7c00u;  // NaN, or what rounds to infinity
  return {static_cast<uint16_t>(sign | (m < 0x38800000u ? small : m < 0x477ff000u ? normal : large))};
}
HWY_INLINE BFloat16 narrow(float f, BFloat16) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16, nan = (bits >> 16) | 0x40;
  return {static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

// The largest F that an Int can hold.
template <class Int, class F>
constexpr F top() {
  constexpr int kSpare = std::numeric_limits<Int>::digits - std::numeric_limits<F>::digits;
  if constexpr (kSpare <= 0)
    return static_cast<F>(std::numeric_limits<Int>::max());
  else
    return static_cast<F>(std::numeric_limits<Int>::max() >> kSpare << kSpare);
}

template <class Int, class F>
HWY_INLINE Int to_integer(F x) {
  constexpr F kTop = top<Int, F>(), kBottom = static_cast<F>(std::numeric_limits<Int>::min());
  const F low = x > kBottom ? x : kBottom;  // NaN too
  const F inside = low < kTop ? low : kTop;
  Int result = static_cast<Int>(inside);
  if constexpr (static_cast<Int>(kTop) != std::numeric_limits<Int>::max())
    result = x > kTop ? std::numeric_limits<Int>::max() : result;
  return x == x ? result : Int{0};
}

template <class To, class From>
HWY_INLINE To convert_one(From x) {
  constexpr bool kWide = std::is_arithmetic_v<From>;
  if constexpr (std::is_same_v<To, From> && !std::is_same_v<To, Bool>)
    return x;
  else if constexpr (std::is_same_v<From, Bool>)
    return convert_one<To, uint8_t>(x.byte != 0);
  else if constexpr (!kWide)
    return convert_one<To, float>(widen(x));
  else if constexpr (std::is_same_v<To, Bool>)
    return {static_cast<uint8_t>(x != 0)};
  else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>)
    return narrow(static_cast<float>(x), To{});
  else if constexpr (std::is_floating_point_v<To>)
    return static_cast<To>(x);
  else if constexpr (std::is_floating_point_v<From>)
    return to_integer<To>(x);
  else {  // between integers: to the nearest end
    using Wide = std::conditional_t<sizeof(From) == 8 || sizeof(To) == 8, int64_t, int32_t>;
    constexpr Wide kLow = static_cast<Wide>(std::numeric_limits<To>::min()),
                   kHigh = static_cast<Wide>(std::numeric_limits<To>::max());
    const Wide wide = static_cast<Wide>(x), low = wide > kLow ? wide : kLow;
    return static_cast<To>(low < kHigh ? low : kHigh);
  }
}

template <class To, class From>
void convert_row(void* to, const void* from, int64_t n) {
  To* HWY_RESTRICT out = static_cast<To*>(to);
  const From* HWY_RESTRICT in = static_cast<const From*>(from);
  for (int64_t i = 0; i < n; i++) out[i] = convert_one<To, From>(in[i]);
}

template <class To>
ConvertFn row_from(DType from) {
  switch (from) {
    case DType::kF32: return convert_row<To, float>;
    case DType::kF64: return convert_row<To, double>;
    case DType::kI32: return convert_row<To, int32_t>;
    case DType::kI64: return convert_row<To, int64_t>;
    case DType::kU8: return convert_row<To, uint8_t>;
    case DType::kBool: return convert_row<To, Bool>;
    case DType::kF16: return convert_row<To, Half>;
    case DType::kBF16: return convert_row<To, BFloat16>;
  }
  return nullptr;
}

ConvertFn row_of(DType to, DType from) {
  switch (to) {
    case DType::kF32: return row_from<float>(from);
    case DType::kF64: return row_from<double>(from);
    case DType::kI32: return row_from<int32_t>(from);
    case DType::kI64: return row_from<int64_t>(from);
    case DType::kU8: return row_from<uint8_t>(from);
    case DType::kBool: return row_from<Bool>(from);
    case DType::kF16: return row_from<Half>(from);
    case DType::kBF16: return row_from<BFloat16>(from);
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace ingot::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {
ConvertFn conversion(DType to, DType from) { return INGOT_DISPATCH(row_of)(to, from); }
}  // namespace ingot::kernels
#endif
