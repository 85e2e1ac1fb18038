// A function as it was captured, before any pass: for libraries that write it down in a form of others.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/op.h"

namespace ingot {

struct Captured {
  enum class Kind : uint8_t { kInput, kBound, kOp };
  /// Nodes stand in an order in which they can run; their results are values first … first + count - 1.
  struct Node {
    Kind kind = Kind::kOp;
    const Op* op = nullptr;
    const Attrs* attrs = nullptr;
    std::vector<int> inputs;  // values; -1 for one that is not given
    int first = 0, count = 1;
    Tensor bound;            // kBound: a tensor that the function found elsewhere
    int input = -1;          // kInput: which
    bool draws = false;      // by a seed that changes from run to run
    bool stores = false;     // into memory of somebody's
    std::string_view scope;  // "encoder/fc1"
  };
  struct Value {
    int node;
    DType dtype;
    Dims shape;
  };
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<std::pair<std::string, int>> outputs;  // names and values
  std::shared_ptr<const void> keeper;                // of the attributes

  const Value& value(int v) const { return values[static_cast<size_t>(v)]; }
  const Node& maker(int v) const { return nodes[static_cast<size_t>(value(v).node)]; }
};

/// Runs `fn` on symbolic tensors, as compile() does, and gives what it called.
INGOT_API Captured capture_function(const PlanFunction& fn, std::span<const InputSpec> inputs);

}  // namespace ingot
