// Reverse-mode differentiation, graph to graph: every node on the way back calls its op's gradient rule, and what the
// rule calls is recorded like anything else.
#include "ingot/graph/grad.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <unordered_map>

#include "graph/capture.h"
#include "graph/memory.h"
#include "graph/touches.h"
#include "ingot/base/error.h"
#include "ingot/ops/ops.h"

namespace ingot {
namespace graph {
namespace {

// Another scope path for what is recorded while it lives.
class Path {
 public:
  Path(Capture& capture, std::string path) : capture_(capture), before_(capture.swap_path(std::move(path))) {}
  ~Path() { capture_.swap_path(std::move(before_)); }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

 private:
  Capture& capture_;
  std::string before_;
};

class Backward {
 public:
  Backward(Capture& capture, ValueId y, std::span<const ValueId> wrt)
      : capture_(capture), graph_(capture.graph()), last_(graph_.value(y).node), needs_(graph_.values.size(), false) {
    for (const ValueId v : wrt)
      if (v != kAbsent) needs_[static_cast<size_t>(v)] = true;
    for (NodeId id = 0; id <= last_; id++) spread_need(graph_.node(id));
    dy_.resize(graph_.values.size());
    const Tensor& s = graph_.symbol(y);
    dy_[static_cast<size_t>(y)] = ones(s.shape(), s.dtype());
  }

  void run() {
    for (NodeId id = last_; id >= 0; id--) visit(id);
  }

  const Tensor& of(ValueId v) const { return dy_[static_cast<size_t>(v)]; }

  /// Ops without a gradient between what is asked for and the result, and why: "argmax (the result is an index)".
  std::string blocked_by(ValueId y) const {
    std::vector<bool> used(static_cast<size_t>(last_) + 1, false);
    used[static_cast<size_t>(graph_.value(y).node)] = true;
    std::string text;
    for (NodeId id = last_; id >= 0; id--) {
      if (!used[static_cast<size_t>(id)]) continue;
      for (const ValueId v : graph_.node(id).inputs)
        if (v != kAbsent) used[static_cast<size_t>(graph_.value(v).node)] = true;
      if (!std::binary_search(blocked_.begin(), blocked_.end(), id)) continue;
      const Op& op = *graph_.node(id).op;
      const std::string entry = graph_.label(graph_.node(id)) +
                                (op.gradient == nullptr ? std::string(" (") + op.not_differentiable + ")" : "");
      if (text.find(entry) == std::string::npos) text += (text.empty() ? "" : ", ") + entry;
    }
    return text;
  }

 private:
  bool needs(ValueId v) const { return v != kAbsent && needs_[static_cast<size_t>(v)]; }

  bool reads_needed(const Node& n) const {
    return std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return needs(v); });
  }

  void spread_need(const Node& n) {
    if (n.kind != NodeKind::kOp || n.stop_gradient || !reads_needed(n)) return;
    bool any = false;
    for (ValueId v = n.first; v < n.first + n.count; v++)
      if (is_float(graph_.symbol(v).dtype())) any = needs_[static_cast<size_t>(v)] = true;
    if (!any && !n.is_store()) blocked_.push_back(graph_.value(n.first).node);
  }

  // What was recorded for the backward pass of node `of` must not read memory of the user's that has been written since
  // `of` read it.
  void check_unwritten(NodeId of) const {
    const NodeId store = capture_.awaited();
    if (store > of)
      throw Error("gradients: the gradient of " + graph_.label(graph_.node(of)) + " reads a tensor " +
                  to_string(graph_.node(store).stores[0].shape()) + " that " + graph_.label(graph_.node(store)) +
                  "_into has written since — write to it after gradients(), or use a copy() of it");
  }

  void visit(NodeId id) {
    std::vector<Tensor> dys;
    bool any = false;
    {
      const Node& n = graph_.node(id);
      // The walk ends at what one differentiates by, whoever made it.
      if (n.kind != NodeKind::kOp || n.stop_gradient || !reads_needed(n)) return;
      for (ValueId v = n.first; v < n.first + n.count; v++) {
        dys.push_back(needs(v) ? dy_[static_cast<size_t>(v)] : Tensor());
        any = any || dys.back().defined();
      }
      if (!any) return;
    }
    const Node n = graph_.node(id);  // a copy: recording moves the nodes
    if (n.op->gradient == nullptr)
      throw Error("gradients: " + graph_.label(n) + " is not differentiable (" + n.op->not_differentiable +
                  ") — use stop_gradient() on its inputs if nothing should flow through it");
    std::vector<Tensor> in(n.inputs.size()), out;
    std::vector<const Tensor*> pointers;
    const auto wanted = std::make_unique<bool[]>(n.inputs.size());
    for (size_t i = 0; i < in.size(); i++) {
      if (n.inputs[i] != kAbsent) in[i] = graph_.symbol(again(n, n.inputs[i]));
      pointers.push_back(&in[i]);
      wanted[i] = needs(n.inputs[i]);
    }
    for (ValueId v = n.first; v < n.first + n.count; v++) out.push_back(graph_.symbol(again(n, v)));
    const Path path(capture_, n.scope.empty() ? std::string("backward") : std::string(n.scope) + "/backward");
    capture_.forget_awaited();
    const std::vector<Tensor> gradients =
        gradient(*n.op, pointers, *n.attrs, out, dys, std::span<const bool>(wanted.get(), in.size()));
    for (size_t i = 0; i < in.size(); i++) {
      if (!wanted[i] || !gradients[i].defined()) continue;
      Tensor& sum = dy_[static_cast<size_t>(n.inputs[i])];
      sum = sum.defined() ? add(sum, gradients[i]) : gradients[i];
    }
    check_unwritten(id);
  }

  // What the gradient rule of node `n` reads in place of `v`: inside a checkpoint region, what is computed again.
  ValueId again(const Node& n, ValueId v) {
    if (n.region < 0) return v;
    if (static_cast<size_t>(n.region) >= copies_.size()) copies_.resize(static_cast<size_t>(n.region) + 1);
    auto& copies = copies_[static_cast<size_t>(n.region)];
    if (copies.empty()) copy_region(n.region, copies);
    const auto found = copies.find(v);
    return found == copies.end() ? v : found->second;
  }

  void copy_region(int region, std::unordered_map<ValueId, ValueId>& copies) {
    static std::atomic<int> passes{0};
    const int pass = ++passes;
    copies.emplace(kAbsent, kAbsent);
    for (const NodeId id : nodes_of(region)) {
      const Node old = graph_.node(id);
      if (old.is_store()) continue;
      std::vector<ValueId> inputs = old.inputs;
      for (ValueId& v : inputs)
        if (const auto it = copies.find(v); it != copies.end()) v = it->second;
      capture_.forget_awaited();
      const ValueId first = capture_.record_again(id, std::move(inputs), pass);
      check_unwritten(id);
      for (int i = 0; i < old.count; i++) copies.emplace(old.first + i, first + i);
    }
  }

  // The ops of a checkpoint region up to the result.
  const std::vector<NodeId>& nodes_of(int region) {
    if (regions_.empty())
      for (NodeId id = 0; id <= last_; id++) {
        const Node& n = graph_.node(id);
        if (n.region < 0 || n.kind != NodeKind::kOp) continue;
        regions_.resize(std::max(regions_.size(), static_cast<size_t>(n.region) + 1));
        regions_[static_cast<size_t>(n.region)].push_back(id);
      }
    return regions_[static_cast<size_t>(region)];
  }

  Capture& capture_;
  Graph& graph_;
  NodeId last_;
  std::vector<bool> needs_;
  std::vector<NodeId> blocked_;  // ascending: they read what needs a gradient, and no result of theirs can carry one
  std::vector<Tensor> dy_;
  std::vector<std::unordered_map<ValueId, ValueId>> copies_;
  std::vector<std::vector<NodeId>> regions_;
};

// Does the result depend on one of these values?
bool depends(const Graph& graph, ValueId y, const std::vector<ValueId>& values) {
  std::vector<bool> reached(graph.values.size(), false);
  for (const ValueId v : values) reached[static_cast<size_t>(v)] = true;
  for (NodeId id = 0; id <= graph.value(y).node; id++) {
    const Node& n = graph.node(id);
    if (n.kind != NodeKind::kOp || n.stop_gradient) continue;
    bool reads = false;
    for (const ValueId v : n.inputs) reads = reads || (v != kAbsent && reached[static_cast<size_t>(v)]);
    for (ValueId v = n.first; reads && v < n.first + n.count; v++)
      reached[static_cast<size_t>(v)] = is_float(graph.symbol(v).dtype());
  }
  return reached[static_cast<size_t>(y)];
}

// A view of a parameter that was made outside the function is another tensor to the capture: what flows through it
// would be lost in silence.
void require_one_view(const Graph& graph, ValueId y, std::span<const NamedTensor> wrt,
                      const std::vector<ValueId>& values) {
  Touches bound;
  for (size_t i = 0; i < graph.nodes.size(); i++)
    if (graph.nodes[i].kind == NodeKind::kBound) bound.add(static_cast<NodeId>(i), graph.nodes[i].bound);
  const auto others = [&](size_t i) {
    std::vector<ValueId> list;
    if (!wrt[i].tensor.is_symbolic())
      for (const NodeId n : bound.of(wrt[i].tensor))
        if (graph.node(n).first != values[i]) list.push_back(graph.node(n).first);
    return list;
  };
  std::vector<ValueId> all;
  for (size_t i = 0; i < wrt.size(); i++) {
    const std::vector<ValueId> list = others(i);
    all.insert(all.end(), list.begin(), list.end());
  }
  if (!depends(graph, y, all)) return;
  for (size_t i = 0; i < wrt.size(); i++)
    if (depends(graph, y, others(i)))
      throw Error("gradients: the result also depends on \"" + wrt[i].name +
                  "\" by way of another tensor that looks at the same memory — make views of it inside the function, "
                  "so that their gradients are seen");
}

// Do any two of the tensors that the function found, or of those it did not find by themselves, look at the same
// memory? Most functions have none.
bool have_two_views(const Graph& graph, std::span<const NamedTensor> wrt, const std::vector<ValueId>& values) {
  std::vector<std::pair<const std::byte*, const std::byte*>> spans;
  const auto add = [&](const Tensor& t) {
    if (t.numel() > 0) spans.emplace_back(addresses_of(t));
  };
  for (const Node& n : graph.nodes)
    if (n.kind == NodeKind::kBound) add(n.bound);
  for (size_t i = 0; i < wrt.size(); i++)
    if (values[i] == kAbsent) add(wrt[i].tensor);
  std::sort(spans.begin(), spans.end());
  const auto meet = [](const auto& a, const auto& b) { return b.first < a.second; };
  return std::adjacent_find(spans.begin(), spans.end(), meet) != spans.end();
}

}  // namespace
}  // namespace graph

std::vector<Tensor> gradients(const Tensor& y, std::span<const NamedTensor> wrt, Unused unused) {
  graph::Capture& capture = graph::current_capture("gradients");
  if (!y.defined() || !is_float(y.dtype()))
    throw Error(y.defined() ? ErrorKind::kType : ErrorKind::kArgument,
                "gradients: the value to differentiate is " + describe(y) + " — it must be of a floating type");
  std::vector<graph::ValueId> values;
  for (const NamedTensor& x : wrt) {
    if (!x.tensor.defined()) throw Error("gradients: \"" + x.name + "\" is undefined");
    if (!is_float(x.tensor.dtype()))
      throw Error(ErrorKind::kType, "gradients: \"" + x.name + "\" has elements of type " + name(x.tensor.dtype()) +
                                        " — only f32 and f64 have gradients");
    values.push_back(x.tensor.is_symbolic() ? capture.value_of(x.tensor) : capture.find_bound(x.tensor));
  }
  const graph::ValueId value = capture.value_of(y);
  if (graph::have_two_views(capture.graph(), wrt, values)) graph::require_one_view(capture.graph(), value, wrt, values);
  graph::Backward backward(capture, value, values);
  backward.run();
  std::vector<Tensor> results;
  std::string without;
  for (size_t i = 0; i < values.size(); i++) {
    Tensor g = values[i] == graph::kAbsent ? Tensor() : backward.of(values[i]);
    if (!g.defined()) {
      without += (without.empty() ? "" : ", ") + wrt[i].name;
      g = zeros(wrt[i].tensor.shape(), wrt[i].tensor.dtype());
    }
    results.push_back(std::move(g));
  }
  if (!without.empty() && unused == Unused::kError) {
    const std::string blocked = backward.blocked_by(value);
    throw Error("gradients: the result does not depend on " + without +
                (blocked.empty() ? "" : " but through " + blocked + ", which has no gradient") +
                " — use what the model should learn, leave it out, or pass Unused::kZeros");
  }
  return results;
}

std::vector<Tensor> gradients(const Tensor& y, Tensors wrt, Unused unused) {
  return gradients(y, detail::unnamed(wrt), unused);
}

Tensor stop_gradient(const Tensor& x) {
  graph::Capture* c = graph::find_capture();
  if (c == nullptr) return x;
  if (!x.defined()) throw Error("stop_gradient: x is undefined");
  c->set_stop_gradient(true);
  Tensor y = permute(x, [&] {
    Dims axes;
    for (int a = 0; a < x.rank(); a++) axes.push_back(a);
    return axes;
  }());
  c->set_stop_gradient(false);
  return y;
}

namespace detail {

std::vector<NamedTensor> unnamed(Tensors list) {
  std::vector<NamedTensor> named;
  for (size_t i = 0; i < list.size(); i++)
    named.push_back({"tensor " + std::to_string(i) + " " + to_string(list[i].shape()), list[i]});
  return named;
}

ValueAndGrad value_and_grad(const std::function<Tensor()>& fn, std::span<const NamedTensor> wrt, Unused unused) {
  const auto record = [&] {
    ValueAndGrad r;
    r.value = fn();
    if (r.value.defined() && r.value.numel() != 1)
      throw Error(ErrorKind::kShape, "value_and_grad: the function gives " + to_string(r.value.shape()) +
                                         ", not one number — reduce it with mean() or sum()");
    r.gradients = gradients(r.value, wrt, unused);
    return r;
  };
  if (capturing()) return record();
  Plan plan = compile(
      [&](std::span<const Tensor>) {
        ValueAndGrad r = record();
        r.gradients.insert(r.gradients.begin(), r.value);
        return r.gradients;
      },
      {}, {.name = "value_and_grad"});
  plan.run();
  ValueAndGrad r;
  r.value = clone(plan.outputs()[0]);
  for (const Tensor& g : plan.outputs().subspan(1)) r.gradients.push_back(clone(g));
  return r;
}

Region::Region() {
  if (graph::Capture* c = graph::find_capture()) c->enter_region();
}
Region::~Region() {
  if (graph::Capture* c = graph::find_capture()) c->leave_region();
}

}  // namespace detail
}  // namespace ingot
