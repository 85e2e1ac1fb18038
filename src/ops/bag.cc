// Bags of indices: sums of rows of a table. What a first layer computes of an input in which few entries are one, without
// the products with zeros.
#include "kernels/bag.h"

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ops/define.h"
#include "ops/layouts.h"

namespace ingot {
namespace {

int64_t decode_rows(const Call& call) { return call.integer("rows"); }

void require_bags(const Call& call) {
  require_indices(call, 1);
  require_rank(call, 1, 2, "[bags, indices of each]");
}

// `result` has the sums of the rows of `table`, or is their gradient.
kernels::Bags bags_of(const Tensor& table, const Tensor& indices, const Tensor& result) {
  return {indices.shape()[0],   indices.shape()[1], table.shape()[0],   table.shape()[1],    indices.strides()[0],
          indices.strides()[1], table.strides()[0], table.strides()[1], result.strides()[0], result.strides()[1]};
}

kernels::Indices indices_of(const Tensor& t) { return {t.raw(), t.dtype() == kI64}; }

double bag_cost(const Call& call) { return static_cast<double>(call.in(1).numel() * call.in(0).shape()[1]); }

// Calls f(bag, row) for every index, in order.
template <class F>
void for_each_entry(const Tensor& indices, F&& f) {
  for (int64_t k = 0; k < indices.numel(); k++) f(k / indices.shape()[1], index_at(indices, k));
}

double number(const Tensor& t, int64_t row, int64_t column) {
  return load_as_double(element_at(t, {row, column}), t.dtype());
}

}  // namespace

INGOT_OP(embedding_bag) = {
    .name = "embedding_bag",
    .signature = "embedding_bag(table, indices)",
    .doc = "The sums of the rows of a [count, width] table that each row of indices [n, k] names: [n, width].",
    .family = "index",
    .types = Types::kFloats,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_rank(call, 0, 2, "[count, width]");
          require_bags(call);
          out.add(call.in(0).dtype(), {call.in(1).shape()[0], call.in(0).shape()[1]});
        },
    .check = [](const Call& call) { require_index_range(call, 1, 0, call.in(0).shape()[0]); },
    .run =
        [](const Call& call, const Tensor* out, void*, const Team& team) {
          const Tensor &table = call.in(0), &indices = call.in(1);
          const kernels::Bags bags = bags_of(table, indices, *out);
          if (out->dtype() == kF32)
            kernels::bag_sums(out->data<float>(), table.data<float>(), indices_of(indices), bags, team);
          else
            kernels::bag_sums(out->data<double>(), table.data<double>(), indices_of(indices), bags, team);
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          for_each_index(out->shape(), [&](const Dims& at) {
            double sum = 0;
            for_each_entry(call.in(1), [&](int64_t bag, int64_t row) {
              if (bag == at[0]) sum += number(call.in(0), row, at[1]);
            });
            store_from_double(element_at(*out, at), out->dtype(), sum);
          });
        },
    .cost = bag_cost,
    .gradient = [](Gradient& g) { g.set(0, embedding_bag_grad(g.dy(), g.in(1), g.in().shape()[0])); },
    .samples =
        [](Samples& s) {
          s.add({s.real({5, 3}), s.indices({7, 2}, 0, 5)});
          s.add({s.real({6, 33}), s.indices({4, 5}, 0, 6, kI32)});
          s.add({s.real({9, 260}), s.indices({3, 4}, 0, 9, kI32)});
          s.add({s.real({11, 70}), s.indices({9, 5}, 0, 11, kI32)});  // few rows, used often
          s.add({s.real({1, 1}), s.indices({1, 1}, 0, 1)});
          s.add({s.real({4, 2}), s.indices({3, 0}, 0, 4)});
          s.add({s.real({4, 2}), s.indices({0, 3}, 0, 4)});
        }};

INGOT_OP(embedding_bag_grad) = {
    .name = "embedding_bag_grad",
    .signature = "embedding_bag_grad(dy, indices, rows:int)",
    .doc =
        "Row b of dy [n, width] added to every row of zeros [rows, width] that row b of indices [n, k] names: the "
        "gradient of embedding_bag.",
    .family = "index",
    .types = Types::kFloats,
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          const Tensor& dy = call.in(0);
          require_type(call, dy.dtype());
          require_rank(call, 0, 2, "[bags, width]");
          require_bags(call);
          if (dy.shape()[0] != call.in(1).shape()[0]) fail(call, "dy does not fit the indices", "give a row per bag");
          const Dims shape{call.integer("rows"), dy.shape()[1]};
          require_sizes(call, shape, "shape");
          out.add(dy.dtype(), shape);
        },
    .prepare = prepared<decode_rows>,
    .check = [](const Call& call) { require_index_range(call, 1, 0, call.params<int64_t>()); },
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          const Tensor &dy = call.in(0), &indices = call.in(1);
          const kernels::Bags bags = bags_of(*out, indices, dy);
          if (out->dtype() == kF32)
            kernels::bag_gradient(out->data<float>(), dy.data<float>(), indices_of(indices), bags, scratch, team);
          else
            kernels::bag_gradient(out->data<double>(), dy.data<double>(), indices_of(indices), bags, scratch, team);
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team_size) {
          return kernels::bag_gradient_scratch(bags_of(*out, call.in(1), call.in(0)), team_size);
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          for_each_index(out->shape(), [&](const Dims& at) {
            double sum = 0;
            for_each_entry(call.in(1), [&](int64_t bag, int64_t row) {
              if (row == at[0]) sum += number(call.in(0), bag, at[1]);
            });
            store_from_double(element_at(*out, at), out->dtype(), sum);
          });
        },
    .cost = bag_cost,
    .gradient = [](Gradient& g) { g.set(0, embedding_bag(g.dy(), g.in(1))); },
    .samples =
        [](Samples& s) {
          const auto add = [&](const Dims& dy, int64_t length, int64_t rows, DType type) {
            s.add({s.real(dy), s.indices({dy[0], length}, 0, rows, type)}, Attrs().set("rows", rows));
          };
          add({7, 3}, 2, 5, kI64);
          add({4, 33}, 5, 6, kI32);
          add({3, 260}, 4, 9, kI32);
          add({9, 70}, 5, 11, kI32);
          add({1, 1}, 1, 1, kI64);
          add({3, 2}, 0, 4, kI64);
          add({0, 2}, 3, 4, kI64);
        }};

}  // namespace ingot
