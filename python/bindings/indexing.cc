// x[1, 2:5, ..., None, ::-1] as views; tensors of integers pick entries, which makes a copy.
#include "bindings.h"

#include <limits>

#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::python {
namespace {

py::tuple as_tuple(const py::object& key) {
  return py::isinstance<py::tuple>(key) ? py::reinterpret_borrow<py::tuple>(key) : py::make_tuple(key);
}

bool is_list_of_indices(py::handle key) {
  return (tensor_in(key.ptr()) != nullptr && tensor_in(key.ptr())->rank() > 0) || py::isinstance<py::list>(key) ||
         is_array(key.ptr());
}

int64_t end_of(py::handle end, int64_t otherwise) {
  if (end.is_none()) return otherwise;
  const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(end.ptr()));
  if (!index) throw py::error_already_set();
  return index.cast<int64_t>();
}

Tensor sliced(const Tensor& x, int axis, py::handle key) {
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
  const int64_t step = end_of(key.attr("step"), 1);
  return slice(x, axis, end_of(key.attr("start"), step > 0 ? 0 : kFar),
               end_of(key.attr("stop"), step > 0 ? kFar : -kFar), step);
}

Tensor picked(const Tensor& x, int axis, py::handle key) {
  const Tensor indices = py::isinstance<py::list>(key) ? make_tensor(key, py::none()) : as_tensor(key, "index");
  if (indices.dtype() == kBool)
    throw Error(ErrorKind::kType,
                "index: a mask of bool picks a number of entries that nobody knows before — use where(mask, a, b), or "
                "x.numpy()[mask]");
  const Tensor rows = index_select(x, reshape(indices, {-1}), axis);  // the axis becomes the axes of the indices
  Dims shape;
  for (int i = 0; i < axis; i++) shape.push_back(x.shape()[i]);
  for (int64_t n : indices.shape()) shape.push_back(n);
  for (int i = axis + 1; i < x.rank(); i++) shape.push_back(x.shape()[i]);
  return reshape(rows, shape);
}

Tensor indexed(const Tensor& x, const py::object& key) {
  const py::tuple parts = as_tuple(key);
  int named = 0, picks = 0, runs = 0;  // places that name an axis; lists; runs of integers and lists
  bool picking = false;
  for (const py::handle part : parts) {
    named += part.is_none() || part.is(py::ellipsis()) ? 0 : 1;
    picks += is_list_of_indices(part) ? 1 : 0;
    const bool picks_here = is_list_of_indices(part) || PyIndex_Check(part.ptr());
    runs += picks_here && !picking ? 1 : 0;
    picking = picks_here;
  }
  if (named > x.rank())
    throw py::index_error("index: " + std::to_string(named) + " places for a tensor of " + std::to_string(x.rank()) +
                          " axes");
  if (picks == 1 && runs > 1)  // NumPy moves the axes to the front then
    throw Error("index: a list and an integer apart from it have no order that goes without saying — index twice");
  if (picks > 1) throw Error("index: only one of the places may be a list — index twice, or use gather");
  Tensor y = x;
  int axis = 0;
  bool all = false;
  for (const py::handle part : parts) {
    if (part.is_none()) {
      y = unsqueeze(y, axis++);
    } else if (part.is(py::ellipsis())) {
      if (all) throw py::index_error("index: two ellipses");
      all = true;
      axis += x.rank() - named;
    } else if (py::isinstance<py::slice>(part)) {
      y = sliced(y, axis++, part);
    } else if (is_list_of_indices(part)) {
      const int before = y.rank();
      y = picked(y, axis, part);
      axis += y.rank() - before + 1;
    } else if (PyIndex_Check(part.ptr())) {
      const int64_t i = end_of(part, 0), n = y.shape()[axis];
      if (i < -n || i >= n)
        throw py::index_error("index: " + std::to_string(i) + " is out of range for an axis of " + std::to_string(n));
      y = select(y, axis, i);
    } else {
      throw py::type_error("index: integers, slices, None, ... and a tensor of integers are places");
    }
  }
  return y;
}

void assign(const Tensor& x, const py::object& key, const py::object& value) {
  for (const py::handle part : as_tuple(key))
    if (is_list_of_indices(part))
      throw Error("index: a list of places cannot be assigned to — use scatter_add, or a loop over views");
  const Tensor place = indexed(x, key);
  if (PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr())) return fill(place, value.cast<double>());
  Tensor source = is_array(value.ptr()) || tensor_in(value.ptr()) != nullptr
                      ? as_tensor(value, "index")
                      : make_tensor(value, dtype_object(x.dtype()));
  if (source.dtype() != x.dtype()) source = to(source, x.dtype());
  if (overlaps(place, source)) source = clone(source);
  copy_into(place, broadcast_to(source, place.shape()));
}

}  // namespace

void add_indexing(py::class_<Tensor>& type) { type.def("__getitem__", &indexed).def("__setitem__", &assign); }

}  // namespace ingot::python
