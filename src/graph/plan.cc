#include "ingot/plan.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/clock.h"
#include "graph/capture.h"
#include "graph/plan_impl.h"
#include "graph/simplify.h"
#include "ingot/error.h"
#include "ingot/ops.h"
#include "ingot/simd.h"

namespace ingot {

using graph::Graph;

namespace {

constexpr const char* kPasses[] = {"cse",  "fold",   "algebra", "views",         "dce",    "cross_entropy", "pool",
                                   "relu", "stores", "chains",  "gemm_epilogue", "reduce", "in_place"};

void check_options(const PlanOptions& options) {
  for (const std::string& name : options.without)
    if (std::find(std::begin(kPasses), std::end(kPasses), name) == std::end(kPasses)) {
      std::string all;
      for (const char* p : kPasses) all += (all.empty() ? "" : ", ") + std::string(p);
      throw Error(std::string("compile: no pass is named \"").append(name) + "\" — the passes are " + all);
    }
  if (options.threads < 0 || options.threads > 256)
    throw Error("compile: " + std::to_string(options.threads) + " threads — give 1 to 256, or 0 for threads()");
}

std::string count_of(int n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

// Bound tensors that the plan does not write to become constants.
void freeze(Graph& g) {
  for (graph::Node& n : g.nodes) {
    if (n.kind != graph::NodeKind::kBound) continue;
    bool written = false;
    for (const graph::Node& other : g.nodes)
      for (const Tensor& to : other.stores) written = written || (to.defined() && overlaps(to, n.bound));
    n.constant = n.frozen = !written;
  }
}

// Results that are inputs or constants are copied: a plan returns memory of its own, or of the user's.
void own_outputs(Graph& g) {
  for (Graph::Output& o : g.outputs) {
    const graph::Node& root = g.producer(g.root(o.value));
    if (root.kind != graph::NodeKind::kInput && !root.constant) continue;
    const Tensor s = g.symbol(o.value);
    graph::Node copy;
    copy.op = find_op("copy");
    copy.attrs = g.keep(Attrs());
    copy.inputs = {o.value};
    copy.first = static_cast<graph::ValueId>(g.values.size());
    copy.scope = g.keep(std::string_view("result"));
    g.values.push_back({static_cast<graph::NodeId>(g.nodes.size()), 0,
                        Tensor::symbolic(&g, copy.first, s.dtype(), s.shape(), contiguous_strides(s.shape()))});
    o.value = copy.first;
    g.nodes.push_back(std::move(copy));
  }
}

}  // namespace

std::span<const char* const> pass_names() { return kPasses; }

namespace detail {
void wrong_input_count(size_t takes, size_t given) {
  throw Error("compile: the function takes " + std::to_string(takes) + " tensors, " + std::to_string(given) +
              " input specs given — give one per argument");
}
}  // namespace detail

Plan compile_function(const PlanFunction& fn, std::span<const InputSpec> inputs, const PlanOptions& options) {
  check_options(options);
  auto impl = std::make_unique<Plan::Impl>();
  impl->options = options;
  const auto with = [&](const char* pass) {
    return std::find(options.without.begin(), options.without.end(), pass) == options.without.end();
  };
  const auto report = [&](const char* pass, const std::string& what) {
    impl->reports.push_back({pass, with(pass) ? what : "off"});
  };
  {
    graph::Capture capture(inputs, with("cse"));
    capture.finish(fn(capture.inputs()));
    report("cse", count_of(capture.shared_calls(), "call") + " shared");
    impl->graph = std::move(capture.graph());
    impl->snapshot = graph::take_snapshot(impl->graph);
  }
  Graph& g = impl->graph;
  for (const InputSpec& spec : inputs) {
    impl->specs.push_back(spec);
    if (spec.name.empty()) impl->specs.back().name = "input " + std::to_string(impl->specs.size() - 1);
  }
  for (const graph::Node& n : g.nodes) impl->captured += n.kind == graph::NodeKind::kOp;
  if (options.frozen) freeze(g);
  report("fold", count_of(with("fold") ? graph::fold_constants(g) : 0, "node") + " computed now");
  report("algebra", count_of(with("algebra") ? graph::clean_algebra(g) : 0, "node") + " simplified");
  if (!with("views")) graph::copy_views(g);
  int views = 0;
  for (const graph::Node& n : g.nodes) views += !n.dead && n.is_view();
  report("views", count_of(views, "view") + " made strides");
  own_outputs(g);
  report("dce", count_of(with("dce") ? graph::drop_dead(g) : 0, "node") + " dropped");
  report("cross_entropy",
         count_of(with("cross_entropy") ? graph::pair_cross_entropy(g) : 0, "gradient") + " computed with the loss");
  report("pool", count_of(with("pool") ? graph::pool_by_taps(g) : 0, "max pooling") + " without positions");
  report("relu", count_of(with("relu") ? graph::absorb_relu(g) : 0, "relu") + " taken over by a norm or convolution");
  report("stores", count_of(with("stores") ? graph::forward_stores(g) : 0, "value") + " computed in place of a copy");

  const bool plain = simd() == Simd::kScalar;  // every op by its reference loop
  const graph::FuseOptions fuse{with("chains") && !plain, with("gemm_epilogue") && !plain, with("reduce") && !plain};
  std::vector<graph::Group> groups = graph::make_groups(g, fuse);
  if (plain)
    for (graph::Group& group : groups) group.chain = false, group.product = -1;
  int fused = 0, followed = 0, folded = 0;
  for (const graph::Group& group : groups) {
    fused += static_cast<int>(group.nodes.size()) - 1;
    followed += group.product >= 0 && group.nodes.size() > 1;
    folded += group.reduction >= 0;
  }
  impl->threads = options.threads > 0 ? options.threads : threads();
  impl->program = graph::lower(g, groups, {with("in_place"), impl->threads, options.byte_limit, options.name});
  graph::schedule(impl->program, impl->threads);
  if (!impl->program.wide && impl->threads > 1) {  // too small to share: scratch for one is enough
    impl->threads = 1;
    impl->program = graph::lower(g, groups, {with("in_place"), 1, options.byte_limit, options.name});
  }
  report("chains", count_of(fused, "node") + " joined to a neighbour");
  report("gemm_epilogue", count_of(followed, "product") + " with a chain");
  report("reduce", count_of(folded, "reduction") + " fed by a chain");
  report("in_place", count_of(impl->program.in_place, "result") + " where an operand stood");
  if (!impl->program.wide) impl->threads = 1;
  impl->finish();
  return Plan(std::move(impl));
}

void Plan::Impl::finish() {
  staged.resize(program.inputs.size());
  base.resize(program.inputs.size());
  for (const auto& step : program.steps) {
    step->each_tensor([&](Tensor& t, bool) {
      for (size_t i = 0; i < program.inputs.size(); i++)
        if (t.shares_storage(program.inputs[i]))
          moves.push_back({&t, static_cast<int>(i),
                           reinterpret_cast<intptr_t>(t.raw()) - reinterpret_cast<intptr_t>(program.inputs[i].raw())});
    });
    step->each_tensor([&](Tensor& t, bool writes) {
      if (!writes || t.numel() == 0 || t.shares_storage(program.arena)) return;
      const graph::Footprint f = graph::whole(t, true);
      const auto* first = reinterpret_cast<const std::byte*>(f.start);
      written.emplace_back(first, first + f.width);
    });
    list.push_back(step.get());
    if (auto* op = dynamic_cast<graph::OpStep*>(step.get()); op != nullptr && op->wants_before_run())
      prepared.push_back(step.get());
    if (auto* check = dynamic_cast<graph::CheckStep*>(step.get())) checks.push_back(check);
  }
  // Neighbours become one: most of it is a few slabs.
  std::sort(written.begin(), written.end());
  size_t kept = 0;
  for (size_t i = 1; i < written.size(); i++) {
    if (written[i].first <= written[kept].second + 64)
      written[kept].second = std::max(written[kept].second, written[i].second);
    else
      written[++kept] = written[i];
  }
  if (!written.empty()) written.resize(kept + 1);
  for (const InputSpec& s : specs)
    specs_bytes.push_back(static_cast<size_t>(element_count(s.shape)) * size_of(s.dtype));
  touch_pages();
}

// Every page of the plan's own memory is there before the first run.
void Plan::Impl::touch_pages() {
  for (const Tensor* t : {&program.arena, &program.results, &program.scratch}) {
    volatile std::byte* p = static_cast<std::byte*>(t->raw());
    for (int64_t i = 0; i < t->numel(); i += 4096) p[i] = std::byte{0};
  }
}

void Plan::Impl::bind(std::span<const Tensor* const> inputs) {
  if (inputs.size() != specs.size())
    throw Error(options.name + ": " + std::to_string(inputs.size()) + " inputs given, the plan has " +
                std::to_string(specs.size()));
  for (size_t i = 0; i < inputs.size(); i++) {
    const Tensor& t = *inputs[i];
    const InputSpec& s = specs[i];
    if (t.defined() && t.dtype() == s.dtype && t.shape() == s.shape && !t.is_symbolic()) continue;
    throw Error(options.name + ": \"" + s.name + "\" is " +
                (!t.defined()      ? "undefined"
                 : t.is_symbolic() ? "symbolic"
                                   : std::string(name(t.dtype())) + " " + to_string(t.shape())) +
                ", the plan was compiled for " + name(s.dtype) + " " + to_string(s.shape) +
                " — compile another plan, or use a PlanCache");
  }
  for (size_t i = 0; i < inputs.size(); i++) {
    base[i] = inputs[i]->raw();
    const auto* at = static_cast<const std::byte*>(base[i]);
    const auto* end = at + specs_bytes[i];
    bool overwritten = false;
    for (const auto& [first, last] : written) overwritten = overwritten || (at < last && first < end);
    if (inputs[i]->is_contiguous() && !overwritten) continue;
    if (!staged[i].defined()) staged[i] = Tensor::empty(specs[i].shape, specs[i].dtype);
    copy_into(staged[i], *inputs[i]);
    base[i] = staged[i].raw();
  }
  for (const Move& m : moves) m.tensor->move_to(static_cast<std::byte*>(base[static_cast<size_t>(m.input)]) + m.offset);
}

namespace {

// One worker's walk over the list.
void walk(Plan::Impl& plan, const Team& team) {
  const bool alone = team.size() == 1;
  for (graph::Step* step : plan.list) {
    if (alone) {
      step->run(Team());
    } else {
      if (step->barrier || team.size() != plan.threads) team.barrier();  // barriers were left out for plan.threads
      if (step->wide)
        step->run(team);
      else if (team.rank() == 0)
        step->run(Team());
    }
    if (step->asks) {
      team.barrier();
      if (static_cast<graph::CheckStep*>(step)->failure != nullptr) return;
    }
  }
}

}  // namespace

void Plan::Impl::run() {
  if (threads == 1) return walk(*this, Team());
  const bool alone = company.alone();
  const int64_t begin = now_ns();
  if (alone)
    walk(*this, Team());
  else
    run_team([](void* plan, const Team& team) { walk(*static_cast<Plan::Impl*>(plan), team); }, this, threads);
  company.took(alone, now_ns() - begin);
}

Busy::Busy(Plan::Impl& plan) : plan_(plan) {
  if (plan.running.exchange(true, std::memory_order_acquire))
    throw Error(plan.options.name + ": already running — a plan has one arena; compile one plan per thread");
}

std::span<const Tensor> Plan::run(std::span<const Tensor* const> inputs) {
  Impl& plan = impl();
  const Busy busy(plan);
  const Unrecorded unrecorded;
  plan.bind(inputs);
  for (graph::Step* step : plan.prepared) step->before_run();
  for (graph::CheckStep* check : plan.checks) check->failure = nullptr;
  plan.options.check_numerics ? plan.run_checked() : plan.run();
  for (graph::CheckStep* check : plan.checks)
    if (check->failure != nullptr) std::rethrow_exception(check->failure);
  return plan.program.outputs;
}

}  // namespace ingot
