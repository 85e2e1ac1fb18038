// The class of tensors: what it says of itself, how it is made.
#include "bindings.h"

#include "ingot/graph/plan.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::python {
namespace {

PyTypeObject* the_tensor_type = nullptr;
PyObject* dtypes[8];

constexpr DType kDTypes[] = {kF32, kF64, kI32, kI64, kU8, kBool, kF16, kBF16};
constexpr const char* kLongNames[] = {"float32", "float64", "int32", "int64", "uint8", "bool", "float16", "bfloat16"};

void bind_dtypes(py::module_& m) {
  py::class_<DType> type(
      m, "DType", "The type of a tensor's elements; strings (\"f32\"), float, int, bool and NumPy's types do as well.");
  type.def("__repr__", [](DType t) { return "ingot." + std::string(name(t)); })
      .def("__str__", [](DType t) { return std::string(name(t)); })
      .def("__eq__", [](DType a, const py::object& b) { return b.is_none() ? false : a == as_dtype(b); })
      .def("__hash__", [](DType t) { return static_cast<int>(t); })
      .def("__reduce__", [](DType t) { return py::make_tuple(py::type::of<DType>(), py::make_tuple(name(t))); })
      .def(py::init([](const py::object& name) { return as_dtype(name); }), py::arg("name"))
      .def_property_readonly("itemsize", [](DType t) { return size_of(t); });
  for (DType t : kDTypes) {
    const py::object made = py::cast(t);
    dtypes[static_cast<int>(t)] = py::object(made).release().ptr();  // for the life of the process
    m.attr(t == kBool ? "bool_" : name(t)) = made;
  }
}

// The elements as nested lists of Python's own numbers.
py::object to_list(const Tensor& t) {
  if (t.rank() == 0) {
    if (t.dtype() == kBool) return py::bool_(t.item<bool>());
    if (is_integer(t.dtype())) return py::int_(t.dtype() == kI64 ? *t.data<int64_t>() : t.item<int64_t>());
    return py::float_(t.item<double>());
  }
  py::list list;
  for (int64_t i = 0; i < t.size(0); i++) list.append(to_list(select(t, 0, i)));
  return list;
}

// One element as Python's own number; an Error, which says what a truth value of many would be, for more.
py::object item(const Tensor& t) {
  if (t.numel() != 1)
    throw Error(ErrorKind::kShape, "item: the tensor has " + std::to_string(t.numel()) + " elements (" + describe(t) +
                                       ") — exactly one is a number; reduce it, or use tolist()");
  if (t.is_symbolic()) t.item<double>();  // says why not
  return to_list(reshape(t, {}));
}

std::string repr(const Tensor& t) {
  if (!t.defined()) return "<undefined tensor>";
  if (t.is_symbolic()) return "<" + describe(t) + ", a value of a plan under way>";
  return to_string(t);
}

void add_properties(py::class_<Tensor>& type) {
  type.def_property_readonly(
          "shape", [](const Tensor& t) { return shape_tuple(t.shape()); }, "The sizes, a tuple.")
      .def_property_readonly(
          "strides", [](const Tensor& t) { return shape_tuple(t.strides()); }, "In elements.")
      .def_property_readonly(
          "dtype", [](const Tensor& t) { return dtype_object(t.dtype()); }, "The type of the elements.")
      .def_property_readonly("ndim", &Tensor::rank, "The number of axes.")
      .def_property_readonly("size", &Tensor::numel, "The number of elements.")
      .def_property_readonly("nbytes",
                             [](const Tensor& t) { return t.numel() * static_cast<int64_t>(size_of(t.dtype())); })
      .def_property_readonly(
          "T", [](const Tensor& t) { return t.rank() < 2 ? t : transpose(t); },
          "The last two axes changed over, a view.")
      .def_property_readonly("is_contiguous", &Tensor::is_contiguous,
                             "Do the elements lie in row-major order without gaps?")
      .def_property_readonly("is_symbolic", &Tensor::is_symbolic, "Does it stand for a value that a plan will compute?")
      .def("shares_memory", &overlaps, py::arg("other"), "Does some element lie in memory of the other's?")
      .def("item", &item, "The only element as a number.")
      .def(
          "tolist", [](const Tensor& t) { return t.numel() == 1 ? item(t), to_list(t) : to_list(t); },
          "The elements in nested lists.")
      .def("clone", &clone, "A contiguous copy.")
      .def("contiguous", &contiguous, "The tensor itself if it is contiguous, else a contiguous copy.")
      .def("flatten", &flatten, py::arg("first") = 0, py::arg("last") = -1, "Axes `first` to `last` made one, a view.")
      .def(
          "fill_", [](const Tensor& t, double value) { fill(t, value); }, py::arg("value"), "Sets every element.")
      .def("__repr__", &repr)
      .def("__len__",
           [](const Tensor& t) {
             if (t.rank() == 0) throw py::type_error("len() of a tensor without axes");
             return t.size(0);
           })
      .def("__iter__",
           [](const Tensor& t) {
             if (t.rank() == 0) throw py::type_error("iteration over a tensor without axes");
             py::list rows;
             for (int64_t i = 0; i < t.size(0); i++) rows.append(select(t, 0, i));
             return py::iter(rows);
           })
      .def("__bool__", [](const Tensor& t) { return item(t).attr("__bool__")(); })
      .def("__float__", [](const Tensor& t) { return py::float_(item(t)); })
      .def("__int__", [](const Tensor& t) { return py::int_(item(t)); })
      .def("__index__",
           [](const Tensor& t) {
             if (!is_integer(t.dtype())) throw py::type_error("only a tensor of integers is an index");
             return py::int_(item(t));
           })
      .def("__copy__", [](const Tensor& t) { return clone(t); })
      .def("__deepcopy__", [](const Tensor& t, const py::object&) { return clone(t); });
  type.attr("__array_ufunc__") = py::none();  // array + tensor is the tensor's to answer
}

void bind_creation(py::module_& m) {
  const auto dims = [](const py::object& shape) { return as_dims(shape); };
  m.def("tensor", &make_tensor, py::arg("data"), py::arg("dtype") = py::none(),
        "A tensor with elements of its own: of numbers in nested lists, of an array, of a tensor. Numbers with a point "
        "become f32, others i64.");
  m.def("from_numpy", &from_buffer, py::arg("array"),
        "A tensor that looks at the elements of an array, and keeps it alive. What is written to one is seen in the "
        "other.");
  m.def("from_dlpack", &from_dlpack, py::arg("array"),
        "The same for anything with __dlpack__: tensors of PyTorch, JAX, ….");
  m.def(
      "empty",
      [dims](const py::object& shape, const py::object& dtype) { return Tensor::empty(dims(shape), as_dtype(dtype)); },
      py::arg("shape"), py::arg("dtype") = "f32", "A tensor whose elements are anything.");
  m.def(
      "zeros", [dims](const py::object& shape, const py::object& dtype) { return zeros(dims(shape), as_dtype(dtype)); },
      py::arg("shape"), py::arg("dtype") = "f32", "A tensor of zeros.");
  m.def(
      "ones", [dims](const py::object& shape, const py::object& dtype) { return ones(dims(shape), as_dtype(dtype)); },
      py::arg("shape"), py::arg("dtype") = "f32", "A tensor of ones.");
  m.def("zeros_like", &zeros_like, py::arg("x"), "Zeros of x's shape and type.");
  m.def("ones_like", &ones_like, py::arg("x"), "Ones of x's shape and type.");
  m.def(
      "split",
      [dims](const Tensor& x, const py::object& sizes, int64_t axis) { return py::cast(split(x, dims(sizes), axis)); },
      py::arg("x"), py::arg("sizes"), py::arg("axis") = 0,
      "Views of consecutive pieces of x along an axis; their sizes add up.");
  m.def("argsort", &argsort, py::arg("x"), py::arg("axis") = -1, py::arg("descending") = false,
        "The indices (i64) that would sort x along an axis.");
  m.def("l2_normalize", &l2_normalize, py::arg("x"), py::arg("axis") = -1, py::arg("eps") = 1e-12,
        "x / max(‖x‖₂, eps) along an axis.");
  m.def("global_avg_pool", &global_avg_pool, py::arg("x"), "The mean of every channel of x [n, c, …], to [n, c].");
  m.def("global_max_pool", &global_max_pool, py::arg("x"),
        "The largest element of every channel of x [n, c, …], to [n, c].");
  m.def("batch_norm_inference", &batch_norm_inference, py::arg("x"), py::arg("mean"), py::arg("variance"),
        py::arg("weight") = Tensor(), py::arg("bias") = Tensor(), py::arg("eps") = 1e-5,
        "Batch norm with known statistics, as at inference.");
}

}  // namespace

PyTypeObject* tensor_type() { return the_tensor_type; }
PyObject* new_tensor(Tensor tensor) { return py::cast(std::move(tensor)).release().ptr(); }
py::object dtype_object(DType dtype) { return py::reinterpret_borrow<py::object>(dtypes[static_cast<int>(dtype)]); }

DType as_dtype(py::handle object) {
  if (py::isinstance<DType>(object)) return object.cast<DType>();
  std::string text;
  if (py::isinstance<py::str>(object)) {
    text = object.cast<std::string>();
  } else if (object.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
    return kF32;
  } else if (object.ptr() == reinterpret_cast<PyObject*>(&PyLong_Type)) {
    return kI64;
  } else if (object.ptr() == reinterpret_cast<PyObject*>(&PyBool_Type)) {
    return kBool;
  } else if (py::hasattr(object, "name")) {  // numpy.dtype("float32")
    text = py::str(object.attr("name"));
  } else if (py::hasattr(object, "__name__")) {  // numpy.float32
    text = py::str(object.attr("__name__"));
  } else {
    text = py::str(object);
  }
  if (text.rfind("torch.", 0) == 0) text = text.substr(6);
  if (text == "bool_") return kBool;
  for (DType t : kDTypes)
    if (text == name(t) || text == kLongNames[static_cast<int>(t)]) return t;
  throw Error(ErrorKind::kType,
              "dtype: there is no type \"" + text + "\" — f32, f64, i32, i64, u8, bool, f16 and bf16 are there");
}

Dims as_dims(py::handle object) {
  const auto number = [](py::handle h) {
    const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(h.ptr()));
    const int64_t n = index ? PyLong_AsLongLong(index.ptr()) : -1;
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    return n;
  };
  if (PyIndex_Check(object.ptr())) return {number(object)};
  if (!PySequence_Check(object.ptr())) throw py::type_error("expected an integer or a list of integers");
  Dims dims;
  for (const py::handle each : py::reinterpret_borrow<py::sequence>(object)) {
    if (!PyIndex_Check(each.ptr())) throw py::type_error("expected an integer or a list of integers");
    dims.push_back(number(each));
  }
  return dims;
}

py::tuple shape_tuple(const Dims& dims) {
  py::tuple tuple(static_cast<size_t>(dims.size()));
  for (int i = 0; i < dims.size(); i++) tuple[static_cast<size_t>(i)] = dims[i];
  return tuple;
}

void bind_tensor(py::module_& m) {
  bind_dtypes(m);
  py::class_<Tensor> type(
      m, "Tensor", py::is_final(), py::buffer_protocol(),  // add_exchange fills the slots
      "A handle on strided memory. Views share it; operators make new tensors; `out=` and x[...] = y write.");
  the_tensor_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  add_properties(type);
  add_exchange(type);
  add_indexing(type);
  add_operators();
  bind_creation(m);
}

}  // namespace ingot::python
