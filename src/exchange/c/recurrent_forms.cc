// LSTM and GRU over whole sequences: the recurrent halves, and their gradients.
#include "exchange/c/families.h"

namespace ingot::exchange {
namespace {

// Sizes, and $t for the step that is walked as the s-th, $last for the one before it.
void sizes(Function& f, int64_t steps, int64_t batch, int64_t hidden, bool back) {
  f.set("steps", steps), f.set("batch", batch), f.set("H", hidden);
  const bool down = f.flag("reverse") != back;
  f.set("t", down ? str(steps - 1) + " - s" : "s");
  f.set("last", f.flag("reverse") ? "t + 1" : "t - 1");
  f.set("first", back ? "s == " + str(steps - 1) : "s == 0");
}

// sum += row u of the weight times the state before, which is `y` of the last step or the initial state.
void add_product(Function& f, const char* target, const char* row, bool initial) {
  f.set("target", target), f.set("row", row);
  f.lines(R"(
if (s > 0) {
  for (long k = 0; k < $H; k++) $target += $w[$row, k] * $y[last, b, k];
}
)");
  if (!initial) return;
  f.lines(R"(
if (s == 0) {
  for (long k = 0; k < $H; k++) $target += $w[$row, k] * $h0[b, k];
}
)");
}

void lstm(Function& f) {
  const View x = f.in(0, "x"), w = f.in(1, "w");
  if (f.given(2)) f.in(2, "h0");
  if (f.given(3)) f.in(3, "c0");
  f.out(0, "y"), f.out(1, "c"), f.out(2, "gates");
  sizes(f, x.shape[0], x.shape[1], w.shape[1], false);
  f.open("for (long s = 0; s < $steps; s++)");
  f.place("t", "$t");
  f.place("last", "$last");
  f.open("for (long b = 0; b < $batch; b++)");
  f.open("for (long u = 0; u < 4 * $H; u++)");
  f.line("$T sum = $x[t, b, u];");
  add_product(f, "sum", "u", f.given(2));
  f.line("$gates[t, b, u] = u / $H == 2 ? @tanh(sum) : 1 / (1 + @exp(-sum));");
  f.close();
  f.open("for (long u = 0; u < $H; u++)");
  f.line(f.given(3) ? "const $T before = s > 0 ? $c[last, b, u] : $c0[b, u];"
                    : "const $T before = s > 0 ? $c[last, b, u] : 0;");
  f.line("const $T cell = $gates[t, b, $H + u] * before + $gates[t, b, u] * $gates[t, b, 2 * $H + u];");
  f.line("$c[t, b, u] = cell;");
  f.line("$y[t, b, u] = $gates[t, b, 3 * $H + u] * @tanh(cell);");
  f.close(3);
}

// The state's gradients, from a step to the one before it: [batch, hidden] each.
void carried(Function& f, std::initializer_list<const char*> names, int64_t count) {
  std::string text;
  int64_t at = 0;
  for (const char* name : names)
    text += (text.empty() ? "*" : ", *") + std::string(name) + " = scratch + " + str(at++ * count);
  f.scratch(memory_type(f.main_type()), "scratch", static_cast<int64_t>(size_of(f.main_type())) * at * count);
  f.line(cat("$M ", text, ";"));
  f.line(cat("for (long i = 0; i < ", str(at * count), "; i++) scratch[i] = 0;"));
}

void lstm_grad(Function& f) {
  f.in(0, "w");
  const View c = f.in(1, "c");
  f.in(2, "gates");
  if (f.given(3)) f.in(3, "c0");
  if (f.given(4)) f.in(4, "dy");
  if (f.given(5)) f.in(5, "dc");
  if (f.given(6)) f.in(6, "dgates");
  f.out(0, "dx");
  const int64_t batch = c.shape[1], hidden = c.shape[2];
  sizes(f, c.shape[0], batch, hidden, true);
  carried(f, {"dh", "dcell"}, batch * hidden);
  f.open("for (long s = 0; s < $steps; s++)");
  f.place("t", "$t");
  f.place("last", "$last");
  f.open("for (long b = 0; b < $batch; b++)");
  f.open("for (long u = 0; u < $H; u++)");
  f.lines(R"(
const $T i = $gates[t, b, u], f = $gates[t, b, $H + u], g = $gates[t, b, 2 * $H + u], o = $gates[t, b, 3 * $H + u];
const $T squashed = @tanh($c[t, b, u]);
)");
  f.line(std::string("const $T d = dh[b * $H + u]") + (f.given(4) ? " + $dy[t, b, u];" : ";"));
  f.line(std::string("const $T cell = dcell[b * $H + u] + d * o * (1 - squashed * squashed)") +
         (f.given(5) ? " + $dc[t, b, u];" : ";"));
  f.line(f.given(3) ? "const $T before = $first ? $c0[b, u] : $c[last, b, u];"
                    : "const $T before = $first ? 0 : $c[last, b, u];");
  const auto slope = [&](int64_t k, const std::string& d, const std::string& factor) {
    const std::string at = str(k) + " * $H + u";
    f.line(
        cat("$dx[t, b, ", at, "] = (", d, (f.given(6) ? " + $dgates[t, b, " + at + "]" : ""), ") * (", factor, ");"));
  };
  slope(0, "cell * g", "i - i * i");
  slope(1, "cell * before", "f - f * f");
  slope(2, "cell * i", "1 - g * g");
  slope(3, "d * squashed", "o - o * o");
  f.line("dcell[b * $H + u] = cell * f;");
  f.close();
  f.lines(R"(
for (long u = 0; u < $H; u++) dh[b * $H + u] = 0;
for (long k = 0; k < 4 * $H; k++) {
  const $T d = $dx[t, b, k];
  for (long u = 0; u < $H; u++) dh[b * $H + u] += d * $w[k, u];
}
)");
  f.close(2);
  if (!f.given(3)) return;
  f.out(1, "dh0"), f.out(2, "dc0");
  f.lines(R"(
for (long b = 0; b < $batch; b++)
  for (long u = 0; u < $H; u++) {
    $dh0[b, u] = dh[b * $H + u];
    $dc0[b, u] = dcell[b * $H + u];
  }
)");
}

void gru(Function& f) {
  const View x = f.in(0, "x"), w = f.in(1, "w");
  if (f.given(2)) f.in(2, "bias");
  if (f.given(3)) f.in(3, "h0");
  f.out(0, "y"), f.out(1, "gates");
  sizes(f, x.shape[0], x.shape[1], w.shape[1], false);
  f.open("for (long s = 0; s < $steps; s++)");
  f.place("t", "$t");
  f.place("last", "$last");
  f.open("for (long b = 0; b < $batch; b++)");
  f.open("for (long u = 0; u < $H; u++)");
  f.line("$T sum[3];");
  f.open("for (long g = 0; g < 3; g++)");
  f.line(f.given(2) ? "sum[g] = $bias[(g * $H + u)];" : "sum[g] = 0;");
  add_product(f, "sum[g]", "(g * $H + u)", f.given(3));
  f.close();
  f.lines(R"(
const $T reset = 1 / (1 + @exp(-sum[0] - $x[t, b, u])), update = 1 / (1 + @exp(-sum[1] - $x[t, b, $H + u]));
$gates[t, b, u] = reset;
$gates[t, b, $H + u] = update;
$gates[t, b, 2 * $H + u] = @tanh($x[t, b, 2 * $H + u] + reset * sum[2]);
$gates[t, b, 3 * $H + u] = sum[2];
)");
  f.close();
  f.open("for (long u = 0; u < $H; u++)");
  f.line(f.given(3) ? "const $T before = s > 0 ? $y[last, b, u] : $h0[b, u];"
                    : "const $T before = s > 0 ? $y[last, b, u] : 0;");
  f.line("const $T update = $gates[t, b, $H + u];");
  f.line("$y[t, b, u] = (1 - update) * $gates[t, b, 2 * $H + u] + update * before;");
  f.close(3);
}

void gru_grad(Function& f) {
  f.in(0, "w");
  const View y = f.in(1, "y");
  f.in(2, "gates");
  if (f.given(3)) f.in(3, "h0");
  if (f.given(4)) f.in(4, "dy");
  if (f.given(5)) f.in(5, "dgates");
  f.out(0, "dx"), f.out(1, "dhidden");
  const int64_t batch = y.shape[1], hidden = y.shape[2];
  sizes(f, y.shape[0], batch, hidden, true);
  carried(f, {"dh"}, batch * hidden);
  f.open("for (long s = 0; s < $steps; s++)");
  f.place("t", "$t");
  f.place("last", "$last");
  f.open("for (long b = 0; b < $batch; b++)");
  f.open("for (long u = 0; u < $H; u++)");
  f.lines(R"(
const $T reset = $gates[t, b, u], update = $gates[t, b, $H + u], candidate = $gates[t, b, 2 * $H + u];
const $T hidden = $gates[t, b, 3 * $H + u];
)");
  const auto extra = [&](int64_t k) {
    return f.given(5) ? " + $dgates[t, b, " + str(k) + " * $H + u]" : std::string();
  };
  f.line(std::string("const $T d = dh[b * $H + u]") + (f.given(4) ? " + $dy[t, b, u];" : ";"));
  f.line(f.given(3) ? "const $T before = $first ? $h0[b, u] : $y[last, b, u];"
                    : "const $T before = $first ? 0 : $y[last, b, u];");
  f.line(cat("const $T dc = (d * (1 - update)", extra(2), ") * (1 - candidate * candidate);"));
  f.line(cat("const $T dr = (dc * hidden", extra(0), ") * (reset - reset * reset);"));
  f.line(cat("const $T dz = (d * (before - candidate)", extra(1), ") * (update - update * update);"));
  f.line("$dx[t, b, u] = $dhidden[t, b, u] = dr;");
  f.line("$dx[t, b, $H + u] = $dhidden[t, b, $H + u] = dz;");
  f.line("$dx[t, b, 2 * $H + u] = dc;");
  f.line(cat("$dhidden[t, b, 2 * $H + u] = dc * reset", extra(3), ";"));
  f.line("dh[b * $H + u] = d * update;");
  f.close();
  f.lines(R"(
for (long k = 0; k < 3 * $H; k++) {
  const $T d = $dhidden[t, b, k];
  for (long u = 0; u < $H; u++) dh[b * $H + u] += d * $w[k, u];
}
)");
  f.close(2);
  if (!f.given(3)) return;
  f.out(2, "dh0");
  f.lines(R"(
for (long b = 0; b < $batch; b++)
  for (long u = 0; u < $H; u++) $dh0[b, u] = dh[b * $H + u];
)");
}

}  // namespace

std::span<const OpForm> recurrent_forms() {
  static constexpr OpForm kForms[] = {
      {"lstm_sequence", lstm},
      {"lstm_sequence_grad", lstm_grad},
      {"gru_sequence", gru},
      {"gru_sequence_grad", gru_grad},
  };
  return kForms;
}

}  // namespace ingot::exchange
