// A plan that has run once allocates nothing: neither tensor storage nor anything else of the process.
#include "tests/graph/training_plan.h"
#include "tests/sanitized.h"

namespace ingot::harness {
namespace {

constexpr int kRuns = kSanitized ? 1'000 : 10'000;

void expect_no_allocations(int threads, int runs) {
  const int before = ingot::threads();
  set_threads(threads);
  TrainingPlan training;
  training.run();
  training.run();
  const uint64_t mallocs = malloc_calls();
  const MemoryStats stats = memory_stats();
  for (int i = 0; i < runs; i++) training.run();
  EXPECT_EQ(malloc_calls(), mallocs);
  EXPECT_EQ(memory_stats().allocations, stats.allocations);
  EXPECT_EQ(memory_stats().frees, stats.frees);
  EXPECT_EQ(memory_stats().bytes_in_use, stats.bytes_in_use);
  EXPECT_TRUE(training.improved()) << "it must be training";
  set_threads(before);
}

TEST(PlanAllocation, TheCounterCounts) {
  const uint64_t before = malloc_calls();
  const std::vector<int> some(100);
  EXPECT_GT(malloc_calls(), before);
}

TEST(PlanAllocation, NoneOnOneThread) { expect_no_allocations(1, kRuns); }
TEST(PlanAllocation, NoneOnTwoThreads) { expect_no_allocations(2, kRuns); }

// Strided inputs are copied into room made at the first run; checked indices and seeds take none either.
TEST(PlanAllocation, NoneForStridedInputsSeedsAndChecks) {
  const Tensor table = uniform({10, 6}, 1), x = uniform({6, 8}, 2), seed = full({}, 1, kI64);
  const Tensor i = Tensor::from(std::vector<int64_t>{1, 2, 3, 4, 0, 1, 2, 3});
  Plan plan = compile(
      [&](const Tensor& in, const Tensor& index, const Tensor& s) {
        return gradients(sum(dropout(in, 0.5, s) * embedding(table, index + index)), {in, table});
      },
      {{8, 6}, {{8}, kI64}, {{}, kI64}});
  const Tensor turned = transpose(x);
  plan.run(turned, i, seed);
  const uint64_t mallocs = malloc_calls(), tensors = memory_stats().allocations;
  for (int k = 0; k < 1000; k++) plan.run(turned, i, seed);
  EXPECT_EQ(malloc_calls(), mallocs);
  EXPECT_EQ(memory_stats().allocations, tensors);
}

TEST(PlanAllocation, BytesAreKnownBeforehand) {
  const uint64_t before = memory_stats().bytes_in_use;
  const TrainingPlan training;
  const uint64_t held = memory_stats().bytes_in_use - before - training.own_bytes();
  // Besides its memory for numbers, a plan keeps the graph: a block of 64 bytes a value.
  const uint64_t said = training.plan().bytes().own();
  EXPECT_GE(held, said) << training.plan().describe();
  EXPECT_LE(held, said + 10240) << training.plan().describe();
}

}  // namespace
}  // namespace ingot::harness
