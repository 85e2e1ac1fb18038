// Models made field by field, for tests.
#pragma once
#include <string>
#include <vector>

#include "exchange/onnx/schema.h"
#include "ingot/exchange/onnx.h"

namespace ingot::onnx {

using Names = std::vector<std::string>;

inline FieldWriter info(const std::string& name, Type type, const std::vector<int64_t>& dims) {
  FieldWriter shape, tensor, kind, value;
  for (const int64_t d : dims) {
    FieldWriter dim;
    if (d < 0)
      dim.text(2, "n" + std::to_string(-d));
    else
      dim.integer(1, d);
    shape.message(1, dim);
  }
  tensor.integer(1, static_cast<int64_t>(type)), tensor.message(2, shape);
  kind.message(1, tensor);
  value.text(1, name), value.message(2, kind);
  return value;
}

inline FieldWriter node(const std::string& op, const Names& in, const Names& out,
                        const std::vector<FieldWriter>& attributes = {}, const std::string& domain = "") {
  FieldWriter n;
  for (const std::string& each : in) n.text(1, each);
  for (const std::string& each : out) n.text(2, each);
  n.text(4, op);
  for (const FieldWriter& a : attributes) n.message(5, a);
  if (!domain.empty()) n.text(7, domain);
  return n;
}

inline FieldWriter attribute(const std::string& name, int field, const FieldWriter& value) {
  FieldWriter a;
  a.text(1, name), a.message(field, value);
  return a;
}

inline FieldWriter integer(const std::string& name, int64_t value) {
  FieldWriter a;
  a.text(1, name), a.integer(3, value);
  return a;
}
inline FieldWriter integers(const std::string& name, const std::vector<int64_t>& values) {
  FieldWriter a;
  a.text(1, name);
  for (const int64_t v : values) a.integer(8, v);
  return a;
}
inline FieldWriter word(const std::string& name, const std::string& value) {
  FieldWriter a;
  a.text(1, name), a.text(4, value);
  return a;
}

struct Parts {
  std::vector<FieldWriter> nodes, inputs, outputs, initializers, functions;
  FieldWriter graph() const {
    FieldWriter g;
    for (const FieldWriter& n : nodes) g.message(1, n);
    for (const FieldWriter& i : initializers) g.message(5, i);
    for (const FieldWriter& i : inputs) g.message(11, i);
    for (const FieldWriter& o : outputs) g.message(12, o);
    return g;
  }
  std::string bytes(int64_t opset = 13) const {
    FieldWriter version, m;
    version.integer(2, opset);
    m.integer(1, 8), m.message(7, graph()), m.message(8, version);
    for (const FieldWriter& f : functions) m.message(25, f);
    return m.bytes();
  }
};

inline Model read(const std::string& bytes, const ImportOptions& options = {}) {
  return parse(std::as_bytes(std::span(bytes)), options);
}
inline Tensor vector(const std::vector<float>& values) { return Tensor::from(values); }

}  // namespace ingot::onnx
