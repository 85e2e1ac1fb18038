// Ops that move elements or make them from numbers: copies, conversions, views that are stored, joins, constants.
#include <algorithm>
#include <cmath>

#include "exchange/c/families.h"
#include "ingot/base/error.h"

namespace ingot::exchange {

void copy_elements(Function& f, const View& to, const View& from) {
  View a = to, b = from;
  Dims shape = to.shape;
  int cut = 0;
  std::vector<View*> views = {&a, &b};
  merge_axes(shape, views, cut);
  const auto index = f.loops(shape);
  f.line(cat(element(a, index), " = ", element(b, index), ";"));
  f.close_loops();
}

void fill_elements(Function& f, const View& to, const std::string& value) {
  View a = to;
  Dims shape = to.shape;
  int cut = 0;
  std::vector<View*> views = {&a};
  merge_axes(shape, views, cut);
  const auto index = f.loops(shape);
  f.line(cat(element(a, index), " = ", value, ";"));
  f.close_loops();
}

// The op is asked what it sees of a tensor of that layout that has no elements, as lowering does.
View view_through(const char* op, const View& base, const Attrs& attrs, int64_t& offset) {
  static const char kNobody = 0;
  const Op& view = *find_op(op);
  const Tensor whole = Tensor::symbolic(&kNobody, 0, base.dtype, base.shape, base.strides);
  const Tensor* in[] = {&whole};
  const Tensor seen = view.view({view, in, attrs});
  offset = (reinterpret_cast<intptr_t>(seen.raw()) - reinterpret_cast<intptr_t>(whole.raw())) /
           static_cast<int64_t>(size_of(base.dtype));
  return {offset == 0 ? base.name : "(" + base.name + " + " + str(offset) + ")", base.dtype, seen.shape(),
          seen.strides()};
}

namespace {

void copy(Function& f) {
  const View x = f.in(0, "x");
  copy_elements(f, f.out(0, "y"), x);
}

void view(Function& f) {
  int64_t offset = 0;
  const View x = f.in(0, "x");
  copy_elements(f, f.out(0, "y"), view_through(f.record().op->name, x, *f.record().attrs, offset));
}

// Zeros, and dy where the view `op` of them is.
template <const char* const& kOp>
void fill_part(Function& f) {
  const View dy = f.in(0, "dy"), y = f.out(0, "y");
  fill_elements(f, y, "0");
  int64_t offset = 0;
  copy_elements(f, view_through(kOp, y, *f.record().attrs, offset), dy);
}
constexpr const char* kSlice = "slice";
constexpr const char* kDiagonal = "diagonal";

// An element v of type `from` as one of type `to`: towards zero, NaN to 0, out of range to the nearest end.
std::string converted(Function& f, const std::string& v, DType from, DType to) {
  const auto is_half = [](DType t) { return t == kF16 || t == kBF16; };
  if (from == to) return v;
  if (is_half(from)) {
    const char* helper = from == kF16 ? "from_f16" : "from_bf16";
    f.file().need(helper);
    return converted(f, std::string(helper) + "(" + v + ")", kF32, to);
  }
  if (to == kBool) return "(uint8_t)(" + v + " != 0)";
  if (is_half(to)) {
    const char* helper = to == kF16 ? "to_f16" : "to_bf16";
    f.file().need(helper);
    return std::string(helper) + "(" + (from == kF32 ? v : "(float)" + v) + ")";
  }
  if (is_float(to)) return std::string("(") + value_type(to) + ")" + v;
  if (is_float(from)) {
    const std::string helper = std::string("to_") + memory_type(to);
    f.file().need(helper);
    return helper + "(" + v + ")";
  }
  // Integers: to a wider type as they are, to a narrower one the nearest end.
  if (size_of(to) > size_of(from) || from == kBool) return std::string("(") + value_type(to) + ")" + v;
  const std::string low = to == kI32 ? literal(int64_t{INT32_MIN}, kI32) : "0",
                    high = to == kI32  ? literal(int64_t{INT32_MAX}, kI32)
                           : to == kU8 ? "255"
                                       : "";
  return std::string("(") + value_type(to) + ")(" + v + " < " + low + " ? " + low + " : " + v + " > " + high + " ? " +
         high + " : " + v + ")";
}

void to(Function& f) {
  View x = f.in(0, "x"), y = f.out(0, "y");
  Dims shape = y.shape;
  int cut = 0;
  std::vector<View*> views = {&x, &y};
  merge_axes(shape, views, cut);
  const auto index = f.loops(shape);
  f.line(cat("const ", value_type(x.dtype), " v = ", element(x, index), ";"));
  f.line(cat(element(y, index), " = ", converted(f, "v", x.dtype, y.dtype), ";"));
  f.close_loops();
}

View offset_view(const View& v, int64_t offset) {
  View part = v;
  if (offset != 0) part.name = "(" + v.name + " + " + str(offset) + ")";
  return part;
}

void concat(Function& f) {
  const View& y = f.out(0, "y");
  const int axis = normalize_axis("concat", f.integer("axis"), y.rank());
  int64_t offset = 0;
  const View whole = y;
  for (int i = 0; i < f.record().inputs; i++) {
    const View x = f.in(i, "x" + str(i));
    View part = offset_view(whole, offset);
    part.shape = x.shape;
    copy_elements(f, part, x);
    offset += x.shape[axis] * whole.strides[axis];
  }
}

void stack(Function& f) {
  const View whole = f.out(0, "y");
  const int axis = normalize_axis("stack", f.integer("axis"), whole.rank());
  for (int i = 0; i < f.record().inputs; i++) {
    const View x = f.in(i, "x" + str(i));
    View part = offset_view(whole, i * whole.strides[axis]);
    part.shape = x.shape;
    part.strides.erase(axis);
    copy_elements(f, part, x);
  }
}

std::string number_of(double value, DType t) {  // also those of bool and of the narrow types
  if (t == kBool) return value != 0 ? "1" : "0";
  if (t == kF16) return str(to_half(static_cast<float>(value)).bits);
  if (t == kBF16) return str(to_bfloat16(static_cast<float>(value)).bits);
  return literal(value, t);
}

void pad(Function& f) {
  const View x = f.in(0, "x"), y = f.out(0, "y");
  fill_elements(f, y, number_of(f.real("value"), y.dtype));
  int64_t offset = 0;
  for (int a = 0; a < y.rank(); a++) offset += f.ints("before")[a] * y.strides[a];
  View part = offset_view(y, offset);
  part.shape = x.shape;
  copy_elements(f, part, x);
}

void full(Function& f) {
  const View y = f.out(0, "y");
  fill_elements(f, y, number_of(f.real("value"), y.dtype));
}

void eye(Function& f) {
  const View y = f.out(0, "y");
  fill_elements(f, y, "0");
  f.line(cat("for (long i = 0; i < ", str(std::min(y.shape[0], y.shape[1])), "; i++) ", element(y, {"i", "i"}), " = ",
             number_of(1, y.dtype), ";"));
}

void ramp(Function& f, double start, double step, double stop, int64_t last) {
  const View y = f.out(0, "y");
  f.open(cat("for (long i = 0; i < ", str(y.shape[0]), "; i++)"));
  const std::string line = literal(start, kF64) + " + (double)i * " + literal(step, kF64);
  f.line(cat("const double v = ", (last > 0 ? "i == " + str(last) + " ? " + literal(stop, kF64) + " : " + line : line),
             ";"));
  f.line(cat(element(y, {"i"}), " = ", converted(f, "v", kF64, y.dtype), ";"));
  f.close();
}

void arange(Function& f) { ramp(f, f.real("start"), f.real("step"), 0, -1); }
void linspace(Function& f) {
  const int64_t last = f.integer("count") - 1;
  const double start = f.real("start"), stop = f.real("stop");
  ramp(f, start, (stop - start) / static_cast<double>(std::max<int64_t>(last, 1)), stop, last);
}

}  // namespace

std::span<const OpForm> move_forms() {
  static constexpr OpForm kForms[] = {
      {"copy", copy},
      {"to", to},
      {"reshape", view},
      {"permute", view},
      {"transpose", view},
      {"slice", view},
      {"broadcast_to", view},
      {"squeeze", view},
      {"unsqueeze", view},
      {"select", view},
      {"diagonal", view},
      {"unpad", view},
      {"slice_grad", fill_part<kSlice>},
      {"diagonal_grad", fill_part<kDiagonal>},
      {"concat", concat},
      {"stack", stack},
      {"pad", pad},
      {"full", full},
      {"eye", eye},
      {"arange", arange},
      {"linspace", linspace},
  };
  return kForms;
}

}  // namespace ingot::exchange
