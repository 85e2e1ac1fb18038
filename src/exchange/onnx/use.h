// One use of an op of the format: what its builder sees, and what it leaves.
//
// A value is known (its elements can be read now: a constant, something that follows from shapes) or will be computed by
// the plan under way. A builder that needs elements asks for them with known…(); if they are not known, the binder
// finds out which inputs of the model they follow, and begins again with those as constants.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/onnx/schema.h"
#include "exchange/onnx/types.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::onnx {

struct Value {
  Tensor tensor;  // of the carrier's type; undefined: not given
  Type type = Type::kUndefined;
  bool known = true;
  uint64_t inputs = 0;  // of the model, that it follows: bit number mod 64
  bool defined() const { return tensor.defined(); }
};

/// Thrown where elements are needed that are not known: they follow these inputs of the model.
struct NeedsValue {
  uint64_t inputs;
  std::string why;
};

class Binder;

class Use {
 public:
  Use(Binder& binder, const Node& node, int64_t opset, std::vector<Value> inputs)
      : binder_(binder), node_(node), opset_(opset), inputs_(std::move(inputs)) {}

  Binder& binder() { return binder_; }
  const Node& node() const { return node_; }
  int64_t opset() const { return opset_; }

  // Inputs ------------------------------------------------------------------------------------------------------------
  int count() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const { return i < count() && inputs_[static_cast<size_t>(i)].defined(); }
  /// An Error if it is not given.
  const Value& value(int i = 0) const;
  const Tensor& in(int i = 0) const { return value(i).tensor; }
  Tensor optional(int i) const { return has(i) ? in(i) : Tensor(); }
  Type type(int i = 0) const { return value(i).type; }
  int rank(int i = 0) const { return in(i).rank(); }
  /// Input i's elements, which are needed now.
  const Tensor& known(int i) const;
  std::vector<int64_t> known_integers(int i) const;
  std::vector<double> known_reals(int i) const;
  /// The element of an input that holds one.
  double known_real(int i) const;
  bool all_known() const;

  // Attributes --------------------------------------------------------------------------------------------------------
  bool given(std::string_view name) const { return find(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t fallback) const;
  double real(std::string_view name, double fallback) const;
  std::string text(std::string_view name, const std::string& fallback) const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<double> reals(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  const Attribute* find(std::string_view name) const { return read_.emplace_back(node_.find(name)); }
  /// Of a later opset than Ingot knows: an Error for an attribute that nobody asked for, and that may change the meaning.
  void refuse_unread() const;
  /// A list that moved from the attribute to input i in a later opset.
  std::vector<int64_t> integers(std::string_view name, int i) const {
    return has(i) ? known_integers(i) : integers(name);
  }
  bool given(std::string_view name, int i) const { return has(i) || given(name); }
  int axis(std::string_view name, int64_t fallback, int rank) const { return axis(integer(name, fallback), rank); }
  int axis(int64_t axis, int rank) const;

  // Results -----------------------------------------------------------------------------------------------------------
  /// The next result: of input 0's type, or of another one.
  void out(const Tensor& t) { out(t, type()); }
  void out(const Tensor& t, Type type);
  /// The same for one that is known whatever the inputs are.
  void known_out(const Tensor& t, Type type);
  void known_out(const std::vector<int64_t>& values) {
    known_out(Tensor::from(values, {static_cast<int64_t>(values.size())}), Type::kInt64);
  }
  void skip() { results.push_back({}); }
  /// Does anybody read result i?
  bool wanted(size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }

  [[noreturn]] void fail(const std::string& what, const std::string& hint) const;
  /// A shape, of at most 2³¹ elements: files are hostile.
  Dims shape(const std::vector<int64_t>& dims) const;
  /// The same for what is computed here, element by element: at most 2²⁴.
  Dims small_shape(const std::vector<int64_t>& dims) const;

  std::vector<Value> results;

 private:
  Binder& binder_;
  const Node& node_;
  int64_t opset_;
  std::vector<Value> inputs_;
  mutable std::vector<const Attribute*> read_;
};

/// A row of the table: how an op is built, from an opset on.
struct Row {
  const char* op;
  int since;  // the first opset that it speaks; a later row of the same op takes over
  void (*build)(Use&);
  /// Inputs that hold weights, as digits: they are trained. In lower case letters (a is 0) those that are weights only
  /// where the file keeps more than one number for them, and as capitals running averages.
  const char* weights = "";
  bool inside = false;  // runs graphs inside: the binder does not fold it as a whole
};

// The families; find_row() looks through all of them.
std::span<const Row> math_rows();
std::span<const Row> logic_rows();
std::span<const Row> reduce_rows();
std::span<const Row> shape_rows();
std::span<const Row> index_rows();
std::span<const Row> layer_rows();
std::span<const Row> pool_rows();
std::span<const Row> recurrent_rows();
std::span<const Row> quantized_rows();
std::span<const Row> picture_rows();
std::span<const Row> signal_rows();
std::span<const Row> select_rows();
std::span<const Row> loss_rows();
std::span<const Row> control_rows();
std::span<const Row> training_rows();
const Row* find_row(const std::string& domain, const std::string& op, int64_t opset);
/// The op of Ingot's that a node calls by its name, as our exporter writes those that the format has not; or null.
const Op* find_own_op(const Node& node);

// Helpers of many builders --------------------------------------------------------------------------------------------

/// Input 1 of an op of two; before opset 7 it was placed at an axis of the first, if `broadcast` allowed it.
Tensor second_operand(Use& u);
/// x with another shape, copied if it must be.
Tensor reshaped(const Tensor& x, const Dims& shape);
/// Of this type, as it is if it has it.
Tensor as(const Tensor& x, DType dtype);
/// The elements of any tensor, in order.
std::vector<double> to_reals(const Tensor& t);
std::vector<int64_t> to_integers(const Tensor& t);
/// A tensor of the carrier's type.
Tensor from_reals(const std::vector<double>& values, const Dims& shape, Type type);
/// A number of the same type as x.
Tensor scalar_like(const Tensor& x, double value);
/// Integers wrapped to the range of their type.
Tensor wrapped(const Tensor& x, Type type);
/// Reals rounded to half precision where the type says so.
Tensor rounded_to(const Tensor& x, Type type);
Tensor logical_not(const Tensor& x);

}  // namespace ingot::onnx
