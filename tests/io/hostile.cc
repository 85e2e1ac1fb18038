#include "hostile.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"

namespace {

std::atomic<size_t> held{0}, highest{0};

void* take(size_t bytes) {
  void* block = std::malloc(bytes);
  if (block == nullptr) throw std::bad_alloc();
  const size_t now = held.fetch_add(malloc_usable_size(block)) + malloc_usable_size(block);
  size_t most = highest.load();
  while (now > most && !highest.compare_exchange_weak(most, now)) {
  }
  return block;
}

void give(void* block) {
  if (block == nullptr) return;
  held.fetch_sub(malloc_usable_size(block));
  std::free(block);
}

}  // namespace

// The program's own operator new: all that the readers' strings and lists take is counted here.
void* operator new(size_t bytes) { return take(bytes); }
void* operator new[](size_t bytes) { return take(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return take(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return take(bytes); }
void operator delete(void* block) noexcept { give(block); }
void operator delete[](void* block) noexcept { give(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { give(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { give(block); }
void operator delete(void* block, size_t) noexcept { give(block); }
void operator delete[](void* block, size_t) noexcept { give(block); }

namespace ingot::io {

MemoryWatch::MemoryWatch()
    : held_(held.load()), tensors_(memory_stats().bytes_in_use), peak_(memory_stats().peak_bytes) {
  highest = held_;
}

size_t MemoryWatch::most() const {
  // The tensors' peak never goes down: one below an earlier test's is not seen. ctest runs the files one by one.
  const size_t peak = memory_stats().peak_bytes;
  return highest.load() - held_ + (peak > peak_ ? peak - tensors_ : 0);
}

namespace {

// True if it was read, false if it was refused with a sentence.
bool readable(const std::string& bytes, const Reader& read) {
  try {
    read(bytes);
    return true;
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_GT(text.size(), 15u) << text;
    EXPECT_LT(text.size(), 1000u) << text;
    return false;
  }
}

}  // namespace

void cut_everywhere(const std::string& file, const Reader& read, bool whole_only) {
  ASSERT_TRUE(readable(file, read));
  for (size_t length = 0; length < file.size(); length++) {
    const bool read_it = readable(file.substr(0, length), read);
    if (whole_only) EXPECT_FALSE(read_it) << "the first " << length << " of " << file.size() << " bytes were read";
  }
}

void flip_bits(const std::string& file, const Reader& read, int times, size_t most_bytes) {
  uint32_t state = 1;
  const auto next = [&](size_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
  };
  MemoryWatch watch;
  int refused = 0;
  for (int i = 0; i < times; i++) {
    std::string changed = file;
    for (size_t flips = 1 + next(4); flips > 0; flips--)
      changed[next(changed.size())] ^= static_cast<char>(1 << next(8));
    if (!readable(changed, read)) refused++;
  }
  EXPECT_GT(refused, 0);
  EXPECT_LE(watch.most(), most_bytes);
}

void expect_refused(const std::string& file, const Reader& read, const std::string& words, size_t most_bytes) {
  MemoryWatch watch;
  try {
    read(file);
    ADD_FAILURE() << "read, but should be refused with \"" << words << "\"";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
  EXPECT_LE(watch.most(), most_bytes) << words;
}

}  // namespace ingot::io
