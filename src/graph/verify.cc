#include "graph/verify.h"

#include <algorithm>

#include "graph/touches.h"
#include "ingot/base/error.h"
#include "ops/call.h"

namespace ingot::graph {

#ifdef NDEBUG
std::atomic<bool> verify_plans{false};
#else
std::atomic<bool> verify_plans{true};
#endif

namespace {

class Check {
 public:
  Check(const Graph& graph, std::string_view after) : graph_(graph), after_(after) {}

  void run() {
    for (size_t i = 0; i < graph_.nodes.size(); i++)
      if (!graph_.nodes[i].dead) check_node(static_cast<NodeId>(i));
    for (const Graph::Output& o : graph_.outputs) {
      require(is_value(o.value), "result \"" + o.name + "\" is no value");
      require(!graph_.producer(o.value).dead, "result \"" + o.name + "\" was dropped");
    }
    for (size_t i = 0; i < graph_.inputs.size(); i++) {
      require(is_value(graph_.inputs[i]), "an input is no value");
      const Node& n = graph_.producer(graph_.inputs[i]);
      require(n.kind == NodeKind::kInput && n.input == static_cast<int>(i), "an input has another number");
    }
    check_memory();
  }

 private:
  void require(bool good, const std::string& what) const {
    if (!good)
      throw Error(ErrorKind::kInternal,
                  "verify: after " + std::string(after_) + ", " + what + " — a fault of Ingot's; please report it");
  }
  bool is_value(ValueId v) const { return v >= 0 && static_cast<size_t>(v) < graph_.values.size(); }
  bool is_node(NodeId n) const { return n >= 0 && static_cast<size_t>(n) < graph_.nodes.size(); }

  void check_node(NodeId id) const {
    const Node& n = graph_.node(id);
    const std::string name = "node " + std::to_string(id) + " (" + graph_.label(n) + ")";
    require(n.count >= 1 && n.count <= kMaxOutputs, name + " has a wrong number of results");
    for (int i = 0; i < n.count; i++) {
      require(is_value(n.first + i), name + " has a result that is no value");
      const Value& v = graph_.value(n.first + i);
      require(v.node == id && v.index == i, name + " has a result that another node makes");
      require(v.symbol.is_symbolic() && v.symbol.storage()->symbol == n.first + i,
              name + " has a result without symbol");
    }
    if (n.kind == NodeKind::kBound) {
      const Tensor& s = graph_.symbol(n.first);
      require(n.bound.defined() && n.bound.dtype() == s.dtype() && n.bound.shape() == s.shape(),
              name + " is not what it is bound to");
    }
    if (n.kind != NodeKind::kOp) return;
    for (const ValueId v : n.inputs)
      if (v != kAbsent) check_edge(id, v, name);
    if (n.seed != kAbsent) check_edge(id, n.seed, name);
    for (const NodeId a : n.after) require(is_node(a) && a < id, name + " waits for a node that is not before it");
    check_results(n, name);
  }

  void check_edge(NodeId id, ValueId v, const std::string& name) const {
    require(is_value(v), name + " reads what is no value");
    const NodeId maker = graph_.value(v).node;
    require(is_node(maker), name + " reads what no node makes");
    const Node& p = graph_.node(maker);
    require(!p.dead, name + " reads what was dropped");
    require(v >= p.first && v < p.first + p.count, name + " reads what its node does not make any more");
    require(p.kind != NodeKind::kOp || maker < id, name + " reads what is made later");
  }

  // Strides of axes of one element do not matter.
  static bool same_layout(const Tensor& a, const Tensor& b) {
    for (int i = 0; i < a.rank(); i++)
      if (a.shape()[i] > 1 && a.numel() > 0 && a.strides()[i] != b.strides()[i]) return false;
    return true;
  }

  // The op's shape rule, asked again.
  void check_results(const Node& n, const std::string& name) const {
    std::vector<const Tensor*> in;
    const Tensor none{};
    for (const ValueId v : n.inputs) in.push_back(v == kAbsent ? &none : &graph_.symbol(v));
    const ingot::Call call{*n.op, in, *n.attrs};
    Specs specs;
    try {
      specs = infer(call);
    } catch (const Error& e) {
      require(false, name + " has inputs that do not fit: " + e.what());
    }
    require(specs.count == n.count, name + " has a wrong number of results");
    for (int i = 0; i < n.count; i++) {
      const Tensor& s = graph_.symbol(n.first + i);
      require(s.dtype() == specs.of[i].dtype && s.shape() == specs.of[i].shape,
              name + " has a result " + to_string(s.shape()) + " where the op gives " + to_string(specs.of[i].shape));
    }
    if (n.is_view())
      require(same_layout(n.op->view(call), graph_.symbol(n.first)), name + " has other strides than its op");
    require(!n.is_store() || static_cast<int>(n.stores.size()) == n.count, name + " has a wrong number of stores");
    for (int i = 0; i < n.count; i++)
      if (const Tensor* to = n.stored(i))
        require(!to->is_symbolic() && to->dtype() == specs.of[i].dtype && to->shape() == specs.of[i].shape,
                name + " stores where its result does not fit");
  }

  // Two nodes that touch the same memory of the user's, one of them writing, keep their order: the later one waits for the
  // other, or for a store in between that covers what that one touches.
  void check_memory() const {
    Touches reads, writes;
    for (size_t i = 0; i < graph_.nodes.size(); i++) {
      const Node& n = graph_.nodes[i];
      if (n.dead || n.kind != NodeKind::kOp || n.is_view()) continue;
      const NodeId id = static_cast<NodeId>(i);
      std::vector<Tensor> read;
      for (const ValueId v : n.inputs)
        if (const Node* root = v == kAbsent ? nullptr : &graph_.producer(graph_.root(v));
            root != nullptr && root->kind == NodeKind::kBound && !root->constant)
          read.push_back(root->bound);
      for (const Tensor& t : read) require_waits(n, writes.of(t));
      for (const Tensor& to : n.stores) {
        if (!to.defined()) continue;
        require_waits(n, reads.of(to));
        require_waits(n, writes.of(to));
        reads.forget_within(to);
        writes.add_over(id, to);
      }
      for (const Tensor& t : read) reads.add(id, t);
    }
  }

  void require_waits(const Node& n, const std::vector<NodeId>& earlier) const {
    for (const NodeId e : earlier)
      require(&graph_.node(e) == &n || std::find(n.after.begin(), n.after.end(), e) != n.after.end(),
              graph_.label(graph_.node(e)) + " and " + graph_.label(n) + " touch the same memory in no order");
  }

  const Graph& graph_;
  std::string_view after_;
};

}  // namespace

void verify(const Graph& graph, std::string_view after) { Check(graph, after).run(); }

}  // namespace ingot::graph
