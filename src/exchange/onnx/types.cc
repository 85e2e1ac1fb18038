#include "exchange/onnx/types.h"

#include <cstring>
#include <limits>

#include "ingot/base/error.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::onnx {
namespace {

template <class T>
T loaded(const std::byte* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void stored(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// One element of a file as its carrier, by type: f(element, destination).
template <class From, class To>
void widen(Bytes raw, Tensor& t) {
  To* out = t.data<To>();
  for (int64_t i = 0; i < t.numel(); i++)
    out[i] = static_cast<To>(loaded<From>(raw.data() + static_cast<size_t>(i) * sizeof(From)));
}
template <class From, class To>
std::string narrow(const Tensor& t) {
  std::string bytes(static_cast<size_t>(t.numel()) * sizeof(To), '\0');
  const From* in = t.data<From>();
  for (int64_t i = 0; i < t.numel(); i++)
    stored(reinterpret_cast<std::byte*>(bytes.data()) + static_cast<size_t>(i) * sizeof(To), static_cast<To>(in[i]));
  return bytes;
}

}  // namespace

std::string name(Type type) {
  static constexpr const char* kNames[] = {"undefined", "f32", "u8",        "i8",         "u16", "i16",
                                           "i32",       "i64", "string",    "bool",       "f16", "f64",
                                           "u32",       "u64", "complex64", "complex128", "bf16"};
  const auto i = static_cast<size_t>(type);
  return i < std::size(kNames) ? kNames[i] : "type " + std::to_string(static_cast<int>(type));
}

DType carrier(Type type) {
  switch (type) {
    case Type::kFloat:
    case Type::kFloat16:
    case Type::kBfloat16: return kF32;
    case Type::kDouble: return kF64;
    case Type::kUint8:
    case Type::kInt8:
    case Type::kUint16:
    case Type::kInt16:
    case Type::kInt32: return kI32;
    case Type::kUint32:
    case Type::kInt64:
    case Type::kUint64: return kI64;
    case Type::kBool: return kBool;
    default: throw Error(ErrorKind::kType, "onnx: elements of type " + name(type) + " are not supported");
  }
}

int size_in_file(Type type) {
  switch (type) {
    case Type::kUint8:
    case Type::kInt8:
    case Type::kBool: return 1;
    case Type::kUint16:
    case Type::kInt16:
    case Type::kFloat16:
    case Type::kBfloat16: return 2;
    case Type::kFloat:
    case Type::kInt32:
    case Type::kUint32: return 4;
    case Type::kDouble:
    case Type::kInt64:
    case Type::kUint64: return 8;
    default: return 0;
  }
}

bool is_real(Type type) {
  return type == Type::kFloat || type == Type::kDouble || type == Type::kFloat16 || type == Type::kBfloat16;
}
bool is_integer(Type type) { return size_in_file(type) > 0 && !is_real(type) && type != Type::kBool; }

Range range_of(Type type) {
  switch (type) {
    case Type::kUint8: return {0, 255};
    case Type::kInt8: return {-128, 127};
    case Type::kUint16: return {0, 65535};
    case Type::kInt16: return {-32768, 32767};
    case Type::kInt32: return {INT32_MIN, INT32_MAX};
    case Type::kUint32: return {0, UINT32_MAX};
    default: return {INT64_MIN, INT64_MAX};
  }
}

Type type_of(DType dtype) {
  switch (dtype) {
    case kF32: return Type::kFloat;
    case kF64: return Type::kDouble;
    case kI32: return Type::kInt32;
    case kI64: return Type::kInt64;
    case kU8: return Type::kUint8;
    case kBool: return Type::kBool;
    case kF16: return Type::kFloat16;
    case kBF16: return Type::kBfloat16;
  }
  return Type::kUndefined;
}

void put_element(std::byte* out, Type type, int64_t value) {
  switch (carrier(type)) {
    case kF32:
      stored(out, type == Type::kFloat16 ? to_float(Half{static_cast<uint16_t>(value)})
                                         : to_float(BFloat16{static_cast<uint16_t>(value)}));
      break;
    case kI32: stored(out, static_cast<int32_t>(value)); break;
    case kI64: stored(out, value); break;
    default: stored(out, static_cast<uint8_t>(value != 0)); break;
  }
}
void put_element(std::byte* out, Type, float value) { stored(out, value); }
void put_element(std::byte* out, Type, double value) { stored(out, value); }

Tensor from_file_bytes(Bytes raw, Type type, const Dims& shape) {
  Tensor t = Tensor::empty(shape, carrier(type));
  switch (type) {
    case Type::kUint8: widen<uint8_t, int32_t>(raw, t); break;
    case Type::kInt8: widen<int8_t, int32_t>(raw, t); break;
    case Type::kUint16: widen<uint16_t, int32_t>(raw, t); break;
    case Type::kInt16: widen<int16_t, int32_t>(raw, t); break;
    case Type::kUint32: widen<uint32_t, int64_t>(raw, t); break;
    case Type::kFloat16:
    case Type::kBfloat16:
      for (int64_t i = 0; i < t.numel(); i++)
        put_element(static_cast<std::byte*>(t.raw()) + i * 4, type,
                    static_cast<int64_t>(loaded<uint16_t>(raw.data() + static_cast<size_t>(i) * 2)));
      break;
    case Type::kBool:
      for (int64_t i = 0; i < t.numel(); i++)
        put_element(static_cast<std::byte*>(t.raw()) + i, type, static_cast<int64_t>(raw[static_cast<size_t>(i)]));
      break;
    default:
      if (!raw.empty()) std::memcpy(t.raw(), raw.data(), raw.size());  // the carrier's own type
  }
  return t;
}

std::string to_file_bytes(const Tensor& tensor, Type type) {
  const Tensor t = contiguous(tensor);
  switch (type) {
    case Type::kUint8: return t.dtype() == kU8 ? narrow<uint8_t, uint8_t>(t) : narrow<int32_t, uint8_t>(t);
    case Type::kInt8: return narrow<int32_t, int8_t>(t);
    case Type::kUint16: return narrow<int32_t, uint16_t>(t);
    case Type::kInt16: return narrow<int32_t, int16_t>(t);
    case Type::kUint32: return narrow<int64_t, uint32_t>(t);
    case Type::kFloat16:
    case Type::kBfloat16:
      if (t.dtype() == kF32) return to_file_bytes(to(t, type == Type::kFloat16 ? kF16 : kBF16), type);
      [[fallthrough]];
    default: return {static_cast<const char*>(t.raw()), static_cast<size_t>(t.numel()) * size_of(t.dtype())};
  }
}

}  // namespace ingot::onnx
