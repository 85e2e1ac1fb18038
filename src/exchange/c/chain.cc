// Element-wise ops, chains of them, and chains that are folded: one loop nest, in which every value is a variable.
#include <algorithm>
#include <cmath>

#include "exchange/c/forms.h"
#include "ingot/base/error.h"

namespace ingot::exchange {
namespace {

using graph::Chain;
using graph::Reduction;

// What a record does to every element.
struct Elements {
  Dims shape;
  int cut = 0;  // axes from here on are not merged with those before
  std::vector<View> externals;
  std::vector<Chain::Instruction> code;
};

class Writer {
 public:
  Writer(Function& f, Elements e) : f_(f), e_(std::move(e)), loaded_(e_.externals.size()) {
    std::vector<View*> views;
    for (View& v : e_.externals) views.push_back(&v);
    merge_axes(e_.shape, views, e_.cut);
  }

  const Elements& elements() const { return e_; }

  /// The statements for one element. The value that goes to external `folded` is not stored but named.
  std::string body(const std::vector<std::string>& index, int folded) {
    std::string result;
    for (const Chain::Instruction& i : e_.code) {
      const char* letters[] = {"a", "b", "c"};
      for (int k = 0; k < i.inputs; k++) f_.set(letters[k], value(i.in[k], index));
      const DType to = i.out.external ? e_.externals[static_cast<size_t>(i.out.index)].dtype
                       : is_mask(i)   ? kBool
                                      : i.type;
      const std::string made = expression(i);
      const std::string name = "t" + str(count_++);
      f_.line(cat("const ", value_type(to), " ", name, " = ", made, ";"));
      if (i.out.external && i.out.index == folded) {
        result = name;
      } else if (i.out.external) {
        f_.line(element(e_.externals[static_cast<size_t>(i.out.index)], index) + " = " + name + ";");
        loaded_[static_cast<size_t>(i.out.index)] = name;
      } else {
        registers_.resize(std::max(registers_.size(), static_cast<size_t>(i.out.index) + 1));
        registers_[static_cast<size_t>(i.out.index)] = name;
      }
    }
    return result;
  }

 private:
  // Comparisons give bools, whatever they compare.
  static bool is_mask(const Chain::Instruction& i) {
    const ElementForm* form = find_element_form(i.op->name);
    return form != nullptr && std::string_view(form->real).starts_with("(uint8_t)");
  }

  std::string value(const Chain::Slot& slot, const std::vector<std::string>& index) {
    if (!slot.external) return registers_[static_cast<size_t>(slot.index)];
    std::string& name = loaded_[static_cast<size_t>(slot.index)];
    if (name.empty()) {
      const View& v = e_.externals[static_cast<size_t>(slot.index)];
      name = "v" + str(slot.index);
      f_.line(cat("const ", value_type(v.dtype), " ", name, " = ", element(v, index), ";"));
    }
    return name;
  }

  // Names for parts first; then the expression itself.
  std::string expression(const Chain::Instruction& i) {
    const ElementForm& form = *find_element_form(i.op->name);
    const bool integer = !is_float(i.type) && *form.integer != '\0';
    f_.main_type(i.type);
    f_.set("U", i.type == kI32 ? "uint32_t" : "uint64_t");
    const bool compares = is_mask(i) && !is_float(i.type);
    const char* names[] = {"p", "q", "r"};
    for (int k = 0, n = 0; k < i.attrs->size(); k++)
      if ((*i.attrs)[k].kind == Attr::Kind::kReal && n < 3)
        f_.set(names[n++], literal((*i.attrs)[k].real, compares ? kF64 : i.type));
    std::string rest = integer ? form.integer : form.real;
    for (size_t end = 0; (end = rest.find("; ")) != std::string::npos; rest.erase(0, end + 2)) {
      const std::string part = rest.substr(0, end);
      const size_t equals = part.find(" = ");
      const std::string name = part.substr(0, equals) + str(count_++);
      f_.line(cat("const ", value_type(i.type), " ", name, " = ", part.substr(equals + 3), ";"));
      f_.set(part.substr(0, equals), name);
    }
    return f_.fill(rest);
  }

  Function& f_;
  Elements e_;
  std::vector<std::string> loaded_, registers_;
  int count_ = 0;
};

Elements elements_of(Function& f) {
  const Record& r = f.record();
  const Chain& c = r.chain;
  Elements e{c.shape, c.cut < 0 ? 0 : c.cut, {}, c.code};
  std::vector<bool> externals;
  for (const Chain::Instruction& i : c.code) {
    const auto add = [&](const Chain::Slot& slot, bool out) {
      if (!slot.external) return;
      e.externals.resize(std::max(e.externals.size(), static_cast<size_t>(slot.index) + 1));
      View& v = e.externals[static_cast<size_t>(slot.index)];
      if (!v.name.empty()) return;
      const int operand = c.first + slot.index;
      const Operand& o = r.operands[static_cast<size_t>(operand)];
      if (o.space == graph::Space::kBlock) {
        v = {"block", o.dtype, o.shape, o.strides};
        return;
      }
      v = f.use(operand, (out ? "y" : "x") + str(slot.index));
      // Operands of fewer axes are repeated.
      Dims strides = Dims::filled(c.shape.size(), 0);
      const int shift = c.shape.size() - v.rank();
      for (int a = shift; a < c.shape.size(); a++)
        if (v.shape[a - shift] != 1) strides[a] = v.strides[a - shift];
      v.shape = c.shape;
      v.strides = strides;
    };
    for (int k = 0; k < i.inputs; k++) add(i.in[k], false);
    add(i.out, true);
  }
  return e;
}

const char* fold_start(graph::Reduction r, DType t) {
  if (r.fold == Fold::kMax) return t == kF32 ? "-1.0f / 0.0f" : "-1.0 / 0.0";
  if (r.fold == Fold::kMin) return t == kF32 ? "1.0f / 0.0f" : "1.0 / 0.0";
  return "0";
}

// One more element of a fold. NaN stays.
std::string fold_step(Fold fold, const std::string& total, const std::string& value) {
  if (fold == Fold::kSum || fold == Fold::kMean) return total + " += " + value + ";";
  const char* better = fold == Fold::kMax ? " > " : " < ";
  return "if (" + value + better + total + " || " + value + " != " + value + ") " + total + " = " + value + ";";
}

}  // namespace

void merge_axes(Dims& shape, std::vector<View*>& views, int& cut) {
  for (int a = shape.size() - 2; a >= 0; a--) {
    if (a + 1 == cut) continue;
    const bool follows = std::all_of(views.begin(), views.end(), [&](const View* v) {
      return shape[a + 1] == 1 || shape[a] == 1 || v->strides[a] == v->strides[a + 1] * shape[a + 1];
    });
    if (!follows) continue;
    for (View* v : views) {
      if (shape[a + 1] == 1) v->strides[a + 1] = v->strides[a];
      v->strides.erase(a);
    }
    shape[a + 1] *= shape[a];
    shape.erase(a);
    if (a < cut) cut--;
  }
  for (View* v : views) v->shape = shape;
}

void write_chain(Function& f) {
  Writer w(f, elements_of(f));
  w.body(f.loops(w.elements().shape), -1);
  f.close_loops();
}

// An op by itself is a chain of one.
void write_element_op(Function& f) {
  const Record& r = f.record();
  const Operand& out = r.operands[static_cast<size_t>(r.inputs)];
  Elements e{out.shape, 0, {}, {}};
  Chain::Instruction code;
  code.op = r.op;
  code.attrs = r.attrs;
  code.inputs = r.inputs;
  code.type = r.operands[static_cast<size_t>(r.inputs - 1)].dtype;
  for (int i = 0; i <= r.inputs; i++) {
    View v = f.use(i, (i < r.inputs ? "x" : "y") + str(i));
    Dims strides = Dims::filled(out.shape.size(), 0);
    const int shift = out.shape.size() - v.rank();
    for (int a = shift; a < out.shape.size(); a++)
      if (v.shape[a - shift] != 1) strides[a] = v.strides[a - shift];
    v.strides = strides;
    v.shape = out.shape;
    e.externals.push_back(v);
    (i < r.inputs ? code.in[i] : code.out) = {i, true};
  }
  e.code.push_back(code);
  Writer w(f, std::move(e));
  w.body(f.loops(w.elements().shape), -1);
  f.close_loops();
}

void write_fold(Function& f) {
  const Record& r = f.record();
  const Reduction& reduction = r.reduction;
  Elements e = elements_of(f);
  const View y = f.use(static_cast<int>(r.operands.size()) - 1, "y");
  const int block = reduction.block - r.chain.first;
  const DType type = y.dtype;
  f.set("total", value_type(type));
  int64_t rows = 1, cols = 1;
  if (reduction.along == Reduction::Along::kAll) e.cut = 0;
  for (int a = 0; a < e.shape.size(); a++) (a < e.cut ? rows : cols) *= e.shape[a];
  // The block has no memory here: its layout must not keep axes apart.
  Dims plain = contiguous_strides(e.shape);
  e.externals[static_cast<size_t>(block)].strides = plain;
  Writer w(f, std::move(e));
  const Dims& shape = w.elements().shape;
  const int cut = w.elements().cut;
  const Dims outer(std::span<const int64_t>(shape.begin(), shape.begin() + cut)),
      inner(std::span<const int64_t>(shape.begin() + cut, shape.end()));
  const auto joined = [](std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  // The number of the element among those of a part of the axes.
  const auto place = [](const Dims& part, const std::vector<std::string>& index) {
    return element({"y", kF32, part, contiguous_strides(part)}, index);
  };
  const bool sums = reduction.fold == Fold::kSum || reduction.fold == Fold::kMean;
  const int64_t count = reduction.along == Reduction::Along::kColumns ? rows
                        : reduction.along == Reduction::Along::kRows  ? cols
                                                                      : rows * cols;
  const std::string scale =
      reduction.fold == Fold::kMean ? " * " + literal(1.0 / static_cast<double>(count), kF64) : "";
  if (reduction.along == Reduction::Along::kColumns) {
    const std::string start = fold_start(reduction, type);
    const std::string cols_text = str(cols);
    f.line(cat("for (long j = 0; j < ", cols_text, "; j++) y[j] = ", start, ";"));
    const auto rows_index = f.loops(outer);
    const auto cols_index = f.loops(inner, {}, "j");
    const std::string value = w.body(joined(rows_index, cols_index), block);
    f.line(fold_step(reduction.fold, place(inner, cols_index), value));
    f.close_loops();
    f.close_loops();
    if (!scale.empty())
      f.line(cat("for (long j = 0; j < ", cols_text, "; j++) y[j] *= ", literal(1.0 / static_cast<double>(count), type),
                 ";"));
    return;
  }
  // Sums of rows are taken in double: the error does not grow with the length.
  const char* total = sums ? "double" : value_type(type);
  const auto rows_index = f.loops(outer);
  f.line(cat(std::string(total), " total = ", fold_start(reduction, type), ";"));
  const auto cols_index = f.loops(inner, {}, "j");
  const std::string value = w.body(joined(rows_index, cols_index), block);
  f.line(fold_step(reduction.fold, "total", sums && type == kF32 ? "(double)" + value : value));
  f.close_loops();
  f.line(cat(place(outer, rows_index), " = (", value_type(type), ")",
             (scale.empty() ? "total" : "(total" + scale + ")"), ";"));
  f.close_loops();
}

}  // namespace ingot::exchange
