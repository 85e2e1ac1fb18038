#include "ingot/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "ingot/error.h"

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

TEST(Memory, FormatsBytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(12897485), "12.3 MiB");
  EXPECT_EQ(format_bytes(1048575), "1.0 MiB");
  EXPECT_EQ(format_bytes(uint64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16.0 EiB");
}

}  // namespace
}  // namespace ingot
