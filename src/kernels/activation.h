// The activations that kernels can apply while a result is still in registers.
#pragma once
#include <cstdint>

namespace ingot::kernels {

enum class Activation : uint8_t { kNone, kRelu };

}  // namespace ingot::kernels
