// How much memory something that is not trusted may take.
#pragma once
#include <cstdint>

#include "ingot/base/export.h"

namespace ingot {

/// While it lives, tensors that this thread makes may take so many bytes more than they do now, less what it frees. What
/// goes beyond is an Error of kind kMemory. The latest one counts.
class INGOT_API MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t bytes);
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

 private:
  int64_t left_;
  int64_t* before_;  // of the budget that it stands in for
};

}  // namespace ingot
