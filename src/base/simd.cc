#include "ingot/base/simd.h"

#include <hwy/detect_targets.h>

#include <cstdlib>
#include <string>

#include "ingot/base/error.h"

namespace ingot {
namespace {

constexpr Simd kAll[] = {Simd::kScalar, Simd::kSse4, Simd::kAvx2, Simd::kAvx512, Simd::kNeon, Simd::kWasm};

bool usable(Simd target) {
  switch (target) {
    case Simd::kScalar: return true;
#if HWY_ARCH_X86
    case Simd::kSse4: return (HWY_TARGETS & HWY_SSE4) != 0;  // a build whose baseline is wider has none
    case Simd::kAvx2:  // F16C, which Highway uses too, came before AVX2 on every processor
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    case Simd::kAvx512:
      return (HWY_TARGETS & HWY_AVX3) != 0 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#endif
    case Simd::kNeon: return HWY_STATIC_TARGET == HWY_NEON;
    case Simd::kWasm: return HWY_STATIC_TARGET == HWY_WASM;
    default: return false;
  }
}

Simd best() {
  Simd found = Simd::kScalar;
  for (Simd target : kAll)
    if (usable(target)) found = target;
  return found;
}

std::string usable_names() {
  std::string names;
  for (Simd target : kAll)
    if (usable(target)) names += (names.empty() ? "" : ", ") + std::string(name(target));
  return names;
}

Simd from_environment() {
  const char* wanted = std::getenv("INGOT_SIMD");
  if (wanted == nullptr || *wanted == '\0') return best();
  for (Simd target : kAll)
    if (usable(target) && std::string(name(target)) == wanted) return target;
  throw Error("INGOT_SIMD: \"" + std::string(wanted) +
              "\" is not an instruction set of this machine and build — use one of " + usable_names() +
              ", or unset it for the best");
}

// Written only by set_simd, which the user calls between ops.
Simd& chosen() {
  static Simd target = from_environment();
  return target;
}

}  // namespace

Simd simd() { return chosen(); }

void set_simd(Simd target) {
  if (!usable(target))
    throw Error("set_simd: " + std::string(name(target)) + " is not available here — use one of " + usable_names());
  chosen() = target;
}

const char* name(Simd target) {
  switch (target) {
    case Simd::kScalar: return "scalar";
    case Simd::kSse4: return "sse4";
    case Simd::kAvx2: return "avx2";
    case Simd::kAvx512: return "avx512";
    case Simd::kNeon: return "neon";
    case Simd::kWasm: return "wasm";
  }
  return "?";
}

}  // namespace ingot
