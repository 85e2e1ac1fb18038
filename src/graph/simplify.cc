#include "graph/simplify.h"

#include <algorithm>
#include <cmath>

#include "ingot/ops.h"

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

bool is(const Node& n, const Op& op) { return n.kind == NodeKind::kOp && n.op == &op; }
const Op& op_named(const char* name) { return *find_op(name); }

// Ops that the passes know by name; looked up once.
struct Known {
  const Op &full = op_named("full"), &copy = op_named("copy"), &multiply = op_named("multiply"), &add = op_named("add"),
           &subtract = op_named("subtract"), &divide = op_named("divide"), &transpose = op_named("transpose"),
           &permute = op_named("permute"), &reshape = op_named("reshape"), &broadcast_to = op_named("broadcast_to"),
           &multiply_scalar = op_named("multiply_scalar"), &add_scalar = op_named("add_scalar"),
           &subtract_scalar = op_named("subtract_scalar"), &divide_scalar = op_named("divide_scalar"),
           &negative = op_named("negative"), &relu = op_named("relu"), &pow_scalar = op_named("pow_scalar"),
           &square = op_named("square"), &cross_entropy = op_named("softmax_cross_entropy"),
           &cross_entropy_grad = op_named("softmax_cross_entropy_grad"),
           &cross_entropy_pair = op_named("softmax_cross_entropy_with_grad");
};
const Known& known() {
  static const Known k;
  return k;
}

// All elements are the same number: a constant seen with strides 0, or of one element.
bool uniform_value(const Graph& g, ValueId v, double& value) {
  if (v == kAbsent) return false;
  const Node& n = g.producer(v);
  if (n.kind != NodeKind::kBound || !n.constant || n.bound.numel() == 0) return false;
  for (int a = 0; a < n.bound.rank(); a++)
    if (n.bound.shape()[a] > 1 && n.bound.strides()[a] != 0) return false;
  value = load_as_double(n.bound.raw(), n.bound.dtype());
  return true;
}

}  // namespace

int fold_constants(Graph& graph) {
  int folded = 0;
  Replacement replace(graph);
  const size_t count = graph.nodes.size();
  for (size_t id = 0; id < count; id++) {
    {
      const Node& n = graph.nodes[id];
      if (n.dead || n.kind != NodeKind::kOp || n.is_store() || n.seed != kAbsent || n.stop_gradient) continue;
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
    Attrs attrs = *n.attrs;
    const bool fills = n.op == &known().full;
    if (!fills && bytes > kMostFolded && n.op->view == nullptr) continue;
    if (fills) {  // one element, seen as many times as asked for
      Attrs scalar;
      scalar.set("shape", Dims{})
          .set("value", n.attrs->find("value")->real)
          .set("dtype", n.attrs->find("dtype")->integer);
      attrs = scalar;
    }
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

int clean_algebra(Graph& graph) {
  const Known& k = known();
  int cleaned = 0;
  Replacement replace(graph);
  const size_t count = graph.nodes.size();
  for (size_t id = 0; id < count; id++) {
    Node& n = graph.nodes[id];
    if (n.dead || n.kind != NodeKind::kOp || n.is_store() || n.stop_gradient || n.count != 1) continue;
    for (ValueId& v : n.inputs) v = replace.of(v);
    const Tensor& out = graph.symbol(n.first);
    const auto becomes = [&](ValueId v) {
      if (!(graph.symbol(v).shape() == out.shape()) || graph.symbol(v).dtype() != out.dtype()) return false;
      if (n.op->view == nullptr) {
        if (!graph.symbol(v).is_contiguous()) return false;  // readers may rely on the layout
        // A result is what a bound tensor held at this call; later ones may write to it.
        const Node& root = graph.producer(graph.root(v));
        if (root.kind == NodeKind::kBound && !root.constant) return false;
      }
      replace.set(n.first, v);
      n.dead = true;
      cleaned++;
      return true;
    };
    const auto real = [&](const char* name) { return n.attrs->find(name)->real; };
    double c = 0;
    if (n.op == &k.multiply || n.op == &k.divide) {
      if (uniform_value(graph, n.inputs[1], c) && c == 1 && becomes(n.inputs[0])) continue;
      if (n.op == &k.multiply && uniform_value(graph, n.inputs[0], c) && c == 1 && becomes(n.inputs[1])) continue;
    } else if (n.op == &k.subtract) {
      if (uniform_value(graph, n.inputs[1], c) && c == 0 && !std::signbit(c) && becomes(n.inputs[0])) continue;
    } else if (n.op == &k.multiply_scalar || n.op == &k.divide_scalar) {
      if (real("value") == 1 && becomes(n.inputs[0])) continue;
    } else if (n.op == &k.subtract_scalar) {
      if (real("value") == 0 && !std::signbit(real("value")) && becomes(n.inputs[0])) continue;
    } else if (n.op == &k.pow_scalar) {
      if (real("exponent") == 1 && becomes(n.inputs[0])) continue;
      if (real("exponent") == 2) {
        n.op = &k.square;
        n.attrs = graph.keep(Attrs());
        cleaned++;
      }
    } else if (n.op == &k.negative) {
      if (const Node& p = graph.producer(n.inputs[0]); is(p, k.negative) && becomes(p.inputs[0])) continue;
    } else if (n.op == &k.copy) {
      // A copy of a computed, contiguous value: values never change, so the copy is the value.
      const Node& root = graph.producer(graph.root(n.inputs[0]));
      if ((root.kind == NodeKind::kOp || root.constant) && becomes(n.inputs[0])) continue;
    } else if (n.op == &k.transpose || n.op == &k.permute || n.op == &k.reshape || n.op == &k.broadcast_to) {
      const Tensor& in = graph.symbol(n.inputs[0]);
      if (in.shape() == out.shape() && in.strides() == out.strides() && becomes(n.inputs[0])) continue;
      if (const Node& p = graph.producer(n.inputs[0]); n.op == &k.transpose && is(p, k.transpose) && !p.stop_gradient) {
        const Tensor& first = graph.symbol(p.inputs[0]);
        if (first.shape() == out.shape() && first.strides() == out.strides() && becomes(p.inputs[0])) continue;
      }
    }
  }
  replace.apply();
  return cleaned;
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
  for (Node& n : graph.nodes) std::erase_if(n.after, [&](NodeId a) { return graph.node(a).dead; });
  return dropped;
}

int forward_stores(Graph& graph) {
  int forwarded = 0;
  for (size_t id = 0; id < graph.nodes.size(); id++) {
    Node& n = graph.nodes[id];
    if (n.dead || !is(n, known().copy) || n.stores.size() != 1 || !n.stores[0].is_contiguous()) continue;
    // Through views that only rename the axes of a contiguous value, to the op that computes it.
    ValueId v = n.inputs[0];
    while (graph.producer(v).is_view() && graph.symbol(v).is_contiguous() &&
           graph.symbol(graph.producer(v).inputs[0]).numel() == graph.symbol(v).numel() &&
           graph.symbol(graph.producer(v).inputs[0]).is_contiguous())
      v = graph.producer(v).inputs[0];
    const NodeId maker = graph.value(v).node;
    Node& p = graph.node(maker);
    const int result = graph.value(v).index;
    if (p.kind != NodeKind::kOp || p.is_view() || p.stored(result) != nullptr) continue;
    // What must have run before the store must have run before the value is made.
    if (std::any_of(n.after.begin(), n.after.end(), [&](NodeId a) { return a >= maker; })) continue;
    bool is_output = false;
    for (const Graph::Output& o : graph.outputs) is_output = is_output || graph.root(o.value) == v;
    if (is_output) continue;
    const Tensor& to = n.stores[0];
    bool overwritten = false;  // later: then readers of the value might see what came after it
    for (size_t other = id + 1; other < graph.nodes.size(); other++)
      for (const Tensor& t : graph.nodes[other].stores) overwritten = overwritten || overlaps(t, to);
    if (overwritten) continue;
    p.stores.resize(static_cast<size_t>(p.count));
    p.stores[static_cast<size_t>(result)] =
        to.view(to.raw(), graph.symbol(v).shape(), contiguous_strides(graph.symbol(v).shape()));
    p.after.insert(p.after.end(), n.after.begin(), n.after.end());
    for (Node& other : graph.nodes)
      for (NodeId& a : other.after)
        if (a == static_cast<NodeId>(id)) a = maker;
    n.dead = true;
    n.stores.clear();
    forwarded++;
  }
  return forwarded;
}

int pair_cross_entropy(Graph& graph) {
  const Known& k = known();
  int pairs = 0;
  Replacement replace(graph);
  for (size_t id = 0; id < graph.nodes.size(); id++) {
    Node& backward = graph.nodes[id];
    if (backward.dead || !is(backward, k.cross_entropy_grad) || backward.is_store()) continue;
    for (size_t at = 0; at < id; at++) {
      Node& forward = graph.nodes[at];
      if (forward.dead || !is(forward, k.cross_entropy) || forward.is_store()) continue;
      if (forward.inputs[0] != backward.inputs[0] || forward.inputs[1] != backward.inputs[1]) continue;
      if (forward.after != backward.after) continue;
      // The pair runs where the loss was computed: what scales the gradient must be there by then.
      const ValueId scale = backward.inputs[2];
      const NodeId maker = graph.value(graph.root(scale)).node;
      if (graph.node(maker).kind == NodeKind::kOp && maker >= static_cast<NodeId>(at)) continue;
      const ValueId loss = forward.first, gradient = backward.first;
      forward.op = &k.cross_entropy_pair;
      forward.inputs.push_back(scale);
      forward.first = static_cast<ValueId>(graph.values.size());
      forward.count = 2;
      graph.values.push_back({static_cast<NodeId>(at), 0, graph.symbol(loss)});
      graph.values.push_back({static_cast<NodeId>(at), 1, graph.symbol(gradient)});
      replace.set(loss, forward.first);
      replace.set(gradient, forward.first + 1);
      backward.dead = true;
      for (Node& other : graph.nodes)  // what waited for the gradient waits for the pair
        for (NodeId& a : other.after)
          if (a == static_cast<NodeId>(id)) a = static_cast<NodeId>(at);
      pairs++;
      break;
    }
  }
  replace.apply();
  return pairs;
}

int absorb_relu(Graph& graph) {
  int absorbed = 0;
  Replacement replace(graph);
  const std::vector<int> uses = count_uses(graph);
  for (Node& n : graph.nodes) {
    if (n.dead || n.is_store() || !is(n, known().relu)) continue;
    Node& maker = graph.node(graph.value(n.inputs[0]).node);
    if (maker.kind != NodeKind::kOp || !maker.op->takes_relu || n.inputs[0] != maker.first || maker.is_store())
      continue;
    if (uses[static_cast<size_t>(maker.first)] != 1 || maker.attrs->find(kRelu) != nullptr) continue;
    maker.attrs = graph.keep(Attrs(*maker.attrs).set(kRelu, true));
    replace.set(n.first, maker.first);
    n.dead = true;
    absorbed++;
  }
  replace.apply();
  return absorbed;
}

void copy_views(Graph& graph) {
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
    copy.op = &known().copy;
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
}

}  // namespace ingot::graph
