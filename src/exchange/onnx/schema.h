// What an ONNX file says: the parts of onnx.proto that describe a model, as plain data. Names are those of the format.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exchange/onnx/wire.h"
#include "ingot/base/tensor.h"

namespace ingot::onnx {

/// The format's element types, by their numbers there.
enum class Type : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
};
/// "f32", "i8", "u64", "string", …
std::string name(Type type);

/// A tensor of the file. Elements are held in the type that computes with them (see carrier()).
struct Literal {
  std::string name;
  Type type = Type::kUndefined;
  Tensor tensor;                     // undefined for strings
  std::vector<std::string> strings;  // of a tensor of strings
};

struct Graph;
struct Attribute {
  std::string name, text, reference;  // reference: to an attribute of the function that the node is in
  float real = 0;
  int64_t integer = 0;
  int kind =
      0;  // AttributeProto.AttributeType: 1 real, 2 integer, 3 text, 4 tensor, 5 graph, 6 reals, 7 integers, 8 texts
  std::vector<float> reals;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
  std::shared_ptr<const Literal> tensor;
  std::shared_ptr<const Graph> graph;
};

struct Node {
  std::string name, op, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> attributes;
  const Attribute* find(std::string_view attribute) const;
  /// "Conv" or "com.example:Thing".
  std::string kind() const { return domain.empty() ? op : domain + ":" + op; }
};

/// What a graph says of an input or output. A dimension is a size, a name ("batch") or unknown ("").
struct ValueInfo {
  std::string name;
  Type type = Type::kUndefined;  // undefined: not a tensor
  std::string other;             // what it is instead: "sequence", "optional", …
  bool has_shape = false;
  std::vector<std::pair<int64_t, std::string>> dims;  // -1 if it is no number
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;  // every node after those whose results it reads
  std::vector<std::shared_ptr<const Literal>> initializers;
  std::vector<ValueInfo> inputs, outputs;
};

/// An op that is written as a graph of others.
struct Function {
  std::string name, domain;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<Node> nodes;
  std::map<std::string, int64_t> opsets;
};

struct File {
  int64_t ir_version = 0;
  std::string producer;
  std::map<std::string, int64_t> opsets;  // by domain; "" is ONNX itself
  std::map<std::string, std::string> metadata;
  Graph graph;
  std::vector<Function> functions;
};

/// Reads a model from the bytes of its file. `folder` has what it keeps outside; empty: nothing.
File parse_model(Bytes bytes, const std::string& folder);
/// Reads a tensor by itself, as the conformance data has them (TensorProto).
Literal parse_literal(Bytes bytes);
/// A tensor as a TensorProto.
FieldWriter tensor_message(const std::string& name, Type type, const Tensor& tensor);

}  // namespace ingot::onnx
