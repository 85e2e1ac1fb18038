// Elements that are known when a file is written.
#pragma once
#include <cstddef>
#include <string>

#include "ingot/base/dtype.h"

namespace ingot::exchange {

/// An array's elements between braces, several a line, each as short as it reads back.
std::string numbers(const std::byte* data, size_t bytes, DType type);
bool all_zero(const std::byte* data, size_t bytes);

}  // namespace ingot::exchange
