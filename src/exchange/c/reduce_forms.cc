// Reductions. Sums of reals are taken in double, or many at once and then in double, so that they are exact enough.
#include <algorithm>
#include <cmath>

#include "exchange/c/families.h"

namespace ingot::exchange {
namespace {

// The axes that are folded, and the result with an axis of one element for each of them.
struct Axes {
  bool folded[kMaxRank] = {};
  int64_t count = 1;
};

Axes axes_of(Function& f, const View& x, View& y) {
  Axes axes;
  const Dims named = normalize_axes(f.record().op->name, f.ints("axes"), x.rank());
  for (const int64_t a : named) axes.folded[a] = true, axes.count *= x.shape[static_cast<int>(a)];
  Dims strides;
  for (int a = 0, next = 0; a < x.rank(); a++) {
    strides.push_back(axes.folded[a] ? 0 : y.strides[next]);
    next += !axes.folded[a] || f.flag("keepdim");
  }
  y.strides = strides;
  y.shape = x.shape;
  return axes;
}

// Loops over the axes that are kept, or those that are folded; the others' indices come from `index`.
std::vector<std::string> loops_over(Function& f, const View& x, const Axes& axes, bool folded,
                                    std::vector<std::string> index, int but = -1) {
  std::map<int, std::string> others;
  for (int a = 0; a < x.rank(); a++)
    if (axes.folded[a] != folded || a == but) others[a] = index.empty() ? "0" : index[static_cast<size_t>(a)];
  return f.loops(x.shape, others, folded ? "j" : "i");
}

using Steps = void (*)(Function&, const View& x, const Axes&, const std::vector<std::string>& kept);

// One result at a time: `steps` leaves it in `result`.
void reduce(Function& f, Steps steps) {
  const View x = f.in(0, "x");
  View y = f.out(0, "y");
  f.main_type(x.dtype);
  const Axes axes = axes_of(f, x, y);
  const auto kept = loops_over(f, x, axes, false, {});
  steps(f, x, axes, kept);
  f.line(cat(element(y, kept), " = (", value_type(y.dtype), ")result;"));
  f.close_loops();
}

// for all folded elements: `text`, with the element as v.
void each(Function& f, const View& x, const Axes& axes, const std::vector<std::string>& kept, const std::string& text) {
  const auto index = loops_over(f, x, axes, true, kept);
  f.line(cat("const $T v = ", element(x, index), ";"));
  f.lines(text);
  f.close_loops();
}

// Sums of floats that follow each other have a function of their own.
void sum_all(Function& f, const View& x, const Axes& axes, const std::vector<std::string>& kept) {
  if (!is_float(x.dtype)) {
    f.line("uint64_t result = 0;");
    return each(f, x, axes, kept, "result += (uint64_t)v;");
  }
  const int last = x.rank() - 1;
  f.line("double result = 0;");
  if (x.dtype != kF32 || last < 0 || !axes.folded[last] || x.strides[last] != 1 || x.shape[last] < 16)
    return each(f, x, axes, kept, x.dtype == kF32 ? "result += (double)v;" : "result += v;");
  f.file().need("floats_sum");
  auto index = loops_over(f, x, axes, true, kept, last);
  index[static_cast<size_t>(last)] = "0";
  f.line(cat("result += floats_sum(&", element(x, index), ", ", str(x.shape[last]), ");"));
  f.close_loops();
}

// Rows above each other: whole rows are added, and the columns stay side by side.
bool sum_columns(Function& f, double scale) {
  const View x = f.in(0, "x");
  View y = f.out(0, "y");
  if (x.dtype != kF32) return false;
  const Axes axes = axes_of(f, x, y);
  const int last = x.rank() - 1;
  if (last < 0 || axes.folded[last] || x.strides[last] != 1 || y.strides[last] != 1 || x.shape[last] < 4 ||
      axes.count > 4096 || axes.count < 2)
    return false;
  const auto kept = loops_over(f, x, axes, false, {}, last);
  const std::string n = str(x.shape[last]);
  auto to = kept, from = kept;
  to[static_cast<size_t>(last)] = "k";
  f.line(cat("for (long k = 0; k < ", n, "; k++) ", element(y, to), " = 0;"));
  from = loops_over(f, x, axes, true, to);
  f.line(cat("for (long k = 0; k < ", n, "; k++) ", element(y, to), " += ", element(x, from), ";"));
  f.close_loops();
  if (scale != 1) f.line(cat("for (long k = 0; k < ", n, "; k++) ", element(y, to), " *= ", literal(scale, kF32), ";"));
  f.close_loops();
  return true;
}

int64_t folded_count(Function& f) {
  const Operand& x = f.record().operands[0];
  int64_t n = 1;
  for (const int64_t a : normalize_axes(f.record().op->name, f.ints("axes"), x.shape.size()))
    n *= x.shape[static_cast<int>(a)];
  return n;
}

void sum(Function& f) {
  if (sum_columns(f, 1)) return;
  reduce(f, sum_all);
}
void mean(Function& f) {
  const int64_t n = folded_count(f);
  if (n > 0 && sum_columns(f, 1.0 / static_cast<double>(n))) return;
  reduce(f, [](Function& g, const View& x, const Axes& axes, const std::vector<std::string>& kept) {
    sum_all(g, x, axes, kept);
    g.line(cat("result /= ", literal(static_cast<double>(axes.count), kF64), ";"));
  });
}
void prod(Function& f) {
  reduce(f, [](Function& g, const View& x, const Axes& axes, const std::vector<std::string>& kept) {
    g.line(is_float(x.dtype) ? "double result = 1;" : "uint64_t result = 1;");
    each(g, x, axes, kept, is_float(x.dtype) ? "result *= (double)v;" : "result *= (uint64_t)v;");
  });
}

template <bool kLargest>
void extremum(Function& f) {
  reduce(f, [](Function& g, const View& x, const Axes& axes, const std::vector<std::string>& kept) {
    auto first = kept;
    for (int a = 0; a < x.rank(); a++)
      if (axes.folded[a]) first[static_cast<size_t>(a)] = "0";
    g.line(cat("$T result = ", element(x, first), ";"));
    const std::string better =
        std::string("v ") + (kLargest ? ">" : "<") + " result" + (is_float(x.dtype) ? " || v != v" : "");
    each(g, x, axes, kept, "if (" + better + ") result = v;");
  });
}

template <bool kLargest>
void arg(Function& f) {
  reduce(f, [](Function& g, const View& x, const Axes& axes, const std::vector<std::string>& kept) {
    auto first = kept;
    for (int a = 0; a < x.rank(); a++)
      if (axes.folded[a]) first[static_cast<size_t>(a)] = "0";
    const std::string nan = is_float(x.dtype) ? " || v != v" : "";
    g.line(cat("$T best = ", element(x, first), ";"));
    g.line("int64_t result = 0, at = 0;");
    each(g, x, axes, kept,
         std::string("if (") + (is_float(x.dtype) ? "best == best && (" : "(") + "v " + (kLargest ? ">" : "<") +
             " best" + nan + ")) {\n  best = v;\n  result = at;\n}\nat++;");
  });
}

void var(Function& f) {
  reduce(f, [](Function& g, const View& x, const Axes& axes, const std::vector<std::string>& kept) {
    const double divisor = static_cast<double>(axes.count) - static_cast<double>(g.integer("correction"));
    if (divisor <= 0) return g.line(cat("const double result = ", literal(NAN, kF64), ";"));
    g.line("double total = 0, result = 0;");
    each(g, x, axes, kept, "total += (double)v;");
    g.line(cat("const double mean = total / ", literal(static_cast<double>(axes.count), kF64), ";"));
    each(g, x, axes, kept, "const double d = (double)v - mean;\nresult += d * d;");
    g.line(cat("result /= ", literal(divisor, kF64), ";"));
  });
}

void norm(Function& f) {
  reduce(f, [](Function& g, const View& x, const Axes& axes, const std::vector<std::string>& kept) {
    g.line("double result = 0;");
    const bool one = g.integer("p") == 1;
    each(g, x, axes, kept, one ? "result += (double)(v < 0 ? -v : v);" : "result += (double)v * (double)v;");
    if (one) return;
    g.main_type(kF64);
    g.line("result = @sqrt(result);");
    g.main_type(x.dtype);
  });
}

void logsumexp(Function& f) {
  reduce(f, [](Function& g, const View& x, const Axes& axes, const std::vector<std::string>& kept) {
    g.line("$T largest = -#inf;");
    each(g, x, axes, kept, "if (v > largest) largest = v;");
    g.line("if (largest == -#inf) largest = 0;");
    g.line("double total = 0;");
    each(g, x, axes, kept, "total += v == largest ? 1.0 : (double)@exp(v - largest);");
    g.line("const $T result = largest + @log(($T)total);");
  });
}

void cumsum(Function& f) {
  const View x = f.in(0, "x"), y = f.out(0, "y");
  f.main_type(x.dtype);
  const int axis = normalize_axis("cumsum", f.integer("axis"), x.rank());
  const bool reverse = f.flag("reverse");
  const auto index = f.loops(x.shape, {{axis, reverse ? "(" + str(x.shape[axis] - 1) + " - k)" : std::string("k")}});
  f.line(is_float(x.dtype) ? "double total = 0;" : "uint64_t total = 0;");
  f.open(cat("for (long k = 0; k < ", str(x.shape[axis]), "; k++)"));
  f.line(cat("total += (", (is_float(x.dtype) ? "double" : "uint64_t"), ")", element(x, index), ";"));
  f.line(cat(element(y, index), " = (", value_type(y.dtype), ")total;"));
  f.close();
  f.close_loops();
}

// Every element finds its place by counting those before it: as many steps as there are pairs, and no further memory.
void sorted(Function& f, bool descending) {
  const View x = f.in(0, "x"), values = f.out(0, "values"), indices = f.out(1, "indices");
  f.main_type(x.dtype);
  const int axis = normalize_axis(f.record().op->name, f.integer("axis"), x.rank());
  const auto mine = f.loops(x.shape, {{axis, "k"}});
  auto other = mine, to = mine;
  other[static_cast<size_t>(axis)] = "j";
  to[static_cast<size_t>(axis)] = "at";
  f.set("n", x.shape[axis]);
  const char* nan = is_float(x.dtype) ? " || (b != b && a == a)" : "";
  f.open("for (long k = 0; k < $n; k++)");
  f.line(cat("const $T v = ", element(x, mine), ";"));
  f.line("long at = 0;");
  f.open("for (long j = 0; j < $n; j++)");
  f.line(cat("const $T u = ", element(x, other), ";"));
  const auto less = [&](const std::string& a, const std::string& b) {
    std::string text = std::string("(a < b") + nan + ")", out;
    for (const char c : text) out += c == 'a' ? a : c == 'b' ? b : std::string(1, c);
    return out;
  };
  const std::string first = descending ? less("v", "u") : less("u", "v"),
                    last = descending ? less("u", "v") : less("v", "u");
  f.line(cat("at += ", first, " || (j < k && !", last, ");"));
  f.close();
  if (values.shape[axis] < x.shape[axis]) f.line(cat("if (at >= ", str(values.shape[axis]), ") continue;"));
  if (x.shape[axis] == 1) f.line("(void)at;");
  f.line(element(values, to) + " = v;");
  f.line(element(indices, to) + " = k;");
  f.close();
  f.close_loops();
}
void sort(Function& f) { sorted(f, f.flag("descending")); }
void topk(Function& f) { sorted(f, true); }

}  // namespace

std::span<const OpForm> reduce_forms() {
  static constexpr OpForm kForms[] = {
      {"sum", sum},          {"mean", mean},         {"prod", prod}, {"max", extremum<true>}, {"min", extremum<false>},
      {"argmax", arg<true>}, {"argmin", arg<false>}, {"var", var},   {"norm", norm},          {"logsumexp", logsumexp},
      {"cumsum", cumsum},    {"sort", sort},         {"topk", topk},
  };
  return kForms;
}

}  // namespace ingot::exchange
