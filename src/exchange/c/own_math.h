// Mathematics for files that do not stand on math.h.
#pragma once
#include <span>

#include "exchange/c/file.h"

namespace ingot::exchange {

std::span<const Helper> own_math();

}  // namespace ingot::exchange
