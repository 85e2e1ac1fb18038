// What functions of a file stand on: vectors of the machine's width, sums, random numbers, mathematics without math.h.
#pragma once
#include <span>

#include "exchange/c/file.h"

namespace ingot::exchange {

/// In the order in which they are written.
std::span<const Helper> all_helpers();

}  // namespace ingot::exchange
