// The activations that kernels can apply while a result is still in registers or in the first cache.
#pragma once
#include <cstdint>

namespace ingot::kernels {

enum class Activation : uint8_t { kNone, kRelu, kSigmoid, kTanh, kGelu /* tanh form */, kSilu };

}  // namespace ingot::kernels
