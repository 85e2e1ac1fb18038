// Runs a model's graph on tensors, node by node: in eager code it computes, in a capture it records. What is known
// beforehand is computed at once in either case.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "exchange/onnx/use.h"

namespace ingot::onnx {

struct BinderOptions {
  bool training = false;    // batch norm and dropout train
  bool as_written = false;  // … or do what their attributes say
  bool frozen = false;      // weights keep the elements they have: what follows from them alone is computed at once
};

class Binder {
 public:
  /// `weights`: tensors that stand for literals of the file, by their address.
  using Weights = std::unordered_map<const Literal*, Tensor>;
  Binder(const File& file, const Weights& weights, const BinderOptions& options);

  /// The results of the whole graph.
  std::vector<Value> run(std::vector<Value> inputs);
  /// Those of a graph inside, on inputs of its own; it sees what is around it.
  std::vector<Value> run_graph(const Graph& graph, std::vector<Value> inputs);

  const BinderOptions& options() const { return options_; }
  /// Whatever is computed in a capture is recorded; outside, all is known.
  bool capturing() const { return capturing_; }
  /// What a name stands for where the node under way stands; an Error if nothing made it.
  Value value(const std::string& name);
  /// A literal's value: a weight of the model's, or its elements.
  Value literal(const Literal& literal) const;
  /// Is this the memory of a weight or running average of the model?
  bool is_weight(const Tensor& t) const;

 private:
  struct Frame {
    std::unordered_map<std::string, Value> values;
    std::unordered_map<std::string, const Literal*> literals;
  };
  void count_node();
  void run_nodes(const std::vector<Node>& nodes, const std::map<std::string, int64_t>& opsets);
  bool take_over_norm(const Node& node, std::vector<Value>& inputs);
  void run_node(const Node& node, const std::map<std::string, int64_t>& opsets);
  std::vector<Value> run_function(const Function& f, const Node& node, std::vector<Value> inputs);
  const Value* find(const std::string& name);
  void add_literals(const Graph& graph);

  const File& file_;
  const Weights& weights_;
  BinderOptions options_;
  bool capturing_;
  std::vector<Frame> frames_;
  std::unordered_map<const Node*, const Node*> norm_after_;  // a convolution that takes the norm after it over
  std::unordered_set<const Node*> done_;                     // such norms, until it is their turn
  int64_t nodes_run_ = 0;
  int functions_ = 0;  // that call each other just now
};

}  // namespace ingot::onnx
