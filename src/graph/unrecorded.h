#pragma once
#include "ops/call.h"

namespace ingot::graph {

/// A plan that is run inside a capture runs: nothing of it is recorded.
class Unrecorded {
 public:
  Unrecorded() : before_(recorder()) {
    if (before_ != nullptr) set_recorder(nullptr);
  }
  ~Unrecorded() {
    if (before_ != nullptr) set_recorder(before_);
  }
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;

 private:
  Recorder* before_;
};

}  // namespace ingot::graph
