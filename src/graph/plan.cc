#include "ingot/graph/plan.h"

#include <algorithm>

#include "graph/capture.h"
#include "graph/loop_record.h"
#include "graph/lower.h"
#include "graph/passes.h"
#include "graph/plan_impl.h"
#include "graph/touches.h"
#include "ingot/base/error.h"
#include "ingot/base/threads.h"

namespace ingot {

using graph::Graph;

namespace {

void check_options(const PlanOptions& options) {
  if (options.threads < 0 || options.threads > 256)
    throw Error("compile: " + std::to_string(options.threads) + " threads — give 1 to 256, or 0 for threads()");
}

// Bound tensors that the plan does not write to become constants.
void freeze(Graph& g) {
  graph::Touches writes;
  for (size_t i = 0; i < g.nodes.size(); i++)
    for (const Tensor& to : g.nodes[i].stores)
      if (to.defined()) writes.add_over(static_cast<graph::NodeId>(i), to);
  for (graph::Node& n : g.nodes)
    if (n.kind == graph::NodeKind::kBound) n.constant = n.frozen = writes.of(n.bound).empty();
}

// The groups as a program of this machine's.
std::shared_ptr<const graph::Executable> build(const std::shared_ptr<const Graph>& g,
                                               const std::vector<graph::Group>& groups,
                                               std::span<const InputSpec> inputs, const PlanOptions& options,
                                               graph::PassRun& passes) {
  const int most = options.threads > 0 ? options.threads : threads();
  const auto lowered = [&](int threads) {
    graph::Lowered l = graph::lower(g, groups, {passes.on("order"), passes.on("in_place"), threads, options});
    passes.count("order", static_cast<int64_t>(l.order_saved));
    passes.count("in_place", l.program.in_place);
    return graph::make_executable(std::move(l), threads);
  };
  auto e = lowered(most);
  const auto has_scratch = [](const graph::Record& r) { return r.scratch_bytes > 0; };
  if (e->program.threads < most && std::any_of(e->program.records.begin(), e->program.records.end(), has_scratch))
    e = lowered(1);  // scratch for one is enough
  graph::check_limit(e->program, options.byte_limit, e->scratch_bytes(e->program.threads) + e->kept_bytes, false);
  e->check_numerics = options.check_numerics;
  for (size_t i = 0; i < inputs.size(); i++)
    e->program.inputs[i].name = inputs[i].name.empty() ? "input " + std::to_string(i) : inputs[i].name;
  return e;
}

}  // namespace

namespace detail {
void wrong_input_count(size_t takes, size_t given) {
  throw Error("compile: the function takes " + std::to_string(takes) + " tensors, " + std::to_string(given) +
              " input specs given — give one per argument");
}
}  // namespace detail

Plan compile_function(const PlanFunction& fn, std::span<const InputSpec> inputs, const PlanOptions& options) {
  check_options(options);
  graph::PassRun passes(options.without);
  auto impl = std::make_unique<Plan::Impl>();
  impl->options = options;
  const auto graph = std::make_shared<Graph>();
  {
    graph::Capture capture(inputs, passes.on("cse"));
    capture.finish(fn(capture.inputs()));
    passes.count("cse", capture.shared_calls());
    *graph = std::move(capture.graph());
    impl->snapshot = graph::take_snapshot(*graph);
  }
  impl->graph = graph;
  Graph& g = *graph;
  for (const graph::Node& n : g.nodes) impl->captured += n.kind == graph::NodeKind::kOp;
  if (options.frozen) freeze(g);
  const std::vector<graph::Group> groups = graph::plan_groups(g, passes);
  int fused = 0, followed = 0, folded = 0;
  for (const graph::Group& group : groups) {
    fused += static_cast<int>(group.nodes.size()) - 1;
    followed += group.product >= 0 && group.nodes.size() > 1;
    folded += group.reduction >= 0;
  }
  impl->executable = build(graph, groups, inputs, options, passes);
  if (const std::string* moved = impl->executable->moved())
    throw Error(options.name + ": a tensor of the function's looks at memory that \"" + *moved +
                "\" has left (a training step or another slab took it, or it was converted) — take it from its module "
                "again, or clone() it while it is there if you mean the old elements");
  passes.count("chains", fused);
  passes.count("gemm_epilogue", followed);
  passes.count("reduce", folded);
  impl->reports = passes.reports();
  impl->context = std::make_unique<graph::Context>(impl->executable, impl->program().threads);
  return Plan(std::move(impl));
}

}  // namespace ingot
