#include "graph/simplify.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "graph/touches.h"
#include "ingot/ops/ops.h"
#include "ops/call.h"

namespace ingot {
extern const Op op_copy;  // what a plan moves elements with
}

namespace ingot::graph {
namespace {

constexpr int64_t kMostFolded = 1 << 20;  // bytes of a constant

// Lets every reader of values read others; applied once, at the end of a pass.
class Replacement {
 public:
  explicit Replacement(Graph& graph) : graph_(graph), by_(graph.values.size()) {
    for (size_t i = 0; i < by_.size(); i++) by_[i] = static_cast<ValueId>(i);
  }
  ValueId of(ValueId v) {
    if (v == kAbsent) return v;
    grow(v);
    while (by_[static_cast<size_t>(v)] != v) v = by_[static_cast<size_t>(v)];
    return v;
  }
  void set(ValueId v, ValueId other) {
    grow(std::max(v, other));
    by_[static_cast<size_t>(v)] = of(other);
  }
  void apply() {
    for (Node& n : graph_.nodes)
      for (ValueId& v : n.inputs) v = of(v);
    for (Graph::Output& o : graph_.outputs) o.value = of(o.value);
  }

 private:
  void grow(ValueId v) {
    while (static_cast<size_t>(v) >= by_.size()) by_.push_back(static_cast<ValueId>(by_.size()));
  }
  Graph& graph_;
  std::vector<ValueId> by_;
};

// The attributes of a fill, but for a shape of one element.
Attrs of_one_element(const Attrs& fill) {
  Attrs attrs;
  for (int i = 0; i < fill.size(); i++) {
    const Attr& a = fill[i];
    if (a.kind == Attr::Kind::kInts) attrs.set(a.name, Dims{});
    if (a.kind == Attr::Kind::kInt) attrs.set(a.name, a.integer);
    if (a.kind == Attr::Kind::kReal) attrs.set(a.name, a.real);
  }
  return attrs;
}

// What is stored where, while stores move from copies to the nodes that make the values.
class Stores {
 public:
  explicit Stores(const Graph& graph) : moved_(graph.nodes.size()) {
    std::iota(moved_.begin(), moved_.end(), 0);
    for (size_t id = 0; id < graph.nodes.size(); id++)
      for (const Tensor& t : graph.nodes[id].stores)
        if (t.defined()) touches_.add_over(static_cast<NodeId>(id), t);
  }
  void move(NodeId from, NodeId to) { moved_[static_cast<size_t>(from)] = to; }
  /// The node that does now what `id` did.
  NodeId now(NodeId id) const { return moved_[static_cast<size_t>(id)]; }
  /// Is `memory` written by a node after `id`?
  bool written_after(NodeId id, const Tensor& memory) {
    const std::vector<NodeId>& writers = touches_.of(memory);
    return std::any_of(writers.begin(), writers.end(), [&](NodeId w) { return now(w) > id; });
  }

 private:
  Touches touches_;
  std::vector<NodeId> moved_;
};

// Whoever reads memory where node `id` stored a value for good reads the value: it need not wait for the memory.
void read_stored(Graph& graph, Stores& stores, NodeId id, Node& reader) {
  const Node& n = graph.node(id);
  bool changed = false;
  for (ValueId& v : reader.inputs) {
    if (v == kAbsent || graph.producer(v).kind != NodeKind::kBound) continue;
    for (int k = 0; k < n.count; k++)
      if (const Tensor* to = n.stored(k), &from = graph.producer(v).bound;
          to != nullptr && to->is_contiguous() && to->dtype() == from.dtype() && coincide(*to, from) &&
          !stores.written_after(id, *to)) {
        v = n.first + k;
        changed = true;
        break;
      }
  }
  const auto touches = [&](const Node& a, const Node& b) {  // what b stores
    return std::any_of(b.stores.begin(), b.stores.end(), [&](const Tensor& to) {
      const auto meets = [&](const Tensor& t) { return t.defined() && overlaps(t, to); };
      return to.defined() &&
             (how_reads(graph, a, to) != Reads::kNot || std::any_of(a.stores.begin(), a.stores.end(), meets));
    });
  };
  if (changed && !touches(reader, n) && !touches(n, reader)) std::erase(reader.after, id);
}

// Whoever waited for a check that is not made waits for what that one waited for; a store for checks only, since it does
// not mind the stores before them.
void drop_dead_waits(const Graph& graph, Node& n) {
  const auto is_dead = [&](NodeId a) { return graph.node(a).dead; };
  if (std::none_of(n.after.begin(), n.after.end(), is_dead)) return;
  const bool checks = n.op->check != nullptr;
  std::vector<NodeId> kept;
  for (const NodeId a : n.after) {
    const Node& before = graph.node(a);
    if (!before.dead)
      kept.push_back(a);
    else if (before.op->check != nullptr)  // it was here before: what it waits for is alive
      for (const NodeId b : before.after)
        if (checks || graph.node(b).op->check != nullptr) kept.push_back(b);
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  n.after = std::move(kept);
}

}  // namespace

int fold_constants(Graph& graph) {
  int folded = 0;
  Replacement replace(graph);
  const size_t count = graph.nodes.size();
  for (size_t id = 0; id < count; id++) {
    {
      const Node& n = graph.nodes[id];
      if (n.dead || n.kind != NodeKind::kOp || n.is_store() || n.seed != kAbsent || n.stop_gradient || is_loop(*n.op))
        continue;
    }
    const Node n = graph.nodes[id];
    bool constant = true;
    std::vector<Tensor> in;
    for (const ValueId v : n.inputs) {
      const ValueId now = replace.of(v);
      constant = constant && (now == kAbsent || graph.producer(now).constant);
      if (!constant) break;
      in.push_back(now == kAbsent ? Tensor() : graph.producer(now).bound);
    }
    if (!constant) continue;
    int64_t bytes = 0;
    for (int i = 0; i < n.count; i++)
      bytes += graph.symbol(n.first + i).numel() * static_cast<int64_t>(size_of(graph.symbol(n.first + i).dtype()));
    const bool fills = n.op->role == OpRole::kFill;
    if (!fills && bytes > kMostFolded && n.op->view == nullptr) continue;
    Attrs attrs = *n.attrs;
    if (fills) attrs = of_one_element(attrs);  // which is then seen as many times as asked for
    std::vector<const Tensor*> pointers;
    pointers.reserve(in.size());
    for (const Tensor& t : in) pointers.push_back(&t);
    std::vector<Tensor> results(static_cast<size_t>(n.count));
    ingot::call(*n.op, pointers, attrs, results);
    if (fills) {
      const Dims& shape = graph.symbol(n.first).shape();
      results[0] = results[0].view(results[0].raw(), shape, Dims::filled(shape.size(), 0));
    }
    for (int i = 0; i < n.count; i++) replace.set(n.first + i, graph.add_constant(results[static_cast<size_t>(i)]));
    graph.nodes[id].dead = true;
    folded++;
  }
  replace.apply();
  return folded;
}

int drop_dead(Graph& graph) {
  std::vector<bool> needed(graph.nodes.size(), false);
  std::vector<NodeId> todo;
  const auto need = [&](NodeId n) {
    if (needed[static_cast<size_t>(n)]) return;
    needed[static_cast<size_t>(n)] = true;
    todo.push_back(n);
  };
  for (const Graph::Output& o : graph.outputs) need(graph.value(o.value).node);
  for (size_t i = 0; i < graph.nodes.size(); i++)
    if (graph.nodes[i].is_store() && !graph.nodes[i].dead) need(static_cast<NodeId>(i));
  while (!todo.empty()) {
    const Node& n = graph.node(todo.back());
    todo.pop_back();
    for (const ValueId v : n.inputs)
      if (v != kAbsent) need(graph.value(v).node);
    if (n.seed != kAbsent) need(graph.value(n.seed).node);
  }
  int dropped = 0;
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    Node& n = graph.nodes[i];
    if (needed[i] || n.kind == NodeKind::kInput || n.dead) continue;
    n.dead = true;
    dropped += n.kind == NodeKind::kOp;
  }
  for (Node& n : graph.nodes) drop_dead_waits(graph, n);
  return dropped;
}

int forward_stores(Graph& graph) {
  int forwarded = 0;
  Stores stores(graph);
  std::vector<bool> is_output(graph.values.size(), false);
  for (const Graph::Output& o : graph.outputs) is_output[static_cast<size_t>(graph.root(o.value))] = true;
  for (size_t id = 0; id < graph.nodes.size(); id++) {
    Node& n = graph.nodes[id];
    if (n.dead || n.kind != NodeKind::kOp || n.op->role != OpRole::kCopy || n.stores.size() != 1 ||
        !n.stores[0].is_contiguous())
      continue;
    // Through views that only rename the axes of a contiguous value, to the op that computes it.
    ValueId v = n.inputs[0];
    while (graph.producer(v).is_view() && graph.symbol(v).is_contiguous() &&
           graph.symbol(graph.producer(v).inputs[0]).numel() == graph.symbol(v).numel() &&
           graph.symbol(graph.producer(v).inputs[0]).is_contiguous())
      v = graph.producer(v).inputs[0];
    const NodeId maker = graph.value(v).node;
    Node& p = graph.node(maker);
    const int result = graph.value(v).index;
    if (p.kind != NodeKind::kOp || p.is_view() || p.stored(result) != nullptr || is_output[static_cast<size_t>(v)])
      continue;
    const Tensor to = n.stores[0].view(n.stores[0].raw(), graph.symbol(v).shape(),
                                       contiguous_strides(graph.symbol(v).shape()));  // as the maker sees it
    // What must have run before the store must have run before the value is made: but an op that works in place may
    // read what it overwrites.
    const bool in_place = (p.op->tile != nullptr || p.op->in_place) && how_reads(graph, p, to) != Reads::kOtherwise;
    for (NodeId& a : n.after) a = stores.now(a);
    if (std::any_of(n.after.begin(), n.after.end(), [&](NodeId a) { return a > maker || (a == maker && !in_place); }))
      continue;
    if (stores.written_after(static_cast<NodeId>(id), to)) continue;  // readers of the value might see what came later
    p.stores.resize(static_cast<size_t>(p.count));
    p.stores[static_cast<size_t>(result)] = to;
    std::copy_if(n.after.begin(), n.after.end(), std::back_inserter(p.after), [&](NodeId a) { return a != maker; });
    stores.move(static_cast<NodeId>(id), maker);
    n.dead = true;
    n.stores.clear();
    forwarded++;
  }
  for (Node& n : graph.nodes)
    for (NodeId& a : n.after) a = stores.now(a);
  for (Node& n : graph.nodes)
    for (const NodeId a : std::vector<NodeId>(n.after))
      if (!n.dead && graph.node(a).is_store()) read_stored(graph, stores, a, n);
  return forwarded;
}

int count_views(Graph& graph) {
  int views = 0;
  for (const Node& n : graph.nodes) views += !n.dead && n.is_view();
  return views;
}

int copy_views(Graph& graph) {
  // A view of a tensor of the user's must go on seeing what is written to it.
  const auto copied = [](const Graph& g, const Node& n) {
    if (n.dead || !n.is_view()) return false;
    const Node& root = g.producer(g.root(n.first));
    return root.kind != NodeKind::kBound || root.constant;
  };
  std::vector<Node> nodes;
  std::vector<NodeId> moved;
  std::vector<std::pair<ValueId, NodeId>> copies;  // of a view, by a node
  for (const Node& n : graph.nodes) {
    moved.push_back(static_cast<NodeId>(nodes.size()));
    nodes.push_back(n);
    if (!copied(graph, n)) continue;
    Node copy;
    copy.op = &op_copy;
    copy.attrs = graph.keep(Attrs());
    copy.inputs = {n.first};
    copy.scope = n.scope;
    copies.emplace_back(n.first, static_cast<NodeId>(nodes.size()));
    nodes.push_back(std::move(copy));
  }
  for (Value& v : graph.values) v.node = moved[static_cast<size_t>(v.node)];
  for (Node& n : nodes)
    for (NodeId& a : n.after) a = moved[static_cast<size_t>(a)];
  graph.nodes = std::move(nodes);
  Replacement replace(graph);
  for (const auto& [view, node] : copies) {
    const Tensor s = graph.symbol(view);
    const ValueId v = static_cast<ValueId>(graph.values.size());
    graph.node(node).first = v;
    graph.values.push_back({node, 0, Tensor::symbolic(&graph, v, s.dtype(), s.shape(), contiguous_strides(s.shape()))});
    replace.set(view, v);
  }
  replace.apply();
  for (const auto& [view, node] : copies) graph.node(node).inputs = {view};
  for (const Node& n : graph.nodes) {  // a view of a view is now a view of a copy: other strides
    if (n.dead || !n.is_view()) continue;
    const Tensor* in[] = {&graph.symbol(n.inputs[0])};
    const Tensor view = n.op->view({*n.op, in, *n.attrs});
    graph.values[static_cast<size_t>(n.first)].symbol =
        Tensor::symbolic(&graph, n.first, view.dtype(), view.shape(), view.strides());
  }
  return count_views(graph);
}

void own_outputs(Graph& g) {
  for (Graph::Output& o : g.outputs) {
    const Node& root = g.producer(g.root(o.value));
    const bool whole = !g.is_body || g.root(o.value) == o.value;  // a loop's values are contiguous
    if (root.kind != NodeKind::kInput && !root.constant && whole) continue;
    const Tensor s = g.symbol(o.value);
    Node copy;
    copy.op = &op_copy;
    copy.attrs = g.keep(Attrs());
    copy.inputs = {o.value};
    copy.first = static_cast<ValueId>(g.values.size());
    copy.scope = g.keep(std::string_view("result"));
    g.values.push_back({static_cast<NodeId>(g.nodes.size()), 0,
                        Tensor::symbolic(&g, copy.first, s.dtype(), s.shape(), contiguous_strides(s.shape()))});
    o.value = copy.first;
    g.nodes.push_back(std::move(copy));
  }
}

}  // namespace ingot::graph
