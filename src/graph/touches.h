// Which nodes touch which memory of the user's, found by address: cost follows what is found, not what was added.
#pragma once
#include <map>
#include <vector>

#include "graph/graph.h"

namespace ingot::graph {

class Touches {
 public:
  void add(NodeId node, const Tensor& memory) { new_.push_back({node, memory}); }
  /// The same, and forgets touches that lie in `memory` altogether: who meets one of those meets this one.
  void add_over(NodeId node, const Tensor& memory) {
    forget_within(memory);
    add(node, memory);
  }
  void forget_within(const Tensor& memory);
  /// The nodes that touch an element of `memory`, ascending.
  const std::vector<NodeId>& of(const Tensor& memory);

 private:
  struct Touch {
    NodeId node;
    Tensor memory;
  };
  using ByAddress = std::multimap<const std::byte*, Touch>;
  void sort_new();

  std::vector<Touch> new_;  // since the last question: many functions never ask
  // By length (as a power of two) and first address: whoever is long does not make us look at all that is short.
  std::map<int, ByAddress> known_;
  std::vector<NodeId> found_;
};

}  // namespace ingot::graph
