#include "ingot/base/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/base/memory_budget.h"
#include "ingot/base/tensor.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

bool aligned(const void* block, size_t to) { return reinterpret_cast<uintptr_t>(block) % to == 0; }

TEST(Memory, BlocksAreAlignedAndUsable) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{64}, size_t{65}, size_t{4} << 10, (size_t{4} << 20) - 64,
                       (size_t{4} << 20) - 63, size_t{4} << 20, (size_t{9} << 20) + 5}) {
    void* block = allocate_bytes(bytes);
    EXPECT_TRUE(aligned(block, bytes >= size_t{4} << 20 ? size_t{2} << 20 : 64)) << bytes;
    std::memset(block, 0x5a, bytes < 64 ? 64 : bytes);
    free_bytes(block, bytes);
  }
}

TEST(Memory, ABudgetIsKeptAndEnds) {
  constexpr size_t kMiB = size_t{1} << 20;
  {
    const MemoryBudget budget(8 * kMiB);
    void* const half = allocate_bytes(4 * kMiB);
    EXPECT_REFUSED(allocate_bytes(5 * kMiB), "beyond what this may take (4.0 MiB are left)");
    free_bytes(half, 4 * kMiB);
    free_bytes(allocate_bytes(7 * kMiB), 7 * kMiB);  // what was freed may be taken again
    {
      const MemoryBudget smaller(kMiB);
      EXPECT_REFUSED(allocate_bytes(2 * kMiB), "beyond");
    }
    free_bytes(allocate_bytes(7 * kMiB), 7 * kMiB);
    std::thread([&] { free_bytes(allocate_bytes(16 * kMiB), 16 * kMiB); }).join();  // another thread has none
  }
  free_bytes(allocate_bytes(16 * kMiB), 16 * kMiB);
}

TEST(Memory, CountersFollow) {
  const MemoryStats before = memory_stats();
  void* small = allocate_bytes(100);
  void* large = allocate_bytes(size_t{5} << 20);
  const MemoryStats during = memory_stats();
  EXPECT_EQ(during.allocations - before.allocations, 2u);
  EXPECT_EQ(during.bytes_in_use - before.bytes_in_use, 128u + (5u << 20));
  EXPECT_GE(during.peak_bytes, during.bytes_in_use);
  free_bytes(small, 100);
  free_bytes(large, size_t{5} << 20);
  free_bytes(nullptr, 10);
  const MemoryStats after = memory_stats();
  EXPECT_EQ(after.frees - before.frees, 2u);
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
  EXPECT_EQ(after.peak_bytes, during.peak_bytes);
}

TEST(Memory, ImpossibleSizesAreASentence) {
  const MemoryStats before = memory_stats();
  for (size_t bytes : {SIZE_MAX, SIZE_MAX / 2, size_t{1} << 62, size_t{1} << 50}) {
    try {
      allocate_bytes(bytes);
      FAIL() << bytes;
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_EQ(error.kind(), ErrorKind::kMemory);
      EXPECT_EQ(text.rfind("memory: cannot allocate " + format_bytes(bytes), 0), 0u) << text;
      EXPECT_NE(text.find("— use a smaller shape"), std::string::npos) << text;
    }
  }
  EXPECT_EQ(memory_stats().allocations, before.allocations);
  EXPECT_EQ(memory_stats().bytes_in_use, before.bytes_in_use);
}

TEST(Memory, ManyBlocksTogetherCannotExceedTheMachine) {
  std::vector<void*> blocks;  // none is touched, so none takes real memory
  const size_t bytes = size_t{1} << 30;
  EXPECT_THROW(for (;;) blocks.push_back(allocate_bytes(bytes)), Error);
  for (void* block : blocks) free_bytes(block, bytes);
}

TEST(Memory, WorkspaceIsKeptAndGrows) {
  std::thread([] {
    const MemoryStats before = memory_stats();
    void* first = workspace(1000);
    EXPECT_TRUE(aligned(first, 64));
    EXPECT_EQ(workspace(10), first);
    EXPECT_EQ(workspace(1000), first);
    EXPECT_EQ(memory_stats().allocations - before.allocations, 1u);
    std::memset(workspace(100000), 1, 100000);
    EXPECT_EQ(memory_stats().allocations - before.allocations, 2u);
    EXPECT_EQ(memory_stats().bytes_in_use - before.bytes_in_use, 100032u);
    EXPECT_THROW(workspace(SIZE_MAX), Error);
    std::memset(workspace(10), 1, 10);  // a refusal leaves it usable
  }).join();
}

TEST(Memory, WorkspaceIsFreedWithItsThread) {
  const MemoryStats before = memory_stats();
  std::thread([] { workspace(5000); }).join();
  const MemoryStats after = memory_stats();
  EXPECT_EQ(after.allocations - before.allocations, 1u);
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
}

TEST(Memory, ThreadsCountTogether) {
  const MemoryStats before = memory_stats();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 1000; ++i) free_bytes(allocate_bytes(i), i);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(memory_stats().allocations - before.allocations, 4000u);
  EXPECT_EQ(memory_stats().frees - before.frees, 4000u);
  EXPECT_EQ(memory_stats().bytes_in_use, before.bytes_in_use);
}

TEST(Memory, RequireBytesSaysWhoAsks) {
  require_bytes("reader", 1000);
  try {
    require_bytes("reader", uint64_t{1} << 60);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory);
    EXPECT_EQ(error.place(), "reader");
  }
  EXPECT_THROW(require_bytes("reader", UINT64_MAX), Error);
}

// Sets a limit of the pool of freed blocks, empty at first, and gives the old one back.
class MemoryPool : public testing::Test {
 protected:
  MemoryPool() {
    trim_memory_pool();
    set_memory_pool_limit(size_t{64} << 20);
  }
  ~MemoryPool() override {
    trim_memory_pool();
    set_memory_pool_limit(before_);
  }

 private:
  const uint64_t before_ = memory_pool_limit();
};

TEST_F(MemoryPool, FreedBlocksComeBackAndAreCounted) {
  const MemoryStats before = memory_stats();
  const size_t bytes = size_t{5} << 20;
  void* first = allocate_bytes(bytes);
  free_bytes(first, bytes);
  EXPECT_GE(memory_stats().pooled_bytes, bytes);
  EXPECT_EQ(memory_stats().bytes_in_use, before.bytes_in_use);
  void* second = allocate_bytes(bytes - 1000);  // nearly the same size
  EXPECT_EQ(second, first);
  EXPECT_TRUE(aligned(second, size_t{2} << 20));
  EXPECT_EQ(memory_stats().pooled_bytes, 0u);
  EXPECT_EQ(memory_stats().allocations - before.allocations, 2u);  // one from the pool is one all the same
  void* third = allocate_bytes(bytes);
  EXPECT_NE(third, second);
  std::memset(second, 1, bytes - 1000);
  std::memset(third, 2, bytes);
  free_bytes(second, bytes - 1000);
  free_bytes(third, bytes);
  trim_memory_pool();
  EXPECT_EQ(memory_stats().pooled_bytes, 0u);
}

TEST_F(MemoryPool, IsBounded) {
  const size_t bytes = size_t{10} << 20;
  std::vector<void*> blocks(12);
  for (void*& block : blocks) block = allocate_bytes(bytes);
  for (void* block : blocks) free_bytes(block, bytes);
  EXPECT_LE(memory_stats().pooled_bytes, size_t{64} << 20);
  EXPECT_GE(memory_stats().pooled_bytes, size_t{50} << 20);
  free_bytes(allocate_bytes(size_t{100} << 20),
             size_t{100} << 20);  // larger than the limit: not kept, and drives none out
  EXPECT_GE(memory_stats().pooled_bytes, size_t{50} << 20);
  set_memory_pool_limit(size_t{20} << 20);
  EXPECT_LE(memory_stats().pooled_bytes, size_t{20} << 20);
  set_memory_pool_limit(0);
  EXPECT_EQ(memory_stats().pooled_bytes, 0u);
  free_bytes(allocate_bytes(bytes), bytes);
  EXPECT_EQ(memory_stats().pooled_bytes, 0u);
}

TEST_F(MemoryPool, ManyBlocksOfOneSizeAndManySizes) {
  std::vector<std::pair<void*, size_t>> blocks;
  for (int i = 0; i < 400; ++i) {  // more than the pool lists
    const size_t bytes = (size_t{128} << 10) + static_cast<size_t>(i % 7) * 20'000;
    blocks.emplace_back(allocate_bytes(bytes), bytes);
    std::memset(blocks.back().first, i, bytes);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {  // none lies in another
    const auto [block, bytes] = blocks[i];
    EXPECT_EQ(static_cast<unsigned char*>(block)[0], static_cast<unsigned char>(i));
    EXPECT_EQ(static_cast<unsigned char*>(block)[bytes - 1], static_cast<unsigned char>(i));
  }
  for (const auto& [block, bytes] : blocks) free_bytes(block, bytes);
  EXPECT_LE(memory_stats().pooled_bytes, size_t{64} << 20);
}

long page_faults() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST_F(MemoryPool, ALoopOfTensorsPaysPageFaultsOnce) {
  const auto round = [](int64_t floats) {
    Tensor a = Tensor::empty({floats}), b = Tensor::empty({floats});
    std::memset(a.raw(), 1, static_cast<size_t>(floats) * 4);
    std::memset(b.raw(), 1, static_cast<size_t>(floats) * 4);
  };
  for (const int64_t floats : {50'000, 500'000, 1 << 20, 6'000'000}) {
    round(floats);
    const long before = page_faults();
    for (int i = 0; i < 20; ++i) round(floats);
    EXPECT_LT(page_faults() - before, 100)
        << floats;  // one round of 1 M floats without the pool: four huge pages or 2048
  }
}

TEST_F(MemoryPool, WorksInAForkedChild) {
  free_bytes(allocate_bytes(size_t{5} << 20), size_t{5} << 20);
  const pid_t child = fork();
  if (child == 0) {
    void* block = allocate_bytes(size_t{5} << 20);
    std::memset(block, 1, size_t{5} << 20);
    free_bytes(block, size_t{5} << 20);
    _exit(memory_stats().pooled_bytes > 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Memory, SmallBlocksOfAnEndedThreadAreStillCountedRight) {
  struct Late {  // freed by a destructor that runs after the thread's own
    void* block = nullptr;
    ~Late() { free_bytes(block, 300); }
  };
  const MemoryStats before = memory_stats();
  std::thread([] {
    static thread_local Late late;
    late.block = allocate_bytes(300);
    for (int i = 0; i < 100; ++i) free_bytes(allocate_bytes(200), 200);
  }).join();
  EXPECT_EQ(memory_stats().allocations - before.allocations, 101u);
  EXPECT_EQ(memory_stats().frees - before.frees, 101u);
  EXPECT_EQ(memory_stats().bytes_in_use, before.bytes_in_use);
}

TEST(Memory, BlocksMayBeFreedByAnotherThread) {
  const MemoryStats before = memory_stats();
  std::vector<void*> blocks;
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) blocks.push_back(allocate_bytes(4000));
  }).join();
  EXPECT_EQ(memory_stats().bytes_in_use - before.bytes_in_use, 1000u * 4032);
  for (void* block : blocks) free_bytes(block, 4000);
  EXPECT_EQ(memory_stats().bytes_in_use, before.bytes_in_use);
}

}  // namespace
}  // namespace ingot
