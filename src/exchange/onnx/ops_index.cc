// Elements by their places: gathering, scattering, sorting.
#include <algorithm>
#include <numeric>

#include "exchange/onnx/use.h"
#include "ingot/base/error.h"

namespace ingot::onnx {
namespace {

// Places counted from the end become places from the beginning.
Tensor from_front(const Value& indices, int64_t n) {
  const Tensor i = as(indices.tensor, kI64);
  return where(less(i, 0.0), add(i, static_cast<double>(n)), i);
}

Dims without_front(const Dims& d, int count) {
  Dims rest;
  for (int a = count; a < d.size(); a++) rest.push_back(d[a]);
  return rest;
}
Dims joined(Dims a, const Dims& b) {
  for (const int64_t d : b) a.push_back(d);
  return a;
}

void gather_op(Use& u) {
  const Tensor& x = u.in();
  const int axis = u.axis("axis", 0, x.rank());
  const int64_t n = x.shape()[axis];
  const Value& at = u.value(1);
  if (at.known && at.tensor.rank() == 0) {  // a view
    const int64_t i = to_integers(at.tensor)[0];
    if (i < -n || i >= n)
      u.fail("index " + std::to_string(i) + " lies outside of axis " + std::to_string(axis), "it must be in it");
    return u.out(select(x, axis, i));
  }
  Dims shape;
  for (int a = 0; a < axis; a++) shape.push_back(x.shape()[a]);
  shape = joined(joined(shape, at.tensor.shape()), without_front(x.shape(), axis + 1));
  const Tensor places = reshaped(from_front(at, n), {at.tensor.numel()});
  u.out(reshaped(index_select(x, places, axis), shape));
}

void gather_elements_op(Use& u) {
  const int axis = u.axis("axis", 0, u.rank());
  u.out(gather(u.in(), from_front(u.value(1), u.in().shape()[axis]), axis));
}

// The numbers of rows that tuples of places name, in x with the axes from `first` on that they are for made one, and the
// axes before it as well: [m], -1 where a place lies outside of its axis.
Tensor rows_of(Use& u, const Tensor& x, int first, const Value& indices) {
  const Tensor& tuples = indices.tensor;
  const int64_t k = tuples.rank() == 0 ? 0 : tuples.size(-1);
  if (k < 1 || first + k > x.rank())
    u.fail("the last axis of the indices is too long, or empty", "it has a place for each of the first axes");
  Tensor rows, least;  // … of a place and what is behind it
  int64_t size = 1, batches = 1;
  for (int64_t j = 0; j < k; j++) {
    const int64_t n = x.shape()[first + static_cast<int>(j)];
    size *= n;
    const Tensor place = from_front({select(tuples, -1, j), indices.type, indices.known, indices.inputs}, n);
    const Tensor room = minimum(place, add(negative(place), static_cast<double>(n - 1)));
    rows = rows.defined() ? add(multiply(rows, static_cast<double>(n)), place) : place;
    least = least.defined() ? minimum(least, room) : room;
  }
  const int64_t m = rows.numel();
  for (int a = 0; a < first; a++) batches *= x.shape()[a];
  if (first > 0 && batches > 0) {
    std::vector<int64_t> begin;
    begin.reserve(static_cast<size_t>(batches));
    for (int64_t b = 0; b < batches; b++) begin.push_back(b * size);
    rows = add(reshaped(rows, {batches, m / batches}), Tensor::from(begin, {batches, 1}));
  }
  rows = reshaped(rows, {m});
  return where(less(reshaped(least, {m}), 0.0), scalar_like(rows, -1), rows);
}

void gather_nd_op(Use& u) {
  const Tensor& x = u.in();
  const auto batch = saturate<int>(static_cast<double>(u.integer("batch_dims", 0)));
  const Dims& at = u.in(1).shape();
  if (batch < 0 || batch >= at.size() || batch >= x.rank())
    u.fail("batch_dims is too large", "both inputs must have so many axes and one more");
  for (int a = 0; a < batch; a++)
    if (at[a] != x.shape()[a]) u.fail("batches of different sizes", "the first batch_dims axes are the same");
  const Tensor rows = rows_of(u, x, batch, u.value(1));
  const auto k = static_cast<int>(at.back());
  int64_t size = 1;
  for (int a = 0; a < batch + k; a++) size *= x.shape()[a];
  const Dims rest = without_front(x.shape(), batch + k);
  Dims shape;
  for (int a = 0; a + 1 < at.size(); a++) shape.push_back(at[a]);
  const Tensor table = reshaped(x, joined({size}, rest));
  u.out(reshaped(index_select(table, rows, 0), joined(shape, rest)));
}

// x with updates at places along an axis: instead of what is there, or joined with it.
Tensor scattered(Use& u, const Tensor& x, const Tensor& places, const Tensor& updates, int axis,
                 const std::string& how) {
  if (how == "add") return scatter_add(x, places, updates, axis);
  if (how == "none") {  // places occur once
    const bool whole = x.dtype() == kBool;
    const Tensor base = whole ? as(x, kI32) : x, news = whole ? as(updates, kI32) : updates;
    const Tensor blank = zeros(x.shape(), base.dtype());
    const Tensor hit = scatter_add(blank, places, ones(updates.shape(), base.dtype()), axis);
    return as(where(greater(hit, 0.0), scatter_add(blank, places, news, axis), base), x.dtype());
  }
  u.fail("reduction \"" + how + "\"", "only none and add are supported here");
}

void scatter_elements_op(Use& u) {
  const int axis = u.axis("axis", 0, u.rank());
  const Tensor places = from_front(u.value(1), u.in().shape()[axis]);
  u.out(scattered(u, u.in(), places, u.in(2), axis, u.text("reduction", "none")));
}

void scatter_nd_op(Use& u) {
  const Tensor& x = u.in();
  const std::string how = u.text("reduction", "none");
  if (how == "mul")
    for (const int i : {0, 1, 2}) u.known(i);
  const Tensor rows = rows_of(u, x, 0, u.value(1));
  const auto k = static_cast<int>(u.in(1).size(-1));
  int64_t size = 1, width = 1;
  for (int a = 0; a < x.rank(); a++) (a < k ? size : width) *= x.shape()[a];
  const int64_t m = rows.numel();
  const Tensor table = reshaped(x, {size, width}), updates = reshaped(u.in(2), {m, width});
  if (how == "mul") {
    const std::vector<int64_t> at = to_integers(rows);
    std::vector<double> y = to_reals(u.known(0)), by = to_reals(u.known(2));
    for (const int64_t row : at)
      if (row < 0) u.fail("an index lies outside of its axis", "it must be in it");
    for (size_t i = 0; i < at.size(); i++)
      for (int64_t c = 0; c < width; c++)
        y[static_cast<size_t>(at[i] * width + c)] *= by[i * static_cast<size_t>(width) + static_cast<size_t>(c)];
    return u.out(from_reals(y, x.shape(), u.type()));
  }
  const Tensor places = contiguous(broadcast_to(reshaped(rows, {m, 1}), {m, width}));
  u.out(reshaped(scattered(u, table, places, updates, 0, how), x.shape()));
}

void one_hot_op(Use& u) {
  const auto depth = saturate<int64_t>(u.known_real(1));
  if (depth < 1) u.fail("a depth of " + std::to_string(depth), "give the number of classes");
  u.small_shape({depth});
  const Tensor at =
      unsqueeze(from_front({as(u.in(0), kI64), Type::kInt64, u.value(0).known, u.value(0).inputs}, depth), -1);
  std::vector<int64_t> classes(static_cast<size_t>(depth));
  std::iota(classes.begin(), classes.end(), 0);
  const Tensor hot = equal(at, Tensor::from(classes));
  const Tensor values = u.in(2);
  const Tensor y = where(hot, select(values, 0, 1), select(values, 0, 0));
  const int axis = u.axis("axis", -1, y.rank());
  Dims order;
  for (int a = 0; a < y.rank() - 1; a++) order.push_back(a);
  order.insert(axis, y.rank() - 1);
  u.out(permute(y, order), u.type(2));
}

void top_k_op(Use& u) {
  const Tensor& x = u.in();
  const int axis = u.axis("axis", -1, x.rank());
  const int64_t k = u.has(1) ? saturate<int64_t>(u.known_real(1)) : u.integer("k", 0);
  if (k < 0 || k > x.shape()[axis]) u.fail("k = " + std::to_string(k), "the axis must have so many elements");
  if (u.integer("largest", 1) != 0) {
    const TopkResult r = topk(x, k, axis);
    u.out(r.values), u.out(r.indices, Type::kInt64);
  } else {
    const SortResult r = sort(x, axis);
    u.out(slice(r.values, axis, 0, k)), u.out(slice(r.indices, axis, 0, k), Type::kInt64);
  }
}

// The first elements of every sequence in the opposite order.
void reverse_sequence_op(Use& u) {
  const Tensor& x = u.in();
  const auto batch = u.axis("batch_axis", 1, x.rank()), time = u.axis("time_axis", 0, x.rank());
  const std::vector<int64_t> lengths = u.known_integers(1);
  const int64_t steps = x.shape()[time], count = x.shape()[batch];
  if (static_cast<int64_t>(lengths.size()) != count)
    u.fail("not one length per sequence", "give as many as the batch has");
  std::vector<int64_t> places;
  const bool time_first = time < batch;
  for (int64_t i = 0; i < (time_first ? steps : count); i++)
    for (int64_t j = 0; j < (time_first ? count : steps); j++) {
      const int64_t t = time_first ? i : j, length = lengths[static_cast<size_t>(time_first ? j : i)];
      places.push_back(t < length && length <= steps ? length - 1 - t : t);
    }
  Dims shape = Dims::filled(x.rank(), 1);
  shape[time] = steps, shape[batch] = count;
  u.out(gather(x, contiguous(broadcast_to(Tensor::from(places, shape), x.shape())), time));
}

}  // namespace

std::span<const Row> index_rows() {
  static constexpr Row kRows[] = {
      {"Gather", 1, gather_op, "0"},
      {"GatherElements", 11, gather_elements_op},
      {"GatherND", 11, gather_nd_op},
      {"Scatter", 9, scatter_elements_op},
      {"ScatterElements", 11, scatter_elements_op},
      {"ScatterND", 11, scatter_nd_op},
      {"OneHot", 9, one_hot_op},
      {"TopK", 1, top_k_op},
      {"ReverseSequence", 10, reverse_sequence_op},
  };
  return kRows;
}

}  // namespace ingot::onnx
