#include "graph/graph.h"

#include <algorithm>

#include "ops/call.h"

namespace ingot::graph {

std::string Graph::label(const Node& n) const {
  if (n.kind == NodeKind::kInput) return "input " + std::to_string(n.input);
  if (n.kind == NodeKind::kBound) return n.constant ? "constant" : "bound";
  const std::string op = n.attrs->find(kRelu) != nullptr ? std::string(n.op->name) + "+relu" : n.op->name;
  return n.scope.empty() ? op : std::string(n.scope) + "/" + op;
}

void Graph::note_roots() {
  for (const Node& n : nodes)
    for (ValueId v = n.first; v < n.first + n.count; v++) values[static_cast<size_t>(v)].root = root(v);
}

void Graph::forget_roots() {
  for (Value& v : values) v.root = kAbsent;
}

const Attrs* Graph::keep(const Attrs& a) {
  const uint64_t hash = hash_attrs(a);
  const auto [first, last] = known_attrs.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (same_attrs(*it->second, a)) return it->second;
  return known_attrs.emplace(hash, &attrs.emplace_back(a))->second;
}

std::string_view Graph::keep(std::string_view text) { return *texts.emplace(text).first; }

ValueId Graph::add_constant(const Tensor& tensor) {
  Node n;
  n.kind = NodeKind::kBound;
  n.constant = true;
  n.bound = tensor;
  n.first = static_cast<ValueId>(values.size());
  values.push_back({static_cast<NodeId>(nodes.size()), 0,
                    Tensor::symbolic(this, n.first, tensor.dtype(), tensor.shape(), tensor.strides())});
  nodes.push_back(std::move(n));
  return nodes.back().first;
}

double flops_of(const Graph& graph, const Node& n) {
  if (n.kind != NodeKind::kOp || n.op->view != nullptr) return 0;
  const double results = static_cast<double>(graph.symbol(n.first).numel());
  if (n.op->tile != nullptr) return results * n.op->weight;
  if (n.op->role == OpRole::kProduct) return 2 * results * static_cast<double>(graph.symbol(n.inputs[0]).size(-1));
  std::vector<const Tensor*> in;
  const Tensor none{};
  for (const ValueId v : n.inputs) in.push_back(v == kAbsent ? &none : &graph.symbol(v));
  Prepared block;
  if (n.op->cost != nullptr)
    return n.op->cost(prepare({*n.op, in, *n.attrs}, block)) * 40;  // costs are ns at about 40 GFLOP/s
  return in.empty() ? 0 : static_cast<double>(in[0]->numel());
}

bool same_attrs(const Attrs& a, const Attrs& b) {
  if (a.size() != b.size()) return false;
  for (int i = 0; i < a.size(); i++) {
    const Attr &x = a[i], &y = b[i];
    if (x.kind != y.kind || x.name != y.name) return false;
    switch (x.kind) {
      case Attr::Kind::kInt:
        if (x.integer != y.integer) return false;
        break;
      case Attr::Kind::kReal:  // bits, so that 0 and -0 differ and NaN equals itself
        if (std::bit_cast<uint64_t>(x.real) != std::bit_cast<uint64_t>(y.real)) return false;
        break;
      case Attr::Kind::kInts:
        if (!(x.ints == y.ints)) return false;
        break;
      case Attr::Kind::kText:
        if (x.text != y.text) return false;
        break;
      case Attr::Kind::kPointer: {
        const auto *f = static_cast<const MapFunction*>(x.pointer), *g = static_cast<const MapFunction*>(y.pointer);
        if (f != g && (f == nullptr || g == nullptr || !f->same_as(*g))) return false;
        break;
      }
    }
  }
  return true;
}

uint64_t hash_attrs(const Attrs& attrs) {
  uint64_t h = 1469598103934665603u;
  const auto add = [&](uint64_t x) { h = (h ^ x) * 1099511628211u; };
  for (int i = 0; i < attrs.size(); i++) {
    const Attr& a = attrs[i];
    if (a.kind == Attr::Kind::kInt) add(static_cast<uint64_t>(a.integer));
    if (a.kind == Attr::Kind::kReal) add(std::bit_cast<uint64_t>(a.real));
    if (a.kind == Attr::Kind::kInts)
      for (const int64_t n : a.ints) add(static_cast<uint64_t>(n));
    if (a.kind == Attr::Kind::kText) add(std::hash<std::string_view>()(a.text));
    if (a.kind == Attr::Kind::kPointer && a.pointer != nullptr)
      add(reinterpret_cast<uintptr_t>(static_cast<const MapFunction*>(a.pointer)->identity()));
  }
  return h | 1;
}

Reads how_reads(const Graph& graph, const Node& node, const Tensor& memory) {
  Reads how = Reads::kNot;
  for (const ValueId v : node.inputs) {
    if (v == kAbsent) continue;
    const ValueId root = graph.root(v);
    const Node& p = graph.producer(root);
    if (p.kind != NodeKind::kBound || !overlaps(p.bound, memory)) continue;
    if (v != root || !coincide(p.bound, memory)) return Reads::kOtherwise;
    how = Reads::kAlike;
  }
  return how;
}

bool known_before(const Graph& graph, const Node& node) {
  const auto written = [&](const Tensor& memory) {
    return std::any_of(node.after.begin(), node.after.end(), [&](NodeId a) {
      const std::vector<Tensor>& stores = graph.node(a).stores;
      return std::any_of(stores.begin(), stores.end(),
                         [&](const Tensor& to) { return to.defined() && overlaps(to, memory); });
    });
  };
  if (graph.is_body || is_loop(*node.op)) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
    if (v == kAbsent || is_float(graph.symbol(v).dtype())) return true;
    const Node& root = graph.producer(graph.root(v));
    return root.kind == NodeKind::kInput || (root.kind == NodeKind::kBound && !written(root.bound));
  });
}

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.values.size(), 0);
  for (const Node& n : graph.nodes) {
    if (n.dead) continue;
    for (const ValueId v : n.inputs)
      if (v != kAbsent) uses[static_cast<size_t>(v)]++;
    if (n.seed != kAbsent) uses[static_cast<size_t>(n.seed)]++;
  }
  for (const Graph::Output& o : graph.outputs) uses[static_cast<size_t>(o.value)]++;
  return uses;
}

}  // namespace ingot::graph
