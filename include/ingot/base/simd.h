// The instruction set in use.
#pragma once
#include "ingot/base/export.h"

namespace ingot {

enum class Simd { kScalar, kSse4, kAvx2, kAvx512, kNeon, kWasm };

/// The instruction set that kernels use: the best of this machine, or the one INGOT_SIMD names.
INGOT_API Simd simd();

/// Forces an instruction set; an Error says so when this machine or this build lacks it. kScalar runs the plain
/// reference loops.
INGOT_API void set_simd(Simd target);

/// "scalar", "sse4", "avx2", "avx512", "neon" or "wasm".
INGOT_API const char* name(Simd target);

}  // namespace ingot
