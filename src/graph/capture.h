// Capture: runs a function on symbolic tensors and writes down which ops it calls.
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "graph/touches.h"
#include "ops/call.h"

namespace ingot::graph {

class Capture final : public Recorder {
 public:
  /// `share`: equal calls become one node.
  Capture(std::span<const InputSpec> inputs, bool share);
  /// Of a loop's body, inside `outer`: what it reads of other captures and of the user's becomes a further input.
  Capture(std::span<const Tensor> carried, Capture& outer);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void call(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
            std::span<Tensor> results) override;
  void call_into(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
                 std::span<const Tensor* const> destinations) override;

  std::span<const Tensor> inputs() const { return inputs_; }
  /// The value that a tensor stands for: its own if it is symbolic, else it is bound now.
  ValueId value_of(const Tensor& t);
  /// The value of a bound tensor if it has been used, else kAbsent.
  ValueId find_bound(const Tensor& t) const;
  Graph& graph() { return graph_; }
  /// Values of the outer capture that the body reads besides those carried, in the order of its further inputs.
  std::span<const ValueId> read_outside() const { return outside_; }
  bool shares() const { return share_; }
  void finish(const std::vector<NamedTensor>& outputs);
  int shared_calls() const { return shared_calls_; }
  /// Has the function written to this memory?
  bool is_written(const Tensor& memory) { return !writes_.of(memory).empty(); }
  /// The latest store that a call must wait for, new or shared, of those recorded since `forget_awaited`; -1: none.
  NodeId awaited() const { return awaited_; }
  void forget_awaited() { awaited_ = -1; }

  // What is recorded meanwhile belongs to a scope, a checkpoint region, a seed, a second computation.
  void enter_scope(std::string_view name);
  void leave_scope();
  /// Puts another path in place of the current one; returns that.
  std::string swap_path(std::string path) {
    scope_known_ = false;
    return std::exchange(path_, std::move(path));
  }
  void enter_region() { region_depth_++ == 0 ? region_ = regions_++ : 0; }
  void leave_region() {
    if (--region_depth_ == 0) region_ = -1;
  }
  void set_seed(const Tensor* seed) { seed_ = seed; }
  void set_stop_gradient(bool on) { stop_gradient_ = on; }
  /// `x` as a new value, which nothing recorded so far depends on: to differentiate by.
  Tensor leaf(const Tensor& x);
  /// Records node `n` once more, on other inputs, for backward pass `copy`; returns its results.
  ValueId record_again(NodeId n, std::vector<ValueId> inputs, int copy);

 private:
  NodeId record(Node node, const Attrs& attrs, const Specs& specs);
  ValueId add_input(DType dtype, const Dims& shape);
  ValueId read_from_outside(const Tensor& t);
  void order_memory(Node& node);
  void order_check(NodeId id);
  std::string_view scope_name();
  const Attrs* keep_attrs(const Attrs& attrs);
  [[noreturn]] void fail_foreign(const Tensor& t) const;
  Tensor bound_memory(ValueId v) const;

  Graph graph_;
  const void* id_;  // what symbolic tensors know it by: another capture may stand at the same address later
  bool share_;
  Recorder* before_;
  Capture* outer_ = nullptr;
  std::vector<ValueId> outside_;
  std::unordered_map<ValueId, ValueId> inside_;  // by the outer capture's value
  std::vector<Tensor> inputs_;
  std::unordered_multimap<uint64_t, NodeId> known_;  // by the hash of op, inputs and attrs
  std::unordered_multimap<const void*, ValueId> bound_;
  Touches reads_, writes_;
  NodeId check_ = -1;              // the latest of values that only the walk knows
  std::vector<NodeId> unchecked_;  // stores since
  // A node, and one that must have run before it, on account of a check: a call is the same as one before the store that
  // it would have to wait for, so that nodes get to know it in the end.
  std::vector<std::pair<NodeId, NodeId>> check_order_;
  NodeId awaited_ = -1;
  std::string path_;
  std::vector<size_t> path_lengths_;
  std::string_view scope_;
  bool scope_known_ = false;
  int region_ = -1, region_depth_ = 0, regions_ = 0, copy_ = 0;
  const Tensor* seed_ = nullptr;
  bool stop_gradient_ = false;
  int shared_calls_ = 0;
};

/// The capture that the calling thread is in; an Error that names `what` if there is none.
Capture& current_capture(const char* what);
Capture* find_capture();

}  // namespace ingot::graph
