// From groups of nodes to steps with every tensor at its place.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "graph/fuse.h"
#include "graph/graph.h"
#include "graph/memory_plan.h"
#include "graph/step.h"

namespace ingot::graph {

struct LowerOptions {
  bool in_place = true;
  int threads = 1;
  size_t byte_limit = 0;
  std::string plan_name;
};

/// A value in memory of the plan's, for describe().
struct Buffer {
  std::string name;
  size_t bytes = 0, offset = 0;
  int first = 0, last = 0;
  bool shared = false;  // stands where an input of its step stood
};

/// A plan without its walk: steps, memory, and what moves when inputs do.
struct Program {
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<Tensor> outputs;
  std::vector<Tensor> inputs;  // stand-ins; tensors of steps that look at input i share its storage
  Tensor arena, results, scratch;
  std::vector<Tensor> constants, bound;
  std::vector<Buffer> buffers;
  size_t arena_bytes = 0, live_peak = 0, output_bytes = 0, scratch_bytes = 0, constant_bytes = 0;
  int in_place = 0, barriers = 0;
  bool wide = false;
};

Program lower(const Graph& graph, const std::vector<Group>& groups, const LowerOptions& options);

/// Chooses how steps are shared out among `threads` and where all must wait for each other.
void schedule(Program& program, int threads);

/// For tests: shares every step out among the team, however small it is, so that small graphs meet every way to split.
extern std::atomic<bool> share_every_step;

}  // namespace ingot::graph
