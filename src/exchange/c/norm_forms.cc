// Normalisation over trailing axes, or over channels of [batch, channels, …]. Statistics are sums in double, taken in two
// passes.
#include <cmath>

#include "exchange/c/families.h"

namespace ingot::exchange {
namespace {

// Views of one shape with their axes from `first` on merged as far as all layouts allow.
void merge_tail(std::vector<View*> views, int first) {
  std::vector<View> tails;
  std::vector<View*> pointers;
  tails.reserve(views.size());
  pointers.reserve(views.size());
  for (const View* v : views) {
    View tail = *v;
    tail.shape = Dims(std::span<const int64_t>(v->shape.begin() + first, v->shape.end()));
    tail.strides = Dims(std::span<const int64_t>(v->strides.begin() + first, v->strides.end()));
    tails.push_back(tail);
  }
  for (View& t : tails) pointers.push_back(&t);
  Dims shape = tails[0].shape;
  int cut = 0;
  merge_axes(shape, pointers, cut);
  for (size_t i = 0; i < views.size(); i++) {
    View& v = *views[i];
    Dims sizes(std::span<const int64_t>(v.shape.begin(), v.shape.begin() + first)),
        strides(std::span<const int64_t>(v.strides.begin(), v.strides.begin() + first));
    for (int a = 0; a < shape.size(); a++) sizes.push_back(shape[a]), strides.push_back(tails[i].strides[a]);
    v.shape = sizes;
    v.strides = strides;
  }
}

// The last axis of all views is a run of floats.
bool are_runs(const std::vector<const View*>& views) {
  for (const View* v : views)
    if (v->dtype != kF32 || v->rank() == 0 || v->strides[v->rank() - 1] != 1 || v->shape[v->rank() - 1] < 16)
      return false;
  return true;
}

// What a sum adds: x, its squared distance from $mean, or dy times x's distance.
enum class Term { kValue, kSquare, kProduct };

// total += the terms over the axes of x that have no index yet (those beyond `index`).
void add_up(Function& f, const std::string& total, Term term, const View& x, const View* dy,
            std::vector<std::string> index) {
  const int first = static_cast<int>(index.size());
  std::map<int, std::string> given;
  for (int a = 0; a < first; a++) given[a] = index[static_cast<size_t>(a)];
  const bool run = dy != nullptr ? are_runs({&x, dy}) : are_runs({&x});
  const int last = x.rank() - 1;
  if (run && last >= first) given[last] = "0";
  const auto at = f.loops(x.shape, given, "j");
  if (run && last >= first) {
    const std::string n = str(x.shape[last]), from = "&" + element(x, at);
    const char* helper = term == Term::kValue ? "floats_sum" : term == Term::kSquare ? "floats_squares" : "floats_dot";
    f.file().need(helper);
    f.line(cat(total, " += ", helper, "(", (term == Term::kProduct ? "&" + element(*dy, at) + ", " : ""), from,
               (term == Term::kValue ? "" : ", mean"), ", ", n, ");"));
  } else {
    const std::string v = element(x, at), away = "(" + v + " - mean)";
    f.line(cat(total, " += (double)(",
               (term == Term::kValue    ? v
                : term == Term::kSquare ? away + " * " + away
                                        : element(*dy, at) + " * " + away),
               ");"));
  }
  f.close_loops();
}

std::string relu(Function& f, const std::string& v) { return f.has_attr(kRelu) ? v + " < 0 ? 0 : " + v : v; }

// Over the last axes of x: a row is what is normalised.
struct Rows {
  View x;
  int first;      // of the axes of a row
  int64_t count;  // of its elements
};
Rows rows_of(Function& f) {
  Rows r{f.in(0, "x"), 0, 1};
  r.first = r.x.rank() - static_cast<int>(f.integer("axes"));
  for (int a = r.first; a < r.x.rank(); a++) r.count *= r.x.shape[a];
  return r;
}

// mean and scale of the elements beyond `index`; `loops` adds up over what the index leaves open.
void statistics(Function& f, bool rms, int64_t count, const auto& add) {
  const std::string n = literal(static_cast<double>(count), kF64);
  f.line("double total = 0, squares = 0;");
  if (!rms) add("total", Term::kValue);
  f.line(rms ? "const $T mean = 0;" : "const $T mean = ($T)(total / " + n + ");");
  add("squares", Term::kSquare);
  if (rms) f.line("(void)total;");
  f.line(cat("const double variance = squares / ", n, ";"));
  f.line(cat("const $T scale = 1 / @sqrt(($T)variance + ", literal(f.real("eps"), f.main_type()), ");"));
}

void row_norm(Function& f, bool rms) {
  Rows r = rows_of(f);
  View y = f.out(0, "y"), weight, bias;
  if (f.given(1)) weight = f.in(1, "weight");
  const bool has_bias = !rms && f.given(2);
  if (has_bias) bias = f.in(2, "bias");
  const Dims outer(std::span<const int64_t>(r.x.shape.begin(), r.x.shape.begin() + r.first));
  const auto row = f.loops(outer);
  statistics(f, rms, r.count, [&](const char* total, Term term) { add_up(f, total, term, r.x, nullptr, row); });
  std::map<int, std::string> given;
  for (int a = 0; a < r.first; a++) given[a] = row[static_cast<size_t>(a)];
  const auto at = f.loops(r.x.shape, given, "j");
  const std::vector<std::string> own(at.begin() + r.first, at.end());
  f.line(cat("const $T v = (", element(r.x, at), " - mean) * scale", (f.given(1) ? " * " + element(weight, own) : ""),
             (has_bias ? " + " + element(bias, own) : ""), ";"));
  f.line(cat(element(y, at), " = ", relu(f, "v"), ";"));
  f.close_loops();
  f.close_loops();
}
void layer_norm(Function& f) { row_norm(f, false); }
void rms_norm(Function& f) { row_norm(f, true); }

void row_norm_grad(Function& f) {
  Rows r = rows_of(f);
  const bool rms = f.flag("rms");
  const View dy = f.in(1, "dy");
  View weight;
  if (f.given(2)) weight = f.in(2, "weight");
  const View dx = f.out(0, "dx"), dweight = f.out(1, "dweight"), dbias = f.out(2, "dbias");
  fill_elements(f, dweight, "0");
  fill_elements(f, dbias, "0");
  const Dims outer(std::span<const int64_t>(r.x.shape.begin(), r.x.shape.begin() + r.first));
  const auto row = f.loops(outer);
  statistics(f, rms, r.count, [&](const char* total, Term term) { add_up(f, total, term, r.x, nullptr, row); });
  std::map<int, std::string> given;
  for (int a = 0; a < r.first; a++) given[a] = row[static_cast<size_t>(a)];
  const auto loop = [&] {
    const auto at = f.loops(r.x.shape, given, "j");
    const std::vector<std::string> own(at.begin() + r.first, at.end());
    f.set("dweight_", element(dweight, own));
    f.set("dbias_", element(dbias, own));
    f.set("x_", element(r.x, at));
    f.set("dy_", element(dy, at));
    f.set("dx_", element(dx, at));
    f.set("w_", f.given(2) ? " * " + element(weight, own) : "");
  };
  f.line("double sum = 0, product = 0;");
  loop();
  f.lines(R"(
const $T normal = ($x_ - mean) * scale, g = $dy_$w_;
$dweight_ += $dy_ * normal;
$dbias_ += $dy_;
sum += (double)g;
product += (double)(g * normal);
)");
  f.close_loops();
  const std::string n = literal(static_cast<double>(r.count), kF64);
  f.line(cat("const $T shift = ", std::string(rms ? "0 * ($T)sum" : "($T)(sum / " + n + ")"),
             ", slope = ($T)(product / ", n, ");"));
  loop();
  f.line("$dx_ = ($dy_$w_ - shift - ($x_ - mean) * scale * slope) * scale;");
  f.close_loops();
  f.close_loops();
}

// Sets of channels: groups of them in each sample, or (0 groups) each in the whole batch. Loops over the sets are open
// afterwards; an element of the set is [i0, channel, …].
struct Channels {
  int64_t groups, per_group, count;
};

int64_t groups_of(Function& f, const View& x) {
  const std::string_view op = f.record().op->name;
  return op == "batch_norm" ? 0 : op == "instance_norm" ? x.shape[1] : f.integer("groups");
}

// x without positions gets one.
void with_positions(View& v) {
  if (v.rank() > 2) return;
  v.shape.push_back(1);
  v.strides.push_back(0);
}

Channels channels_of(Function& f, const View& x) {
  Channels c{groups_of(f, x), 1, 1};
  for (int a = 2; a < x.rank(); a++) c.count *= x.shape[a];
  if (c.groups == 0) {
    c.count *= x.shape[0];
  } else {
    c.per_group = x.shape[1] / c.groups;
    c.count *= c.per_group;
  }
  return c;
}

void open_sets(Function& f, const View& x, const Channels& c) {
  if (c.groups == 0) {
    f.open(cat("for (long c = 0; c < ", str(x.shape[1]), "; c++)"));
  } else {
    f.open(cat("for (long i = 0; i < ", str(x.shape[0]), "; i++)"));
    f.open(cat("for (long group = 0; group < ", str(c.groups), "; group++)"));
  }
}
void close_sets(Function& f, const Channels& c) { f.close(c.groups == 0 ? 1 : 2); }
// Inside: the samples or channels of a set.
void open_members(Function& f, const View& x, const Channels& c) {
  if (c.groups == 0)
    f.open(cat("for (long i = 0; i < ", str(x.shape[0]), "; i++)"));
  else
    f.open(cat("for (long c = group * ", str(c.per_group), "; c < (group + 1) * ", str(c.per_group), "; c++)"));
}

void set_statistics(Function& f, const View& x, const Channels& c) {
  statistics(f, false, c.count, [&](const char* total, Term term) {
    open_members(f, x, c);
    add_up(f, total, term, x, nullptr, {"i", "c"});
    f.close();
  });
}

std::vector<std::string> positions(Function& f, const View& x) { return f.loops(x.shape, {{0, "i"}, {1, "c"}}, "j"); }

void channel_norm(Function& f) {
  View x = f.in(0, "x"), y = f.out(0, "y"), weight, bias;
  if (f.given(1)) weight = f.in(1, "weight");
  if (f.given(2)) bias = f.in(2, "bias");
  with_positions(x);
  with_positions(y);
  merge_tail({&x, &y}, 2);
  const Channels c = channels_of(f, x);
  const bool with_statistics = f.record().results == 3;
  View mean, variance;
  if (with_statistics) mean = f.out(1, "means"), variance = f.out(2, "variances");
  open_sets(f, x, c);
  set_statistics(f, x, c);
  if (with_statistics) {
    f.line(element(mean, {"c"}) + " = mean;");
    f.line(element(variance, {"c"}) + " = ($T)variance;");
  }
  open_members(f, x, c);
  f.line(cat("const $T slope = scale", (f.given(1) ? " * " + element(weight, {"c"}) : ""), ";"));
  if (f.given(2)) f.line(cat("const $T base = ", element(bias, {"c"}), ";"));
  const auto at = positions(f, x);
  f.line(cat("const $T v = (", element(x, at), " - mean) * slope", (f.given(2) ? " + base;" : ";")));
  f.line(cat(element(y, at), " = ", relu(f, "v"), ";"));
  f.close_loops();
  f.close();
  close_sets(f, c);
}

void channel_norm_grad(Function& f) {
  View x = f.in(0, "x"), dy = f.in(1, "dy"), weight;
  if (f.given(2)) weight = f.in(2, "weight");
  View dx = f.out(0, "dx");
  const View dweight = f.out(1, "dweight"), dbias = f.out(2, "dbias");
  with_positions(x);
  with_positions(dy);
  with_positions(dx);
  merge_tail({&x, &dy, &dx}, 2);
  const Channels c = channels_of(f, x);
  const std::string w = f.given(2) ? " * " + element(weight, {"c"}) : "";
  const std::string n = literal(static_cast<double>(c.count), kF64);
  fill_elements(f, dweight, "0");
  fill_elements(f, dbias, "0");
  open_sets(f, x, c);
  set_statistics(f, x, c);
  f.line("double sum = 0, product = 0;");
  open_members(f, x, c);
  f.line("double passed = 0, moved = 0;");
  add_up(f, "passed", Term::kValue, dy, nullptr, {"i", "c"});
  add_up(f, "moved", Term::kProduct, x, &dy, {"i", "c"});
  f.line("moved *= (double)scale;");
  f.line(element(dweight, {"c"}) + " += ($T)moved;");
  f.line(element(dbias, {"c"}) + " += ($T)passed;");
  f.set("w", f.given(2) ? " * (double)" + element(weight, {"c"}) : "");
  f.line("sum += passed$w;");
  f.line("product += moved$w;");
  f.close();
  f.line(cat("const $T shift = ($T)(sum / ", n, "), slope = ($T)(product / ", n, ") * scale;"));
  open_members(f, x, c);
  if (f.given(2)) f.line(cat("const $T factor = ", element(weight, {"c"}), ";"));
  const auto at = positions(f, x);
  f.line(cat(element(dx, at), " = (", element(dy, at), (f.given(2) ? " * factor" : ""), " - shift - (", element(x, at),
             " - mean) * slope) * scale;"));
  f.close_loops();
  f.close();
  close_sets(f, c);
}

}  // namespace

std::span<const OpForm> norm_forms() {
  static constexpr OpForm kForms[] = {
      {"layer_norm", layer_norm},
      {"rms_norm", rms_norm},
      {"row_norm_grad", row_norm_grad},
      {"group_norm", channel_norm},
      {"instance_norm", channel_norm},
      {"batch_norm", channel_norm},
      {"channel_norm_grad", channel_norm_grad},
  };
  return kForms;
}

}  // namespace ingot::exchange
