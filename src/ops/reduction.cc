// Reductions over any set of axes (none named: all). Sums are cascaded, so their error does not grow with the length;
// max and min give NaN if any element is. Sums and products of integers are i64 and wrap.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "kernels/reduce.h"
#include "ops/define.h"

namespace ingot {
extern const Op op_sqrt;

namespace {

using kernels::Reduce;
using kernels::ReduceLayout;

struct ReduceParams {
  Dims axes;  // in order, counted from 0
  bool keepdim;
  int64_t correction = 0, p = 0;  // of var and of norm
};
ReduceParams decode(const Call& call) {
  return {normalize_axes(call.op.name, call.ints("axes"), call.in(0).rank()), call.flag("keepdim")};
}
ReduceParams decode_var(const Call& call) {
  ReduceParams params = decode(call);
  params.correction = call.integer("correction");
  return params;
}
ReduceParams decode_norm(const Call& call) {
  ReduceParams params = decode(call);
  params.p = call.integer("p");
  return params;
}

ReduceLayout layout_of(const Call& call, const Tensor& out) {
  const Tensor& x = call.in(0);
  const auto [axes, keepdim, correction, p] = decoded<decode>(call);
  ReduceLayout layout;
  for (int a = 0, next = 0, o = 0; a < x.rank(); a++) {
    if (next < axes.size() && axes[next] == a) {
      next++;
      layout.reduced[layout.reduced_rank] = x.shape()[a];
      layout.reduced_in[layout.reduced_rank++] = x.strides()[a];
      o += keepdim;
    } else {
      layout.kept[layout.kept_rank] = x.shape()[a];
      layout.kept_in[layout.kept_rank] = x.strides()[a];
      layout.kept_out[layout.kept_rank++] = out.strides()[o++];
    }
  }
  return layout;
}

Dims reduced_shape(const Call& call, bool keepdim) {
  const Tensor& x = call.in(0);
  const Dims axes = normalize_axes(call.op.name, call.ints("axes"), x.rank());
  Dims shape;
  for (int a = 0, next = 0; a < x.rank(); a++) {
    const bool reduced = next < axes.size() && axes[next] == a;
    next += reduced;
    if (!reduced)
      shape.push_back(x.shape()[a]);
    else if (keepdim)
      shape.push_back(1);
  }
  return shape;
}

int64_t reduced_count(const Call& call) {
  const Tensor& x = call.in(0);
  int64_t n = 1;
  for (int64_t a : decoded<decode>(call).axes) n *= x.shape()[static_cast<int>(a)];
  return n;
}

void infer_as(const Call& call, Specs& out, DType type) {
  require_type(call, call.in(0).dtype());
  out.add(type, reduced_shape(call, call.flag("keepdim")));
}
void infer_same(const Call& call, Specs& out) { infer_as(call, out, call.in(0).dtype()); }
void infer_total(const Call& call, Specs& out) {
  infer_as(call, out, is_float(call.in(0).dtype()) ? call.in(0).dtype() : kI64);
}
void require_elements(const Call& call, const Specs& out) {
  if (element_count(out.of[0].shape) > 0 && reduced_count(call) == 0)
    fail(call, "nothing to choose from: the reduced axes are empty", "check the size first, or pad");
}
void infer_extremum(const Call& call, Specs& out) {
  infer_same(call, out);
  require_elements(call, out);
}
void infer_arg(const Call& call, Specs& out) {
  infer_as(call, out, kI64);
  require_elements(call, out);
}

template <class T, class R>
void reduce_typed(Reduce kind, const Call& call, const Tensor& out, double scale, void* scratch, const Team& team) {
  kernels::reduce(kind, layout_of(call, out), static_cast<const T*>(call.in(0).raw()), static_cast<R*>(out.raw()),
                  scale, scratch, team);
}

void run_reduce(Reduce kind, const Call& call, const Tensor& out, double scale, void* scratch, const Team& team) {
  const bool wide = out.dtype() == kI64;  // integer totals
  switch (call.in(0).dtype()) {
    case DType::kF32: return reduce_typed<float, float>(kind, call, out, scale, scratch, team);
    case DType::kF64: return reduce_typed<double, double>(kind, call, out, scale, scratch, team);
    case DType::kI64: return reduce_typed<int64_t, int64_t>(kind, call, out, scale, scratch, team);
    case DType::kI32:
      return wide ? reduce_typed<int32_t, int64_t>(kind, call, out, scale, scratch, team)
                  : reduce_typed<int32_t, int32_t>(kind, call, out, scale, scratch, team);
    default:
      return wide ? reduce_typed<uint8_t, int64_t>(kind, call, out, scale, scratch, team)
                  : reduce_typed<uint8_t, uint8_t>(kind, call, out, scale, scratch, team);
  }
}

template <Reduce kKind>
void run_plain(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  run_reduce(kKind, call, out[0], 1, scratch, team);
}
size_t scratch_plain(const Call& call, const Tensor* out, int) {
  return kernels::reduce_scratch(layout_of(call, out[0]));
}
size_t scratch_centred(const Call& call, const Tensor* out, int) {
  return kernels::centred_reduce_scratch(layout_of(call, out[0]));
}

// Calls f(address of the result, n, at) for every result; at(k) is the address of its k-th element.
template <class F>
void for_each_group(const Call& call, const Tensor& out, F&& f) {
  const ReduceLayout layout = layout_of(call, out);
  const int64_t in_size = static_cast<int64_t>(size_of(call.in(0).dtype())),
                out_size = static_cast<int64_t>(size_of(out.dtype()));
  int64_t n = 1;
  for (int r = 0; r < layout.reduced_rank; r++) n *= layout.reduced[r];
  for (int64_t i = 0; i < out.numel(); i++) {
    int64_t from = 0, to = 0;
    for (int64_t a = layout.kept_rank - 1, rest = i; a >= 0; rest /= layout.kept[a], a--) {
      from += rest % layout.kept[a] * layout.kept_in[a];
      to += rest % layout.kept[a] * layout.kept_out[a];
    }
    f(static_cast<char*>(out.raw()) + to * out_size, n, [&](int64_t k) {
      int64_t offset = from;
      for (int64_t a = layout.reduced_rank - 1; a >= 0; k /= layout.reduced[a], a--)
        offset += k % layout.reduced[a] * layout.reduced_in[a];
      return static_cast<const char*>(call.in(0).raw()) + offset * in_size;
    });
  }
}

// Folds the elements of each result in double (integers in 64 bits, wrapping): total = step(total, x), then
// finish(total).
template <class Step, class Finish>
void fold(const Call& call, const Tensor& out, double start, Step step, Finish finish) {
  const DType type = call.in(0).dtype();
  for_each_group(call, out, [&](void* to, int64_t n, auto at) {
    if (is_float(type)) {
      double total = start;
      for (int64_t k = 0; k < n; k++) total = step(total, load_as_double(at(k), type));
      store_from_double(to, out.dtype(), finish(total));
    } else {
      uint64_t total =
          static_cast<uint64_t>(std::isinf(start) ? (start < 0 ? INT64_MIN : INT64_MAX) : static_cast<int64_t>(start));
      for (int64_t k = 0; k < n; k++)
        total = static_cast<uint64_t>(step(total, static_cast<uint64_t>(load_as_int(at(k), type))));
      store_from_int(to, out.dtype(), static_cast<int64_t>(total));
    }
  });
}

constexpr auto kIdentity = [](double total) { return total; };

template <bool kLargest>
void reference_extremum(const Call& call, const Tensor* out) {
  const auto better = [](auto a, auto b) {
    if constexpr (std::is_same_v<decltype(a), double>) {
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
      return (kLargest ? b > a : b < a) ? b : a;
    } else {
      const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
      return (kLargest ? y > x : y < x) ? b : a;
    }
  };
  fold(call, out[0], kLargest ? -INFINITY : INFINITY, better, kIdentity);
}

template <bool kLargest>
void run_arg(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  const ReduceLayout layout = layout_of(call, out[0]);
  int64_t* to = static_cast<int64_t*>(out[0].raw());
  const void* in = call.in(0).raw();
  switch (call.in(0).dtype()) {
    case DType::kF32: return kernels::arg_reduce(kLargest, layout, static_cast<const float*>(in), to, scratch, team);
    case DType::kF64: return kernels::arg_reduce(kLargest, layout, static_cast<const double*>(in), to, scratch, team);
    case DType::kI32: return kernels::arg_reduce(kLargest, layout, static_cast<const int32_t*>(in), to, scratch, team);
    case DType::kI64: return kernels::arg_reduce(kLargest, layout, static_cast<const int64_t*>(in), to, scratch, team);
    default: return kernels::arg_reduce(kLargest, layout, static_cast<const uint8_t*>(in), to, scratch, team);
  }
}
size_t scratch_arg(const Call& call, const Tensor* out, int) {
  return kernels::arg_reduce_scratch(layout_of(call, out[0]));
}

template <bool kLargest>
void reference_arg(const Call& call, const Tensor* out) {
  const DType type = call.in(0).dtype();
  for_each_group(call, out[0], [&](void* to, int64_t n, auto at) {
    int64_t best = 0;
    for (int64_t k = 1; k < n; k++) {
      const double champion = load_as_double(at(best), type), x = load_as_double(at(k), type);
      if (std::isnan(champion)) break;
      if (std::isnan(x) || (kLargest ? x > champion : x < champion)) best = k;
    }
    *static_cast<int64_t*>(to) = best;
  });
}

// A result, or its gradient, with the reduced axes back as axes of size 1.
Tensor with_axes(const Gradient& g, const Tensor& t) {
  return g.call().flag("keepdim") ? t : reshape(contiguous(t), reduced_shape(g.call(), true));
}

// Spreads a gradient evenly over the elements that equal the chosen one.
void extremum_gradient(Gradient& g) {
  const Tensor chosen = to(equal(g.in(), with_axes(g, g.out())), g.in().dtype());
  const Tensor share = divide(with_axes(g, g.dy()), sum(chosen, g.call().ints("axes"), true));
  g.set(0, multiply(chosen, share));
}

// Shapes that all reductions are tested on; `empty` adds axes of size 0.
void sample_axes(
    Samples& s, bool empty, void (*more)(Attrs&) = [](Attrs&) {}) {
  const auto add = [&](const Dims& shape, const Dims& axes, bool keepdim) {
    Attrs attrs;
    attrs.set("axes", axes).set("keepdim", keepdim);
    more(attrs);
    s.add({s.real(shape)}, attrs);
  };
  add({}, {}, false);
  add({1}, {0}, false);
  add({2, 3, 5}, {}, false);
  add({2, 3, 5}, {0}, false);
  add({2, 3, 5}, {1}, true);
  add({2, 3, 5}, {-1}, false);
  add({2, 3, 5}, {0, 2}, true);
  add({4, 37}, {1}, false);
  add({37, 4}, {0}, false);
  add({3, 2, 4, 5}, {1, 2}, false);
  add({1000}, {}, true);
  add({0, 3}, {1}, false);
  if (empty) add({3, 0}, {1}, false);
}
void sample_all(Samples& s) { sample_axes(s, true); }
void sample_nonempty(Samples& s) { sample_axes(s, false); }

}  // namespace

INGOT_OP(sum) = {
    .name = "sum",
    .signature = "sum(x, axes:ints={}, keepdim:bool=false)",
    .doc = "The sum over `axes` (all if none are named); integers and bools give i64.",
    .family = "reduction",
    .types = Types::kAll,
    .infer = infer_total,
    .prepare = prepared<decode>,
    .run = run_plain<Reduce::kSum>,
    .scratch = scratch_plain,
    .reference =
        [](const Call& call, const Tensor* out) {
          fold(
              call, out[0], 0, [](auto a, auto b) { return a + b; }, kIdentity);
        },
    .role = OpRole::kFold,
    .fold = Fold::kSum,
    .gradient = [](Gradient& g) { g.set(0, broadcast_to(with_axes(g, g.dy()), g.in().shape())); },
    .samples = sample_all,
};

INGOT_OP(mean) = {
    .name = "mean",
    .signature = "mean(x, axes:ints={}, keepdim:bool=false)",
    .doc = "The mean over `axes` (all if none are named); NaN over nothing.",
    .family = "reduction",
    .infer = infer_same,
    .prepare = prepared<decode>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          run_reduce(Reduce::kSum, call, out[0], 1.0 / static_cast<double>(reduced_count(call)), scratch, team);
        },
    .scratch = scratch_plain,
    .reference =
        [](const Call& call, const Tensor* out) {
          const double n = static_cast<double>(reduced_count(call));
          fold(
              call, out[0], 0, [](auto a, auto b) { return a + b; }, [n](double total) { return total / n; });
        },
    .role = OpRole::kFold,
    .fold = Fold::kMean,
    .gradient =
        [](Gradient& g) {
          const double n = static_cast<double>(reduced_count(g.call()));
          g.set(0, broadcast_to(with_axes(g, multiply(g.dy(), 1 / n)), g.in().shape()));
        },
    .samples = sample_nonempty,
};

INGOT_OP(prod) = {
    .name = "prod",
    .signature = "prod(x, axes:ints={}, keepdim:bool=false)",
    .doc = "The product over `axes` (all if none are named); integers and bools give i64.",
    .family = "reduction",
    .types = Types::kAll,
    .infer = infer_total,
    .prepare = prepared<decode>,
    .run = run_plain<Reduce::kProd>,
    .scratch = scratch_plain,
    .reference =
        [](const Call& call, const Tensor* out) {
          fold(
              call, out[0], 1, [](auto a, auto b) { return a * b; }, kIdentity);
        },
    .role = OpRole::kFold,
    .gradient =
        [](Gradient& g) {
          // Zeros are set aside: with none, the product over x; with one, only that element moves the product.
          const Dims& axes = g.call().ints("axes");
          const Tensor &x = g.in(), is_zero = equal(x, 0.0), zero = zeros({}, x.dtype()), one = ones({}, x.dtype());
          const Tensor rest = where(is_zero, one, x), product = prod(rest, axes, true);
          const Tensor zero_count = sum(to(is_zero, x.dtype()), axes, true);
          const Tensor others = where(is_zero, where(equal(zero_count, 1.0), product, zero), zero);
          const Tensor slope = where(equal(zero_count, 0.0), divide(product, rest), others);
          g.set(0, multiply(with_axes(g, g.dy()), slope));
        },
    .samples = sample_all,
    .low = 0.8,
    .high = 1.25,
};

INGOT_OP(max) = {
    .name = "max",
    .signature = "max(x, axes:ints={}, keepdim:bool=false)",
    .doc = "The largest element over `axes` (all if none are named); ties share the gradient.",
    .family = "reduction",
    .types = Types::kAll,
    .infer = infer_extremum,
    .prepare = prepared<decode>,
    .run = run_plain<Reduce::kMax>,
    .scratch = scratch_plain,
    .reference = reference_extremum<true>,
    .role = OpRole::kFold,
    .fold = Fold::kMax,
    .gradient = extremum_gradient,
    .samples = sample_nonempty,
};

INGOT_OP(min) = {
    .name = "min",
    .signature = "min(x, axes:ints={}, keepdim:bool=false)",
    .doc = "The smallest element over `axes` (all if none are named); ties share the gradient.",
    .family = "reduction",
    .types = Types::kAll,
    .infer = infer_extremum,
    .prepare = prepared<decode>,
    .run = run_plain<Reduce::kMin>,
    .scratch = scratch_plain,
    .reference = reference_extremum<false>,
    .role = OpRole::kFold,
    .fold = Fold::kMin,
    .gradient = extremum_gradient,
    .samples = sample_nonempty,
};

INGOT_OP(argmax) = {
    .name = "argmax",
    .signature = "argmax(x, axes:ints={}, keepdim:bool=false)",
    .doc = "Index (i64) of the first largest element within the flattened `axes`; a NaN counts as largest.",
    .family = "reduction",
    .types = Types::kAll,
    .infer = infer_arg,
    .prepare = prepared<decode>,
    .run = run_arg<true>,
    .scratch = scratch_arg,
    .reference = reference_arg<true>,
    .role = OpRole::kFold,
    .not_differentiable = "the result is an index",
    .samples = sample_nonempty,
};

INGOT_OP(argmin) = {
    .name = "argmin",
    .signature = "argmin(x, axes:ints={}, keepdim:bool=false)",
    .doc = "Index (i64) of the first smallest element within the flattened `axes`; a NaN counts as smallest.",
    .family = "reduction",
    .types = Types::kAll,
    .infer = infer_arg,
    .prepare = prepared<decode>,
    .run = run_arg<false>,
    .scratch = scratch_arg,
    .reference = reference_arg<false>,
    .role = OpRole::kFold,
    .not_differentiable = "the result is an index",
    .samples = sample_nonempty,
};

INGOT_OP(var) = {
    .name = "var",
    .signature = "var(x, axes:ints={}, keepdim:bool=false, correction:int=1)",
    .doc =
        "The variance over `axes`, Σ(x - mean)² / (n - correction), in two passes; NaN if the correction is n or "
        "more.",
    .family = "reduction",
    .infer =
        [](const Call& call, Specs& out) {
          if (call.integer("correction") < 0)
            fail_argument(call, "negative correction", "0 is the population's, 1 the sample's variance");
          infer_same(call, out);
        },
    .prepare = prepared<decode_var>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          const int64_t correction = call.params<ReduceParams>().correction;
          const ReduceLayout layout = layout_of(call, out[0]);
          if (out[0].dtype() == kF32)
            kernels::variance(layout, static_cast<const float*>(call.in(0).raw()), static_cast<float*>(out[0].raw()),
                              correction, scratch, team);
          else
            kernels::variance(layout, static_cast<const double*>(call.in(0).raw()), static_cast<double*>(out[0].raw()),
                              correction, scratch, team);
        },
    .scratch = scratch_centred,
    .reference =
        [](const Call& call, const Tensor* out) {
          const DType type = call.in(0).dtype();
          const double correction = static_cast<double>(call.integer("correction"));
          for_each_group(call, out[0], [&](void* to, int64_t n, auto at) {
            double total = 0, squares = 0;
            for (int64_t k = 0; k < n; k++) total += load_as_double(at(k), type);
            const double mean = total / static_cast<double>(n);
            for (int64_t k = 0; k < n; k++)
              squares += (load_as_double(at(k), type) - mean) * (load_as_double(at(k), type) - mean);
            const double divisor = static_cast<double>(n) - correction;
            store_from_double(to, type, divisor > 0 ? squares / divisor : std::numeric_limits<double>::quiet_NaN());
          });
        },
    .role = OpRole::kFold,
    .gradient =
        [](Gradient& g) {
          const double n = std::max(
              static_cast<double>(reduced_count(g.call())) - static_cast<double>(g.call().integer("correction")), 0.0);
          const Tensor centred = subtract(g.in(), mean(g.in(), g.call().ints("axes"), true));
          g.set(0, multiply(multiply(with_axes(g, g.dy()), 2 / n), centred));
        },
    .samples =
        [](Samples& s) {
          sample_axes(s, false, [](Attrs& attrs) { attrs.set("correction", 0); });
          s.add({s.real({4, 9})}, Attrs().set("axes", Dims{1}).set("keepdim", false).set("correction", 1));
        },
};

INGOT_OP(norm) = {
    .name = "norm",
    .signature = "norm(x, axes:ints={}, keepdim:bool=false, p:int=2)",
    .doc = "The norm over `axes`: √Σx² for p = 2, Σ|x| for p = 1; the gradient at 0 is 0.",
    .family = "reduction",
    .infer =
        [](const Call& call, Specs& out) {
          if (const int64_t p = call.integer("p"); p != 1 && p != 2)
            fail_argument(call, "p = " + std::to_string(p),
                          "p is 1 or 2; compose pow and sum for others, max(abs(x)) for infinity");
          infer_same(call, out);
        },
    .prepare = prepared<decode_norm>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          if (call.params<ReduceParams>().p == 1) return run_reduce(Reduce::kSumAbs, call, out[0], 1, scratch, team);
          run_reduce(Reduce::kSumSquares, call, out[0], 1, scratch, team);
          team.barrier();
          static const Attrs kNone{};
          const Tensor* in[] = {out};
          run_tiles(op_sqrt.tile(out[0].dtype()), Call{op_sqrt, in, kNone}, nullptr, out[0], team);
        },
    .scratch = scratch_plain,
    .reference =
        [](const Call& call, const Tensor* out) {
          if (call.integer("p") == 1)
            fold(
                call, out[0], 0, [](auto a, auto b) { return a + std::fabs(static_cast<double>(b)); }, kIdentity);
          else
            fold(
                call, out[0], 0, [](auto a, auto b) { return a + b * b; },
                [](double total) { return std::sqrt(total); });
        },
    .role = OpRole::kFold,
    .gradient =
        [](Gradient& g) {
          if (g.call().integer("p") == 1) return g.set(0, multiply(with_axes(g, g.dy()), sign(g.in())));
          const Tensor y = with_axes(g, g.out()), zero = zeros({}, y.dtype());
          g.set(0, multiply(g.in(), where(equal(y, 0.0), zero, divide(with_axes(g, g.dy()), y))));
        },
    .samples =
        [](Samples& s) {
          sample_axes(s, true, [](Attrs& attrs) { attrs.set("p", 2); });
          sample_axes(s, true, [](Attrs& attrs) { attrs.set("p", 1); });
        },
};

INGOT_OP(logsumexp) = {
    .name = "logsumexp",
    .signature = "logsumexp(x, axes:ints={}, keepdim:bool=false)",
    .doc = "log Σ eˣ over `axes`, shifted by the maximum so that nothing overflows; -∞ over nothing.",
    .family = "reduction",
    .infer = infer_same,
    .prepare = prepared<decode>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          const ReduceLayout layout = layout_of(call, out[0]);
          if (out[0].dtype() == kF32)
            kernels::logsumexp(layout, static_cast<const float*>(call.in(0).raw()), static_cast<float*>(out[0].raw()),
                               scratch, team);
          else
            kernels::logsumexp(layout, static_cast<const double*>(call.in(0).raw()), static_cast<double*>(out[0].raw()),
                               scratch, team);
        },
    .scratch = scratch_centred,
    .reference =
        [](const Call& call, const Tensor* out) {
          const DType type = call.in(0).dtype();
          for_each_group(call, out[0], [&](void* to, int64_t n, auto at) {
            double largest = -INFINITY, total = 0;
            for (int64_t k = 0; k < n; k++) largest = std::fmax(largest, load_as_double(at(k), type));
            if (std::isinf(largest)) largest = largest < 0 ? 0 : largest;
            for (int64_t k = 0; k < n; k++) {
              const double x = load_as_double(at(k), type);
              total += x == largest ? 1 : std::exp(x - largest);
            }
            store_from_double(to, type, largest + std::log(total));
          });
        },
    .role = OpRole::kFold,
    .gradient =
        [](Gradient& g) { g.set(0, multiply(with_axes(g, g.dy()), exp(subtract(g.in(), with_axes(g, g.out()))))); },
    .samples = sample_all,
};

}  // namespace ingot
