// Tests of kernels run on every SIMD target.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/base/simd.h"
#include "ingot/base/threads.h"

namespace ingot::kernels {

/// The instruction sets to test: all that this machine and build have, or the one that INGOT_SIMD names.
inline std::vector<Simd> targets_here() {
  if (std::getenv("INGOT_SIMD") != nullptr) return {simd()};
  std::vector<Simd> targets;
  const Simd before = simd();
  for (Simd target : {Simd::kSse4, Simd::kAvx2, Simd::kAvx512, Simd::kNeon, Simd::kWasm}) {
    try {
      set_simd(target);
      targets.push_back(target);
    } catch (const Error&) {  // not here
    }
  }
  set_simd(before);
  return targets;
}

/// Runs its tests on the instruction set of the parameter.
class OnTarget : public testing::TestWithParam<Simd> {
 protected:
  void SetUp() override { set_simd(GetParam()); }
  void TearDown() override {
    set_simd(before_);
    set_threads(threads_);
  }

 private:
  Simd before_ = simd();
  int threads_ = threads();
};

inline std::string target_name(const testing::TestParamInfo<Simd>& target) { return name(target.param); }
#define INGOT_ON_TARGETS(Suite) INSTANTIATE_TEST_SUITE_P(Targets, Suite, testing::ValuesIn(targets_here()), target_name)

}  // namespace ingot::kernels
