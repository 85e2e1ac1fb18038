// Pooling over the last one or two axes, by windows that slide or by bins that divide an input of any size.
#include <algorithm>

#include "exchange/c/families.h"

namespace ingot::exchange {
namespace {

// Sizes along height and width; one spatial axis is the width.
struct Windows {
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1}, stride[2] = {1, 1}, pad[2] = {0, 0},
          dilation[2] = {1, 1};
  // Does every window lie inside the input?
  bool inside() const {
    for (int a = 0; a < 2; a++)
      if (pad[a] != 0 || (out[a] - 1) * stride[a] + (kernel[a] - 1) * dilation[a] >= in[a]) return false;
    return true;
  }
};

View with_two(View v) {
  if (v.rank() == 3) v.shape.insert(2, 1), v.strides.insert(2, 0);
  return v;
}

Windows windows(Function& f, const View& in, const View& out, int spatial) {
  Windows w;
  for (int a = 0; a < 2; a++) {
    w.in[a] = in.shape[a + 2], w.out[a] = out.shape[a + 2];
    const int own = a - (2 - spatial);
    if (own < 0) continue;
    const auto option = [&](const char* name, int64_t fallback) {
      const Dims& d = f.ints(name);
      return d.empty() ? fallback : d[d.size() == 1 ? 0 : own];
    };
    w.kernel[a] = option("kernel", 1);
    w.stride[a] = option("stride", w.kernel[a]);
    w.pad[a] = option("padding", 0);
    w.dilation[a] = option("dilation", 1);
  }
  return w;
}

const std::vector<std::string> kOut = {"n", "c", "h", "w"}, kIn = {"n", "c", "row", "col"};

// Loops over all results.
void open_results(Function& f, const View& y) {
  const char* names[] = {"n", "c", "h", "w"};
  for (int a = 0; a < 4; a++)
    f.open(cat("for (long ", names[a], " = 0; ", names[a], " < ", str(y.shape[a]), "; ", names[a], "++)"));
}

// Loops over the places of one window that lie inside the input: row, col and, sliding, p and q.
int open_window(Function& f, const Windows& w, bool adaptive) {
  const char *place[] = {"row", "col"}, *tap[] = {"p", "q"}, *result[] = {"h", "w"};
  for (int a = 0; a < 2; a++) {
    const std::string o = result[a], i = place[a];
    if (adaptive) {
      f.open(cat("for (long ", i, " = ", o, " * ", str(w.in[a]), " / ", str(w.out[a]), "; ", i, " < ((", o, " + 1) * ",
                 str(w.in[a]), " + ", str(w.out[a] - 1), ") / ", str(w.out[a]), "; ", i, "++)"));
      continue;
    }
    f.open(cat("for (long ", std::string(tap[a]), " = 0; ", tap[a], " < ", str(w.kernel[a]), "; ", tap[a], "++)"));
    f.place(i, cat(o, " * ", str(w.stride[a]), " + ", tap[a], " * ", str(w.dilation[a]), " - ", str(w.pad[a])));
    if (!w.inside()) f.line(cat("if (", i, " < 0 || ", i, " >= ", str(w.in[a]), ") continue;"));
  }
  return 2;
}

enum class Says { kPosition, kTap, kNothing };

void max_pool(Function& f, Says says, bool adaptive) {
  const View given = f.in(0, "x"), x = with_two(given), y = with_two(f.out(0, "y"));
  View where;
  if (says != Says::kNothing) where = with_two(f.out(1, "where"));
  const int spatial = given.rank() - 2;
  Windows w;
  if (adaptive) {
    for (int a = 0; a < 2; a++) w.in[a] = x.shape[a + 2], w.out[a] = y.shape[a + 2];
  } else {
    w = windows(f, x, y, spatial);
  }
  open_results(f, y);
  const std::string at = says == Says::kTap ? "p * " + str(w.kernel[1]) + " + q" : "row * " + str(w.in[1]) + " + col";
  f.line("$T best = -#inf;");
  f.line("long at = -1;");
  const int opened = open_window(f, w, adaptive);
  f.line(cat("const $T v = ", element(x, kIn), ";"));
  f.line("const int better = at < 0 || v > best || (v != v && best == best);");
  f.line("best = better ? v : best;");
  f.line(cat("at = better ? ", at, " : at;"));
  f.close(opened);
  f.line(cat(element(y, kOut), " = ", (f.has_attr(kRelu) ? "best < 0 ? 0 : best" : "best"), ";"));
  if (says != Says::kNothing) f.line(cat(element(where, kOut), " = (", value_type(where.dtype), ")at;"));
  f.close(4);
}

void sliding_max(Function& f) { max_pool(f, Says::kPosition, false); }
void adaptive_max(Function& f) { max_pool(f, Says::kPosition, true); }
void taps_max(Function& f) { max_pool(f, f.flag("with_taps") ? Says::kTap : Says::kNothing, false); }

// By how much a window's sum is divided.
void divisor(Function& f, const Windows& w, bool adaptive) {
  if (!adaptive && f.flag("count_include_pad")) {
    const char* result[] = {"h", "w"};
    std::string count;
    for (int a = 0; a < 2; a++) {
      const std::string start = cat(result[a], " * ", str(w.stride[a]), " - ", str(w.pad[a])),
                        end = cat(start, " + ", str(w.kernel[a])), most = str(w.in[a] + w.pad[a]);
      count.append(cat((a == 0 ? "((" : " * (("), end, " < ", most, " ? ", end, " : ", most, ") - (", start, "))"));
    }
    return f.line(cat("const long count = ", count, ";"));
  }
  f.line("long count = 0;");
  const int opened = open_window(f, w, adaptive);
  f.line("count++;");
  f.close(opened);
}

Windows bins(const View& in, const View& out) {
  Windows w;
  for (int a = 0; a < 2; a++) w.in[a] = in.shape[a + 2], w.out[a] = out.shape[a + 2];
  return w;
}

void avg(Function& f, bool adaptive) {
  const View given = f.in(0, "x"), x = with_two(given), y = with_two(f.out(0, "y"));
  const Windows w = adaptive ? bins(x, y) : windows(f, x, y, given.rank() - 2);
  open_results(f, y);
  f.line("double sum = 0;");
  const int opened = open_window(f, w, adaptive);
  f.line(cat("sum += (double)", element(x, kIn), ";"));
  f.close(opened);
  divisor(f, w, adaptive);
  f.line(element(y, kOut) + " = ($T)(sum / (double)count);");
  f.close(4);
}
void sliding_avg(Function& f) { avg(f, false); }
void adaptive_avg(Function& f) { avg(f, true); }

void avg_grad(Function& f, bool adaptive) {
  const View given = f.in(0, "dy"), dy = with_two(given), dx = with_two(f.out(0, "dx"));
  const Windows w = adaptive ? bins(dx, dy) : windows(f, dx, dy, given.rank() - 2);
  fill_elements(f, dx, "0");
  open_results(f, dy);
  divisor(f, w, adaptive);
  f.line(cat("const $T part = ", element(dy, kOut), " / ($T)count;"));
  const int opened = open_window(f, w, adaptive);
  f.line(element(dx, kIn) + " += part;");
  f.close(opened + 4);
}
void sliding_avg_grad(Function& f) { avg_grad(f, false); }
void adaptive_avg_grad(Function& f) { avg_grad(f, true); }

void max_grad(Function& f) {
  const View dy = with_two(f.in(0, "dy")), where = with_two(f.in(1, "where")), dx = with_two(f.out(0, "dx"));
  fill_elements(f, dx, "0");
  open_results(f, dy);
  f.place("at", "(long)" + element(where, kOut));
  f.place("row", "at / " + str(dx.shape[3]));
  f.place("col", "at % " + str(dx.shape[3]));
  f.line(cat(element(dx, kIn), " += ", element(dy, kOut), ";"));
  f.close(4);
}
void check_positions(Function& f) {
  int64_t plane = 1;
  for (const int64_t n : f.ints("size")) plane *= n;
  check_range(f, 1, "0", str(plane));
}

void taps_grad(Function& f) {
  const View given = f.in(0, "dy"), dy = with_two(given), where = with_two(f.in(1, "where")),
             dx = with_two(f.out(0, "dx"));
  const Windows w = windows(f, dx, dy, given.rank() - 2);
  fill_elements(f, dx, "0");
  open_results(f, dy);
  f.line(cat("const long tap = ", element(where, kOut), ";"));
  const char *place[] = {"row", "col"}, *result[] = {"h", "w"};
  for (int a = 0; a < 2; a++)
    f.place(place[a], cat(result[a], " * ", str(w.stride[a]), " + tap ", (a == 0 ? "/ " : "% "), str(w.kernel[1]),
                          " * ", str(w.dilation[a]), " - ", str(w.pad[a])));
  const std::string add = element(dx, kIn) + " += " + element(dy, kOut) + ";";
  f.line(cat("if (tap < ", str(w.kernel[0] * w.kernel[1]), " && row >= 0 && row < ", str(w.in[0]),
             " && col >= 0 && col < ", str(w.in[1]), ") ", add));
  f.close(4);
}

// Patches as columns, and back -----------------------------------------------------------------------------------------

// Loops over all elements of all patches of x [n, c, h, w]; those inside x are at row, col.
void open_patches(Function& f, const View& x, const View& columns) {
  const auto option = [&](const char* name, int axis, int64_t fallback) {
    const Dims& d = f.ints(name);
    return d.empty() ? fallback : d[axis];
  };
  const char *names[] = {"n", "c"}, *taps[] = {"p", "q"}, *steps[] = {"h", "w"}, *places[] = {"row", "col"};
  int64_t made[2];
  for (int a = 0; a < 2; a++) {
    const int64_t room =
        x.shape[a + 2] + 2 * option("padding", a, 0) - option("dilation", a, 1) * (f.ints("kernel")[a] - 1) - 1;
    made[a] = room / option("stride", a, 1) + 1;
  }
  const auto open = [&](const char* i, int64_t n) {
    f.open(cat("for (long ", i, " = 0; ", i, " < ", str(n), "; ", i, "++)"));
  };
  for (int a = 0; a < 2; a++) open(names[a], x.shape[a]);
  for (int a = 0; a < 2; a++) open(taps[a], f.ints("kernel")[a]);
  for (int a = 0; a < 2; a++) open(steps[a], made[a]);
  for (int a = 0; a < 2; a++)
    f.place(places[a], cat(steps[a], " * ", str(option("stride", a, 1)), " + ", taps[a], " * ",
                           str(option("dilation", a, 1)), " - ", str(option("padding", a, 0))));
  f.set("inside", "row >= 0 && row < " + str(x.shape[2]) + " && col >= 0 && col < " + str(x.shape[3]));
  f.set("x_", element(x, kIn));
  f.set("column_",
        element(columns, {"n", "((c * " + str(f.ints("kernel")[0]) + " + p) * " + str(f.ints("kernel")[1]) + " + q)",
                          "(h * " + str(made[1]) + " + w)"}));
}

void im2col(Function& f) {
  const View x = f.in(0, "x"), y = f.out(0, "y");
  open_patches(f, x, y);
  f.line("$column_ = $inside ? $x_ : 0;");
  f.close(6);
}

void col2im(Function& f) {
  const View columns = f.in(0, "columns"), y = f.out(0, "y");
  fill_elements(f, y, "0");
  open_patches(f, y, columns);
  f.line("if ($inside) $x_ += $column_;");
  f.close(6);
}

}  // namespace

std::span<const OpForm> pool_forms() {
  static constexpr OpForm kForms[] = {
      {"im2col", im2col},
      {"col2im", col2im},
      {"max_pool1d", sliding_max},
      {"max_pool2d", sliding_max},
      {"max_pool_taps", taps_max},
      {"max_pool_taps_grad", taps_grad},
      {"max_pool_grad", max_grad, check_positions, "was given a position outside of the plane"},
      {"avg_pool1d", sliding_avg},
      {"avg_pool2d", sliding_avg},
      {"avg_pool_grad", sliding_avg_grad},
      {"adaptive_avg_pool1d", adaptive_avg},
      {"adaptive_avg_pool2d", adaptive_avg},
      {"adaptive_avg_pool_grad", adaptive_avg_grad},
      {"adaptive_max_pool1d", adaptive_max},
      {"adaptive_max_pool2d", adaptive_max},
  };
  return kForms;
}

}  // namespace ingot::exchange
