// Computing in the middle of a capture; for libraries that fold what they know themselves.
#pragma once

#include "ingot/base/export.h"

namespace ingot {

/// While it lives, ops that this thread calls on tensors with elements are run, even inside a capture, which learns
/// nothing of them.
class INGOT_API Eager {
 public:
  Eager();
  ~Eager();
  Eager(const Eager&) = delete;
  Eager& operator=(const Eager&) = delete;

 private:
  void* before_;
};

}  // namespace ingot
