// What Ingot's ops become in ONNX: arithmetic, reductions, and what moves elements.
#include <algorithm>
#include <cmath>
#include <optional>

#include "exchange/onnx/emit.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::onnx {
namespace {

// Ops that have a twin of the same meaning: OpUse to a node with the same inputs.
#define TWIN(name, twin)                                 \
  {                                                      \
    name, [](OpUse& u) { u.give(u.e.node(twin, u.in)); } \
  }
// The second operand is a number.
#define WITH_NUMBER(name, twin, attribute)                                                              \
  {                                                                                                     \
    name, [](OpUse& u) { u.give(u.e.node(twin, {u.in[0], u.e.number(u.real(attribute), u.dtype())})); } \
  }
#define REDUCTION(name, twin, is_own)                  \
  {                                                    \
    name, [](OpUse& u) { reduction(u, twin); }, is_own \
  }

Dims axes_of(OpUse& u) { return normalize_axes("axes", u.ints("axes"), u.shape().size()); }

void reduction(OpUse& u, const char* twin) {
  const std::vector<int64_t> axes = listed(axes_of(u));
  const int64_t keep = u.flag("keepdim");
  if (axes.empty()) return u.give(u.e.node("Identity", u.in));
  // Sums alone take their axes as an input in this opset.
  const std::string y = std::string(twin) == "ReduceSum"
                            ? u.e.node(twin, {u.in[0], u.e.integers(axes)}, {{"keepdims", keep}})
                            : u.e.node(twin, u.in, {{"axes", axes}, {"keepdims", keep}});
  u.give(u.result_type() == u.dtype()
             ? y
             : u.e.node("Cast", {y}, {{"to", static_cast<int64_t>(type_of(u.result_type()))}}));
}

// Integers are summed as i64.
void sum_op(OpUse& u) {
  if (u.dtype() == u.result_type()) return reduction(u, "ReduceSum");
  const std::string wide = u.e.node("Cast", u.in, {{"to", static_cast<int64_t>(type_of(u.result_type()))}});
  const std::vector<int64_t> axes = listed(axes_of(u));
  u.give(axes.empty() ? wide
                      : u.e.node("ReduceSum", {wide, u.e.integers(axes)},
                                 {{"keepdims", static_cast<int64_t>(u.flag("keepdim"))}}));
}

void variance_op(OpUse& u) {
  const std::vector<int64_t> axes = listed(axes_of(u));
  int64_t count = 1;
  for (const int64_t a : axes) count *= u.shape()[static_cast<int>(a)];
  for (const int64_t a : axes)
    if (u.free_input()[static_cast<size_t>(a)] < 0) u.fail("a variance over the batch");
  const std::string mean = u.e.node("ReduceMean", u.in, {{"axes", axes}, {"keepdims", int64_t{1}}});
  const std::string centred = u.e.node("Sub", {u.in[0], mean});
  const std::string sum = u.e.node("ReduceSum", {u.e.node("Mul", {centred, centred}), u.e.integers(axes)},
                                   {{"keepdims", static_cast<int64_t>(u.flag("keepdim"))}});
  u.give(u.e.node("Div", {sum, u.e.number(static_cast<double>(count - u.integer("correction")), u.dtype())}));
}

void arg_op(OpUse& u, const char* twin) {
  const Dims axes = axes_of(u);
  std::string x = u.in[0];
  int64_t axis = axes.empty() ? 0 : axes[0];
  const bool all = axes.size() == u.shape().size() && axes.size() != 1;
  if (all)
    x = u.e.node("Reshape", {x, u.e.integers({-1})}), axis = 0;
  else if (axes.size() != 1)
    u.fail("the place of an extreme over several axes");
  std::string y = u.e.node(twin, {x}, {{"axis", axis}, {"keepdims", static_cast<int64_t>(u.flag("keepdim") || all)}});
  if (all) y = u.e.node("Reshape", {y, u.e.integers(u.free_result())});
  u.give(y);
}

void negated(OpUse& u, const Emitter::Names& in) { u.give(u.e.node("Not", {u.e.node("Equal", in)})); }

void clamp_op(OpUse& u) {
  const double low = u.real("low"), high = u.real("high");
  const auto bound = [&](double v) { return std::isinf(v) ? std::string() : u.e.number(v, u.dtype()); };
  u.give(u.e.node("Clip", {u.in[0], bound(low), bound(high)}));
}

// Shapes ------------------------------------------------------------------------------------------------------------

void reshape_op(OpUse& u) {
  const std::vector<int64_t> shape = u.free_result();
  if (std::count(shape.begin(), shape.end(), -1) > 1) u.fail("a shape with two sizes that follow the batch");
  u.give(u.e.node("Reshape", {u.in[0], u.e.integers(shape)}, {{"allowzero", int64_t{1}}}));
}

void permutation(OpUse& u, const std::vector<int64_t>& axes) { u.give(u.e.node("Transpose", u.in, {{"perm", axes}})); }

void transpose_op(OpUse& u) {
  std::vector<int64_t> axes;
  axes.reserve(static_cast<size_t>(u.shape().size()));
  for (int a = 0; a < u.shape().size(); a++) axes.push_back(a);
  std::swap(axes[static_cast<size_t>(normalize_axis("axis", u.integer("a"), u.shape().size()))],
            axes[static_cast<size_t>(normalize_axis("axis", u.integer("b"), u.shape().size()))]);
  permutation(u, axes);
}

void permute_op(OpUse& u) {
  std::vector<int64_t> axes;
  for (const int64_t a : u.ints("axes")) axes.push_back(normalize_axis("axis", a, u.shape().size()));
  permutation(u, axes);
}

// An end of a slice that means the same in both captures, or nothing.
std::optional<int64_t> end_of(int64_t a, int64_t a_size, int64_t b, int64_t b_size, bool to_the_end) {
  if (to_the_end) return a >= a_size && b >= b_size ? std::optional(INT64_MAX) : std::nullopt;
  if (a == b) return a;
  if (a >= 0 && a < a_size && a - a_size == b - b_size) return a - a_size;
  if (a < 0 && a >= -a_size && a + a_size == b + b_size) return a + a_size;
  return {};
}

void slice_op(OpUse& u) {
  const int axis = normalize_axis("axis", u.integer("axis"), u.shape().size());
  const int64_t size = u.shape()[axis], larger = u.other_size(axis), step = u.integer("step");
  const int64_t start = u.integer("start"), stop = u.integer("stop"), start2 = u.other_integer("start"),
                stop2 = u.other_integer("stop");
  std::optional<int64_t> from = end_of(start, size, start2, larger, false), to;
  if (step > 0) {
    to = end_of(stop, size, stop2, larger, stop >= size);                         // to the end, wherever that is
    if (u.is_free(axis) && stop > 0 && stop < size && stop == stop2) to.reset();  // half of the batch, perhaps
  } else {
    to = stop < -size && stop2 < -larger ? std::optional(INT64_MIN + 1) : end_of(stop, size, stop2, larger, false);
    if (start >= size - 1 && start2 >= larger - 1) from = INT64_MAX;
  }
  if (!from || !to) u.fail("a part of the batch that follows its size");
  u.give(u.e.node("Slice",
                  {u.in[0], u.e.integers({*from}), u.e.integers({*to}), u.e.integers({axis}), u.e.integers({step})}));
}

void unpad_op(OpUse& u) {
  std::vector<int64_t> starts, ends, axes;
  for (int a = 0; a < u.shape().size(); a++) {
    const int64_t before = u.ints("before")[a], after = u.ints("after")[a];
    starts.push_back(before), ends.push_back(after == 0 ? INT64_MAX : -after), axes.push_back(a);
  }
  u.give(u.e.node("Slice", {u.in[0], u.e.integers(starts), u.e.integers(ends), u.e.integers(axes)}));
}

void pad_op(OpUse& u) {
  std::vector<int64_t> pads = listed(u.ints("before"));
  for (const int64_t n : u.ints("after")) pads.push_back(n);
  u.give(u.e.node("Pad", {u.in[0], u.e.integers(pads), u.e.number(u.real("value"), u.dtype())}));
}

void broadcast_op(OpUse& u) {
  std::vector<int64_t> to = u.free_result();
  const std::vector<int64_t> from = u.free_input();
  const size_t shift = to.size() - from.size();
  for (size_t a = 0; a < to.size(); a++) {
    if (to[a] >= 0) continue;
    if (a < shift || from[a - shift] != -1) u.fail("something repeated as often as the batch is large");
    to[a] = 1;  // Expand leaves it as it is
  }
  u.give(u.e.node("Expand", {u.in[0], u.e.integers(to)}));
}

void squeeze_op(OpUse& u) {
  std::vector<int64_t> axes;
  for (const int64_t a : u.ints("axes")) axes.push_back(normalize_axis("axis", a, u.shape().size()));
  if (axes.empty())
    for (int a = 0; a < u.shape().size(); a++)
      if (u.shape()[a] == 1) axes.push_back(a);
  if (axes.empty()) return u.give(u.e.node("Identity", u.in));
  u.give(u.e.node("Squeeze", {u.in[0], u.e.integers(axes)}));
}

void select_op(OpUse& u) {
  const int64_t axis = normalize_axis("axis", u.integer("axis"), u.shape().size());
  const std::string index = u.e.constant(Tensor::from<int64_t>({u.integer("index")}, {}));
  u.give(u.e.node("Gather", {u.in[0], index}, {{"axis", axis}}));
}

void stack_op(OpUse& u) {
  const int64_t axis = normalize_axis("axis", u.integer("axis"), u.shape().size() + 1);
  Emitter::Names parts;
  for (const std::string& in : u.in) parts.push_back(u.e.node("Unsqueeze", {in, u.e.integers({axis})}));
  u.give(u.e.node("Concat", parts, {{"axis", axis}}));
}

void sorted(OpUse& u, int64_t k, bool descending) {
  const int64_t axis = normalize_axis("axis", u.integer("axis"), u.shape().size());
  if (u.free_input()[static_cast<size_t>(axis)] < 0) u.fail("an order of the batch");
  u.out = u.e.nodes("TopK", {u.in[0], u.e.integers({k})}, 2,
                    {{"axis", axis}, {"largest", static_cast<int64_t>(descending)}, {"sorted", int64_t{1}}});
}

void one_hot_op(OpUse& u) {
  const std::string depth = u.e.integers({u.integer("classes")});
  const std::string values = u.e.constant(to(Tensor::from<int64_t>({0, 1}), u.result_type()));
  u.give(u.e.node("OneHot", {u.in[0], depth, values}, {{"axis", int64_t{-1}}}));
}

void cast_op(OpUse& u) { u.give(u.e.node("Cast", u.in, {{"to", static_cast<int64_t>(type_of(u.result_type()))}})); }
void concat_op(OpUse& u) {
  u.give(u.e.node("Concat", u.in,
                  {{"axis", static_cast<int64_t>(normalize_axis("axis", u.integer("axis"), u.shape().size()))}}));
}
void along_axis(OpUse& u, const char* twin) {
  u.give(u.e.node(twin, u.in,
                  {{"axis", static_cast<int64_t>(normalize_axis("axis", u.integer("axis"), u.shape().size()))}}));
}

}  // namespace

std::span<const WriteRow> write_rows() {
  static constexpr WriteRow kRows[] = {
      TWIN("add", "Add"),
      TWIN("subtract", "Sub"),
      TWIN("multiply", "Mul"),
      TWIN("divide", "Div"),
      WITH_NUMBER("add_scalar", "Add", "value"),
      WITH_NUMBER("subtract_scalar", "Sub", "value"),
      WITH_NUMBER("multiply_scalar", "Mul", "value"),
      WITH_NUMBER("divide_scalar", "Div", "value"),
      {"add_scaled",
       [](OpUse& u) {
         u.give(u.e.node("Add", {u.in[0], u.e.node("Mul", {u.in[1], u.e.number(u.real("factor"), u.dtype())})}));
       },
       true},
      TWIN("minimum", "Min"),
      TWIN("maximum", "Max"),
      {"clamp", clamp_op},
      TWIN("negative", "Neg"),
      TWIN("abs", "Abs"),
      TWIN("sign", "Sign"),
      {"square",
       [](OpUse& u) {
         u.give(u.e.node("Mul", {u.in[0], u.in[0]}));
       }},
      TWIN("sqrt", "Sqrt"),
      TWIN("reciprocal", "Reciprocal"),
      TWIN("exp", "Exp"),
      TWIN("log", "Log"),
      TWIN("sin", "Sin"),
      TWIN("cos", "Cos"),
      TWIN("erf", "Erf"),
      TWIN("pow", "Pow"),
      WITH_NUMBER("pow_scalar", "Pow", "exponent"),
      TWIN("equal", "Equal"),
      TWIN("greater", "Greater"),
      TWIN("greater_equal", "GreaterOrEqual"),
      TWIN("less", "Less"),
      TWIN("less_equal", "LessOrEqual"),
      WITH_NUMBER("equal_scalar", "Equal", "value"),
      WITH_NUMBER("greater_scalar", "Greater", "value"),
      WITH_NUMBER("greater_equal_scalar", "GreaterOrEqual", "value"),
      WITH_NUMBER("less_scalar", "Less", "value"),
      WITH_NUMBER("less_equal_scalar", "LessOrEqual", "value"),
      {"not_equal", [](OpUse& u) { negated(u, u.in); }},
      {"not_equal_scalar",
       [](OpUse& u) {
         negated(u, {u.in[0], u.e.number(u.real("value"), u.dtype())});
       }},
      TWIN("where", "Where"),
      TWIN("copy", "Identity"),
      {"to", cast_op},
      {"sum", sum_op},
      REDUCTION("mean", "ReduceMean", false),
      REDUCTION("max", "ReduceMax", false),
      REDUCTION("min", "ReduceMin", false),
      REDUCTION("prod", "ReduceProd", false),
      REDUCTION("logsumexp", "ReduceLogSumExp", false),
      {"norm", [](OpUse& u) { reduction(u, u.integer("p") == 1 ? "ReduceL1" : "ReduceL2"); }, true},
      {"var", variance_op, true},
      {"argmax", [](OpUse& u) { arg_op(u, "ArgMax"); }},
      {"argmin", [](OpUse& u) { arg_op(u, "ArgMin"); }},
      {"cumsum",
       [](OpUse& u) {
         u.give(u.e.node("CumSum", {u.in[0], u.e.constant(Tensor::from<int64_t>({u.integer("axis")}, {}))},
                         {{"reverse", u.integer("reverse")}}));
       }},
      {"softmax", [](OpUse& u) { along_axis(u, "Softmax"); }},
      {"log_softmax", [](OpUse& u) { along_axis(u, "LogSoftmax"); }},
      {"reshape", reshape_op},
      {"permute", permute_op},
      {"transpose", transpose_op},
      {"slice", slice_op},
      {"unpad", unpad_op},
      {"pad", pad_op},
      {"broadcast_to", broadcast_op},
      {"squeeze", squeeze_op},
      {"unsqueeze",
       [](OpUse& u) {
         u.give(u.e.node("Unsqueeze",
                         {u.in[0], u.e.integers({normalize_axis("axis", u.integer("axis"), u.shape().size() + 1)})}));
       }},
      {"select", select_op},
      {"concat", concat_op},
      {"stack", stack_op},
      {"gather", [](OpUse& u) { along_axis(u, "GatherElements"); }},
      {"index_select", [](OpUse& u) { along_axis(u, "Gather"); }},
      TWIN("embedding", "Gather"),
      {"one_hot", one_hot_op},
      {"sort",
       [](OpUse& u) {
         sorted(u, u.shape()[normalize_axis("axis", u.integer("axis"), u.shape().size())], u.flag("descending"));
       }},
      {"topk", [](OpUse& u) { sorted(u, u.integer("k"), true); }},
      {"einsum",
       [](OpUse& u) {
         u.give(u.e.node("Einsum", u.in, {{"equation", std::string(u.call().text("equation"))}}));
       }},
  };
  return kRows;
}

}  // namespace ingot::onnx
