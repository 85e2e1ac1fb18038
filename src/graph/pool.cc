// The pass `pool`: what max pooling needs when nobody reads the positions of the largest elements.
//
//   relu, then pooling              pooling, then relu: the same numbers, fewer of them
//   positions (i64) for gradients   taps: a byte per window, which needs no check
//   conv2d, then pooling            conv2d_max_pool: the convolution's result never reaches memory
//   their gradients                 straight from the pooled side; the gradient between them does not exist
#include <algorithm>

#include "graph/simplify.h"
#include "ingot/ops.h"

namespace ingot::graph {
namespace {

struct Known {
  const Op &relu = *find_op("relu"), &relu_grad = *find_op("relu_grad"), &sum = *find_op("sum"),
           &max_pool1d = *find_op("max_pool1d"), &max_pool2d = *find_op("max_pool2d"),
           &max_pool_grad = *find_op("max_pool_grad"), &taps = *find_op("max_pool_taps"),
           &taps_grad = *find_op("max_pool_taps_grad"), &conv2d = *find_op("conv2d"),
           &conv_grad_input = *find_op("conv_grad_input"), &conv_grad_kernel = *find_op("conv_grad_kernel"),
           &conv_pool = *find_op("conv2d_max_pool"), &input_grad = *find_op("conv2d_max_pool_input_grad"),
           &kernel_grad = *find_op("conv2d_max_pool_kernel_grad");
};

constexpr int64_t kMostTaps = 256;

// One max pooling, its gradients, and what stands around them.
class Pooling {
 public:
  Pooling(Graph& graph, const Known& known, NodeId pool) : graph_(graph), k_(known), pool_(pool) {}

  bool run() {
    index_users();
    const Attrs attrs = *node(pool_).attrs;
    kernel_ = attrs.find("kernel")->ints;
    if (element_count(kernel_) > kMostTaps || !find_gradients()) return false;
    Attrs taps_attrs = attrs;
    taps_attrs.set("with_taps", !gradients_.empty());
    const bool tiles = lies_side_by_side(attrs);
    const ValueId x = node(pool_).inputs[0];
    find_relu(x) ? pool_before_relu(taps_attrs) : pool_with_taps(taps_attrs);
    if (!tiles) return true;
    for (const NodeId g : gradients_) join_gradients(g);
    join_convolution();
    return true;
  }

 private:
  Node& node(NodeId n) { return graph_.node(n); }
  const Node& node(NodeId n) const { return graph_.node(n); }
  bool is(NodeId id, const Op& op) const { return node(id).kind == NodeKind::kOp && node(id).op == &op; }
  // A node that may change: it only makes values.
  bool is_free(NodeId id) const {
    const Node& n = node(id);
    return !n.dead && !n.is_store() && n.after.empty() && !n.stop_gradient;
  }
  bool is_free(NodeId id, const Op& op) const { return is(id, op) && is_free(id); }

  // Who reads each value; a result of the plan is read by kNobody, too.
  void index_users() {
    users_.assign(graph_.values.size(), {});
    const auto add = [&](ValueId v, NodeId n) {
      if (v != kAbsent) users_[static_cast<size_t>(v)].push_back(n);
    };
    for (size_t i = 0; i < graph_.nodes.size(); i++) {
      const Node& n = graph_.nodes[i];
      if (n.dead) continue;
      for (const ValueId v : n.inputs) add(v, static_cast<NodeId>(i));
      add(n.seed, static_cast<NodeId>(i));
    }
    for (const Graph::Output& o : graph_.outputs) add(o.value, kNobody);
  }
  const std::vector<NodeId>& users(ValueId v) const { return users_[static_cast<size_t>(v)]; }

  // The gradients that read the positions; false if anybody else does.
  bool find_gradients() {
    const ValueId positions = node(pool_).first + 1;
    for (const NodeId n : users(positions)) {
      if (n == kNobody || !is_free(n, k_.max_pool_grad) || node(n).inputs[0] == positions) return false;
      gradients_.push_back(n);
    }
    return true;
  }

  // Does a relu make x that is there for this pooling alone, with gradients that all go through both?
  bool find_relu(ValueId x) {
    const NodeId relu = graph_.value(x).node;
    if (!is_free(relu, k_.relu)) return false;
    std::vector<NodeId> backward;
    for (const NodeId g : gradients_) {
      const std::vector<NodeId>& readers = users(node(g).first);
      if (readers.size() != 1 || readers[0] == kNobody || !is_free(readers[0], k_.relu_grad)) return false;
      if (node(readers[0]).inputs[0] != x || node(readers[0]).inputs[1] != node(g).first) return false;
      backward.push_back(readers[0]);
    }
    for (const NodeId n : users(x))
      if (n != pool_ && std::find(backward.begin(), backward.end(), n) == backward.end()) return false;
    relu_ = relu;
    relu_gradients_ = backward;
    return true;
  }

  // Another op at a node's place, with new values for its results.
  void become(NodeId id, const Op& op, std::vector<ValueId> inputs, const Attrs& attrs, std::vector<Spec> results) {
    Node& n = node(id);
    n.op = &op;
    n.attrs = graph_.keep(attrs);
    n.inputs = std::move(inputs);
    n.first = static_cast<ValueId>(graph_.values.size());
    n.count = static_cast<int>(results.size());
    for (int i = 0; i < n.count; i++) {
      const Spec& s = results[static_cast<size_t>(i)];
      graph_.values.push_back(
          {id, i, Tensor::symbolic(&graph_, n.first + i, s.dtype, s.shape, contiguous_strides(s.shape))});
    }
  }
  Spec spec(ValueId v) const { return {graph_.symbol(v).dtype(), graph_.symbol(v).shape()}; }
  std::vector<Spec> pooled_specs(const Attrs& attrs, ValueId y) const {
    const bool with_taps = attrs.find("with_taps")->integer != 0;
    return {spec(y), {kU8, with_taps ? graph_.symbol(y).shape() : Dims{0}}};
  }
  void read_instead(ValueId v, ValueId other) {
    for (Node& n : graph_.nodes) std::replace(n.inputs.begin(), n.inputs.end(), v, other);
    for (Graph::Output& o : graph_.outputs)
      if (o.value == v) o.value = other;
  }

  void pool_with_taps(const Attrs& attrs) {
    const ValueId y = node(pool_).first;
    become(pool_, k_.taps, node(pool_).inputs, attrs, pooled_specs(attrs, y));
    read_instead(y, node(pool_).first);
    for (const NodeId g : gradients_) {
      const ValueId dx = node(g).first;
      become(g, k_.taps_grad, {node(g).inputs[0], node(pool_).first + 1}, gradient_attrs(g, attrs), {spec(dx)});
      read_instead(dx, node(g).first);
    }
  }

  // The largest of relu(x) is relu of the largest of x; and if it is 0, no gradient passes. Each pair of nodes changes
  // places, so that all stand where their operands are there.
  void pool_before_relu(const Attrs& attrs) {
    const ValueId y = node(pool_).first;
    become(relu_, k_.taps, node(relu_).inputs, attrs, pooled_specs(attrs, y));
    become(pool_, k_.relu, {node(relu_).first}, Attrs(), {spec(y)});
    std::swap(relu_, pool_);
    const ValueId result = node(relu_).first;
    read_instead(y, result);
    for (size_t i = 0; i < gradients_.size(); i++) {
      NodeId& pooled = gradients_[i];
      const NodeId relu = relu_gradients_[i];
      const ValueId dx = node(relu).first, dy = node(pooled).inputs[0];
      const Attrs size = gradient_attrs(pooled, attrs);
      become(pooled, k_.relu_grad, {result, dy}, Attrs(), {spec(dy)});
      become(relu, k_.taps_grad, {node(pooled).first, node(pool_).first + 1}, size, {spec(dx)});
      read_instead(dx, node(relu).first);
      pooled = relu;
    }
  }
  Attrs gradient_attrs(NodeId gradient, const Attrs& attrs) const {
    Attrs result;
    result.set("size", Dims(node(gradient).attrs->find("size")->ints));
    for (const char* name : {"kernel", "stride", "padding", "dilation"}) result.set(name, attrs.find(name)->ints);
    for (const char* name : {"ceil_mode", "count_include_pad"}) result.set(name, attrs.find(name)->integer);
    return result;
  }

  // Windows that follow each other without gap, overlap or padding, over two axes; none sticks out.
  bool lies_side_by_side(const Attrs& attrs) const {
    const Dims &stride = attrs.find("stride")->ints, &padding = attrs.find("padding")->ints,
               &dilation = attrs.find("dilation")->ints;
    const Tensor &x = graph_.symbol(node(pool_).inputs[0]), &y = graph_.symbol(node(pool_).first);
    const auto at = [](const Dims& d, int a) { return d[d.size() == 1 ? 0 : a]; };
    if (x.rank() != 4) return false;
    for (int a = 0; a < 2; a++) {
      if (!stride.empty() && at(stride, a) != at(kernel_, a)) return false;
      if (!padding.empty() && at(padding, a) != 0) return false;
      if (!dilation.empty() && at(dilation, a) != 1) return false;
      if (y.size(a + 2) * at(kernel_, a) > x.size(a + 2)) return false;
    }
    return true;
  }
  // The attributes of a convolution's op as those of its pooled form.
  Attrs pooled_attrs(const Attrs& conv, const char* first) const {
    Attrs attrs;
    if (first != nullptr) attrs.set(first, conv.find(first)->ints);
    attrs.set("pool", kernel_);
    for (const char* name : {"stride", "padding", "dilation"}) attrs.set(name, conv.find(name)->ints);
    return attrs.set("groups", conv.find("groups")->integer);
  }

  static bool sums_channels(const Node& n) {
    Dims axes = n.attrs->find("axes")->ints;
    for (int64_t& a : axes) a = a < 0 ? a + 4 : a;
    std::sort(axes.begin(), axes.end());
    return axes == Dims{0, 2, 3} && n.attrs->find("keepdim")->integer == 0;
  }

  // If only gradients of convolutions read what a gradient spreads over the windows, they do without.
  void join_gradients(NodeId gradient) {
    index_users();
    const ValueId spread = node(gradient).first, dy = node(gradient).inputs[0], taps = node(gradient).inputs[1];
    for (const NodeId n : users(spread)) {
      if (n == kNobody || node(n).is_store()) return;
      const bool input = is(n, k_.conv_grad_input) && node(n).inputs[1] != spread;
      const bool kernel = is(n, k_.conv_grad_kernel) && node(n).inputs[0] != spread;
      if (!input && !kernel && !(is(n, k_.sum) && sums_channels(node(n)))) return;
    }
    for (const NodeId n : users(spread)) {
      const ValueId result = node(n).first;
      const Attrs attrs = *node(n).attrs;
      if (is(n, k_.sum)) {
        node(n).inputs[0] = dy;
        continue;
      }
      if (is(n, k_.conv_grad_input))
        become(n, k_.input_grad, {dy, taps, node(n).inputs[1]}, pooled_attrs(attrs, "size"), {spec(result)});
      else
        become(n, k_.kernel_grad, {node(n).inputs[0], dy, taps}, pooled_attrs(attrs, "kernel"), {spec(result)});
      read_instead(result, node(n).first);
    }
    node(gradient).dead = true;
  }

  // A convolution that is there for this pooling alone does it on its way out.
  void join_convolution() {
    index_users();
    const ValueId x = node(pool_).inputs[0];
    const NodeId conv = graph_.value(x).node;
    if (!is_free(conv, k_.conv2d) || users(x).size() != 1) return;
    const Attrs& own = *node(pool_).attrs;
    Attrs attrs = pooled_attrs(*node(conv).attrs, nullptr);
    attrs.set("with_taps", own.find("with_taps")->integer);
    const ValueId y = node(pool_).first;
    become(conv, k_.conv_pool, node(conv).inputs, attrs, pooled_specs(own, y));
    read_instead(y, node(conv).first);
    read_instead(y + 1, node(conv).first + 1);
    node(pool_).dead = true;
  }

  static constexpr NodeId kNobody = -1;
  Graph& graph_;
  const Known& k_;
  NodeId pool_, relu_ = kNobody;
  std::vector<NodeId> gradients_, relu_gradients_;
  std::vector<std::vector<NodeId>> users_;
  Dims kernel_;
};

}  // namespace

int pool_by_taps(Graph& graph) {
  static const Known known;
  int changed = 0;
  for (size_t id = 0; id < graph.nodes.size(); id++) {
    const Node& n = graph.nodes[id];
    if (n.dead || n.kind != NodeKind::kOp || n.is_store() || !n.after.empty() || n.stop_gradient) continue;
    if (n.op != &known.max_pool1d && n.op != &known.max_pool2d) continue;
    changed += Pooling(graph, known, static_cast<NodeId>(id)).run();
  }
  return changed;
}

}  // namespace ingot::graph
