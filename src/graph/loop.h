// A loop as a node of a graph; a Program's Loop is made of it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/memory.h"
#include "ingot/graph/loop.h"
#include "ingot/graph/program.h"

namespace ingot::graph {

/// Where a loop's body has its memory, in bytes from the start of the record's scratch.
struct LoopLayout {
  size_t arena = 0, outputs = 0;  // the body's
  std::vector<int64_t> staged;    // by input: where a contiguous copy of it is, -1 if it needs none
  size_t marks = 0;               // what each member saw of a round, a cache line each
  size_t bytes = 0;
  static constexpr size_t kMark = 64;
};
LoopLayout layout_of(const Record& record, int threads);
inline int carried_by(const Record& r) { return r.results - 1; }

/// An op for one loop; the graph that has a node of it owns it.
struct LoopOp : Op {
  LoopOp(LoopOptions options, std::shared_ptr<const Graph> body, int carried);
  LoopOptions options;
  std::string label;
  std::shared_ptr<const Graph> body;  // as captured
  int carried;
  std::shared_ptr<Loop> lowered;  // for the lowering that is under way
};
inline bool is_loop(const Node& n) { return n.kind == NodeKind::kOp && is_loop(*n.op); }
inline LoopOp& loop_of(const Node& n) { return const_cast<LoopOp&>(static_cast<const LoopOp&>(*n.op)); }

}  // namespace ingot::graph
