// Steps of optimisers, in one pass over parameters, gradients and state.
#include "exchange/c/families.h"

namespace ingot::exchange {
namespace {

// The arrays come first, then lr [, step] [, scale]; a loop over all elements is open afterwards, and p, g, … are there.
void begin(Function& f, int arrays, int scale, bool decay) {
  static constexpr const char* kNames[] = {"param", "grad", "first", "second"};
  static constexpr const char* kResults[] = {"new0", "new1", "new2"};
  std::vector<View> views;
  views.reserve(2 * static_cast<size_t>(arrays));
  for (int i = 0; i < arrays; i++) views.push_back(f.in(i, kNames[i]));
  for (int i = 0; i + 1 < arrays; i++) views.push_back(f.out(i, kResults[i]));
  f.main_type(views[0].dtype);
  f.in(arrays, "lr");
  f.line("const $T rate = ($T)*lr;");
  if (f.given(scale)) {
    f.in(scale, "scale");
    f.line("const $T factor = ($T)*scale;");
  }
  Dims shape = views[0].shape;
  std::vector<View*> all;
  all.reserve(views.size());
  for (View& v : views) all.push_back(&v);
  int cut = 0;
  merge_axes(shape, all, cut);
  if (arrays == 4) {
    f.main_type(kF64);
    f.in(5, "step");
    f.set("beta1", literal(f.real("beta1"), kF64));
    f.set("beta2", literal(f.real("beta2"), kF64));
    f.file().need("power");
    f.line("const double correction1 = 1 - power($beta1, *step), correction2 = @sqrt(1 - power($beta2, *step));");
    f.main_type(views[0].dtype);
    f.line("const $T pace = ($T)((double)rate / correction1), spread = ($T)(1 / correction2);");
  }
  const auto index = f.loops(shape);
  static constexpr const char* kValues[] = {"p", "g", "m", "v"};
  for (int i = 0; i < arrays; i++)
    f.line(cat((i <= 1 ? "" : "const "), "$T ", kValues[i], " = ", element(views[static_cast<size_t>(i)], index), ";"));
  const View* results = &views[static_cast<size_t>(arrays)];
  for (int i = 0; i + 1 < arrays; i++) f.set(kResults[i], element(results[i], index));
  if (f.given(scale)) f.line("g *= factor;");
  if (const double most = f.real("clip_value"); most > 0) {
    f.set("most", literal(most, f.main_type()));
    f.line("g = g > $most ? $most : g < -$most ? -$most : g;");
  }
  if (const double weight_decay = f.real("weight_decay"); decay && weight_decay != 0)
    f.line(cat("g += ", literal(weight_decay, f.main_type()), " * p;"));
}

// Values that are set with `set` come before views of that name: results are written through them.
void sgd(Function& f) {
  begin(f, 2, 3, true);
  f.line("p -= rate * g;");
  f.line("$new0 = p;");
  f.close_loops();
}

void momentum(Function& f) {
  begin(f, 3, 4, true);
  f.set("momentum", literal(f.real("momentum"), f.main_type()));
  f.line("const $T buffer = $momentum * m + g;");
  f.line(f.flag("nesterov") ? "p -= rate * (g + $momentum * buffer);" : "p -= rate * buffer;");
  f.line("$new0 = p;");
  f.line("$new1 = buffer;");
  f.close_loops();
}

void adam(Function& f) {
  const bool decoupled = f.flag("decoupled");
  begin(f, 4, 6, !decoupled);
  const DType t = f.main_type();
  if (decoupled && f.real("weight_decay") != 0)
    f.line(cat("p *= 1 - rate * ", literal(f.real("weight_decay"), t), ";"));
  f.set("b1", literal(f.real("beta1"), t));
  f.set("b2", literal(f.real("beta2"), t));
  f.set("c1", literal(1 - f.real("beta1"), t));
  f.set("c2", literal(1 - f.real("beta2"), t));
  f.set("eps", literal(f.real("eps"), t));
  f.lines(R"(
const $T mean = $b1 * m + $c1 * g, square = $b2 * v + $c2 * g * g;
p -= pace * (mean / (@sqrt(square) * spread + $eps));
$new0 = p;
$new1 = mean;
$new2 = square;
)");
  f.close_loops();
}

void check_step(Function& f) {
  f.in(5, "step");
  f.line("if (*step < 1) return 1;");
}

}  // namespace

std::span<const OpForm> optimizer_forms() {
  static constexpr OpForm kForms[] = {
      {"sgd_step", sgd},
      {"sgd_momentum_step", momentum},
      {"adam_step", adam, check_step, "was given a step below 1"},
  };
  return kForms;
}

}  // namespace ingot::exchange
