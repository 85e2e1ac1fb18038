#include "graph/rewrite.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "ingot/base/error.h"
#include "ingot/ops/rewrite.h"
#include "ops/call.h"

namespace ingot::graph {
namespace {

// Who reads what, kept up to date while rules change the graph. Lists are cleaned when they are looked at.
class Readers {
 public:
  static constexpr NodeId kCaller = -1;

  explicit Readers(const Graph& graph) : graph_(graph), first_(graph.values.size(), -1), count_(graph.values.size()) {
    for (size_t i = graph.nodes.size(); i-- > 0;)
      if (!graph.nodes[i].dead) add(static_cast<NodeId>(i));
    for (const Graph::Output& o : graph.outputs) add(o.value, kCaller);
  }

  void add(NodeId n) {
    for (const ValueId v : graph_.node(n).inputs) add(v, n);
    add(graph_.node(n).seed, n);
  }
  void add(ValueId v, NodeId n) {
    if (v == kAbsent) return;
    grow(v);
    links_.push_back({n, first_[static_cast<size_t>(v)]});
    first_[static_cast<size_t>(v)] = static_cast<int>(links_.size()) - 1;
    count_[static_cast<size_t>(v)]++;
  }
  /// A node does not read `v` any more (its list is cleaned later).
  void remove(ValueId v) { count_[static_cast<size_t>(v)]--; }
  int count(ValueId v) const { return static_cast<size_t>(v) < count_.size() ? count_[static_cast<size_t>(v)] : 0; }

  /// Nodes that may read `v`, the caller among them; some may have stopped to.
  std::vector<NodeId> take(ValueId v) {
    grow(v);
    std::vector<NodeId> nodes;
    for (int at = first_[static_cast<size_t>(v)]; at >= 0; at = links_[static_cast<size_t>(at)].next)
      nodes.push_back(links_[static_cast<size_t>(at)].node);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    first_[static_cast<size_t>(v)] = -1;
    count_[static_cast<size_t>(v)] = 0;
    return nodes;
  }

 private:
  void grow(ValueId v) {
    if (static_cast<size_t>(v) < first_.size()) return;
    first_.resize(graph_.values.size(), -1);
    count_.resize(graph_.values.size(), 0);
  }
  struct Link {
    NodeId node;
    int next;
  };
  const Graph& graph_;
  std::vector<int> first_, count_;
  std::vector<Link> links_;
};

class Rewriter final : public Rewrite, private Recorder {
 public:
  Rewriter(Graph& graph, std::string_view pass) : graph_(graph), captured_(graph.nodes.size()) {
    pass_ = pass;
    for (size_t i = 0; i < graph.outputs.size(); i++) outputs_.emplace(graph.outputs[i].value, i);
  }

  int run() {
    int changed = 0;
    Recorder* before = set_recorder(this);
    try {
      for (size_t id = 0; id < captured_; id++) {
        const Node& n = graph_.nodes[id];
        if (n.dead || n.kind != NodeKind::kOp || n.op->simplify == nullptr || n.is_store() || n.stop_gradient) continue;
        site_ = {static_cast<NodeId>(id)};
        first_ = n.first;
        at(site_);
        changed += n.op->simplify(*this);
        drop_unread();
      }
    } catch (...) {
      set_recorder(before);
      throw;
    }
    set_recorder(before);
    put_in_order();
    return changed;
  }

  const Op& op(Site s) const override { return *node(s).op; }
  const Attrs& attrs(Site s) const override { return *node(s).attrs; }
  int input_count(Site s) const override { return static_cast<int>(node(s).inputs.size()); }
  Tensor in(Site s, int i) const override {
    const auto& inputs = node(s).inputs;
    if (i >= static_cast<int>(inputs.size()) || inputs[static_cast<size_t>(i)] == kAbsent) return {};
    return graph_.symbol(inputs[static_cast<size_t>(i)]);
  }
  Tensor out(int i) const override { return graph_.symbol(first_ + i); }
  Tensor out(Site s, int i) const override { return graph_.symbol(node(s).first + i); }
  bool is_free(Site s) const override {
    const Node& n = node(s);
    const auto stores = [&](NodeId a) { return graph_.node(a).is_store(); };
    return !n.dead && !n.is_store() && !n.stop_gradient && std::none_of(n.after.begin(), n.after.end(), stores);
  }
  bool is_store(Site s) const override { return node(s).is_store(); }
  bool wait_alike(Site a, Site b) const override { return node(a).after == node(b).after; }

  Site maker(const Tensor& t) const override {
    const NodeId n = graph_.value(value_of(t)).node;
    return graph_.node(n).kind == NodeKind::kOp ? Site{n} : Site{};
  }
  std::vector<Site> readers(const Tensor& t) override {
    const ValueId v = value_of(t);
    std::vector<Site> sites;
    for (const NodeId n : index().take(v)) {
      const int times = times_read(n, v);
      for (int i = 0; i < times; i++) {
        index().add(v, n);
        sites.push_back({n});
      }
    }
    return sites;
  }
  bool same(const Tensor& a, const Tensor& b) const override {
    return a.defined() && b.defined() && value_of(a) == value_of(b);
  }
  std::optional<double> uniform(const Tensor& t) const override {
    if (!t.defined()) return std::nullopt;
    const Node& n = graph_.producer(value_of(t));
    if (n.kind != NodeKind::kBound || !n.constant || n.bound.numel() == 0) return std::nullopt;
    for (int a = 0; a < n.bound.rank(); a++)
      if (n.bound.shape()[a] > 1 && n.bound.strides()[a] != 0) return std::nullopt;
    return load_as_double(n.bound.raw(), n.bound.dtype());
  }
  bool is_ready(const Tensor& t, Site s) const override {
    const NodeId n = graph_.value(graph_.root(value_of(t))).node;
    return graph_.node(n).kind != NodeKind::kOp || place(n) < place(s.node);
  }

  bool replace(const Tensor& value, const Tensor& other) override {
    const ValueId v = value_of(value), w = value_of(other);
    const NodeId maker = graph_.value(v).node, next = graph_.value(w).node;
    const Tensor &old = graph_.symbol(v), &now = graph_.symbol(w);
    if (v == w || !(old.shape() == now.shape()) || old.dtype() != now.dtype()) return false;
    if (!graph_.producer(v).is_view()) {
      if (!now.is_contiguous()) return false;  // readers may rely on the layout
      // A value is what a bound tensor held at this call; later ones may write to it.
      const Node& root = graph_.producer(graph_.root(w));
      if (root.kind == NodeKind::kBound && !root.constant) return false;
    }
    for (const NodeId n : index().take(v)) read_instead(n, v, w);
    unread_.push_back(v);
    if (graph_.node(next).kind == NodeKind::kOp && maker != next) wait_instead(maker, next);
    return true;
  }

  void at(Site s) override {
    place_ = s.node;
    taken_ = false;
  }

  void set_attr(Site s, std::string_view name, int64_t value) override {
    Node& n = graph_.node(s.node);
    n.attrs = graph_.keep(Attrs(*n.attrs).set(name, value));
  }

 private:
  const Node& node(Site s) const { return graph_.node(s.node); }
  // Which of the captured calls a node stands at.
  NodeId place(NodeId n) const {
    return static_cast<size_t>(n) < captured_ ? n : places_[static_cast<size_t>(n) - captured_];
  }
  ValueId value_of(const Tensor& t) const { return static_cast<ValueId>(t.storage()->symbol); }
  Readers& index() {
    if (!readers_) readers_.emplace(graph_);
    return *readers_;
  }

  int times_read(NodeId n, ValueId v) const {
    if (n == Readers::kCaller) return static_cast<int>(outputs_.count(v));
    const Node& reader = graph_.node(n);
    if (reader.dead) return 0;
    return static_cast<int>(std::count(reader.inputs.begin(), reader.inputs.end(), v)) + (reader.seed == v);
  }

  void read_instead(NodeId n, ValueId v, ValueId w) {
    const auto change = [&](ValueId& read) {
      if (read != v) return;
      read = w;
      index().add(w, n);
    };
    if (n == Readers::kCaller) {
      for (auto output = outputs_.extract(v); !output.empty(); output = outputs_.extract(v)) {
        change(graph_.outputs[output.mapped()].value);
        output.key() = w;
        outputs_.insert(std::move(output));
      }
    } else if (Node& reader = graph_.node(n); !reader.dead) {
      for (ValueId& read : reader.inputs) change(read);
      change(reader.seed);
    }
  }

  std::unordered_map<NodeId, std::vector<NodeId>>& waiters() {
    if (!waiters_) {
      waiters_.emplace();
      for (size_t i = 0; i < graph_.nodes.size(); i++)
        for (const NodeId a : graph_.nodes[i].after) (*waiters_)[a].push_back(static_cast<NodeId>(i));
    }
    return *waiters_;
  }
  std::vector<NodeId> waiting_for(NodeId n) {
    const auto found = waiters().find(n);
    return found == waiters().end() ? std::vector<NodeId>() : found->second;
  }
  void wait(NodeId who, NodeId before) {
    std::vector<NodeId>& after = graph_.node(who).after;
    if (place(who) <= place(before) || std::find(after.begin(), after.end(), before) != after.end()) return;
    after.push_back(before);
    waiters()[before].push_back(who);
  }

  // What waited for node `old` waits for `next`, which reads in its place.
  void wait_instead(NodeId old, NodeId next) {
    for (const NodeId n : waiting_for(old)) wait(n, next);
  }

  // Node `id` checks nothing any more: who waited for its check, and not for what it reads, waits for the checks before it.
  void forget_check(NodeId id) {
    const auto stores = [&](NodeId a) { return graph_.node(a).is_store(); };
    std::vector<NodeId>& after = graph_.node(id).after;
    const std::vector<NodeId> earlier(std::partition(after.begin(), after.end(), stores), after.end());
    after.resize(after.size() - earlier.size());
    for (const NodeId n : waiting_for(id)) {
      const std::vector<Tensor>& to = graph_.node(n).stores;
      if (std::none_of(to.begin(), to.end(), [&](const Tensor& t) {
            return t.defined() && how_reads(graph_, graph_.node(id), t) != Reads::kNot;
          }))
        std::erase(graph_.node(n).after, id);
      for (const NodeId check : earlier) wait(n, check);
    }
  }

  void call(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
            std::span<Tensor> results) override {
    std::vector<ValueId> values;
    for (const Tensor* t : inputs) {
      if (t->defined() && !t->is_symbolic()) throw Error(ErrorKind::kInternal, "rewrite: a rule read a new tensor");
      values.push_back(t->defined() ? value_of(*t) : kAbsent);
    }
    const ingot::Call c{op, inputs, attrs};
    const Specs specs = infer(c);
    index();  // before anything changes
    NodeId id = place_;
    if (taken_) {  // a second call at this place
      Node more;
      more.scope = graph_.node(place_).scope;
      more.region = graph_.node(place_).region;
      id = static_cast<NodeId>(graph_.nodes.size());
      graph_.nodes.push_back(std::move(more));
      places_.push_back(place_);
    }
    taken_ = true;
    Node& n = graph_.node(id);
    const std::vector<ValueId> old = std::exchange(n.inputs, std::move(values));
    const Op* before = std::exchange(n.op, &op);
    n.attrs = graph_.keep(attrs);
    n.first = static_cast<ValueId>(graph_.values.size());
    n.count = specs.count;
    for (int i = 0; i < specs.count; i++) {
      const Spec& s = specs.of[i];
      const Dims strides = op.view != nullptr ? op.view(c).strides() : contiguous_strides(s.shape);
      graph_.values.push_back({id, i, Tensor::symbolic(&graph_, n.first + i, s.dtype, s.shape, strides)});
      results[static_cast<size_t>(i)] = graph_.values.back().symbol;
    }
    index().add(id);
    for (const ValueId v : old)
      if (v != kAbsent) stop_reading(v);
    if (before != nullptr && before->check != nullptr && op.check == nullptr) forget_check(id);
  }
  void call_into(const Op&, std::span<const Tensor* const>, const Attrs&, std::span<const Tensor* const>) override {
    throw Error(ErrorKind::kInternal, "rewrite: a rule stores nothing");
  }

  void stop_reading(ValueId v) {
    index().remove(v);
    unread_.push_back(v);
  }

  // Calls whose last reader went away go, too.
  void drop_unread() {
    while (!unread_.empty()) {
      const ValueId v = unread_.back();
      unread_.pop_back();
      const NodeId maker = graph_.value(v).node;
      Node& n = graph_.node(maker);
      if (n.dead || n.kind != NodeKind::kOp || n.is_store() || v < n.first || v >= n.first + n.count) continue;
      bool read = false;
      for (ValueId r = n.first; r < n.first + n.count; r++) read = read || index().count(r) > 0;
      if (read) continue;
      n.dead = true;
      for (const ValueId in : n.inputs)
        if (in != kAbsent) stop_reading(in);
      if (n.seed != kAbsent) stop_reading(n.seed);
    }
  }

  // Nodes that were added behind move to their places.
  void put_in_order() {
    if (places_.empty()) return;
    std::vector<NodeId> order(graph_.nodes.size()), moved(graph_.nodes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return place(a) < place(b); });
    std::vector<Node> nodes;
    nodes.reserve(order.size());
    for (const NodeId n : order) {
      moved[static_cast<size_t>(n)] = static_cast<NodeId>(nodes.size());
      nodes.push_back(std::move(graph_.node(n)));
    }
    for (Node& n : nodes)
      for (NodeId& a : n.after) a = moved[static_cast<size_t>(a)];
    for (Value& v : graph_.values) v.node = moved[static_cast<size_t>(v.node)];
    graph_.nodes = std::move(nodes);
  }

  Graph& graph_;
  size_t captured_;
  std::vector<NodeId> places_;  // of nodes that were added
  ValueId first_ = 0;           // of the call that a rule is asked about
  NodeId place_ = 0;
  bool taken_ = false;  // has something been called in the place of the call there?
  std::optional<Readers> readers_;
  std::vector<ValueId> unread_;
  std::unordered_multimap<ValueId, size_t> outputs_;                        // by value: which result it is
  std::optional<std::unordered_map<NodeId, std::vector<NodeId>>> waiters_;  // by node: those that wait for it
};

}  // namespace

int apply_rules(Graph& graph, std::string_view pass) {
  for (const Node& n : graph.nodes)
    if (!n.dead && n.kind == NodeKind::kOp && n.op->simplify != nullptr) return Rewriter(graph, pass).run();
  return 0;
}

}  // namespace ingot::graph
