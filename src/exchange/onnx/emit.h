// Writing a captured function as an ONNX model: who writes what an op becomes sees an Emitter.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exchange/onnx/schema.h"
#include "exchange/onnx/types.h"
#include "ingot/graph/captured.h"

namespace ingot::onnx {

inline constexpr int kExportOpset = 17, kExportIr = 8;
/// Where ops of Ingot's live that the format has not: functions, with a body of the format's ops for others, and the
/// op's name and attributes for us.
inline constexpr const char* kOwnDomain = "ingot";

/// An attribute of a node that is written.
struct Written {
  enum class Kind : uint8_t { kReal = 1, kInteger = 2, kText = 3, kIntegers = 7 };  // the format's numbers
  std::string name;
  Kind kind;
  int64_t integer = 0;
  double real = 0;
  std::string text = {};
  std::vector<int64_t> integers = {};
  Written(std::string n, int64_t value) : name(std::move(n)), kind(Kind::kInteger), integer(value) {}
  Written(std::string n, double value) : name(std::move(n)), kind(Kind::kReal), real(value) {}
  Written(std::string n, std::string value) : name(std::move(n)), kind(Kind::kText), text(std::move(value)) {}
  Written(std::string n, std::vector<int64_t> value)
      : name(std::move(n)), kind(Kind::kIntegers), integers(std::move(value)) {}
};
inline std::vector<int64_t> listed(const Dims& d) { return {d.begin(), d.end()}; }

class Emitter {
 public:
  using Names = std::vector<std::string>;

  /// A node of the format's; the name of its first result, or of all.
  std::string node(const std::string& op, const Names& inputs, const std::vector<Written>& attributes = {});
  Names nodes(const std::string& op, const Names& inputs, size_t results, const std::vector<Written>& attributes = {},
              const std::string& domain = "");
  /// A constant of the model's (inside a function, of the function's).
  std::string constant(const Tensor& t);
  std::string integers(const std::vector<int64_t>& values);
  std::string number(double value, DType dtype);
  /// A tensor of one value that is computed, so that nobody takes it for a weight.
  std::string filled(const Dims& shape, double value, DType dtype);

  struct Item {
    std::string op, domain, name;
    Names inputs, outputs;
    std::vector<Written> attributes;
    std::shared_ptr<const Tensor> value = nullptr;  // the attribute of that name
  };
  /// `in_function`: constants are nodes, names are short.
  explicit Emitter(bool in_function) : in_function_(in_function) {}
  std::vector<Item> items;
  std::vector<std::pair<std::string, Tensor>> constants;
  std::string scope;  // what nodes are called after

 private:
  bool in_function_;
  int next_ = 0;
};

/// One captured op that is written. Sizes that follow the batch are known by comparing with a second capture.
class OpUse {
 public:
  OpUse(Emitter& emitter, const Captured& graph, const Captured* other, size_t node, Emitter::Names inputs)
      : e(emitter), graph_(graph), other_(other), node_(graph.nodes[node]), in(std::move(inputs)) {}

  Emitter& e;

 private:
  const Captured& graph_;
  const Captured* other_;
  const Captured::Node& node_;

 public:
  Emitter::Names in;  // names of the inputs; "" for one that is not given
  Emitter::Names out;

  const Captured& graph() const { return graph_; }
  const Captured::Node& captured() const { return node_; }
  Call call() const { return {*node_.op, {}, *node_.attrs}; }
  int64_t integer(std::string_view name) const { return call().integer(name); }
  bool flag(std::string_view name) const { return call().flag(name); }
  double real(std::string_view name) const { return call().real(name); }
  const Dims& ints(std::string_view name) const { return call().ints(name); }
  bool has(size_t i) const { return i < in.size() && !in[i].empty(); }
  const Dims& shape(size_t i = 0) const { return graph_.value(node_.inputs[i]).shape; }
  DType dtype(size_t i = 0) const { return graph_.value(node_.inputs[i]).dtype; }
  const Dims& result(int k = 0) const { return graph_.value(node_.first + k).shape; }
  DType result_type(int k = 0) const { return graph_.value(node_.first + k).dtype; }
  /// A value's shape with -1 where it follows the batch.
  std::vector<int64_t> free_shape(int value) const;
  std::vector<int64_t> free_result(int k = 0) const { return free_shape(node_.first + k); }
  std::vector<int64_t> free_input(size_t i = 0) const { return free_shape(node_.inputs[i]); }
  bool is_free(int axis, size_t i = 0) const { return free_input(i)[static_cast<size_t>(axis)] < 0; }
  /// A constant and a size of input 0 in the second capture; of the first if there is none.
  int64_t other_integer(std::string_view name) const {
    return other_ == nullptr ? integer(name) : Call{*node_.op, {}, *other_->maker(node_.first).attrs}.integer(name);
  }
  int64_t other_size(int axis) const {
    return (other_ == nullptr ? graph_ : *other_).value(node_.inputs[0]).shape[axis];
  }
  /// Does anybody use result k?
  bool wanted(int k) const;
  void give(const std::string& name) { out.push_back(name); }
  [[noreturn]] void fail(const std::string& what) const;
};

/// A row of the table: how an op is written. `own`: as a function, so that Ingot reads the very op again.
struct WriteRow {
  const char* op;
  void (*write)(OpUse&);
  bool own = false;
};
std::span<const WriteRow> write_rows();
std::span<const WriteRow> write_layer_rows();

}  // namespace ingot::onnx
