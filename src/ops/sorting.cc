// Running sums, sorting and the largest k, along one axis. NaN counts as larger than every number; equal elements keep
// their order.
#include <algorithm>
#include <cmath>

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "kernels/scan.h"
#include "ops/define.h"

namespace ingot {
namespace {

using kernels::AxisLayout;

struct Line {
  int axis;
  bool backward;  // cumsum's `reverse`, sort's `descending`
};
int named_axis(const Call& call) { return normalize_axis(call.op.name, call.integer("axis"), call.in(0).rank()); }
Line decode_cumsum(const Call& call) { return {named_axis(call), call.flag("reverse")}; }
Line decode_sort(const Call& call) { return {named_axis(call), call.flag("descending")}; }
Line decode_topk(const Call& call) { return {named_axis(call), true}; }
int axis_of(const Call& call) { return call.prepared != nullptr ? call.params<Line>().axis : named_axis(call); }

void require_axis(const Call& call) {
  require_type(call, call.in(0).dtype());
  if (call.in(0).rank() == 0) fail(call, "a scalar has no axis", "give at least one axis");
  axis_of(call);
}

AxisLayout layout_of(const Call& call, const Tensor* out, int outputs) {
  const Tensor& x = call.in(0);
  const int axis = axis_of(call);
  AxisLayout layout;
  layout.length = x.shape()[axis];
  for (int a = 0; a < x.rank(); a++)
    if (a != axis) layout.outer[layout.outer_rank++] = x.shape()[a];
  for (int k = 0; k <= outputs; k++) {
    const Tensor& t = k == 0 ? x : out[k - 1];
    layout.operand[k].axis = t.strides()[axis];
    for (int a = 0, o = 0; a < x.rank(); a++)
      if (a != axis) layout.operand[k].outer[o++] = t.strides()[a];
  }
  return layout;
}

// Calls f(null pointer of the element type) for f32, f64, i32 or i64.
template <class F>
void with_type(DType type, F f) {
  switch (type) {
    case DType::kF32: return f(static_cast<float*>(nullptr));
    case DType::kF64: return f(static_cast<double*>(nullptr));
    case DType::kI32: return f(static_cast<int32_t*>(nullptr));
    default: return f(static_cast<int64_t*>(nullptr));
  }
}

void run_sorted(const Call& call, const Tensor* out, bool descending, void* scratch, const Team& team) {
  with_type(out[0].dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    kernels::sort(layout_of(call, out, 2), descending, out[0].shape()[axis_of(call)],
                  static_cast<const T*>(call.in(0).raw()), static_cast<T*>(out[0].raw()),
                  static_cast<int64_t*>(out[1].raw()), scratch, team);
  });
}
size_t scratch_sorted(const Call& call, const Tensor*, int team_size) {
  return kernels::sort_scratch(call.in(0).shape()[axis_of(call)], team_size);
}
double cost_sorted(const Call& call) { return 30 * static_cast<double>(call.in(0).numel()); }

// Selection, one element after the other: plain, and independent of any sorting algorithm.
void reference_sorted(const Call& call, const Tensor* out, bool descending) {
  const Tensor& x = call.in(0);
  const int axis = axis_of(call);
  Dims lines = x.shape();
  lines[axis] = 1;
  const auto larger = [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; };
  for_each_index(lines, [&](Dims index) {
    const auto at = [&](const Tensor& t, int64_t k) {
      index[axis] = k;
      return element_at(t, index);
    };
    std::vector<bool> taken(static_cast<size_t>(x.shape()[axis]), false);
    for (int64_t i = 0; i < out[0].shape()[axis]; i++) {
      int64_t best = -1;
      for (int64_t k = 0; k < x.shape()[axis]; k++) {
        if (taken[static_cast<size_t>(k)]) continue;
        const double v = load_as_double(at(x, k), x.dtype()), b = best < 0 ? 0 : load_as_double(at(x, best), x.dtype());
        if (best < 0 || (descending ? larger(v, b) : larger(b, v))) best = k;
      }
      taken[static_cast<size_t>(best)] = true;
      std::copy_n(at(x, best), size_of(x.dtype()), at(out[0], i));
      *reinterpret_cast<int64_t*>(at(out[1], i)) = best;
    }
  });
}

// The gradient goes back to where each element came from.
void gradient_sorted(Gradient& g) {
  if (g.wants(0)) g.set(0, scatter_add(zeros_like(g.in()), g.out(1), g.dy(0), g.call().integer("axis")));
}

void sample_axes(Samples& s, void (*more)(Attrs&)) {
  const auto add = [&](const Dims& shape, int64_t axis) {
    Attrs attrs;
    attrs.set("axis", axis);
    more(attrs);
    s.add({s.real(shape)}, attrs);
  };
  add({1}, 0);
  add({7}, -1);
  add({3, 33}, 1);
  add({20, 6}, 0);
  add({2, 5, 4}, 1);
  add({0, 4}, 1);
}

}  // namespace

INGOT_OP(cumsum) = {
    .name = "cumsum",
    .signature = "cumsum(x, axis:int=-1, reverse:bool=false)",
    .doc = "Running sums along `axis`; with `reverse` they run from the end. Integers wrap.",
    .family = "sorting",
    .types = Types::kNumbers,
    .infer =
        [](const Call& call, Specs& out) {
          require_axis(call);
          out.add(call.in(0).dtype(), call.in(0).shape());
        },
    .prepare = prepared<decode_cumsum>,
    .run =
        [](const Call& call, const Tensor* out, void*, const Team& team) {
          with_type(out[0].dtype(), [&](auto* tag) {
            using T = std::remove_pointer_t<decltype(tag)>;
            kernels::cumsum(layout_of(call, out, 1), call.params<Line>().backward,
                            static_cast<const T*>(call.in(0).raw()), static_cast<T*>(out[0].raw()), team);
          });
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          const Tensor& x = call.in(0);
          const int axis = axis_of(call);
          for_each_index(x.shape(), [&](const Dims& index) {  // every result by itself
            double total = 0;
            uint64_t integers = 0;
            Dims from = index;
            const int64_t last = call.flag("reverse") ? x.shape()[axis] - 1 : index[axis];
            for (from[axis] = call.flag("reverse") ? index[axis] : 0; from[axis] <= last; from[axis]++) {
              if (is_float(x.dtype()))
                total += load_as_double(element_at(x, from), x.dtype());
              else
                integers += static_cast<uint64_t>(load_as_int(element_at(x, from), x.dtype()));
            }
            if (is_float(x.dtype()))
              store_from_double(element_at(out[0], index), x.dtype(), total);
            else
              store_from_int(element_at(out[0], index), x.dtype(), static_cast<int64_t>(integers));
          });
        },
    .gradient = [](Gradient& g) { g.set(0, cumsum(g.dy(), g.call().integer("axis"), !g.call().flag("reverse"))); },
    .samples =
        [](Samples& s) {
          sample_axes(s, [](Attrs& attrs) { attrs.set("reverse", false); });
          sample_axes(s, [](Attrs& attrs) { attrs.set("reverse", true); });
        },
};

INGOT_OP(sort) = {
    .name = "sort",
    .signature = "sort(x, axis:int=-1, descending:bool=false) -> values, indices",
    .doc = "The elements along `axis` in order, and where they were (i64); stable, NaN counts as largest.",
    .family = "sorting",
    .types = Types::kNumbers,
    .infer =
        [](const Call& call, Specs& out) {
          require_axis(call);
          out.add(call.in(0).dtype(), call.in(0).shape());
          out.add(kI64, call.in(0).shape());
        },
    .prepare = prepared<decode_sort>,
    .run = [](const Call& call, const Tensor* out, void* scratch,
              const Team& team) { run_sorted(call, out, call.params<Line>().backward, scratch, team); },
    .scratch = scratch_sorted,
    .reference = [](const Call& call, const Tensor* out) { reference_sorted(call, out, call.flag("descending")); },
    .cost = cost_sorted,
    .gradient = gradient_sorted,
    .samples =
        [](Samples& s) {
          sample_axes(s, [](Attrs& attrs) { attrs.set("descending", false); });
          sample_axes(s, [](Attrs& attrs) { attrs.set("descending", true); });
        },
};

INGOT_OP(topk) = {
    .name = "topk",
    .signature = "topk(x, k:int, axis:int=-1) -> values, indices",
    .doc = "The k largest elements along `axis`, largest first, and where they were (i64); of equals the first.",
    .family = "sorting",
    .types = Types::kNumbers,
    .infer =
        [](const Call& call, Specs& out) {
          require_axis(call);
          Dims shape = call.in(0).shape();
          const int64_t k = call.integer("k"), n = shape[axis_of(call)];
          if (k < 0 || k > n)
            fail_argument(call, "k = " + std::to_string(k) + " of " + std::to_string(n) + " elements",
                          "k lies in 0 … the axis's size");
          shape[axis_of(call)] = k;
          out.add(call.in(0).dtype(), shape);
          out.add(kI64, shape);
        },
    .prepare = prepared<decode_topk>,
    .run = [](const Call& call, const Tensor* out, void* scratch,
              const Team& team) { run_sorted(call, out, true, scratch, team); },
    .scratch = scratch_sorted,
    .reference = [](const Call& call, const Tensor* out) { reference_sorted(call, out, true); },
    .cost = cost_sorted,
    .gradient = gradient_sorted,
    .samples =
        [](Samples& s) {
          const auto attrs = [](int64_t k, int64_t axis) { return Attrs().set("k", k).set("axis", axis); };
          s.add({s.real({1})}, attrs(1, 0));
          s.add({s.real({3, 33})}, attrs(5, 1));
          s.add({s.real({20, 6})}, attrs(20, 0));
          s.add({s.real({2, 9, 4})}, attrs(3, 1));
          s.add({s.real({0, 4})}, attrs(2, 1));
          s.add({s.real({3, 4})}, attrs(0, 1));
        },
};

}  // namespace ingot
