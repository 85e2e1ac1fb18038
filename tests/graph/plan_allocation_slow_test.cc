// Memory of the whole process over very many runs.
#include <unistd.h>

#include <fstream>

#include "tests/graph/training_plan.h"

namespace ingot::harness {
namespace {

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(PlanAllocationSlow, ResidentMemoryStaysFlat) {
  for (int n : {1, 2}) {
    const int before_threads = threads();
    set_threads(n);
    TrainingPlan training;
    for (int i = 0; i < 1000; i++) training.run();
    const size_t before = resident_bytes();
    const uint64_t mallocs = malloc_calls();
    for (int i = 0; i < 100000; i++) training.run();
    EXPECT_EQ(malloc_calls(), mallocs);
    EXPECT_LE(resident_bytes(), before + (size_t{64} << 10)) << n << " threads";
    set_threads(before_threads);
  }
}

// Plans that come and go give everything back.
TEST(PlanAllocationSlow, PlansGiveBackTheirMemory) {
  {
    TrainingPlan warm;
    warm.run();
  }
  const MemoryStats before = memory_stats();
  size_t resident = 0;
  for (int i = 0; i < 2000; i++) {
    TrainingPlan training;
    training.run();
    if (i == 500) resident = resident_bytes();
  }
  EXPECT_EQ(memory_stats().bytes_in_use, before.bytes_in_use);
  EXPECT_LE(resident_bytes(), resident + (size_t{4} << 20));
}

}  // namespace
}  // namespace ingot::harness
