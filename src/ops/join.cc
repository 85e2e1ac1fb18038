// Joining and padding: copies into parts of the result.
#include <cstring>

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "kernels/copy.h"
#include "ops/define.h"
#include "ops/layouts.h"

namespace ingot {
namespace {

void copy_to_part(const Tensor& out, int64_t offset, const Dims& strides, const Tensor& x, const Team& team) {
  const int64_t bytes = static_cast<int64_t>(size_of(out.dtype()));
  kernels::copy(static_cast<std::byte*>(out.raw()) + offset * bytes, strides.begin(), x.raw(), x.strides().begin(),
                x.shape().begin(), x.rank(), bytes, team);
}

void require_list(const Call& call) {
  if (call.count() == 0) fail_argument(call, "no tensors given", "give at least one");
  for (int i = 1; i < call.count(); i++) require_same_type(call, 0, i);
}

int decode_concat(const Call& call) { return normalize_axis(call.op.name, call.integer("axis"), call.in(0).rank()); }
int decode_stack(const Call& call) { return normalize_axis(call.op.name, call.integer("axis"), call.in(0).rank() + 1); }
int concat_axis(const Call& call) { return decoded<decode_concat>(call); }
int stack_axis(const Call& call) { return decoded<decode_stack>(call); }

struct Margin {
  Dims before;
  double value;
};
Margin decode_pad(const Call& call) { return {call.ints("before"), call.real("value")}; }

void infer_concat(const Call& call, Specs& out) {
  require_list(call);
  const int axis = concat_axis(call);
  Dims shape = call.in(0).shape();
  for (int i = 1; i < call.count(); i++) {
    const Dims& other = call.in(i).shape();
    if (other.size() != shape.size())
      fail(call, "input " + std::to_string(i) + " has another number of axes", "all tensors must have as many");
    for (int a = 0; a < shape.size(); a++)
      if (a != axis && other[a] != shape[a])
        fail(call, "input " + std::to_string(i) + " has shape " + to_string(other),
             "all sizes but those of axis " + std::to_string(axis) + " must agree");
    shape[axis] += other[axis];
  }
  element_count(shape);
  out.add(call.in(0).dtype(), shape);
}

void infer_stack(const Call& call, Specs& out) {
  require_list(call);
  if (call.in(0).rank() == kMaxRank)
    fail(call, "no room for another axis", "tensors have at most " + std::to_string(kMaxRank));
  for (int i = 1; i < call.count(); i++)
    if (!(call.in(i).shape() == call.in(0).shape()))
      fail(call, "input " + std::to_string(i) + " has shape " + to_string(call.in(i).shape()),
           "all shapes must be the same");
  Dims shape = call.in(0).shape();
  shape.insert(stack_axis(call), call.count());
  element_count(shape);
  out.add(call.in(0).dtype(), shape);
}

// Sizes of before and after as pad takes them, for a tensor of `rank` axes.
void require_margins(const Call& call, int rank) {
  for (const char* side : {"before", "after"}) {
    const Dims& margin = call.ints(side);
    if (margin.size() != rank)
      fail_argument(call, std::string(side) + " is " + to_string(margin),
                    "give one number per axis: " + std::to_string(rank));
    for (int64_t n : margin)
      if (n < 0 || n > int64_t{1} << 60)
        fail_argument(call, std::string(side) + " is " + to_string(margin), "give numbers of 0 or more");
  }
}

void infer_pad(const Call& call, Specs& out) {
  const Tensor& x = call.in(0);
  require_margins(call, x.rank());
  Dims shape = x.shape();
  for (int a = 0; a < x.rank(); a++) shape[a] += call.ints("before")[a] + call.ints("after")[a];
  element_count(shape);
  out.add(x.dtype(), shape);
}

// Fills the margin slab by slab: along each axis both ends, over what the axes before it left.
void fill_margin(const Call& call, const Tensor& out, const void* element, const Team& team) {
  const Dims &before = call.params<Margin>().before, &inner = call.in(0).shape();
  const int64_t bytes = static_cast<int64_t>(size_of(out.dtype()));
  const Dims repeat = Dims::filled(out.rank(), 0);
  Dims shape = out.shape();
  std::byte* at = static_cast<std::byte*>(out.raw());
  for (int a = 0; a < out.rank(); a++) {
    const int64_t step = out.strides()[a] * bytes, end = before[a] + inner[a];
    shape[a] = before[a];
    kernels::copy(at, out.strides().begin(), element, repeat.begin(), shape.begin(), out.rank(), bytes, team);
    shape[a] = out.shape()[a] - end;
    kernels::copy(at + end * step, out.strides().begin(), element, repeat.begin(), shape.begin(), out.rank(), bytes,
                  team);
    shape[a] = inner[a];
    at += before[a] * step;
  }
}

void run_pad(const Call& call, const Tensor* out, void*, const Team& team) {
  const Margin& margin = call.params<Margin>();
  int64_t element = 0, offset = 0;
  store_from_double(&element, out->dtype(), margin.value);
  for (int a = 0; a < out->rank(); a++) offset += margin.before[a] * out->strides()[a];
  fill_margin(call, *out, &element, team);
  copy_to_part(*out, offset, out->strides(), call.in(0), team);
}

void pad_reference(const Call& call, const Tensor* out) {
  const Tensor& x = call.in(0);
  for_each_index(out->shape(), [&](const Dims& at) {
    Dims from = at;
    bool inside = true;
    for (int a = 0; a < at.size(); a++) {
      from[a] -= call.ints("before")[a];
      inside = inside && from[a] >= 0 && from[a] < x.shape()[a];
    }
    if (inside)
      std::memcpy(element_at(*out, at), element_at(x, from), size_of(x.dtype()));
    else
      store_from_double(element_at(*out, at), out->dtype(), call.real("value"));
  });
}

Layout unpad_layout(const Call& call) {
  const Tensor& x = call.in(0);
  require_margins(call, x.rank());
  Layout view{x.shape(), x.strides()};
  for (int a = 0; a < x.rank(); a++) {
    view.shape[a] -= call.ints("before")[a] + call.ints("after")[a];
    view.offset += call.ints("before")[a] * x.strides()[a];
    if (view.shape[a] < 0)
      fail_argument(call,
                    "before " + to_string(call.ints("before")) + " and after " + to_string(call.ints("after")) +
                        " leave less than nothing",
                    "cut away less");
  }
  return view;
}

Attrs margins(const Dims& before, const Dims& after) { return Attrs().set("before", before).set("after", after); }

}  // namespace

INGOT_OP(concat) = {.name = "concat",
                    .signature = "concat(xs..., axis:int=0)",
                    .doc = "Tensors of one shape but for the given axis, one after another along it.",
                    .family = "join",
                    .types = Types::kAll,
                    .infer = infer_concat,
                    .prepare = prepared<decode_concat>,
                    .run =
                        [](const Call& call, const Tensor* out, void*, const Team& team) {
                          const int axis = concat_axis(call);
                          int64_t offset = 0;
                          for (int i = 0; i < call.count(); i++) {
                            copy_to_part(*out, offset, out->strides(), call.in(i), team);
                            offset += call.in(i).shape()[axis] * out->strides()[axis];
                          }
                        },
                    .reference =
                        [](const Call& call, const Tensor* out) {
                          const int axis = concat_axis(call);
                          for_each_index(out->shape(), [&](const Dims& at) {
                            int64_t place = at[axis];
                            int i = 0;
                            while (place >= call.in(i).shape()[axis]) place -= call.in(i++).shape()[axis];
                            Dims from = at;
                            from[axis] = place;
                            std::memcpy(element_at(*out, at), element_at(call.in(i), from), size_of(out->dtype()));
                          });
                        },
                    .gradient =
                        [](Gradient& g) {
                          const int axis = concat_axis(g.call());
                          const Tensor dy = g.dy();
                          for (int64_t i = 0, start = 0; i < g.count(); i++) {
                            const int64_t n = g.in(static_cast<int>(i)).shape()[axis];
                            if (g.wants(static_cast<int>(i)))
                              g.set(static_cast<int>(i), slice(dy, axis, start, start + n));
                            start += n;
                          }
                        },
                    .samples =
                        [](Samples& s) {
                          s.add({s.real({3}), s.real({0}), s.real({4})}, Attrs().set("axis", 0));
                          s.add({s.real({2, 3}), s.real({2, 1})}, Attrs().set("axis", -1));
                          s.add({s.real({2, 3, 2}), s.real({2, 5, 2}), s.real({2, 1, 2})}, Attrs().set("axis", 1));
                          s.add({s.real({1})}, Attrs().set("axis", 0));
                          s.add({s.real({0, 3}), s.real({0, 3})}, Attrs().set("axis", 1));
                        }};

INGOT_OP(stack) = {.name = "stack",
                   .signature = "stack(xs..., axis:int=0)",
                   .doc = "Tensors of one shape as the entries of a new axis.",
                   .family = "join",
                   .types = Types::kAll,
                   .infer = infer_stack,
                   .prepare = prepared<decode_stack>,
                   .run =
                       [](const Call& call, const Tensor* out, void*, const Team& team) {
                         const int axis = stack_axis(call);
                         Dims strides = out->strides();
                         strides.erase(axis);
                         for (int i = 0; i < call.count(); i++)
                           copy_to_part(*out, i * out->strides()[axis], strides, call.in(i), team);
                       },
                   .reference =
                       [](const Call& call, const Tensor* out) {
                         const int axis = stack_axis(call);
                         for_each_index(out->shape(), [&](const Dims& at) {
                           Dims from = at;
                           from.erase(axis);
                           std::memcpy(element_at(*out, at), element_at(call.in(static_cast<int>(at[axis])), from),
                                       size_of(out->dtype()));
                         });
                       },
                   .gradient =
                       [](Gradient& g) {
                         const Tensor dy = g.dy();
                         for (int i = 0; i < g.count(); i++)
                           if (g.wants(i)) g.set(i, select(dy, stack_axis(g.call()), i));
                       },
                   .samples =
                       [](Samples& s) {
                         s.add({s.real({}), s.real({})}, Attrs().set("axis", 0));
                         s.add({s.real({2, 3}), s.real({2, 3}), s.real({2, 3})}, Attrs().set("axis", 1));
                         s.add({s.real({2, 3}), s.real({2, 3})}, Attrs().set("axis", -1));
                         s.add({s.real({1})}, Attrs().set("axis", 0));
                         s.add({s.real({0, 3}), s.real({0, 3})}, Attrs().set("axis", 0));
                       }};

INGOT_OP(pad) = {
    .name = "pad",
    .signature = "pad(x, before:ints, after:ints, value:real=0)",
    .doc = "x with before[a] entries of `value` in front of and after[a] behind each axis a.",
    .family = "join",
    .types = Types::kAll,
    .infer = infer_pad,
    .prepare = prepared<decode_pad>,
    .run = run_pad,
    .reference = pad_reference,
    .gradient = [](Gradient& g) { g.set(0, unpad(g.dy(), g.call().ints("before"), g.call().ints("after"))); },
    .samples =
        [](Samples& s) {
          const auto add = [&](const Dims& shape, const Dims& before, const Dims& after, double value) {
            s.add({s.real(shape)}, margins(before, after).set("value", s.number(value)));
          };
          add({3, 4}, {1, 0}, {2, 3}, 0);
          add({2, 3, 4}, {0, 1, 2}, {1, 1, 0}, 1.5);
          add({5}, {0}, {0}, 1);
          add({}, {}, {}, 1);
          add({0, 2}, {1, 1}, {0, 1}, -1);
        }};

INGOT_OP(unpad) = {
    .name = "unpad",
    .signature = "unpad(x, before:ints, after:ints)",
    .doc = "A view of x without its first before[a] and last after[a] entries along each axis a.",
    .family = "join",
    .types = Types::kAll,
    .infer = [](const Call& call, Specs& out) { out.add(call.in(0).dtype(), unpad_layout(call).shape); },
    .view = [](const Call& call) { return view_of(call.in(0), unpad_layout(call)); },
    .gradient = [](Gradient& g) { g.set(0, pad(g.dy(), g.call().ints("before"), g.call().ints("after"))); },
    .samples =
        [](Samples& s) {
          s.add({s.real({4, 5})}, margins({1, 0}, {2, 1}));
          s.add({s.real({2, 3, 4})}, margins({0, 1, 1}, {0, 1, 1}));
          s.add({s.real({3})}, margins({1}, {1}));
          s.add({s.real({})}, margins({}, {}));
          s.add({s.real({3, 2})}, margins({2, 0}, {1, 0}));
        }};

}  // namespace ingot
