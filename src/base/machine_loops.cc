#include "base/machine_loops.h"

#include "ingot/base/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/machine_loops.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ingot {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve chains hide the latency of the multiply-add on every core we know and fit sixteen registers.
double fma_steps(int64_t steps, float* sink) {
  const hn::ScalableTag<float> d;
  const auto x = hn::Set(d, 0.999f), y = hn::Set(d, 0.001f);
  const auto start = [&](float i) {
    return hn::Set(d, sink[0] + i);
  };  // all different, or the compiler keeps one chain
  auto a0 = start(0), a1 = start(1), a2 = start(2), a3 = start(3), a4 = start(4), a5 = start(5);
  auto a6 = start(6), a7 = start(7), a8 = start(8), a9 = start(9), a10 = start(10), a11 = start(11);
  for (int64_t i = 0; i < steps; ++i) {
    a0 = hn::MulAdd(a0, x, y), a1 = hn::MulAdd(a1, x, y), a2 = hn::MulAdd(a2, x, y);
    a3 = hn::MulAdd(a3, x, y), a4 = hn::MulAdd(a4, x, y), a5 = hn::MulAdd(a5, x, y);
    a6 = hn::MulAdd(a6, x, y), a7 = hn::MulAdd(a7, x, y), a8 = hn::MulAdd(a8, x, y);
    a9 = hn::MulAdd(a9, x, y), a10 = hn::MulAdd(a10, x, y), a11 = hn::MulAdd(a11, x, y);
  }
  a0 = hn::Add(hn::Add(a0, a1), hn::Add(a2, a3));
  a4 = hn::Add(hn::Add(a4, a5), hn::Add(a6, a7));
  a8 = hn::Add(hn::Add(a8, a9), hn::Add(a10, a11));
  sink[0] = hn::GetLane(hn::SumOfLanes(d, hn::Add(a0, hn::Add(a4, a8))));
  return 2.0 * 12.0 * static_cast<double>(steps) * static_cast<double>(hn::Lanes(d));
}

// Bits are gathered with Or, which no core is short of, so that loads are what is measured.
void read_passes(const float* data, int64_t n, int64_t passes, float* sink) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0;
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (int64_t i = 0; i < n; i += 4 * lanes) {
      a0 = hn::Or(a0, hn::Load(d, data + i));
      a1 = hn::Or(a1, hn::Load(d, data + i + lanes));
      a2 = hn::Or(a2, hn::Load(d, data + i + 2 * lanes));
      a3 = hn::Or(a3, hn::Load(d, data + i + 3 * lanes));
    }
    asm volatile("" ::: "memory");  // the next pass must load again
  }
  sink[0] = hn::GetLane(hn::Or(hn::Or(a0, a1), hn::Or(a2, a3)));
}

void triad(float* HWY_RESTRICT a, const float* HWY_RESTRICT b, const float* HWY_RESTRICT c, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto three = hn::Set(d, 3.0f);
  for (int64_t i = 0; i < n; i += lanes) hn::Store(hn::MulAdd(three, hn::Load(d, c + i), hn::Load(d, b + i)), d, a + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace ingot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot {

double fma_loop(int64_t steps, float* sink) { return INGOT_DISPATCH(fma_steps)(steps, sink); }

void read_loop(const float* data, int64_t n, int64_t passes, float* sink) {
  INGOT_DISPATCH(read_passes)(data, n, passes, sink);
}

void triad_loop(float* a, const float* b, const float* c, int64_t n) { INGOT_DISPATCH(triad)(a, b, c, n); }

}  // namespace ingot
#endif
