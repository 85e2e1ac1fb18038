#include "ingot/base/machine.h"

#include <gtest/gtest.h>

#include "ingot/base/clock.h"
#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/base/simd.h"
#include "ingot/base/threads.h"

namespace ingot {
namespace {

TEST(Machine, InfoIsPlausible) {
  const MachineInfo info = machine_info();
  EXPECT_FALSE(info.cpu.empty());
  EXPECT_EQ(info.simd, name(simd()));
  EXPECT_EQ(info.cores, usable_cores());
  EXPECT_GT(info.ram_bytes, uint64_t{16} << 20);
  if (info.l1d_bytes > 0 && info.l2_bytes > 0) {
    EXPECT_LE(info.l1d_bytes, info.l2_bytes);
  }
  EXPECT_TRUE(info.huge_pages == "always" || info.huge_pages == "madvise" || info.huge_pages == "never" ||
              info.huge_pages == "unknown")
      << info.huge_pages;
}

// Whatever the machine, a rate lies between a slow emulator's and more than any core of today does.
TEST(Machine, MeasurementsAreFiniteAndLeaveNothingBehind) {
  const int threads_before = threads();
  const uint64_t bytes_before = memory_stats().bytes_in_use;
  for (int n : {1, 2}) {
    const double fma = measure_fma_gflops(n), read = measure_read_gbps(16 << 10, n),
                 triad = measure_triad_gbps(1 << 20, n);
    EXPECT_TRUE(fma > 0.001 && fma < 2000.0 * n) << fma;
    EXPECT_TRUE(read > 0.001 && read < 5000.0 * n) << read;
    EXPECT_TRUE(triad > 0.001 && triad < 5000.0 * n) << triad;
    EXPECT_GT(measure_barrier_ns(n), 0.0);
  }
  EXPECT_EQ(threads(), threads_before);
  EXPECT_EQ(memory_stats().bytes_in_use, bytes_before);
}

TEST(Machine, BadInputIsASentence) {
  EXPECT_THROW(measure_fma_gflops(0), Error);
  EXPECT_THROW(measure_barrier_ns(10000), Error);
  EXPECT_THROW(measure_read_gbps(0, 1), Error);
  EXPECT_THROW(measure_read_gbps(SIZE_MAX, 1), Error);
  EXPECT_THROW(measure_triad_gbps(size_t{1} << 45, 1), Error);
  try {
    measure_triad_gbps(5, 1);
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "measure_triad_gbps: a buffer of 5 B — use 1.0 KiB to 64.0 TiB");
  }
}

TEST(Machine, ClockNeverGoesBack) {
  int64_t last = now_ns();
  for (int i = 0; i < 10000; ++i) {
    const int64_t now = now_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace ingot
