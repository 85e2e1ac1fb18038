// What a Plan holds.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "graph/cpu/context.h"
#include "graph/graph.h"
#include "graph/passes.h"
#include "graph/snapshot.h"
#include "ingot/graph/plan.h"
#include "ingot/graph/program.h"

namespace ingot {

struct Plan::Impl {
  PlanOptions options;
  std::shared_ptr<const graph::Graph> graph;  // after the passes
  graph::Snapshot snapshot;                   // the graph before the passes
  std::vector<graph::PassReport> reports;
  int captured = 0;
  std::shared_ptr<const graph::Executable> executable;
  std::unique_ptr<graph::Context> context;                      // of Plan::run
  std::vector<std::unique_ptr<graph::Context>> batch_contexts;  // of Plan::run_batch, one per worker

  const graph::Program& program() const { return executable->program; }
};

}  // namespace ingot
