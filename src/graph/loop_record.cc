// From a loop's node to its record: the body becomes a Program, with its memory inside the record's scratch.
#include "graph/loop_record.h"

#include <memory>
#include <string>
#include <utility>

#include "graph/memory_plan.h"
#include "graph/passes.h"
#include "ingot/base/numbers.h"
#include "ingot/base/simd.h"

namespace ingot::graph {
namespace {

// Inputs that the body reads where they are must be contiguous; the others get a copy before the first round.
LoopLayout lay_out(const Program& body, size_t carried, int threads, const auto& is_contiguous) {
  LoopLayout l;
  l.outputs = round_up(body.arena_bytes, kAlignment);
  size_t at = l.outputs + round_up(body.output_bytes, kAlignment);
  for (size_t i = 0; i < body.inputs.size(); i++) {
    const bool staged = i >= carried && !is_contiguous(i);
    l.staged.push_back(staged ? static_cast<int64_t>(at) : -1);
    if (staged)
      at += round_up(static_cast<size_t>(element_count(body.inputs[i].shape)) * size_of(body.inputs[i].dtype),
                     kAlignment);
  }
  l.marks = at;
  l.bytes = at + LoopLayout::kMark * static_cast<size_t>(threads);
  return l;
}

}  // namespace

LoopLayout layout_of(const Record& r, int threads) {
  return lay_out(r.loop->body, static_cast<size_t>(carried_by(r)), threads,
                 [&](size_t i) { return r.operands[i].is_contiguous(); });
}

size_t loop_scratch(const Graph& graph, const Node& n, int threads) {
  const LoopOp& op = loop_of(n);
  return lay_out(op.lowered->body, static_cast<size_t>(op.carried), threads,
                 [&](size_t i) { return graph.symbol(n.inputs[i]).is_contiguous(); })
      .bytes;
}

std::vector<Group> plan_groups(Graph& graph, PassRun& passes) {
  passes.run(graph);
  const bool plain = simd() == Simd::kScalar;  // every op by its reference loop
  const FuseOptions fuse{passes.on("chains") && !plain, passes.on("gemm_epilogue") && !plain,
                         passes.on("reduce") && !plain};
  std::vector<Group> groups = make_groups(graph, fuse);
  if (plain)
    for (Group& group : groups) group.chain = false, group.product = -1;
  return groups;
}

void lower_bodies(const Graph& graph, const std::vector<Group>& groups, const LowerOptions& options) {
  for (const Group& g : groups) {
    const Node& n = graph.node(g.nodes[0]);
    if (!is_loop(n)) continue;
    LoopOp& op = loop_of(n);
    const auto body = std::make_shared<Graph>(*op.body);  // its attributes and names stay with the captured one
    PassRun passes(options.plan.without);
    const std::vector<Group> steps = plan_groups(*body, passes);
    PlanOptions plan;
    plan.name = op.options.name;
    plan.without = options.plan.without;
    Lowered lowered = lower(body, steps, {options.order, options.in_place, options.threads, plan});
    op.lowered = std::make_shared<Loop>();
    Loop& loop = *op.lowered;
    loop.stop = op.options.stop;
    loop.must_stop = op.options.must_stop;
    loop.epsilon = op.options.epsilon;
    loop.most = op.options.most;
    loop.body = std::move(lowered.program);
    loop.memory = std::move(lowered.memory);
    loop.body.owner =
        std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(body, op.body);
    for (size_t i = 0; i < loop.body.inputs.size(); i++) loop.body.inputs[i].name = "input " + std::to_string(i);
  }
}

}  // namespace ingot::graph
