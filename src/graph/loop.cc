// Loops in a capture: the body is captured as a graph of its own, and the loop is one node; its gradient is another loop.
#include "graph/loop.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/capture.h"
#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"

namespace ingot {
namespace graph {
namespace {

using Stop = LoopOptions::Stop;

[[noreturn]] void refuse(const LoopOptions& o, const std::string& what) { throw Error(o.name + ": " + what); }

// Calls the body as it was captured, once more, on other inputs.
std::vector<Tensor> call_again(const Graph& body, std::span<const Tensor> inputs) {
  Capture& capture = current_capture("loop");
  std::vector<Tensor> values(body.values.size());
  for (const Node& n : body.nodes) {
    if (n.kind == NodeKind::kInput) values[static_cast<size_t>(n.first)] = inputs[static_cast<size_t>(n.input)];
    if (n.kind != NodeKind::kOp) continue;
    std::vector<const Tensor*> in;
    const Tensor none{};
    for (const ValueId v : n.inputs) in.push_back(v == kAbsent ? &none : &values[static_cast<size_t>(v)]);
    if (is_loop(*n.op))
      for (const auto& l : body.loops)
        if (l.get() == n.op) capture.graph().loops.push_back(l);
    capture.set_stop_gradient(n.stop_gradient);
    capture.call(*n.op, in, *n.attrs, std::span(values).subspan(static_cast<size_t>(n.first), n.count));
    capture.set_stop_gradient(false);
  }
  std::vector<Tensor> results;
  for (const Graph::Output& o : body.outputs) results.push_back(values[static_cast<size_t>(o.value)]);
  return results;
}

void infer_loop(const ingot::Call& c, Specs& specs) {
  const auto& op = static_cast<const LoopOp&>(c.op);
  const Graph& body = *op.body;
  if (static_cast<size_t>(c.count()) != body.inputs.size())
    throw Error("it has another number of inputs than its body");
  for (int i = 0; i < c.count(); i++) {
    const Tensor& s = body.symbol(body.inputs[static_cast<size_t>(i)]);
    if (c.in(i).dtype() != s.dtype() || !(c.in(i).shape() == s.shape())) throw Error("an input does not fit its body");
  }
  for (int i = 0; i < op.carried; i++) specs.add(c.in(i).dtype(), c.in(i).shape());
  specs.add(kI64, {});
}

// At the fixpoint x = f(x, given): λ = dy + (∂f/∂x)ᵀ λ, then (∂f/∂given)ᵀ λ. The start has no part in it.
void loop_gradient(Gradient& g) {
  const auto& op = static_cast<const LoopOp&>(g.call().op);
  const LoopOptions& options = op.options;
  if (options.gradient != LoopOptions::Gradient::kAdjoint || options.stop == Stop::kCount)
    refuse(options,
           "this loop has no gradient: " +
               std::string(options.stop == Stop::kCount ? "so many rounds are no fixpoint" : "its options say so") +
               " — let gradient be kRounds to go through the rounds, or stop at a fixpoint");
  const auto carried = static_cast<size_t>(op.carried);
  std::vector<Tensor> x;
  std::vector<size_t> floats, wanted;
  for (int i = 0; i < g.count(); i++) {
    const bool is_carried = static_cast<size_t>(i) < carried;
    x.push_back(is_carried ? g.out(i) : g.in(i));
    if (is_carried && is_float(x.back().dtype())) floats.push_back(static_cast<size_t>(i));
    if (!is_carried && g.wants(i)) wanted.push_back(static_cast<size_t>(i));
  }
  // λ pulled back through one round at x, to the inputs `by`.
  const auto pulled = [&](std::span<const Tensor> lambda, const std::vector<size_t>& by) {
    std::vector<Tensor> at, leaves;
    for (const Tensor& t : x) at.push_back(current_capture("loop").leaf(t));
    for (const size_t i : by) leaves.push_back(at[i]);
    const std::vector<Tensor> y = call_again(*op.body, at);
    Tensor total;
    for (size_t k = 0; k < floats.size(); k++) {
      const Tensor part = sum(multiply(y[floats[k]], lambda[k]));
      total = total.defined() ? add(total, part) : part;
    }
    return gradients(total, Tensors(leaves), Unused::kZeros);
  };
  std::vector<Tensor> dy;
  for (const size_t k : floats) dy.push_back(g.dy(static_cast<int>(k)));
  LoopOptions adjoint = options;
  adjoint.stop = Stop::kClose;
  adjoint.name += " (adjoint)";
  const std::vector<Tensor> lambda = loop(
                                         [&](std::span<const Tensor> now) {
                                           std::vector<Tensor> next = pulled(now, floats);
                                           for (size_t k = 0; k < next.size(); k++) next[k] = add(next[k], dy[k]);
                                           return next;
                                         },
                                         Tensors(dy), adjoint)
                                         .values;
  if (wanted.empty()) return;
  const std::vector<Tensor> back = pulled(lambda, wanted);
  for (size_t i = 0; i < wanted.size(); i++) g.set(static_cast<int>(wanted[i]), back[i]);
}

void check_nothing(const ingot::Call&) {}

constexpr Op kLoopOp = {.name = "loop",
                        .signature = "loop(xs...) -> y, rounds",
                        .doc = "Rounds of a body.",
                        .family = "loop",
                        .types = Types::kAll,
                        .infer = infer_loop,
                        .check = check_nothing,  // a run may fail in it: stores keep their order with it
                        .gradient = loop_gradient};

void check_round(const LoopOptions& options, std::span<const Tensor> from, const std::vector<Tensor>& to) {
  if (to.size() != from.size())
    refuse(options, "its body returns " + std::to_string(to.size()) + " values of " + std::to_string(from.size()) +
                        " — return a new one for each, in their order");
  for (size_t i = 0; i < to.size(); i++)
    if (!to[i].defined() || to[i].dtype() != from[i].dtype() || !(to[i].shape() == from[i].shape()))
      throw Error(ErrorKind::kShape, options.name + ": a round makes " + describe(to[i]) + " of " + describe(from[i]) +
                                         " — values keep their type and shape");
}

LoopResult record(const LoopBody& body, std::span<const Tensor> start, const LoopOptions& options) {
  Capture& outer = current_capture("loop");
  auto graph = std::make_shared<Graph>();
  std::vector<ValueId> outside;
  {
    Capture inner(start, outer);
    const std::vector<Tensor> carried(inner.inputs().begin(), inner.inputs().end());
    const std::vector<Tensor> next = body(carried);
    check_round(options, carried, next);
    std::vector<NamedTensor> results;
    for (const Tensor& t : next) results.push_back({"", t});
    inner.finish(results);
    outside.assign(inner.read_outside().begin(), inner.read_outside().end());
    *graph = std::move(inner.graph());
  }
  if (graph->inputs.size() > kMaxInputs)
    refuse(options, "its body reads " + std::to_string(outside.size()) + " tensors besides those carried — at most " +
                        std::to_string(kMaxInputs - static_cast<int>(start.size())) + " fit");
  outer.graph().loops.push_back(std::make_shared<LoopOp>(options, graph, static_cast<int>(start.size())));
  const LoopOp& op = *outer.graph().loops.back();
  std::vector<Tensor> in(start.begin(), start.end());
  for (const ValueId v : outside) in.push_back(outer.graph().symbol(v));
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : in) pointers.push_back(&t);
  std::vector<Tensor> out(start.size() + 1);
  const Scope scope(options.name);
  outer.call(op, pointers, Attrs(), out);
  LoopResult result;
  result.rounds = out.back();
  out.pop_back();
  result.values = std::move(out);
  return result;
}

// Values side by side, those of one type in one block.
class Packed {
 public:
  Packed(std::span<const Tensor> values, const LoopOptions& options) {
    for (const Tensor& t : values) {
      if (std::find(types_.begin(), types_.end(), t.dtype()) == types_.end()) types_.push_back(t.dtype());
      like_.push_back(t);
    }
    if (types_.size() > 2)
      refuse(options, "it carries values of " + std::to_string(types_.size()) + " types — at most two go together");
  }
  std::vector<Tensor> pack(std::span<const Tensor> values) const {
    std::vector<Tensor> blocks;
    for (const DType type : types_) {
      std::vector<Tensor> flat;
      for (const Tensor& t : values)
        if (t.dtype() == type) flat.push_back(reshape(t, {t.numel()}));
      blocks.push_back(concat(flat));
    }
    return blocks;
  }
  std::vector<Tensor> unpack(std::span<const Tensor> blocks) const {
    std::vector<Tensor> values;
    std::vector<int64_t> at(types_.size(), 0);
    for (const Tensor& t : like_) {
      const auto b = static_cast<size_t>(std::find(types_.begin(), types_.end(), t.dtype()) - types_.begin());
      values.push_back(reshape(slice(blocks[b], 0, at[b], at[b] + t.numel()), t.shape()));
      at[b] += t.numel();
    }
    return values;
  }

 private:
  std::vector<DType> types_;
  std::vector<Tensor> like_;
};

LoopResult unrolled(const LoopBody& body, std::vector<Tensor> values, const LoopOptions& options) {
  const Scope scope(options.name);
  for (int64_t i = 0; i < options.most; i++) {
    std::vector<Tensor> next = body(values);
    check_round(options, values, next);
    values = std::move(next);
  }
  return {std::move(values), full({}, static_cast<double>(options.most), kI64)};
}

}  // namespace

bool is_loop(const Op& op) { return op.infer == infer_loop; }

LoopOp::LoopOp(LoopOptions o, std::shared_ptr<const Graph> b, int count)
    : Op(kLoopOp), options(std::move(o)), body(std::move(b)), carried(count) {
  if (count > 1) signature = "loop(xs...) -> y, z, rounds";
}

}  // namespace graph

LoopResult loop(const LoopBody& body, Tensors start, const LoopOptions& options) {
  if (start.size() == 0) graph::refuse(options, "it carries no values — give at least one");
  if (options.most < 1) graph::refuse(options, std::to_string(options.most) + " rounds at most — give at least 1");
  if (!(options.epsilon >= 0)) graph::refuse(options, "epsilon is no distance — give 0 or more");
  std::vector<Tensor> values;
  for (size_t i = 0; i < start.size(); i++) values.push_back(start[i]);
  for (const Tensor& t : values)
    if (!t.defined()) graph::refuse(options, "a start value is undefined");
  if (!capturing()) {
    Plan plan = compile(
        [&](std::span<const Tensor>) {
          LoopResult r = loop(body, Tensors(values), options);
          r.values.push_back(r.rounds);
          return r.values;
        },
        {}, {.name = options.name});
    plan.run();
    LoopResult r;
    for (const Tensor& t : plan.outputs()) r.values.push_back(clone(t));
    r.rounds = r.values.back();
    r.values.pop_back();
    return r;
  }
  if (options.gradient == LoopOptions::Gradient::kRounds) return graph::unrolled(body, values, options);
  if (values.size() < kMaxOutputs) return graph::record(body, values, options);
  const graph::Packed packed(values, options);
  LoopResult r = graph::record(
      [&](std::span<const Tensor> blocks) {
        const std::vector<Tensor> now = packed.unpack(blocks);
        const std::vector<Tensor> next = body(now);
        graph::check_round(options, now, next);
        return packed.pack(next);
      },
      packed.pack(values), options);
  r.values = packed.unpack(r.values);
  return r;
}

Tensor loop(const std::function<Tensor(const Tensor&)>& body, const Tensor& start, const LoopOptions& options) {
  return loop([&](std::span<const Tensor> x) { return std::vector<Tensor>{body(x[0])}; }, {start}, options).values[0];
}

}  // namespace ingot
