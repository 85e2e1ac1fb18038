// A block of memory comes from one of three places: a small one from what this thread freed before, a large one from
// the pool that all threads share, and any other from the system.
#include "ingot/base/memory.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "base/block_pool.h"
#include "base/os/machine.h"
#include "base/os/pages.h"
#include "base/os/thread.h"
#include "base/spin_lock.h"
#include "ingot/base/error.h"
#include "ingot/base/memory_budget.h"
#include "ingot/base/numbers.h"

namespace ingot {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSmall = 8 << 10;                // blocks up to here go from free to use within a thread
constexpr size_t kSmallKept = size_t{256} << 10;  // of one thread, in all
constexpr int64_t kSettled = 1 << 20;             // bytes that a thread counts by itself before it tells

constexpr size_t counted_size(size_t bytes) { return bytes == 0 ? kAlignment : round_up(bytes, kAlignment); }

constinit BlockPool pool;

// What one thread has counted and kept. It alone writes, with plain stores; others read the counters. So a small tensor
// costs no lock and no atomic addition.
struct ThreadMemory {
  std::atomic<uint64_t> allocations{0}, frees{0};
  std::atomic<int64_t> held{0}, highest{0};  // bytes since they were last settled
  struct FreeBlock {
    FreeBlock* next;
  };
  FreeBlock* kept[kSmall / kAlignment + 1] = {};
  size_t kept_bytes = 0;
  ThreadMemory *next = nullptr, *before = nullptr;

  template <class T>
  static void add(std::atomic<T>& counter, T n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};

// All threads together.
class Ledger {
 public:
  // What threads have not told yet may make it negative for a while.
  uint64_t in_use() const {
    return static_cast<uint64_t>(std::max<int64_t>(0, in_use_.load(std::memory_order_relaxed)));
  }

  void join(ThreadMemory& t) {
    const std::lock_guard guard(lock_);
    t.next = first_;
    if (first_ != nullptr) first_->before = &t;
    first_ = &t;
  }

  void leave(ThreadMemory& t) {
    settle(t);
    const std::lock_guard guard(lock_);
    allocations_ += t.allocations.load(std::memory_order_relaxed);
    frees_ += t.frees.load(std::memory_order_relaxed);
    (t.before != nullptr ? t.before->next : first_) = t.next;
    if (t.next != nullptr) t.next->before = t.before;
  }

  void settle(ThreadMemory& t) {
    const std::lock_guard guard(lock_);
    raise_peak(in_use_ + t.highest.load(std::memory_order_relaxed));
    in_use_ += t.held.load(std::memory_order_relaxed);
    t.held.store(0, std::memory_order_relaxed);
    t.highest.store(0, std::memory_order_relaxed);
  }

  // For a thread that has ended but for destructors of its own.
  void count(int64_t bytes) {
    const std::lock_guard guard(lock_);
    ++(bytes > 0 ? allocations_ : frees_);
    in_use_ += bytes;
    raise_peak(in_use_);
  }

  MemoryStats read() {
    const std::lock_guard guard(lock_);
    MemoryStats stats{.allocations = allocations_, .frees = frees_, .pooled_bytes = pool.bytes()};
    int64_t bytes = in_use_, highest = in_use_;
    for (const ThreadMemory* t = first_; t != nullptr; t = t->next) {
      stats.allocations += t->allocations.load(std::memory_order_relaxed);
      stats.frees += t->frees.load(std::memory_order_relaxed);
      bytes += t->held.load(std::memory_order_relaxed);
      highest += t->highest.load(std::memory_order_relaxed);
    }
    raise_peak(highest);
    stats.bytes_in_use = static_cast<uint64_t>(std::max<int64_t>(bytes, 0));
    stats.peak_bytes = static_cast<uint64_t>(peak_);
    return stats;
  }

  void start_again() { lock_.unlock(); }  // in a forked child: whoever held the lock is gone

 private:
  void raise_peak(int64_t bytes) { peak_ = std::max(peak_, bytes); }

  SpinLock lock_;  // guards all of it
  ThreadMemory* first_ = nullptr;
  uint64_t allocations_ = 0, frees_ = 0;
  std::atomic<int64_t> in_use_{0};
  int64_t peak_ = 0;
};

constinit Ledger ledger;

// A pointer, so that the fast path needs no check whether it is constructed.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadMemory* mine = nullptr;
constinit thread_local bool ended = false;  // destructors of the thread that run later go without

// What the latest budget of this thread has left; null without one.
[[gnu::tls_model("initial-exec")]] constinit thread_local int64_t* allowance = nullptr;

void give_back_kept(ThreadMemory& t) noexcept {
  for (ThreadMemory::FreeBlock*& list : t.kept)
    while (list != nullptr) std::free(std::exchange(list, list->next));
  t.kept_bytes = 0;
}

struct AtThreadEnd {
  ~AtThreadEnd() {
    ended = true;
    ThreadMemory* t = std::exchange(mine, nullptr);
    ledger.leave(*t);
    give_back_kept(*t);
    delete t;
  }
};

ThreadMemory* start_thread() {
  if (ended) return nullptr;
  [[maybe_unused]] static const bool handled = [] {
    os::after_fork_in_child([] {
      ledger.start_again();
      pool.start_again();
    });
    return true;
  }();
  mine = new (std::nothrow) ThreadMemory;
  if (mine == nullptr) return nullptr;  // it counts with a lock, then
  ledger.join(*mine);
  static thread_local AtThreadEnd end;
  (void)end;
  return mine;
}

inline ThreadMemory* this_thread() { return mine != nullptr ? mine : start_thread(); }

inline void count_in(ThreadMemory* t, size_t size) {
  if (t == nullptr) return ledger.count(static_cast<int64_t>(size));
  ThreadMemory::add(t->allocations, uint64_t{1});
  const int64_t held = t->held.load(std::memory_order_relaxed) + static_cast<int64_t>(size);
  t->held.store(held, std::memory_order_relaxed);
  if (held > t->highest.load(std::memory_order_relaxed)) t->highest.store(held, std::memory_order_relaxed);
  if (held > kSettled) ledger.settle(*t);
}

inline void count_out(ThreadMemory* t, size_t size) {
  if (t == nullptr) return ledger.count(-static_cast<int64_t>(size));
  ThreadMemory::add(t->frees, uint64_t{1});
  ThreadMemory::add(t->held, -static_cast<int64_t>(size));
  if (t->held.load(std::memory_order_relaxed) < -kSettled) ledger.settle(*t);
}

[[noreturn]] void refuse(const char* place, const char* verb, uint64_t bytes) {
  throw Error(ErrorKind::kMemory, std::string(place) + ": " + verb + " " + format_bytes(bytes) + " (RAM and swap " +
                                      format_bytes(os::ram_and_swap_bytes()) + ", in use by tensors " +
                                      format_bytes(memory_stats().bytes_in_use) +
                                      ") — use a smaller shape or batch, or let go of tensors first");
}

[[noreturn]] void refuse_beyond_budget(uint64_t bytes) {
  throw Error(ErrorKind::kMemory, "memory: " + format_bytes(bytes) + " more are beyond what this may take (" +
                                      format_bytes(static_cast<uint64_t>(std::max<int64_t>(0, *allowance))) +
                                      " are left)");
}

bool beyond_machine(uint64_t bytes) {
  const uint64_t all = os::ram_and_swap_bytes();
  return bytes > all || bytes + ledger.in_use() > all;
}

void* allocate_large(size_t size) {
  const size_t capacity = BlockPool::capacity_for(size);
  if (void* block = pool.take(capacity)) return block;
  if (beyond_machine(size)) return nullptr;
  if (beyond_machine(size + pool.bytes())) pool.trim(0);
  void* block = BlockPool::make_block(capacity);
  if (block != nullptr) return block;
  pool.trim(0);
  return BlockPool::make_block(capacity);
}

struct Workspace {
  void* block = nullptr;
  size_t bytes = 0;

  void drop() { free_bytes(std::exchange(block, nullptr), std::exchange(bytes, 0)); }
  ~Workspace() { drop(); }
};

}  // namespace

MemoryStats memory_stats() { return ledger.read(); }

void* allocate_bytes(size_t bytes) {
  if (bytes > PTRDIFF_MAX / 2) refuse("memory", "cannot allocate", bytes);
  const size_t size = counted_size(bytes);
  if (allowance != nullptr && static_cast<int64_t>(size) > *allowance) refuse_beyond_budget(bytes);
  ThreadMemory* t = this_thread();
  void* block = nullptr;
  if (!kAddressSanitizer && size <= kSmall && t != nullptr && t->kept[size / kAlignment] != nullptr) {
    ThreadMemory::FreeBlock*& list = t->kept[size / kAlignment];
    block = std::exchange(list, list->next);
    t->kept_bytes -= size;
  } else {
    block = size >= kPooledBytes ? allocate_large(size) : std::aligned_alloc(kAlignment, size);
    if (block == nullptr) refuse("memory", "cannot allocate", bytes);
  }
  count_in(t, size);
  if (allowance != nullptr) *allowance -= static_cast<int64_t>(size);
  return block;
}

void free_bytes(void* block, size_t bytes) noexcept {
  if (block == nullptr) return;
  const size_t size = counted_size(bytes);
  ThreadMemory* t = this_thread();
  if (!kAddressSanitizer && size <= kSmall && t != nullptr && t->kept_bytes + size <= kSmallKept) {
    ThreadMemory::FreeBlock*& list = t->kept[size / kAlignment];
    list = new (block) ThreadMemory::FreeBlock{list};
    t->kept_bytes += size;
  } else if (size >= kPooledBytes) {
    pool.put(block, BlockPool::capacity_for(size));
  } else {
    std::free(block);
  }
  count_out(t, size);
  if (allowance != nullptr) *allowance += static_cast<int64_t>(size);
}

MemoryBudget::MemoryBudget(uint64_t bytes)
    : left_(static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX / 2))),
      before_(std::exchange(allowance, &left_)) {}

MemoryBudget::~MemoryBudget() { allowance = before_; }

void require_bytes(const char* place, uint64_t bytes) {
  if (beyond_machine(bytes)) refuse(place, "needs", bytes);
}

void set_memory_pool_limit(uint64_t bytes) { pool.set_limit(bytes); }
uint64_t memory_pool_limit() { return pool.limit(); }
void trim_memory_pool() { pool.trim(0); }

void* workspace(size_t bytes) {
  thread_local Workspace scratch;
  if (scratch.block == nullptr || bytes > scratch.bytes) {
    scratch.drop();
    scratch.block = allocate_bytes(bytes);
    scratch.bytes = bytes;
  }
  return scratch.block;
}

}  // namespace ingot
