// The graph between capture and plan: nodes in an order in which they can run, values by number.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ingot/graph/plan.h"
#include "ingot/ops/map.h"
#include "ingot/ops/op.h"

namespace ingot::graph {

using NodeId = int;
using ValueId = int;
inline constexpr ValueId kAbsent = -1;  // an optional input that is not given

enum class NodeKind : uint8_t {
  kInput,  // of the plan
  kBound,  // a tensor that exists already: a parameter, a constant
  kOp,
};

struct Value {
  NodeId node = 0;
  int index = 0;           // which result of the node
  Tensor symbol;           // dtype, shape and (for views) strides
  ValueId root = kAbsent;  // see Graph::root; absent while passes may still change it
};

struct Node {
  NodeKind kind = NodeKind::kOp;
  const Op* op = nullptr;
  const Attrs* attrs = nullptr;  // the graph owns it
  std::vector<ValueId> inputs;
  ValueId first = 0;  // results are values first … first + count - 1
  int count = 1;
  std::vector<Tensor> stores;  // where results go that have a destination (the others undefined); empty if none has
  std::vector<NodeId> after;   // nodes that must have run although no value of theirs is read: memory is shared
  Tensor bound;                // kBound
  bool constant = false;       // kBound: the elements never change
  bool frozen = false;         // kBound: because the user says so
  int input = -1;              // kInput: which
  ValueId seed = kAbsent;      // random ops: the value that the seed is read from
  int region = -1;             // checkpoint region
  int copy = 0;                // > 0: computed again for the backward pass number `copy`
  bool stop_gradient = false;
  bool dead = false;
  std::string_view scope;  // the user's path
  bool is_view() const { return kind == NodeKind::kOp && op->view != nullptr && stores.empty(); }
  bool is_store() const { return !stores.empty(); }
  /// Result k's destination, or null.
  const Tensor* stored(int k) const {
    return is_store() && stores[static_cast<size_t>(k)].defined() ? &stores[static_cast<size_t>(k)] : nullptr;
  }
};

struct LoopOp;
/// Is it the op of a loop (graph/loop.h)?
bool is_loop(const Op& op);

struct Graph {
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<ValueId> inputs;
  struct Output {
    std::string name;
    ValueId value;
  };
  std::vector<Output> outputs;

  const Value& value(ValueId v) const { return values[static_cast<size_t>(v)]; }
  Node& node(NodeId n) { return nodes[static_cast<size_t>(n)]; }
  const Node& node(NodeId n) const { return nodes[static_cast<size_t>(n)]; }
  const Node& producer(ValueId v) const { return node(value(v).node); }
  const Tensor& symbol(ValueId v) const { return value(v).symbol; }
  /// The value whose memory `v` looks at: `v` itself unless a view made it.
  ValueId root(ValueId v) const {
    while (value(v).root == kAbsent && producer(v).is_view()) v = producer(v).inputs[0];
    return value(v).root == kAbsent ? v : value(v).root;
  }
  /// Notes the root of every value, so that long rows of views are walked once; `forget_roots` before they change.
  void note_roots();
  void forget_roots();
  /// "scope/op" of a node.
  std::string label(const Node& n) const;
  std::string label(ValueId v) const { return label(producer(v)); }

  /// A copy of the attributes that the graph owns; equal ones have one.
  const Attrs* keep(const Attrs& attrs);
  std::string_view keep(std::string_view text);
  /// Adds a constant that stands for `tensor`'s elements.
  ValueId add_constant(const Tensor& tensor);

  std::deque<Attrs> attrs;
  std::unordered_multimap<uint64_t, const Attrs*> known_attrs;  // by hash
  std::unordered_set<std::string> texts;
  std::unordered_map<const void*, MapFunction> functions;  // by identity
  std::vector<std::shared_ptr<LoopOp>> loops;
  bool is_body = false;  // of a loop
};

bool same_attrs(const Attrs& a, const Attrs& b);
uint64_t hash_attrs(const Attrs& attrs);

/// Roughly the floating-point operations of one node; 0 for what is no op.
double flops_of(const Graph& graph, const Node& node);

/// How a node reads `memory` of the user's: not at all, element by element where `memory` has it, or in some other way.
enum class Reads : uint8_t { kNot, kAlike, kOtherwise };
Reads how_reads(const Graph& graph, const Node& node, const Tensor& memory);

/// Does the op look at values that exist before the first step runs? Then its check can be made before all of them; else
/// in the walk.
bool known_before(const Graph& graph, const Node& node);

/// Readers of every value; values that the plan returns count once more.
std::vector<int> count_uses(const Graph& graph);

}  // namespace ingot::graph
