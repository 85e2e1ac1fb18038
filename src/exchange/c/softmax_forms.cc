// Softmax along an axis, and the cross-entropy of logits with labels. All shift by the maximum.
#include "exchange/c/families.h"

namespace ingot::exchange {
namespace {

// Loops over the lines along the call's axis; $line is the index of element k of one.
const View& lines_of(Function& f, const View& x) {
  const int axis = normalize_axis(f.record().op->name, f.integer("axis"), x.rank());
  const auto index = f.loops(x.shape, {{axis, "k"}});
  std::string line;
  for (const std::string& i : index) line += (line.empty() ? "" : ", ") + i;
  f.set("line", line);
  f.set("n", x.shape[axis]);
  return x;
}

// NaN is the largest: then the whole line is NaN.
template <bool kLog>
void softmax(Function& f) {
  const View x = f.in(0, "x");
  f.out(0, "y");
  lines_of(f, x);
  f.lines(R"(
$T largest = -#inf, total = 0;
for (long k = 0; k < $n; k++) {
  const $T v = $x[$line];
  if (v > largest || v != v) largest = v;
}
)");
  f.lines(kLog ? R"(
for (long k = 0; k < $n; k++) total += @exp($x[$line] - largest);
const $T shift = @log(total);
for (long k = 0; k < $n; k++) $y[$line] = $x[$line] - largest - shift;
)"
               : R"(
for (long k = 0; k < $n; k++) {
  const $T v = @exp($x[$line] - largest);
  $y[$line] = v;
  total += v;
}
for (long k = 0; k < $n; k++) $y[$line] /= total;
)");
  f.close_loops();
}

template <bool kLog>
void softmax_grad(Function& f) {
  const View y = f.in(0, "y");
  f.in(1, "dy");
  f.out(0, "dx");
  lines_of(f, y);
  f.line("double total = 0;");
  f.lines(kLog ? R"(
for (long k = 0; k < $n; k++) total += (double)$dy[$line];
for (long k = 0; k < $n; k++) $dx[$line] = $dy[$line] - @exp($y[$line]) * ($T)total;
)"
               : R"(
for (long k = 0; k < $n; k++) total += (double)($dy[$line] * $y[$line]);
for (long k = 0; k < $n; k++) $dx[$line] = $y[$line] * ($dy[$line] - ($T)total);
)");
  f.close_loops();
}

// The loss, its gradient, or both. A negative label counts for nothing.
void cross_entropy(Function& f, int loss, int gradient) {
  const View x = f.in(0, "x");
  f.in(1, "labels");
  f.set("rows", x.shape[0]);
  f.set("n", x.shape[1]);
  if (gradient >= 0) f.in(2, "scale");
  if (loss >= 0) f.out(loss, "loss");
  if (gradient >= 0) f.out(gradient, "dx");
  f.open("for (long i = 0; i < $rows; i++)");
  f.lines(R"(
const long label = $labels[i] < 0 ? -1 : (long)$labels[i];
$T largest = -#inf, total = 0;
for (long k = 0; k < $n; k++) {
  const $T v = $x[i, k];
  if (v > largest || v != v) largest = v;
}
)");
  if (gradient >= 0)
    f.lines(R"(
for (long k = 0; k < $n; k++) {
  const $T v = @exp($x[i, k] - largest);
  $dx[i, k] = v;
  total += v;
}
)");
  else
    f.line("for (long k = 0; k < $n; k++) total += @exp($x[i, k] - largest);");
  if (loss >= 0) f.line("$loss[i] = label < 0 ? 0 : largest + @log(total) - $x[i, label];");
  if (gradient >= 0)
    f.lines(R"(
const $T factor = label < 0 ? 0 : $scale[i];
if (label < 0) {
  for (long k = 0; k < $n; k++) $dx[i, k] = 0;
} else {
  for (long k = 0; k < $n; k++) $dx[i, k] = ($dx[i, k] / total - (k == label ? 1 : 0)) * factor;
}
)");
  f.close();
}
void loss_only(Function& f) { cross_entropy(f, 0, -1); }
void gradient_only(Function& f) { cross_entropy(f, -1, 0); }
void loss_and_gradient(Function& f) { cross_entropy(f, 0, 1); }
void check_labels(Function& f) { check_range(f, 1, "", str(f.record().operands[0].shape[1])); }

constexpr const char* kLabel = "was given a label that is no class";

}  // namespace

std::span<const OpForm> softmax_forms() {
  static constexpr OpForm kForms[] = {
      {"softmax", softmax<false>},
      {"log_softmax", softmax<true>},
      {"softmax_grad", softmax_grad<false>},
      {"log_softmax_grad", softmax_grad<true>},
      {"softmax_cross_entropy", loss_only, check_labels, kLabel},
      {"softmax_cross_entropy_grad", gradient_only, check_labels, kLabel},
      {"softmax_cross_entropy_with_grad", loss_and_gradient, check_labels, kLabel},
  };
  return kForms;
}

}  // namespace ingot::exchange
