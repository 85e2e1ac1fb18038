#include "exchange/c/data.h"

#include <algorithm>
#include <cstring>

#include "exchange/c/file.h"

namespace ingot::exchange {
namespace {

std::string number_at(const std::byte* at, DType t) {
  const auto read = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (t) {
    case DType::kF32: return literal(static_cast<double>(read(0.0f)), t);
    case DType::kF64: return literal(read(0.0), t);
    case DType::kI32: return literal(int64_t{read(int32_t{})}, t);
    case DType::kI64: return literal(read(int64_t{}), t);
    case DType::kF16:
    case DType::kBF16: return std::to_string(read(uint16_t{}));
    default: return std::to_string(read(uint8_t{}));
  }
}

}  // namespace

std::string numbers(const std::byte* data, size_t bytes, DType t) {
  const size_t size = size_of(t), n = bytes / size;
  std::string text = "{";
  size_t column = 0;
  for (size_t i = 0; i < n; i++) {
    const std::string number = number_at(data + i * size, t);
    if (column == 0 || column + number.size() > 116) {
      text += "\n ";
      column = 1;
    }
    text += " " + number + (i + 1 < n ? "," : "");
    column += number.size() + 2;
  }
  return text + "\n}";
}

bool all_zero(const std::byte* data, size_t bytes) {
  return std::all_of(data, data + bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace ingot::exchange
