// Looking up and adding by index. Indices are i32 or i64, counted from 0; one out of range is an Error that names it.
#include <cstring>

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "kernels/index.h"
#include "ops/define.h"
#include "ops/layouts.h"

namespace ingot {
namespace {

using kernels::IndexWalk;

kernels::Indices indices_of(const Tensor& t) { return {t.raw(), t.dtype() == kI64}; }

int decode_axis(const Call& call) { return normalize_axis(call.op.name, call.integer("axis"), call.in(0).rank()); }
int axis_of(const Call& call) { return decoded<decode_axis>(call); }

// For index_select_grad: an axis and its size in the result.
struct Entries {
  int axis;
  int64_t size;
};
Entries decode_entries(const Call& call) { return {decode_axis(call), call.integer("size")}; }
int64_t decode_rows(const Call& call) { return call.integer("rows"); }
int64_t decode_classes(const Call& call) { return call.integer("classes"); }

// One index per value: values and indices have one shape, data moves by the index along `axis`.
IndexWalk element_walk(const Tensor& values, const Tensor& indices, const Tensor& data, int axis) {
  IndexWalk walk;
  walk.data_step = data.strides()[axis];
  for (int a = 0; a < values.rank(); a++)
    walk.add_axis(values.shape()[a], values.strides()[a], indices.strides()[a], a == axis ? 0 : data.strides()[a]);
  return walk;
}

// One index per entry of `axis`: index_select.
IndexWalk entry_walk(const Tensor& values, const Tensor& indices, const Tensor& data, int axis) {
  IndexWalk walk;
  walk.data_step = data.strides()[axis];
  for (int a = 0; a < values.rank(); a++)
    walk.add_axis(values.shape()[a], values.strides()[a], a == axis ? indices.strides()[0] : 0,
                  a == axis ? 0 : data.strides()[a]);
  return walk;
}

// One index per row of a table: embedding.
IndexWalk row_walk(const Tensor& values, const Tensor& indices, const Tensor& table) {
  IndexWalk walk;
  walk.data_step = table.strides()[0];
  for (int a = 0; a < indices.rank(); a++)
    walk.add_axis(values.shape()[a], values.strides()[a], indices.strides()[a], 0);
  walk.add_axis(table.shape()[1], values.strides()[indices.rank()], 0, table.strides()[1]);
  return walk;
}

void run_gather(const Tensor& values, const Tensor& data, const Tensor& indices, const IndexWalk& walk,
                const Team& team) {
  kernels::gather(values.raw(), data.raw(), indices_of(indices), walk, static_cast<int64_t>(size_of(data.dtype())),
                  team);
}

void run_add(const Tensor& data, const Tensor& values, const Tensor& indices, const IndexWalk& walk, const Team& team) {
  const auto add = [&](auto* to) {
    using T = std::remove_pointer_t<decltype(to)>;
    kernels::scatter_add(to, static_cast<const T*>(values.raw()), indices_of(indices), walk, team);
  };
  switch (data.dtype()) {
    case DType::kF32: return add(static_cast<float*>(data.raw()));
    case DType::kF64: return add(static_cast<double*>(data.raw()));
    case DType::kI32: return add(static_cast<int32_t*>(data.raw()));
    default: return add(static_cast<int64_t*>(data.raw()));
  }
}

void zero_and_add(const Tensor& out, const Tensor& values, const Tensor& indices, const IndexWalk& walk,
                  const Team& team) {
  const int64_t zero = 0;
  fill_share(out, &zero, team);
  team.barrier();
  run_add(out, values, indices, walk, team);
}

double add_cost(const Call& call) {
  return static_cast<double>(call.in(call.count() - 1).numel() + call.in(0).numel()) * 2;
}

int64_t index_value(const Tensor& indices, const Dims& at) {
  const std::byte* p = element_at(indices, at);
  return indices.dtype() == kI32 ? *reinterpret_cast<const int32_t*>(p) : *reinterpret_cast<const int64_t*>(p);
}

// Sums for a reference: all in double (i64 for integers), rounded once at the end.
class PlainSums {
 public:
  explicit PlainSums(const Tensor& out)
      : out_(out), reals_(static_cast<size_t>(out.numel())), integers_(static_cast<size_t>(out.numel())) {}
  void add(const Dims& at, const void* value) {
    if (is_float(out_.dtype()))
      reals_[place(at)] += load_as_double(value, out_.dtype());
    else
      integers_[place(at)] += static_cast<uint64_t>(load_as_int(value, out_.dtype()));
  }
  void store() const {
    for_each_index(out_.shape(), [&](const Dims& at) {
      if (is_float(out_.dtype()))
        store_from_double(element_at(out_, at), out_.dtype(), reals_[place(at)]);
      else
        store_from_int(element_at(out_, at), out_.dtype(), static_cast<int64_t>(integers_[place(at)]));
    });
  }

 private:
  size_t place(const Dims& at) const {
    int64_t k = 0;
    for (int a = 0; a < at.size(); a++) k = k * out_.shape()[a] + at[a];
    return static_cast<size_t>(k);
  }
  const Tensor& out_;
  std::vector<double> reals_;
  std::vector<uint64_t> integers_;
};

// Fails unless the indices (input i) have x's rank and fit inside x but for the axis.
int require_aligned(const Call& call, int i, const Tensor& x) {
  require_indices(call, i);
  const Tensor& indices = call.in(i);
  const int axis = axis_of(call);
  bool fits = indices.rank() == x.rank();
  for (int a = 0; fits && a < x.rank(); a++) fits = a == axis || indices.shape()[a] <= x.shape()[a];
  if (!fits)
    fail(call, "indices do not fit x",
         "give as many axes as x has, none longer than x's except axis " + std::to_string(axis));
  return axis;
}

void require_vector_indices(const Call& call) {
  require_indices(call, 1);
  require_rank(call, 1, 1, "a vector of indices");
}

Dims embedding_shape(const Call& call, int64_t width) {
  require_indices(call, 1);
  Dims shape = call.in(1).shape();
  if (shape.size() == kMaxRank)
    fail(call, "no room for another axis", "tensors have at most " + std::to_string(kMaxRank));
  shape.push_back(width);
  return shape;
}

Dims row_place(const Tensor& indices, const Dims& at) {  // the table's element behind `at` of an embedding
  Dims index = at;
  index.erase(at.size() - 1);
  return {index_value(indices, index), at.back()};
}

Dims entry_place(const Tensor& indices, const Dims& at, int axis) {
  Dims place = at;
  place[axis] = index_value(indices, {at[axis]});
  return place;
}

Attrs on_axis(int axis) { return Attrs().set("axis", axis); }

}  // namespace

INGOT_OP(gather) = {
    .name = "gather",
    .signature = "gather(x, indices, axis:int)",
    .doc =
        "The result at p is x at p with its place on the axis replaced by indices[p]; the shape is that of the "
        "indices.",
    .family = "index",
    .types = Types::kAll,
    .infer =
        [](const Call& call, Specs& out) {
          require_aligned(call, 1, call.in(0));
          out.add(call.in(0).dtype(), call.in(1).shape());
        },
    .prepare = prepared<decode_axis>,
    .check = [](const Call& call) { require_index_range(call, 1, 0, call.in(0).shape()[axis_of(call)]); },
    .run =
        [](const Call& call, const Tensor* out, void*, const Team& team) {
          const Tensor &x = call.in(0), &indices = call.in(1);
          run_gather(*out, x, indices, element_walk(*out, indices, x, axis_of(call)), team);
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          const int axis = axis_of(call);
          for_each_index(out->shape(), [&](const Dims& at) {
            Dims from = at;
            from[axis] = index_value(call.in(1), at);
            std::memcpy(element_at(*out, at), element_at(call.in(0), from), size_of(out->dtype()));
          });
        },
    .gradient =
        [](Gradient& g) {
          g.set(0, scatter_add(zeros(g.in().shape(), g.dy().dtype()), g.in(1), g.dy(), g.call().integer("axis")));
        },
    .samples =
        [](Samples& s) {
          s.add({s.real({5}), s.indices({7}, 0, 5)}, on_axis(0));
          s.add({s.real({3, 4}), s.indices({3, 2}, 0, 4, kI32)}, on_axis(-1));
          s.add({s.real({4, 3, 5}), s.indices({6, 2, 5}, 0, 4)}, on_axis(0));
          s.add({s.real({2, 3, 4}), s.indices({2, 5, 3}, 0, 3, kI32)}, on_axis(1));
          s.add({s.real({1}), s.indices({1}, 0, 1)}, on_axis(0));
          s.add({s.real({3, 4}), s.indices({0, 4}, 0, 3)}, on_axis(0));
        }};

INGOT_OP(scatter_add) = {
    .name = "scatter_add",
    .signature = "scatter_add(x, indices, src, axis:int)",
    .doc =
        "A copy of x with src[p] added at p with its place on the axis replaced by indices[p]; sums in row-major "
        "order.",
    .family = "index",
    .types = Types::kNumbers,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_same_type(call, 0, 2);
          require_aligned(call, 1, call.in(0));
          if (!(call.in(1).shape() == call.in(2).shape()))
            fail(call, "indices and src differ in shape", "give one index per element of src");
          out.add(call.in(0).dtype(), call.in(0).shape());
        },
    .prepare = prepared<decode_axis>,
    .check = [](const Call& call) { require_index_range(call, 1, 0, call.in(0).shape()[axis_of(call)]); },
    .run =
        [](const Call& call, const Tensor* out, void*, const Team& team) {
          copy_share(*out, call.in(0), team);
          team.barrier();
          run_add(*out, call.in(2), call.in(1), element_walk(call.in(2), call.in(1), *out, axis_of(call)), team);
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          const int axis = axis_of(call);
          PlainSums sums(*out);
          for_each_index(out->shape(), [&](const Dims& at) { sums.add(at, element_at(call.in(0), at)); });
          for_each_index(call.in(2).shape(), [&](const Dims& at) {
            Dims to = at;
            to[axis] = index_value(call.in(1), at);
            sums.add(to, element_at(call.in(2), at));
          });
          sums.store();
        },
    .cost = add_cost,
    .gradient =
        [](Gradient& g) {
          if (g.wants(0)) g.set(0, g.dy());
          if (g.wants(2)) g.set(2, gather(g.dy(), g.in(1), g.call().integer("axis")));
        },
    .samples =
        [](Samples& s) {
          s.add({s.real({5}), s.indices({40}, 0, 5), s.real({40})}, on_axis(0));
          s.add({s.real({3, 4}), s.indices({3, 2}, 0, 4, kI32), s.real({3, 2})}, on_axis(-1));
          s.add({s.real({4, 3, 5}), s.indices({6, 2, 5}, 0, 4), s.real({6, 2, 5})}, on_axis(0));
          s.add({s.real({2, 3, 40}), s.indices({2, 5, 33}, 0, 3, kI32), s.real({2, 5, 33})}, on_axis(1));
          s.add({s.real({1}), s.indices({1}, 0, 1), s.real({1})}, on_axis(0));
          s.add({s.real({3, 4}), s.indices({0, 4}, 0, 3), s.real({0, 4})}, on_axis(0));
        }};

INGOT_OP(index_select) = {
    .name = "index_select",
    .signature = "index_select(x, indices, axis:int=0)",
    .doc = "The entries of x along an axis that a vector of indices names, in its order.",
    .family = "index",
    .types = Types::kAll,
    .infer =
        [](const Call& call, Specs& out) {
          require_vector_indices(call);
          Dims shape = call.in(0).shape();
          shape[axis_of(call)] = call.in(1).numel();
          element_count(shape);
          out.add(call.in(0).dtype(), shape);
        },
    .prepare = prepared<decode_axis>,
    .check = [](const Call& call) { require_index_range(call, 1, 0, call.in(0).shape()[axis_of(call)]); },
    .run =
        [](const Call& call, const Tensor* out, void*, const Team& team) {
          run_gather(*out, call.in(0), call.in(1), entry_walk(*out, call.in(1), call.in(0), axis_of(call)), team);
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          const int axis = axis_of(call);
          for_each_index(out->shape(), [&](const Dims& at) {
            std::memcpy(element_at(*out, at), element_at(call.in(0), entry_place(call.in(1), at, axis)),
                        size_of(out->dtype()));
          });
        },
    .gradient =
        [](Gradient& g) {
          const int axis = axis_of(g.call());
          g.set(0, index_select_grad(g.dy(), g.in(1), axis, g.in().shape()[axis]));
        },
    .samples =
        [](Samples& s) {
          s.add({s.real({5}), s.indices({7}, 0, 5)}, on_axis(0));
          s.add({s.real({3, 4}), s.indices({2}, 0, 4, kI32)}, on_axis(-1));
          s.add({s.real({4, 3, 5}), s.indices({6}, 0, 4)}, on_axis(0));
          s.add({s.real({2, 3, 33}), s.indices({5}, 0, 3, kI32)}, on_axis(1));
          s.add({s.real({1}), s.indices({1}, 0, 1)}, on_axis(0));
          s.add({s.real({3, 4}), s.indices({0}, 0, 3)}, on_axis(0));
        }};

INGOT_OP(index_select_grad) = {
    .name = "index_select_grad",
    .signature = "index_select_grad(dy, indices, axis:int, size:int)",
    .doc =
        "Entry k of dy along the axis added to entry indices[k] of zeros with `size` entries there, in order of k: the "
        "gradient of index_select.",
    .family = "index",
    .types = Types::kNumbers,
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          const Tensor& dy = call.in(0);
          require_type(call, dy.dtype());
          require_vector_indices(call);
          const int axis = axis_of(call);
          if (call.in(1).numel() != dy.shape()[axis])
            fail(call, std::to_string(call.in(1).numel()) + " indices for axis " + std::to_string(axis),
                 "give one index per entry of dy");
          Dims shape = dy.shape();
          shape[axis] = call.integer("size");
          require_sizes(call, shape, "shape");
          out.add(dy.dtype(), shape);
        },
    .prepare = prepared<decode_entries>,
    .check = [](const Call& call) { require_index_range(call, 1, 0, call.params<Entries>().size); },
    .run =
        [](const Call& call, const Tensor* out, void*, const Team& team) {
          zero_and_add(*out, call.in(0), call.in(1),
                       entry_walk(call.in(0), call.in(1), *out, decoded<decode_entries>(call).axis), team);
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          const int axis = decoded<decode_entries>(call).axis;
          PlainSums sums(*out);
          for_each_index(call.in(0).shape(), [&](const Dims& at) {
            sums.add(entry_place(call.in(1), at, axis), element_at(call.in(0), at));
          });
          sums.store();
        },
    .cost = add_cost,
    .gradient = [](Gradient& g) { g.set(0, index_select(g.dy(), g.in(1), g.call().integer("axis"))); },
    .samples =
        [](Samples& s) {
          const auto add = [&](const Dims& dy, int64_t n, int axis, int64_t size, DType type) {
            s.add({s.real(dy), s.indices({n}, 0, size, type)}, Attrs().set("axis", axis).set("size", size));
          };
          add({7}, 7, 0, 5, kI64);
          add({3, 4}, 4, -1, 6, kI32);
          add({9, 3, 5}, 9, 0, 4, kI64);
          add({2, 5, 33}, 5, 1, 2, kI32);
          add({1}, 1, 0, 1, kI64);
          add({0, 4}, 0, 0, 3, kI64);
        }};

INGOT_OP(embedding) = {.name = "embedding",
                       .signature = "embedding(table, indices)",
                       .doc = "The rows of a [count, width] table that indices of any shape name: […indices, width].",
                       .family = "index",
                       .types = Types::kAll,
                       .infer =
                           [](const Call& call, Specs& out) {
                             require_rank(call, 0, 2, "[count, width]");
                             out.add(call.in(0).dtype(), embedding_shape(call, call.in(0).shape()[1]));
                             element_count(out.of[0].shape);
                           },
                       .check = [](const Call& call) { require_index_range(call, 1, 0, call.in(0).shape()[0]); },
                       .run =
                           [](const Call& call, const Tensor* out, void*, const Team& team) {
                             run_gather(*out, call.in(0), call.in(1), row_walk(*out, call.in(1), call.in(0)), team);
                           },
                       .reference =
                           [](const Call& call, const Tensor* out) {
                             for_each_index(out->shape(), [&](const Dims& at) {
                               std::memcpy(element_at(*out, at), element_at(call.in(0), row_place(call.in(1), at)),
                                           size_of(out->dtype()));
                             });
                           },
                       .gradient = [](Gradient& g) { g.set(0, embedding_grad(g.dy(), g.in(1), g.in().shape()[0])); },
                       .samples =
                           [](Samples& s) {
                             s.add({s.real({5, 3}), s.indices({7}, 0, 5)});
                             s.add({s.real({6, 33}), s.indices({2, 4}, 0, 6, kI32)});
                             s.add({s.real({4, 2}), s.indices({}, 0, 4)});
                             s.add({s.real({1, 1}), s.indices({1, 1, 1}, 0, 1)});
                             s.add({s.real({4, 2}), s.indices({3, 0}, 0, 4)});
                           }};

INGOT_OP(embedding_grad) = {
    .name = "embedding_grad",
    .signature = "embedding_grad(dy, indices, rows:int)",
    .doc =
        "The rows of dy […indices, width] added to the rows of zeros [rows, width] that the indices name, in row-major "
        "order: "
        "the gradient of embedding.",
    .family = "index",
    .types = Types::kNumbers,
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          const Tensor& dy = call.in(0);
          require_type(call, dy.dtype());
          if (dy.rank() == 0 || !(embedding_shape(call, dy.shape().back()) == dy.shape()))
            fail(call, "dy does not fit the indices", "its shape is that of the indices and a width");
          const Dims shape{call.integer("rows"), dy.shape().back()};
          require_sizes(call, shape, "shape");
          out.add(dy.dtype(), shape);
        },
    .prepare = prepared<decode_rows>,
    .check = [](const Call& call) { require_index_range(call, 1, 0, call.params<int64_t>()); },
    .run =
        [](const Call& call, const Tensor* out, void*, const Team& team) {
          zero_and_add(*out, call.in(0), call.in(1), row_walk(call.in(0), call.in(1), *out), team);
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          PlainSums sums(*out);
          for_each_index(call.in(0).shape(),
                         [&](const Dims& at) { sums.add(row_place(call.in(1), at), element_at(call.in(0), at)); });
          sums.store();
        },
    .cost = add_cost,
    .gradient = [](Gradient& g) { g.set(0, embedding(g.dy(), g.in(1))); },
    .samples =
        [](Samples& s) {
          s.add({s.real({17, 3}), s.indices({17}, 0, 5)}, Attrs().set("rows", 5));
          s.add({s.real({2, 4, 33}), s.indices({2, 4}, 0, 6, kI32)}, Attrs().set("rows", 6));
          s.add({s.real({2}), s.indices({}, 0, 4)}, Attrs().set("rows", 4));
          s.add({s.real({1, 1}), s.indices({1}, 0, 1)}, Attrs().set("rows", 1));
          s.add({s.real({3, 0, 2}), s.indices({3, 0}, 0, 4)}, Attrs().set("rows", 4));
        }};

INGOT_OP(one_hot) = {
    .name = "one_hot",
    .signature = "one_hot(indices, classes:int, dtype:dtype=kF32)",
    .doc = "1 at each index and 0 elsewhere along a new last axis: […indices, classes].",
    .family = "index",
    .infer =
        [](const Call& call, Specs& out) {
          require_indices(call, 0);
          Dims shape = call.in(0).shape();
          if (shape.size() == kMaxRank)
            fail(call, "no room for another axis", "tensors have at most " + std::to_string(kMaxRank));
          shape.push_back(call.integer("classes"));
          require_sizes(call, shape, "shape");
          out.add(require_dtype(call), shape);
        },
    .prepare = prepared<decode_classes>,
    .check = [](const Call& call) { require_index_range(call, 0, 0, call.params<int64_t>()); },
    .run =
        [](const Call& call, const Tensor* out, void*, const Team& team) {
          const int64_t zero = 0;
          fill_share(*out, &zero, team);
          team.barrier();
          const Tensor& indices = call.in(0);
          const auto [first, last] = team.share(indices.numel(), 64);
          const int64_t bytes = static_cast<int64_t>(size_of(out->dtype()));
          for (int64_t k = first; k < last; k++) {
            int64_t offset = index_at(indices, k) * out->strides().back();
            for (int64_t a = indices.rank() - 1, rest = k; a >= 0; rest /= indices.shape()[static_cast<int>(a)], a--)
              offset += rest % indices.shape()[static_cast<int>(a)] * out->strides()[static_cast<int>(a)];
            store_from_double(static_cast<std::byte*>(out->raw()) + offset * bytes, out->dtype(), 1);
          }
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          for_each_index(out->shape(), [&](const Dims& at) {
            Dims index = at;
            index.erase(at.size() - 1);
            store_from_double(element_at(*out, at), out->dtype(), index_value(call.in(0), index) == at.back());
          });
        },
    .not_differentiable = "indices are integers",
    .samples =
        [](Samples& s) {
          for (const DType type : {s.dtype(), kBool, kI64}) {
            const auto attrs = [&](int classes) { return Attrs().set("classes", classes).set("dtype", type); };
            s.add({s.indices({7}, 0, 5)}, attrs(5));
            s.add({s.indices({2, 3}, 0, 4, kI32)}, attrs(4));
            s.add({s.indices({}, 0, 3)}, attrs(3));
            s.add({s.indices({0, 2}, 0, 3)}, attrs(3));
          }
        }};

}  // namespace ingot
