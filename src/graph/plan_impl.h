// What a Plan holds.
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "graph/company.h"
#include "graph/graph.h"
#include "graph/lower.h"
#include "graph/simplify.h"
#include "graph/snapshot.h"
#include "graph/step.h"
#include "ingot/plan.h"
#include "ops/call.h"

namespace ingot {

struct Plan::Impl {
  PlanOptions options;
  std::vector<InputSpec> specs;
  std::vector<size_t> specs_bytes;
  graph::Graph graph;
  graph::Program program;
  std::vector<graph::PassReport> reports;
  graph::Snapshot snapshot;  // the graph before the passes
  int threads = 1, captured = 0;
  graph::Company company;

  // The walk.
  std::vector<graph::Step*> list, prepared;
  std::vector<graph::CheckStep*> checks;
  struct Move {  // a tensor that looks at an input, `offset` bytes from its start
    Tensor* tensor;
    int input;
    int64_t offset;
  };
  std::vector<Move> moves;
  std::vector<Tensor> staged;  // contiguous copies of strided inputs
  std::vector<void*> base;     // where the inputs of this run are
  // Memory that a run writes and that an input may lie in: results of the last run, tensors of the user's.
  std::vector<std::pair<const std::byte*, const std::byte*>> written;
  std::atomic<bool> running{false};

  void finish();
  void touch_pages();
  void bind(std::span<const Tensor* const> inputs);
  void run();
  /// Step by step, with a look at what each wrote.
  void run_checked();
};

/// One run at a time: a plan has one arena.
class Busy {
 public:
  explicit Busy(Plan::Impl& plan);
  ~Busy() { plan_.running.store(false, std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Plan::Impl& plan_;
};

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

}  // namespace ingot
