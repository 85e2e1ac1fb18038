// Tests of kernels run on every SIMD target.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "ingot/simd.h"
#include "ingot/threads.h"

namespace ingot::kernels {

/// Runs its tests on the instruction sets of the parameter; skips those this machine lacks.
class OnTarget : public testing::TestWithParam<Simd> {
 protected:
  void SetUp() override {
    try {
      set_simd(GetParam());
    } catch (const std::exception& e) {
      GTEST_SKIP() << e.what();
    }
  }
  void TearDown() override {
    set_simd(before_);
    set_threads(threads_);
  }

 private:
  Simd before_ = simd();
  int threads_ = threads();
};

inline std::string target_name(const testing::TestParamInfo<Simd>& target) { return name(target.param); }
#define INGOT_ON_TARGETS(Suite) \
  INSTANTIATE_TEST_SUITE_P(Targets, Suite, testing::Values(Simd::kSse4, Simd::kAvx2), target_name)

}  // namespace ingot::kernels
