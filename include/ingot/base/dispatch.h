// Which instruction set the kernels use. Highway gives the vector types; the choice at run time is ours, so that
// nothing of Highway needs to be linked and INGOT_SIMD can force a target.
#pragma once
#include "ingot/base/simd.h"

namespace ingot {

/// Picks the function of the chosen target out of the ones that were compiled; null entries were not.
template <class Fn>
Fn choose_simd(Fn sse4, Fn avx2, Fn avx512, Fn neon, Fn wasm, Fn baseline) {
  Fn chosen = nullptr;
  switch (simd()) {
    case Simd::kSse4: chosen = sse4; break;
    case Simd::kAvx2: chosen = avx2; break;
    case Simd::kAvx512: chosen = avx512; break;
    case Simd::kNeon: chosen = neon; break;
    case Simd::kWasm: chosen = wasm; break;
    case Simd::kScalar: break;
  }
  return chosen != nullptr ? chosen : baseline;
}

}  // namespace ingot

// INGOT_DISPATCH(fn)(args): calls `fn` as compiled for the chosen target. Use it under HWY_ONCE, in the namespace that
// encloses the per-target namespaces.
#define INGOT_DISPATCH(fn)                                                                             \
  (*::ingot::choose_simd<decltype(&HWY_STATIC_DISPATCH(fn))>(HWY_CHOOSE_SSE4(fn), HWY_CHOOSE_AVX2(fn), \
                                                             HWY_CHOOSE_AVX3(fn), HWY_CHOOSE_NEON(fn), \
                                                             HWY_CHOOSE_WASM(fn), &HWY_STATIC_DISPATCH(fn)))
