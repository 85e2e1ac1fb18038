// What the tests of the reduction-like kernels share.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/on_target.h"

namespace ingot::kernels {

template <class T>
std::vector<T> normal_values(std::mt19937& rng, int64_t n) {
  std::vector<T> values(static_cast<size_t>(n));
  for (T& x : values) x = static_cast<T>(std::normal_distribution<double>()(rng));
  return values;
}

/// |got - want| ≤ `ulps` units in the last place of `magnitude`; NaN wants NaN, an infinity itself.
template <class T>
testing::AssertionResult close(T got, double want, double magnitude, double ulps = 16) {
  const double g = static_cast<double>(got);
  if (want != want ? g != g : g == want) return testing::AssertionSuccess();
  const double tolerance = ulps * magnitude * static_cast<double>(std::numeric_limits<T>::epsilon());
  if (g - want <= tolerance && want - g <= tolerance) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "got " << g << ", want " << want << " ± " << tolerance;
}

/// 64-byte aligned bytes, with a guard behind them that must survive.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : bytes_(bytes), memory_(bytes + 128, char(0x5a)) {}
  ~Scratch() {
    const char* end = static_cast<char*>(data()) + bytes_;
    for (const char* p = end; p < memory_.data() + memory_.size(); ++p) EXPECT_EQ(*p, char(0x5a)) << "scratch overrun";
  }
  void* data() { return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory_.data()) + 63) / 64 * 64); }

 private:
  size_t bytes_;
  std::vector<char> memory_;
};

/// Runs `body(team)`, which fills a vector, on teams of 1, 2 and 3 and expects the same bits.
template <class T, class Body>
void expect_same_bits(size_t size, const Body& body, const std::string& what) {
  std::vector<T> alone;
  for (int workers : {1, 2, 3}) {
    set_threads(workers);
    std::vector<T> out(size, T(7));
    parallel(true, [&](const Team& team) { body(out.data(), team); });
    if (workers == 1) alone = out;
    EXPECT_EQ(std::memcmp(alone.data(), out.data(), size * sizeof(T)), 0) << what << " with " << workers << " workers";
  }
}

}  // namespace ingot::kernels
