#include "ingot/graph/program.h"

#include <cstdio>

#include "ingot/base/error.h"

namespace ingot::graph {

int64_t Operand::numel() const {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
}

bool Operand::is_contiguous() const {
  int64_t step = 1;
  bool rows_follow = true;
  for (int a = shape.size() - 1; a >= 0; a--) {
    if (shape[a] == 0) return true;
    rows_follow = rows_follow && (shape[a] == 1 || strides[a] == step);
    step *= shape[a];
  }
  return rows_follow;
}

Extent extent_of(const Operand& o) {
  Extent e{o.space, o.index, o.offset, o.offset};
  int64_t low = 0, high = o.element();
  for (int a = 0; a < o.shape.size(); a++) {
    if (o.shape[a] == 0) return e;
    const int64_t reach = (o.shape[a] - 1) * o.strides[a] * o.element();
    (reach < 0 ? low : high) += reach;
  }
  e.begin += low;
  e.end += high;
  return e;
}

const char* Record::kind_name() const {
  switch (kind) {
    case Kind::kOp: return "op";
    case Kind::kCheck: return "check";
    case Kind::kChain: return "fused";
    case Kind::kFold: return "fused reduce";
    case Kind::kProduct: return "gemm";
    case Kind::kLoop: return "loop";
  }
  return "";
}

size_t output_index(const Program& program, std::string_view name) {
  std::string names;
  for (size_t i = 0; i < program.outputs.size(); i++) {
    if (program.outputs[i].name == name) return i;
    names += (names.empty() ? "" : ", ") + program.outputs[i].name;
  }
  throw Error(program.name + ": no result is named \"" + std::string(name) + "\" — there are " + names);
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string attrs_text(const Attrs& attrs) {
  std::string text;
  for (int i = 0; i < attrs.size(); i++) {
    const Attr& a = attrs[i];
    if (a.kind == Attr::Kind::kPointer) continue;
    if (!text.empty()) text += ", ";
    text += a.name;
    text += '=';
    if (a.kind == Attr::Kind::kInt) text += std::to_string(a.integer);
    if (a.kind == Attr::Kind::kReal) text += number_text(a.real);
    if (a.kind == Attr::Kind::kInts) text += to_string(a.ints);
    if (a.kind == Attr::Kind::kText) text += a.text;
  }
  return text;
}

}  // namespace ingot::graph
