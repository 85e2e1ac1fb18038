#include "graph/capture.h"

#include <algorithm>

#include <atomic>

#include "ingot/base/error.h"
#include "ingot/ops/ops.h"

namespace ingot::graph {
namespace {

thread_local Capture* thread_capture = nullptr;

uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

const void* next_id() {
  static std::atomic<uintptr_t> captures{0};
  return reinterpret_cast<const void*>(++captures);
}

bool same_node(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.seed == b.seed && a.copy == b.copy && a.after == b.after &&
         a.stop_gradient == b.stop_gradient && a.region == b.region;
}

}  // namespace

Capture* find_capture() { return thread_capture; }

Capture& current_capture(const char* what) {
  if (thread_capture == nullptr)
    throw Error(std::string(what) + ": no capture is under way — call it inside a function given to compile()");
  return *thread_capture;
}

Capture::Capture(std::span<const InputSpec> inputs, bool share) : share_(share) {
  id_ = next_id();
  if (thread_capture != nullptr)
    throw Error("compile: called inside a function that is being compiled — compile the inner function first");
  for (const InputSpec& in : inputs) add_input(in.dtype, in.shape);
  thread_capture = this;
  before_ = set_recorder(this);
}

Capture::Capture(std::span<const Tensor> carried, Capture& outer)
    : id_(next_id()), share_(outer.share_), before_(nullptr), outer_(&outer) {
  graph_.is_body = true;
  for (const Tensor& t : carried) add_input(t.dtype(), t.shape());
  thread_capture = this;
  before_ = set_recorder(this);
}

Capture::~Capture() {
  set_recorder(before_);
  thread_capture = outer_;
}

ValueId Capture::add_input(DType dtype, const Dims& shape) {
  Node node;
  node.kind = NodeKind::kInput;
  node.input = static_cast<int>(graph_.inputs.size());
  Specs spec;
  spec.add(dtype, shape);
  graph_.inputs.push_back(graph_.node(record(std::move(node), Attrs(), spec)).first);
  inputs_.push_back(graph_.symbol(graph_.inputs.back()));
  return graph_.inputs.back();
}

ValueId Capture::read_from_outside(const Tensor& t) {
  const ValueId value = outer_->value_of(t);
  if (const auto known = inside_.find(value); known != inside_.end()) return known->second;
  outside_.push_back(value);
  return inside_[value] = add_input(t.dtype(), t.shape());
}

void Capture::fail_foreign(const Tensor& t) const {
  throw Error("capture: a symbolic tensor " + to_string(t.shape()) +
              " of another capture — return it from its own function, or pass it as an input");
}

ValueId Capture::find_bound(const Tensor& t) const {
  if (outer_ != nullptr) {
    const auto known = inside_.find(outer_->find_bound(t));
    return known == inside_.end() ? kAbsent : known->second;
  }
  const auto [first, last] = bound_.equal_range(t.raw());
  for (auto it = first; it != last; ++it) {
    const Tensor& have = graph_.producer(it->second).bound;
    if (have.dtype() == t.dtype() && have.shape() == t.shape() && have.strides() == t.strides()) return it->second;
  }
  return kAbsent;
}

ValueId Capture::value_of(const Tensor& t) {
  if (!t.defined()) return kAbsent;
  if (t.is_symbolic() && t.storage()->capture == id_) return static_cast<ValueId>(t.storage()->symbol);
  if (outer_ != nullptr) return read_from_outside(t);
  if (t.is_symbolic()) fail_foreign(t);
  if (const ValueId known = find_bound(t); known != kAbsent) return known;
  Node node;
  node.kind = NodeKind::kBound;
  node.bound = t;
  const NodeId id = static_cast<NodeId>(graph_.nodes.size());
  node.first = static_cast<ValueId>(graph_.values.size());
  graph_.values.push_back(
      {id, 0, Tensor::symbolic(id_, static_cast<int64_t>(node.first), t.dtype(), t.shape(), t.strides()), node.first});
  bound_.emplace(t.raw(), node.first);
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().first;
}

std::string_view Capture::scope_name() {
  if (!scope_known_) scope_ = graph_.keep(path_);
  scope_known_ = true;
  return scope_;
}

void Capture::enter_scope(std::string_view name) {
  path_lengths_.push_back(path_.size());
  if (!path_.empty()) path_ += '/';
  path_ += name;
  scope_known_ = false;
}

void Capture::leave_scope() {
  path_.resize(path_lengths_.back());
  path_lengths_.pop_back();
  scope_known_ = false;
}

// A function object is copied (it shares its state), so that the caller's may go; the copy is what nodes agree on.
const Attrs* Capture::keep_attrs(const Attrs& attrs) {
  Attrs own;
  for (int i = 0; i < attrs.size(); i++) {
    const Attr& a = attrs[i];
    switch (a.kind) {
      case Attr::Kind::kInt: own.set(a.name, a.integer); break;
      case Attr::Kind::kReal: own.set(a.name, a.real); break;
      case Attr::Kind::kInts: own.set(a.name, a.ints); break;
      case Attr::Kind::kText: own.set(a.name, graph_.keep(a.text)); break;
      case Attr::Kind::kPointer: {
        const MapFunction* fn = static_cast<const MapFunction*>(a.pointer);
        const void* kept = nullptr;
        if (fn != nullptr) kept = &graph_.functions.try_emplace(fn->identity(), *fn).first->second;
        own.set(a.name, kept);
        break;
      }
    }
  }
  return graph_.keep(own);
}

// Calls on memory of the user's keep the order in which the function makes them: a read after a write waits for it, and
// a write waits for the reads and writes before it. Who waits for a write waits for all that it waits for: what lies in
// its memory altogether can be forgotten.
void Capture::order_memory(Node& node) {
  const NodeId id = static_cast<NodeId>(graph_.nodes.size());
  if (!node.is_view()) {
    for (const ValueId v : node.inputs) {
      if (v == kAbsent) continue;
      const Node& root = graph_.producer(graph_.root(v));
      if (root.kind != NodeKind::kBound || root.constant) continue;
      const std::vector<NodeId>& writers = writes_.of(root.bound);
      node.after.insert(node.after.end(), writers.begin(), writers.end());
      if (!writers.empty()) awaited_ = std::max(awaited_, writers.back());
    }
  }
  for (const Tensor& to : node.stores) {
    if (!to.defined()) continue;
    for (Touches* touches : {&reads_, &writes_}) {
      const std::vector<NodeId>& nodes = touches->of(to);
      node.after.insert(node.after.end(), nodes.begin(), nodes.end());
      touches->forget_within(to);
    }
    writes_.add(id, to);
  }
}

// A run that fails in a check has written what the function had written by then, and no more: a check waits for the
// stores before it, a store for the checks before it. The latest check stands for all that it waits for.
void Capture::order_check(NodeId id) {
  const Node& node = graph_.node(id);
  const bool checks = node.op->check != nullptr && !known_before(graph_, node);
  if ((checks || node.is_store()) && check_ >= 0) check_order_.emplace_back(id, check_);
  if (checks) {
    for (const NodeId store : unchecked_) check_order_.emplace_back(id, store);
    unchecked_.clear();
    check_ = id;
  }
  if (node.is_store()) unchecked_.push_back(id);
}

NodeId Capture::record(Node node, const Attrs& attrs, const Specs& specs) {
  if (node.kind == NodeKind::kOp) {
    node.scope = scope_name();
    node.region = region_;
    node.copy = copy_;
    node.stop_gradient = stop_gradient_;
    if (outer_ != nullptr && (seed_ != nullptr || node.is_store()))
      throw Error(std::string("loop: its body ") +
                  (seed_ != nullptr
                       ? "draws by a seed that changes — draw before the loop, or give the seed as a number"
                       : "writes memory of yours — return what it computes, and write it after the loop"));
    if (seed_ != nullptr) node.seed = value_of(*seed_);
    order_memory(node);
  }
  uint64_t hash = 0;
  if (share_ && node.kind == NodeKind::kOp && !node.is_store()) {
    hash = mix(hash_attrs(attrs), reinterpret_cast<uintptr_t>(node.op));
    for (const ValueId v : node.inputs) hash = mix(hash, static_cast<uint64_t>(v));
    for (const NodeId n : node.after) hash = mix(hash, static_cast<uint64_t>(n));
    const auto [first, last] = known_.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (const Node& n = graph_.node(it->second); same_node(n, node) && same_attrs(*n.attrs, attrs)) {
        shared_calls_++;
        return it->second;
      }
  }
  const NodeId id = static_cast<NodeId>(graph_.nodes.size());
  node.attrs = node.kind == NodeKind::kOp ? keep_attrs(attrs) : nullptr;
  node.first = static_cast<ValueId>(graph_.values.size());
  node.count = specs.count;
  if (!node.is_view())
    for (const ValueId v : node.inputs)
      if (v != kAbsent)
        if (const Node& root = graph_.producer(graph_.root(v)); root.kind == NodeKind::kBound)
          reads_.add(id, root.bound);
  for (int i = 0; i < specs.count; i++) {
    const Spec& s = specs.of[i];
    const int64_t number = static_cast<int64_t>(graph_.values.size());
    graph_.values.push_back({id, i, Tensor::symbolic(id_, number, s.dtype, s.shape, contiguous_strides(s.shape)),
                             node.is_view() ? graph_.root(node.inputs[0]) : node.first + i});
  }
  if (hash != 0) known_.emplace(hash, id);
  graph_.nodes.push_back(std::move(node));
  if (graph_.nodes.back().kind == NodeKind::kOp) order_check(id);
  return id;
}

void Capture::call(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs, std::span<Tensor> results) {
  Node node;
  node.op = &op;
  Tensor stand_in[kMaxInputs];
  const Tensor* in[kMaxInputs];
  for (size_t i = 0; i < inputs.size(); i++) {
    node.inputs.push_back(value_of(*inputs[i]));
    if (node.inputs.back() != kAbsent) stand_in[i] = graph_.symbol(node.inputs.back());
    in[i] = &stand_in[i];
  }
  const ingot::Call c{op, {in, inputs.size()}, attrs};
  const Specs specs = infer(c);
  const size_t before = graph_.nodes.size();
  const NodeId id = record(std::move(node), attrs, specs);
  const Node& n = graph_.node(id);
  if (graph_.nodes.size() > before && n.is_view()) {  // a view keeps its strides: later calls may ask for them
    const Tensor view = op.view(c);
    graph_.values[static_cast<size_t>(n.first)].symbol =
        Tensor::symbolic(id_, static_cast<int64_t>(n.first), view.dtype(), view.shape(), view.strides());
  }
  for (int i = 0; i < n.count; i++) results[static_cast<size_t>(i)] = graph_.symbol(n.first + i);
}

// What a value looks at if that is a tensor of the user's, by whatever views; else undefined.
Tensor Capture::bound_memory(ValueId v) const {
  const Node& root = graph_.producer(graph_.root(v));
  if (root.kind != NodeKind::kBound) return {};
  std::vector<const Node*> views;
  for (; graph_.producer(v).is_view(); v = graph_.producer(v).inputs[0]) views.push_back(&graph_.producer(v));
  Tensor memory = root.bound;
  for (auto n = views.rbegin(); n != views.rend(); ++n) {
    const Tensor* in[] = {&memory};
    memory = (*n)->op->view({*(*n)->op, in, *(*n)->attrs});
  }
  return memory;
}

void Capture::call_into(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
                        std::span<const Tensor* const> destinations) {
  Node node;
  node.op = &op;
  Tensor stand_in[kMaxInputs];
  const Tensor *in[kMaxInputs], *concrete[kMaxInputs];
  Tensor memory[kMaxInputs];  // of the user's that an input looks at, if it does
  for (size_t i = 0; i < inputs.size(); i++) {
    node.inputs.push_back(value_of(*inputs[i]));
    if (node.inputs.back() != kAbsent) stand_in[i] = graph_.symbol(node.inputs.back());
    in[i] = &stand_in[i];
    if (node.inputs.back() != kAbsent) memory[i] = bound_memory(node.inputs.back());
    concrete[i] = &memory[i];
  }
  const Specs specs = infer({op, {in, inputs.size()}, attrs});
  for (int i = 0; i < specs.count; i++) {
    Tensor to = *destinations[static_cast<size_t>(i)];
    if (to.defined() && to.is_symbolic())
      to = bound_memory(value_of(to));  // a view, made here, of a tensor of the user's
    if (!to.defined() && destinations[static_cast<size_t>(i)]->defined())
      throw Error(std::string(op.name) + "_into: the destination " +
                  to_string(destinations[static_cast<size_t>(i)]->shape()) +
                  " is symbolic — inside a capture only tensors with elements can be written; use " + op.name +
                  "(…), which makes a new value");
    check_destination({op, {concrete, inputs.size()}, attrs}, to, specs.of[i]);
    node.stores.push_back(to);
  }
  record(std::move(node), attrs, specs);
}

ValueId Capture::record_again(NodeId n, std::vector<ValueId> inputs, int copy) {
  const Node& old = graph_.node(n);
  Node node;
  node.op = old.op;
  node.inputs = std::move(inputs);
  const Attrs* attrs = old.attrs;
  const ValueId seed = old.seed;
  const std::string scope(old.scope);
  Specs specs;
  for (int i = 0; i < old.count; i++)
    specs.add(graph_.symbol(old.first + i).dtype(), graph_.symbol(old.first + i).shape());
  const Dims strides = graph_.symbol(old.first).strides();
  node.seed = seed;
  copy_ = copy;
  stop_gradient_ = old.stop_gradient;
  const NodeId id = record(std::move(node), *attrs, specs);
  copy_ = 0;
  stop_gradient_ = false;
  Node& made = graph_.node(id);
  made.scope = graph_.keep(scope);
  if (made.is_view()) {
    Value& v = graph_.values[static_cast<size_t>(made.first)];
    v.symbol = Tensor::symbolic(id_, made.first, v.symbol.dtype(), v.symbol.shape(), strides);
  }
  return made.first;
}

Tensor Capture::leaf(const Tensor& x) {
  static std::atomic<int> leaves{0};
  copy_ = --leaves;
  Dims axes;
  for (int a = 0; a < x.rank(); a++) axes.push_back(a);
  Tensor y = permute(x, axes);
  copy_ = 0;
  return y;
}

void Capture::finish(const std::vector<NamedTensor>& outputs) {
  for (const auto& [node, before] : check_order_) graph_.node(node).after.push_back(before);
  std::unordered_set<std::string> names;
  for (size_t i = 0; i < outputs.size(); i++) {
    const std::string name = outputs[i].name.empty() ? "output " + std::to_string(i) : outputs[i].name;
    if (!outputs[i].tensor.defined())
      throw Error("compile: result \"" + name + "\" is undefined — the function must return a value for it");
    if (!names.insert(name).second)
      throw Error("compile: two results are named \"" + name + "\" — give each its own name");
    graph_.outputs.push_back({name, value_of(outputs[i].tensor)});
  }
}

}  // namespace ingot::graph

namespace ingot {

bool capturing() { return graph::find_capture() != nullptr; }

Scope::Scope(std::string_view name) {
  if (graph::Capture* c = graph::find_capture()) c->enter_scope(name);
}
Scope::~Scope() {
  if (graph::Capture* c = graph::find_capture()) c->leave_scope();
}

namespace {

// Calls `symbolic(0)` with the seed noted for the random ops in it, or `plain(value)` outside a capture.
template <class Draw>
Tensor with_seed(const char* op, const Tensor& seed, Draw draw) {
  if (!seed.defined() || seed.dtype() != kI64 || seed.numel() != 1)
    throw Error(seed.defined() ? seed.dtype() != kI64 ? ErrorKind::kType : ErrorKind::kShape : ErrorKind::kArgument,
                std::string(op) + ": the seed is " + describe(seed) + " — it must be one i64 number");
  graph::Capture* c = graph::find_capture();
  if (c == nullptr) return draw(*seed.data<int64_t>());
  const graph::Graph& g = c->graph();
  const graph::Node& root = g.producer(g.root(c->value_of(seed)));
  if (root.kind == graph::NodeKind::kOp)
    throw Error(std::string(op) + ": the seed is computed inside the plan — make it an input, or a tensor of your own");
  if (root.kind == graph::NodeKind::kBound && c->is_written(root.bound))
    throw Error(std::string(op) +
                ": the seed is written inside the plan, but read when a run starts — make it an input");
  c->set_seed(&seed);
  try {
    Tensor result = draw(0);
    c->set_seed(nullptr);
    return result;
  } catch (...) {
    c->set_seed(nullptr);
    throw;
  }
}

}  // namespace

Tensor dropout(const Tensor& x, double p, const Tensor& seed, int64_t stream) {
  return with_seed("dropout", seed, [&](int64_t s) { return dropout(x, p, s, stream)[0]; });
}
Tensor uniform(const Dims& shape, const Tensor& seed, double low, double high, int64_t stream, DType dtype) {
  return with_seed("uniform", seed, [&](int64_t s) { return uniform(shape, s, low, high, stream, dtype); });
}
Tensor normal(const Dims& shape, const Tensor& seed, double mean, double stddev, int64_t stream, DType dtype) {
  return with_seed("normal", seed, [&](int64_t s) { return normal(shape, s, mean, stddev, stream, dtype); });
}
Tensor bernoulli(const Dims& shape, const Tensor& seed, double p, int64_t stream) {
  return with_seed("bernoulli", seed, [&](int64_t s) { return bernoulli(shape, s, p, stream); });
}

}  // namespace ingot
