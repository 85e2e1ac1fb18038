// Views: another look at the same memory, never a copy. Their gradients are views too, or zeros with a part filled.
#include <algorithm>
#include <cstring>

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "kernels/copy.h"
#include "ops/define.h"
#include "ops/layouts.h"
#include "ops/rules.h"

namespace ingot {

Tensor view_of(const Tensor& x, const Layout& layout) {
  const int64_t offset =
      element_count(layout.shape) == 0 ? 0 : layout.offset * static_cast<int64_t>(size_of(x.dtype()));
  return x.view(static_cast<std::byte*>(x.raw()) + offset, layout.shape, layout.strides);
}

void require_sizes(const Call& call, const Dims& sizes, const char* what) {
  for (int64_t size : sizes)
    if (size < 0)
      fail_argument(call, std::string(what) + " " + to_string(sizes) + " has a negative size", "sizes are 0 or more");
  element_count(sizes);
}

Layout slice_layout(const Call& call, const Dims& shape, const Dims& strides, int64_t axis, int64_t start, int64_t stop,
                    int64_t step) {
  const int a = normalize_axis(call.op.name, axis, shape.size());
  if (step == 0) fail_argument(call, "step is 0", "use a positive step, or a negative one to go backwards");
  const int64_t n = shape[a], limit = std::max<int64_t>(n, 1);
  step = std::clamp(step, -limit, limit);  // longer steps reach no further, and might overflow
  const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? n : n - 1;
  const auto place = [&](int64_t i) { return std::clamp(i < 0 ? i + n : i, lowest, highest); };
  const int64_t first = place(start), last = place(stop);
  const int64_t count = step > 0 ? (last - first + step - 1) / step : (first - last - step - 1) / -step;
  Layout view{shape, strides};
  view.shape[a] = std::max<int64_t>(count, 0);
  view.strides[a] = strides[a] * step;
  view.offset = view.shape[a] > 0 ? first * strides[a] : 0;
  return view;
}

Layout diagonal_layout(const Call& call, const Dims& shape, const Dims& strides, int64_t a, int64_t b) {
  const int i = normalize_axis(call.op.name, a, shape.size()), j = normalize_axis(call.op.name, b, shape.size());
  if (i == j) fail_argument(call, "both axes are " + std::to_string(a), "name two different axes");
  Layout view{shape, strides};
  for (const int axis : {std::max(i, j), std::min(i, j)}) {
    view.shape.erase(axis);
    view.strides.erase(axis);
  }
  view.shape.push_back(std::min(shape[i], shape[j]));
  view.strides.push_back(strides[i] + strides[j]);
  return view;
}

namespace {

// Every view op is one function from a call to a layout; the shape rule and the view follow from it.
template <Layout (*kLayout)(const Call&)>
void infer_view(const Call& call, Specs& out) {
  out.add(call.in(0).dtype(), kLayout(call).shape);
}
template <Layout (*kLayout)(const Call&)>
Tensor make_view(const Call& call) {
  return view_of(call.in(0), kLayout(call));
}

// The shape asked for, with -1 worked out.
Dims reshape_shape(const Call& call) {
  const Dims& asked = call.ints("shape");
  const int64_t n = call.in(0).numel();
  Dims shape = asked, known;
  int open = -1;
  for (int a = 0; a < asked.size(); a++) {
    if (asked[a] != -1) {
      known.push_back(asked[a]);
      continue;
    }
    if (open >= 0) fail_argument(call, "shape " + to_string(asked) + " leaves two sizes open", "give -1 at most once");
    open = a;
  }
  require_sizes(call, known, "shape");
  const int64_t product = element_count(known);
  if (open >= 0) {
    if (product == 0)
      fail_argument(call, "shape " + to_string(asked) + " leaves -1 undetermined",
                    "write every size of an empty tensor");
    shape[open] = n / product;
  }
  if ((open >= 0 && n % product != 0) || (open < 0 && product != n))
    fail_argument(call, "shape " + to_string(asked) + " does not hold " + std::to_string(n) + " elements",
                  "the product of the sizes must stay the same");
  return shape;
}

// Strides for `shape` over x's memory: groups of old axes that follow each other without gaps can be cut anew.
bool reshape_strides(const Tensor& x, const Dims& shape, Dims& strides) {
  strides = contiguous_strides(shape);
  if (x.is_contiguous()) return true;
  int next = shape.size() - 1;
  int64_t chunk = 1, placed = 1,
          step = 1;   // elements of the run of old axes, of the new axes in it; its innermost stride
  bool open = false;  // is a run under way?
  for (int a = x.rank() - 1; a >= 0; a--) {
    if (x.shape()[a] == 1) continue;
    if (!open) step = x.strides()[a];
    open = true;
    chunk *= x.shape()[a];
    int outer = a - 1;
    while (outer >= 0 && x.shape()[outer] == 1) outer--;
    if (outer >= 0 && x.strides()[outer] == step * chunk) continue;
    while (next >= 0 && (placed < chunk || shape[next] == 1)) {
      strides[next] = step * placed;
      placed *= shape[next--];
    }
    if (placed != chunk) return false;
    chunk = placed = 1;
    open = false;
  }
  return true;
}

Layout reshape_layout(const Call& call) {
  Layout view{reshape_shape(call), {}};
  if (!reshape_strides(call.in(0), view.shape, view.strides))
    fail(call, "the elements do not lie in memory so that " + to_string(view.shape) + " is a view of them",
         "copy first: reshape(contiguous(x), " + to_string(view.shape) + ")");
  return view;
}

Layout permute_layout(const Call& call) {
  const Tensor& x = call.in(0);
  const Dims& axes = call.ints("axes");
  if (axes.size() != x.rank())
    fail(call, "axes " + to_string(axes) + " do not name every axis once",
         "give " + std::to_string(x.rank()) + " axes");
  if (x.rank() > 0) normalize_axes(call.op.name, axes, x.rank());
  Layout view;
  for (int64_t axis : axes) {
    const int a = normalize_axis(call.op.name, axis, x.rank());
    view.shape.push_back(x.shape()[a]);
    view.strides.push_back(x.strides()[a]);
  }
  return view;
}

Layout transpose_layout(const Call& call) {
  const Tensor& x = call.in(0);
  const int a = normalize_axis(call.op.name, call.integer("a"), x.rank());
  const int b = normalize_axis(call.op.name, call.integer("b"), x.rank());
  Layout view{x.shape(), x.strides()};
  std::swap(view.shape[a], view.shape[b]);
  std::swap(view.strides[a], view.strides[b]);
  return view;
}

Layout slice_of_input(const Call& call) {
  const Tensor& x = call.in(0);
  return slice_layout(call, x.shape(), x.strides(), call.integer("axis"), call.integer("start"), call.integer("stop"),
                      call.integer("step"));
}

Layout broadcast_layout(const Call& call) {
  const Tensor& x = call.in(0);
  const Dims& shape = call.ints("shape");
  require_sizes(call, shape, "shape");
  const int shift = shape.size() - x.rank();
  bool fits = shift >= 0;
  Layout view{shape, Dims::filled(shape.size(), 0)};
  for (int a = 0; fits && a < x.rank(); a++) {
    fits = x.shape()[a] == 1 || x.shape()[a] == shape[a + shift];
    if (x.shape()[a] != 1) view.strides[a + shift] = x.strides()[a];
  }
  if (!fits)
    fail(call, "does not broadcast to " + to_string(shape), "sizes, aligned at the right, must be equal or 1 in x");
  return view;
}

Layout squeeze_layout(const Call& call) {
  const Tensor& x = call.in(0);
  const Dims& axes = call.ints("axes");
  bool drop[kMaxRank] = {};
  for (int64_t axis : axes) {
    const int a = normalize_axis(call.op.name, axis, x.rank());
    if (x.shape()[a] != 1)
      fail_argument(call, "axis " + std::to_string(axis) + " has size " + std::to_string(x.shape()[a]),
                    "only axes of size 1 can go");
    drop[a] = true;
  }
  Layout view;
  for (int a = 0; a < x.rank(); a++) {
    if (drop[a] || (axes.empty() && x.shape()[a] == 1)) continue;
    view.shape.push_back(x.shape()[a]);
    view.strides.push_back(x.strides()[a]);
  }
  return view;
}

Layout unsqueeze_layout(const Call& call) {
  const Tensor& x = call.in(0);
  if (x.rank() == kMaxRank) fail(call, "no room for another axis", "tensors have at most " + std::to_string(kMaxRank));
  const int a = normalize_axis(call.op.name, call.integer("axis"), x.rank() + 1);
  Layout view{x.shape(), x.strides()};
  view.shape.insert(a, 1);
  view.strides.insert(a, a < x.rank() ? x.shape()[a] * x.strides()[a] : 1);
  return view;
}

Layout diagonal_of_input(const Call& call) {
  const Tensor& x = call.in(0);
  return diagonal_layout(call, x.shape(), x.strides(), call.integer("a"), call.integer("b"));
}

Layout select_layout(const Call& call) {
  const Tensor& x = call.in(0);
  const int a = normalize_axis(call.op.name, call.integer("axis"), x.rank());
  const int64_t n = x.shape()[a], asked = call.integer("index");
  if (asked < -n || asked >= n)
    fail_argument(call, "index " + std::to_string(asked) + " is outside axis " + std::to_string(call.integer("axis")),
                  "it has " + std::to_string(n) + " entries");
  Layout view{x.shape(), x.strides(), (asked < 0 ? asked + n : asked) * x.strides()[a]};
  view.shape.erase(a);
  view.strides.erase(a);
  return view;
}

// Zeros with dy at a part of them.
void fill_part(const Tensor& out, const Layout& part, const Tensor& dy, const Team& team) {
  const int64_t zero = 0, bytes = static_cast<int64_t>(size_of(out.dtype()));
  fill_share(out, &zero, team);
  team.barrier();
  kernels::copy(static_cast<std::byte*>(out.raw()) + part.offset * bytes, part.strides.begin(), dy.raw(),
                dy.strides().begin(), part.shape.begin(), part.shape.size(), bytes, team);
}

void fill_part_plain(const Tensor& out, const Layout& part, const Tensor& dy) {
  const size_t bytes = size_of(out.dtype());
  for_each_index(out.shape(), [&](const Dims& index) { std::memset(element_at(out, index), 0, bytes); });
  for_each_index(part.shape, [&](const Dims& index) {
    int64_t at = part.offset;
    for (int a = 0; a < index.size(); a++) at += index[a] * part.strides[a];
    std::memcpy(static_cast<std::byte*>(out.raw()) + at * static_cast<int64_t>(bytes), element_at(dy, index), bytes);
  });
}

void infer_part(const Call& call, Specs& out, const Layout& part) {
  if (!(part.shape == call.in(0).shape()))
    fail_argument(call, "the part of " + to_string(call.ints("shape")) + " has shape " + to_string(part.shape),
                  "dy must have that shape");
  out.add(call.in(0).dtype(), call.ints("shape"));
}

struct Slice {
  int64_t axis, start, stop, step;
};
Slice decode_slice(const Call& call) {
  return {call.integer("axis"), call.integer("start"), call.integer("stop"), call.integer("step")};
}
Layout slice_in(const Call& call, const Dims& shape, const Dims& strides) {
  require_sizes(call, shape, "shape");
  const Slice s = decoded<decode_slice>(call);
  return slice_layout(call, shape, strides, s.axis, s.start, s.stop, s.step);
}

struct AxisPair {
  int64_t a, b;
};
AxisPair decode_pair(const Call& call) { return {call.integer("a"), call.integer("b")}; }
Layout diagonal_in(const Call& call, const Dims& shape, const Dims& strides) {
  require_sizes(call, shape, "shape");
  const AxisPair axes = decoded<decode_pair>(call);
  return diagonal_layout(call, shape, strides, axes.a, axes.b);
}

Attrs slice_attrs(int axis, int64_t start, int64_t stop, int64_t step) {
  return Attrs().set("axis", axis).set("start", start).set("stop", stop).set("step", step);
}

}  // namespace

INGOT_OP(reshape) = {
    .name = "reshape",
    .signature = "reshape(x, shape:ints)",
    .doc = "A view of x with another shape of as many elements; one size may be -1. An Error if that needs a copy.",
    .family = "view",
    .types = Types::kAll,
    .infer = infer_view<reshape_layout>,
    .view = make_view<reshape_layout>,
    .simplify = drop_identity_view,
    .gradient = [](Gradient& g) { g.set(0, reshape(contiguous(g.dy()), g.in().shape())); },
    .samples =
        [](Samples& s) {
          s.add({s.real({2, 6})}, Attrs().set("shape", Dims{3, 4}));
          s.add({s.real({2, 3, 4})}, Attrs().set("shape", Dims{-1, 2}));
          s.add({s.real({5})}, Attrs().set("shape", Dims{1, 5, 1}));
          s.add({s.real({})}, Attrs().set("shape", Dims{1, 1}));
          s.add({s.real({0, 3})}, Attrs().set("shape", Dims{3, 0, 2}));
          s.add({s.real({1})}, Attrs().set("shape", Dims{}));
        }};

INGOT_OP(permute) = {.name = "permute",
                     .signature = "permute(x, axes:ints)",
                     .doc = "A view of x whose axis i is x's axis axes[i].",
                     .family = "view",
                     .types = Types::kAll,
                     .infer = infer_view<permute_layout>,
                     .view = make_view<permute_layout>,
                     .simplify = drop_identity_view,
                     .gradient =
                         [](Gradient& g) {
                           const Dims& axes = g.call().ints("axes");
                           Dims inverse = axes;
                           for (int i = 0; i < axes.size(); i++)
                             inverse[normalize_axis("permute", axes[i], axes.size())] = i;
                           g.set(0, permute(g.dy(), inverse));
                         },
                     .samples =
                         [](Samples& s) {
                           s.add({s.real({2, 3, 4})}, Attrs().set("axes", Dims{2, 0, 1}));
                           s.add({s.real({2, 3, 4, 5})}, Attrs().set("axes", Dims{0, -1, 1, -2}));
                           s.add({s.real({})}, Attrs().set("axes", Dims{}));
                           s.add({s.real({0, 3})}, Attrs().set("axes", Dims{1, 0}));
                         }};

INGOT_OP(transpose) = {
    .name = "transpose",
    .signature = "transpose(x, a:int=-2, b:int=-1)",
    .doc = "A view of x with two axes exchanged, the last two if not said.",
    .family = "view",
    .types = Types::kAll,
    .infer = infer_view<transpose_layout>,
    .view = make_view<transpose_layout>,
    .simplify = drop_identity_view,
    .gradient = [](Gradient& g) { g.set(0, transpose(g.dy(), g.call().integer("a"), g.call().integer("b"))); },
    .samples =
        [](Samples& s) {
          s.add({s.real({3, 5})}, Attrs().set("a", -2).set("b", -1));
          s.add({s.real({2, 3, 4})}, Attrs().set("a", 0).set("b", 2));
          s.add({s.real({0, 3})}, Attrs().set("a", 0).set("b", 1));
          s.add({s.real({4})}, Attrs().set("a", 0).set("b", 0));
          s.add({s.real({1, 1})}, Attrs().set("a", 0).set("b", 1));
        }};

INGOT_OP(slice) = {.name = "slice",
                   .signature = "slice(x, axis:int, start:int, stop:int, step:int=1)",
                   .doc =
                       "A view of x[start:stop:step] along an axis, as NumPy does it: negative places count from the "
                       "end, places beyond it "
                       "are cut off, a negative step goes backwards.",
                   .family = "view",
                   .types = Types::kAll,
                   .infer = infer_view<slice_of_input>,
                   .view = make_view<slice_of_input>,
                   .gradient =
                       [](Gradient& g) {
                         const Call& c = g.call();
                         g.set(0, slice_grad(g.dy(), g.in().shape(), c.integer("axis"), c.integer("start"),
                                             c.integer("stop"), c.integer("step")));
                       },
                   .samples =
                       [](Samples& s) {
                         s.add({s.real({7})}, slice_attrs(0, 1, 6, 2));
                         s.add({s.real({7})}, slice_attrs(0, -1, -100, -3));
                         s.add({s.real({5, 6})}, slice_attrs(-1, -4, 100, 1));
                         s.add({s.real({4, 3, 5})}, slice_attrs(1, 2, 0, -1));
                         s.add({s.real({4, 3})}, slice_attrs(0, 3, 1, 1));
                         s.add({s.real({1})}, slice_attrs(0, 0, 1, 1));
                         s.add({s.real({0, 3})}, slice_attrs(0, 0, 2, 1));
                       }};

INGOT_OP(slice_grad) = {
    .name = "slice_grad",
    .signature = "slice_grad(dy, shape:ints, axis:int, start:int, stop:int, step:int=1)",
    .doc = "Zeros of `shape` with dy at [start:stop:step] along an axis: the gradient of slice.",
    .family = "view",
    .types = Types::kAll,
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          infer_part(call, out, slice_in(call, call.ints("shape"), contiguous_strides(call.ints("shape"))));
        },
    .prepare = prepared<decode_slice>,
    .run = [](const Call& call, const Tensor* out, void*,
              const Team& team) { fill_part(*out, slice_in(call, out->shape(), out->strides()), call.in(0), team); },
    .reference =
        [](const Call& call, const Tensor* out) {
          fill_part_plain(*out, slice_in(call, out->shape(), out->strides()), call.in(0));
        },
    .gradient =
        [](Gradient& g) {
          const Call& c = g.call();
          g.set(0, slice(g.dy(), c.integer("axis"), c.integer("start"), c.integer("stop"), c.integer("step")));
        },
    .samples =
        [](Samples& s) {
          const auto add = [&](const Dims& dy, const Dims& shape, int axis, int64_t start, int64_t stop, int64_t step) {
            s.add(
                {s.real(dy)},
                Attrs().set("shape", shape).set("axis", axis).set("start", start).set("stop", stop).set("step", step));
          };
          add({3}, {7}, 0, 1, 6, 2);
          add({3}, {7}, -1, -1, -100, -3);
          add({4, 2, 5}, {4, 3, 5}, 1, 2, 0, -1);
          add({0, 3}, {4, 3}, 0, 3, 1, 1);
          add({1}, {2}, 0, 1, 2, 1);
        }};

INGOT_OP(broadcast_to) = {.name = "broadcast_to",
                          .signature = "broadcast_to(x, shape:ints)",
                          .doc = "A view of x repeated along its axes of size 1 and along new leading axes.",
                          .family = "view",
                          .types = Types::kAll,
                          .infer = infer_view<broadcast_layout>,
                          .view = make_view<broadcast_layout>,
                          .simplify = drop_identity_view,
                          .gradient = [](Gradient& g) { g.set(0, sum_to(g.dy(), g.in().shape())); },
                          .samples =
                              [](Samples& s) {
                                s.add({s.real({})}, Attrs().set("shape", Dims{2, 3}));
                                s.add({s.real({4, 1})}, Attrs().set("shape", Dims{2, 4, 5}));
                                s.add({s.real({3})}, Attrs().set("shape", Dims{3}));
                                s.add({s.real({1, 3})}, Attrs().set("shape", Dims{0, 3}));
                              }};

INGOT_OP(squeeze) = {.name = "squeeze",
                     .signature = "squeeze(x, axes:ints={})",
                     .doc = "A view of x without the given axes of size 1, or without any axis of size 1.",
                     .family = "view",
                     .types = Types::kAll,
                     .infer = infer_view<squeeze_layout>,
                     .view = make_view<squeeze_layout>,
                     .gradient = [](Gradient& g) { g.set(0, reshape(g.dy(), g.in().shape())); },
                     .samples =
                         [](Samples& s) {
                           s.add({s.real({1, 3, 1, 4})}, Attrs().set("axes", Dims{}));
                           s.add({s.real({1, 3, 1, 4})}, Attrs().set("axes", Dims{-2}));
                           s.add({s.real({1, 1})}, Attrs().set("axes", Dims{0, 1}));
                           s.add({s.real({0, 1})}, Attrs().set("axes", Dims{1}));
                         }};

INGOT_OP(unsqueeze) = {.name = "unsqueeze",
                       .signature = "unsqueeze(x, axis:int)",
                       .doc = "A view of x with a new axis of size 1 in front of the given one; -1 puts it last.",
                       .family = "view",
                       .types = Types::kAll,
                       .infer = infer_view<unsqueeze_layout>,
                       .view = make_view<unsqueeze_layout>,
                       .gradient = [](Gradient& g) { g.set(0, squeeze(g.dy(), {g.call().integer("axis")})); },
                       .samples =
                           [](Samples& s) {
                             for (int axis : {0, 1, 2, -1, -2}) s.add({s.real({3, 4})}, Attrs().set("axis", axis));
                             s.add({s.real({})}, Attrs().set("axis", 0));
                             s.add({s.real({0, 2})}, Attrs().set("axis", 1));
                           }};

INGOT_OP(diagonal) = {.name = "diagonal",
                      .signature = "diagonal(x, a:int=-2, b:int=-1)",
                      .doc = "A view of the elements of x whose places on axes a and b agree, as a new last axis.",
                      .family = "view",
                      .types = Types::kAll,
                      .infer = infer_view<diagonal_of_input>,
                      .view = make_view<diagonal_of_input>,
                      .gradient =
                          [](Gradient& g) {
                            g.set(0,
                                  diagonal_grad(g.dy(), g.in().shape(), g.call().integer("a"), g.call().integer("b")));
                          },
                      .samples =
                          [](Samples& s) {
                            s.add({s.real({3, 3})}, Attrs().set("a", -2).set("b", -1));
                            s.add({s.real({2, 5, 3})}, Attrs().set("a", 2).set("b", 1));
                            s.add({s.real({4, 2, 3})}, Attrs().set("a", 0).set("b", -1));
                            s.add({s.real({1, 1})}, Attrs().set("a", 0).set("b", 1));
                            s.add({s.real({0, 3})}, Attrs().set("a", 0).set("b", 1));
                          }};

INGOT_OP(diagonal_grad) = {
    .name = "diagonal_grad",
    .signature = "diagonal_grad(dy, shape:ints, a:int=-2, b:int=-1)",
    .doc = "Zeros of `shape` with dy's last axis on the diagonal of axes a and b: the gradient of diagonal.",
    .family = "view",
    .types = Types::kAll,
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          infer_part(call, out, diagonal_in(call, call.ints("shape"), contiguous_strides(call.ints("shape"))));
        },
    .prepare = prepared<decode_pair>,
    .run = [](const Call& call, const Tensor* out, void*,
              const Team& team) { fill_part(*out, diagonal_in(call, out->shape(), out->strides()), call.in(0), team); },
    .reference =
        [](const Call& call, const Tensor* out) {
          fill_part_plain(*out, diagonal_in(call, out->shape(), out->strides()), call.in(0));
        },
    .gradient = [](Gradient& g) { g.set(0, diagonal(g.dy(), g.call().integer("a"), g.call().integer("b"))); },
    .samples =
        [](Samples& s) {
          const auto add = [&](const Dims& dy, const Dims& shape, int a, int b) {
            s.add({s.real(dy)}, Attrs().set("shape", shape).set("a", a).set("b", b));
          };
          add({3}, {3, 3}, -2, -1);
          add({2, 3}, {2, 5, 3}, 2, 1);
          add({2, 3}, {4, 2, 3}, 0, -1);
          add({1}, {1, 1}, 0, 1);
          add({0}, {0, 3}, 0, 1);
        }};

INGOT_OP(select) = {
    .name = "select",
    .signature = "select(x, axis:int, index:int)",
    .doc = "A view of one entry of x along an axis, which disappears; a negative index counts from the end.",
    .family = "view",
    .types = Types::kAll,
    .infer = infer_view<select_layout>,
    .view = make_view<select_layout>,
    .gradient =
        [](Gradient& g) {
          const int rank = g.in().rank(), axis = normalize_axis("select", g.call().integer("axis"), rank);
          const int64_t n = g.in().shape()[axis], asked = g.call().integer("index"),
                        index = asked < 0 ? asked + n : asked;
          g.set(0, slice_grad(unsqueeze(g.dy(), axis), g.in().shape(), axis, index, index + 1));
        },
    .samples =
        [](Samples& s) {
          s.add({s.real({5})}, Attrs().set("axis", 0).set("index", 2));
          s.add({s.real({3, 4})}, Attrs().set("axis", -1).set("index", -1));
          s.add({s.real({3, 4, 2})}, Attrs().set("axis", 1).set("index", 0));
          s.add({s.real({0, 3})}, Attrs().set("axis", 1).set("index", 1));
        }};

}  // namespace ingot
