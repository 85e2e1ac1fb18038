// Looking up and adding by index. Checks have looked at the indices before.
#include "exchange/c/families.h"

namespace ingot::exchange {

void check_range(Function& f, int operand, const std::string& low, const std::string& high) {
  const View indices = f.in(operand, "indices");
  const auto index = f.loops(indices.shape);
  f.line(cat("const int64_t i = ", element(indices, index), ";"));
  f.line(cat("if (", (low.empty() ? "" : "i < " + low + " || "), "i >= ", high, ") return 1;"));
  f.close_loops();
}

namespace {

int axis_of(Function& f) {
  return normalize_axis(f.record().op->name, f.integer("axis"), f.record().operands[0].shape.size());
}

// to += value, where integers wrap.
std::string added(const View& to, const std::string& at, const std::string& value) {
  if (is_float(to.dtype)) return at + " += " + value + ";";
  const std::string u = to.dtype == kI32 ? "uint32_t" : "uint64_t";
  return at + " = (" + value_type(to.dtype) + ")((" + u + ")" + at + " + (" + u + ")" + value + ");";
}

void gather(Function& f) {
  const View x = f.in(0, "x"), indices = f.in(1, "indices"), y = f.out(0, "y");
  auto index = f.loops(y.shape);
  const std::string to = element(y, index), from = element(indices, index);
  f.place("at", "(long)" + from);
  index[static_cast<size_t>(axis_of(f))] = "at";
  f.line(cat(to, " = ", element(x, index), ";"));
  f.close_loops();
}

void scatter_add(Function& f) {
  const View x = f.in(0, "x"), indices = f.in(1, "indices"), source = f.in(2, "source"), y = f.out(0, "y");
  copy_elements(f, y, x);
  auto index = f.loops(source.shape);
  const std::string value = element(source, index);
  f.place("at", "(long)" + element(indices, index));
  index[static_cast<size_t>(axis_of(f))] = "at";
  f.line(added(y, element(y, index), value));
  f.close_loops();
}

void index_select(Function& f) {
  const View x = f.in(0, "x"), indices = f.in(1, "indices"), y = f.out(0, "y");
  auto index = f.loops(y.shape);
  const auto axis = static_cast<size_t>(axis_of(f));
  const std::string to = element(y, index);
  f.place("at", "(long)" + element(indices, {index[axis]}));
  index[axis] = "at";
  f.line(cat(to, " = ", element(x, index), ";"));
  f.close_loops();
}

void index_select_grad(Function& f) {
  const View dy = f.in(0, "dy"), indices = f.in(1, "indices"), y = f.out(0, "y");
  fill_elements(f, y, "0");
  auto index = f.loops(dy.shape);
  const auto axis = static_cast<size_t>(axis_of(f));
  const std::string value = element(dy, index);
  f.place("at", "(long)" + element(indices, {index[axis]}));
  index[axis] = "at";
  f.line(added(y, element(y, index), value));
  f.close_loops();
}

void embedding(Function& f) {
  const View table = f.in(0, "table"), indices = f.in(1, "indices"), y = f.out(0, "y");
  auto index = f.loops(indices.shape);
  f.place("row", "(long)" + element(indices, index));
  index.emplace_back("k");
  f.line(cat("for (long k = 0; k < ", str(table.shape[1]), "; k++) ", element(y, index), " = ",
             element(table, {"row", "k"}), ";"));
  f.close_loops();
}

void embedding_grad(Function& f) {
  const View dy = f.in(0, "dy"), indices = f.in(1, "indices"), y = f.out(0, "y");
  fill_elements(f, y, "0");
  auto index = f.loops(indices.shape);
  f.place("row", "(long)" + element(indices, index));
  index.emplace_back("k");
  f.line(
      cat("for (long k = 0; k < ", str(y.shape[1]), "; k++) ", added(y, element(y, {"row", "k"}), element(dy, index))));
  f.close_loops();
}

void embedding_bag(Function& f) {
  const View table = f.in(0, "table"), indices = f.in(1, "indices"), y = f.out(0, "y");
  fill_elements(f, y, "0");
  const auto index = f.loops(indices.shape);
  f.place("row", "(long)" + element(indices, index));
  f.line(cat("for (long k = 0; k < ", str(table.shape[1]), "; k++) ", element(y, {index[0], "k"}),
             " += ", element(table, {"row", "k"}), ";"));
  f.close_loops();
}

void embedding_bag_grad(Function& f) {
  const View dy = f.in(0, "dy"), indices = f.in(1, "indices"), y = f.out(0, "y");
  fill_elements(f, y, "0");
  const auto index = f.loops(indices.shape);
  f.place("row", "(long)" + element(indices, index));
  f.line(cat("for (long k = 0; k < ", str(y.shape[1]), "; k++) ", element(y, {"row", "k"}),
             " += ", element(dy, {index[0], "k"}), ";"));
  f.close_loops();
}

void one_hot(Function& f) {
  const View indices = f.in(0, "indices"), y = f.out(0, "y");
  fill_elements(f, y, "0");
  auto index = f.loops(indices.shape);
  f.place("at", "(long)" + element(indices, index));
  index.emplace_back("at");
  f.line(cat(element(y, index), " = ", (y.dtype == kF16 ? "15360" : y.dtype == kBF16 ? "16256" : "1"), ";"));
  f.close_loops();
}

void check_axis(Function& f) { check_range(f, 1, "0", str(f.record().operands[0].shape[axis_of(f)])); }
void check_size(Function& f) { check_range(f, 1, "0", str(f.integer("size"))); }
void check_table(Function& f) { check_range(f, 1, "0", str(f.record().operands[0].shape[0])); }
void check_rows(Function& f) { check_range(f, 1, "0", str(f.integer("rows"))); }
void check_classes(Function& f) { check_range(f, 0, "0", str(f.integer("classes"))); }

constexpr const char* kOutside = "was given an index out of range";

}  // namespace

std::span<const OpForm> index_forms() {
  static constexpr OpForm kForms[] = {
      {"gather", gather, check_axis, kOutside},
      {"scatter_add", scatter_add, check_axis, kOutside},
      {"index_select", index_select, check_axis, kOutside},
      {"index_select_grad", index_select_grad, check_size, kOutside},
      {"embedding", embedding, check_table, kOutside},
      {"embedding_grad", embedding_grad, check_rows, kOutside},
      {"embedding_bag", embedding_bag, check_table, kOutside},
      {"embedding_bag_grad", embedding_bag_grad, check_rows, kOutside},
      {"one_hot", one_hot, check_classes, kOutside},
  };
  return kForms;
}

}  // namespace ingot::exchange
