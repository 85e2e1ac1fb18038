// Element types.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include "ingot/base/export.h"

namespace ingot {

/// f32 and f64 for mathematics; i32, i64, u8 and bool for indices, masks and data; f16 and bf16 for storage only.
enum class DType : uint8_t { kF32, kF64, kI32, kI64, kU8, kBool, kF16, kBF16 };

inline constexpr DType kF32 = DType::kF32, kF64 = DType::kF64, kI32 = DType::kI32, kI64 = DType::kI64;
inline constexpr DType kU8 = DType::kU8, kBool = DType::kBool, kF16 = DType::kF16, kBF16 = DType::kBF16;

/// 16-bit storage formats, converted with `to(x, dtype)`; to float and back with round-to-nearest-even.
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
INGOT_API float to_float(Half h);
INGOT_API float to_float(BFloat16 b);
INGOT_API Half to_half(float f);
INGOT_API BFloat16 to_bfloat16(float f);

/// A real number as an integer: towards zero, NaN to 0, out of range to the nearest end. (A plain cast is undefined
/// there.)
template <class Int>
constexpr Int saturate(double value) {
  if (!(value == value)) return 0;
  constexpr double kEnd = static_cast<double>(std::numeric_limits<Int>::max());  // i64: rounds up to 2⁶³, so >= below
  if (value >= kEnd) return std::numeric_limits<Int>::max();
  if (value <= static_cast<double>(std::numeric_limits<Int>::min())) return std::numeric_limits<Int>::min();
  return static_cast<Int>(value);
}

constexpr size_t size_of(DType t) {
  switch (t) {
    case DType::kF64:
    case DType::kI64: return 8;
    case DType::kF32:
    case DType::kI32: return 4;
    case DType::kF16:
    case DType::kBF16: return 2;
    case DType::kU8:
    case DType::kBool: return 1;
  }
  return 0;
}

/// "f32", "i64", …
INGOT_API const char* name(DType t);

/// True for the types mathematics runs in: f32 and f64.
constexpr bool is_float(DType t) { return t == DType::kF32 || t == DType::kF64; }
/// True for i32, i64 and u8.
constexpr bool is_integer(DType t) { return t == DType::kI32 || t == DType::kI64 || t == DType::kU8; }
/// True for the types plain arithmetic is defined on: f32, f64, i32 and i64.
constexpr bool is_number(DType t) { return is_float(t) || t == DType::kI32 || t == DType::kI64; }

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::kF16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::kBF16;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace ingot
