// Sine and cosine in plain arithmetic: the same bits on every machine, one at a time or in a loop that the compiler
// makes vectors of.
#pragma once
#include <bit>
#include <cstdint>

namespace ingot::rl {

struct SinCos {
  double sin, cos;
};

/// To about an ulp, for |x| up to 10⁵.
inline SinCos sin_cos(double x) {
  // x = k·π/2 + r with |r| ≤ π/4: k in the low bits of a sum that has no room for a fraction, π/2 in three parts.
  constexpr double kRound = 0x1.8p52, kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kPart1 = 0x1.921fb544p0, kPart2 = 0x1.0b4611a6p-34, kPart3 = 0x1.3198a2e037073p-69;
  const double shifted = x * kTwoOverPi + kRound;
  const double k = shifted - kRound;
  const auto quarter = std::bit_cast<uint64_t>(shifted);
  const double r = ((x - k * kPart1) - k * kPart2) - k * kPart3, z = r * r;
  // Taylor's terms, economised: those of fdlibm.
  const double s = r + r * z *
                           (-1.66666666666666324348e-01 +
                            z * (8.33333333332248946124e-03 +
                                 z * (-1.98412698298579493134e-04 +
                                      z * (2.75573137070700676789e-06 +
                                           z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
  const double c = 1 - 0.5 * z +
                   z * z *
                       (4.16666666666666019037e-02 +
                        z * (-1.38888888888741095749e-03 +
                             z * (2.48015872894767294178e-05 +
                                  z * (-2.75573143513906633035e-07 +
                                       z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
  const bool swapped = (quarter & 1) != 0;
  const double sin = swapped ? c : s, cos = swapped ? s : c;
  return {(quarter & 2) != 0 ? -sin : sin, ((quarter + 1) & 2) != 0 ? -cos : cos};
}

}  // namespace ingot::rl
