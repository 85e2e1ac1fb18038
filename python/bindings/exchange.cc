// Elements shared with others: Python's buffer protocol (NumPy), DLPack (PyTorch and the rest), and numbers in lists.
#include "bindings.h"

#include <bit>
#include <cstring>
#include <memory>

#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::python {
namespace {

static_assert(std::endian::native == std::endian::little);

// Somebody else's memory is let go by whoever drops the last handle, on any thread, or never if Python is gone already.
template <class Release>
std::function<void()> released_in_python(Release release) {
  return [release] {
    if (Py_IsInitialized() == 0) return;
    const py::gil_scoped_acquire lock;
    release();
  };
}

void check_has_elements(const Tensor& t, const char* to) {
  if (t.is_symbolic())
    throw Error(ErrorKind::kArgument, std::string(to) +
                                          ": the tensor is a value of a plan under way and has no elements yet — "
                                          "return it from the function, and look at the result");
}

// The buffer protocol ------------------------------------------------------------------------------------------------

struct Format {
  DType dtype;
  const char* letter;  // of Python's struct module
};
constexpr Format kFormats[] = {{kF32, "f"}, {kF64, "d"},  {kI32, "i"}, {kI64, "q"},
                               {kU8, "B"},  {kBool, "?"}, {kF16, "e"}};

const char* format_of(DType dtype) {
  for (const Format& f : kFormats)
    if (f.dtype == dtype) return f.letter;
  throw Error(ErrorKind::kType, "numpy: bf16 is no type of NumPy's — convert it first: x.to(\"f32\")");
}

DType dtype_of_format(const char* format, int64_t itemsize) {
  const char* letter = format == nullptr ? "B" : format;
  const bool swapped = *letter == '>' || *letter == '!';
  if (std::strchr("@=<>!", *letter) != nullptr) letter++;
  const bool one = letter[0] != '\0' && letter[1] == '\0';
  if (swapped && one)
    throw Error(ErrorKind::kType,
                "from_numpy: the elements are big-endian — a.astype(a.dtype.newbyteorder(\"=\")) turns them");
  if (one && *letter == 'l') return itemsize == 8 ? kI64 : kI32;  // C's long
  for (const Format& f : kFormats)
    if (one && *f.letter == *letter) return f.dtype;
  throw Error(ErrorKind::kType,
              std::string("from_numpy: elements of format \"") + (format == nullptr ? "" : format) +
                  "\" — f32, f64, i32, i64, u8, bool and f16 can be shared; convert others with a.astype(\"float32\")");
}

// What a view of Python's needs until it is let go; the tensor keeps the memory even if its handle moves on.
struct Shared {
  Tensor tensor;
  Py_ssize_t shape[kMaxRank], strides[kMaxRank];
};

int get_buffer(PyObject* object, Py_buffer* view, int flags) {
  view->obj = nullptr;
  try {
    const Tensor& t = *tensor_in(object);
    check_has_elements(t, "numpy");
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !t.is_contiguous())
      throw py::buffer_error("the tensor is not contiguous: ask for strides, or use x.contiguous()");
    auto shared = std::make_unique<Shared>();
    shared->tensor = t;
    const auto size = static_cast<Py_ssize_t>(size_of(t.dtype()));
    for (int i = 0; i < t.rank(); i++) shared->shape[i] = t.shape()[i], shared->strides[i] = t.strides()[i] * size;
    view->buf = t.raw();
    view->len = t.numel() * size;
    view->itemsize = size;
    view->readonly = 0;
    view->ndim = t.rank();
    const char* format = format_of(t.dtype());
    view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
    view->shape = (flags & PyBUF_ND) != 0 ? shared->shape : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? shared->strides : nullptr;
    view->suboffsets = nullptr;
    view->internal = shared.release();
    Py_INCREF(object);
    view->obj = object;
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Shared*>(view->internal); }

struct ReleaseBuffer {
  void operator()(Py_buffer* view) const {
    PyBuffer_Release(view);
    delete view;
  }
};

Tensor look_at(py::handle object, bool* read_only) {
  auto fresh = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), fresh.get(), PyBUF_RECORDS_RO) != 0) throw py::error_already_set();
  std::unique_ptr<Py_buffer, ReleaseBuffer> view(fresh.release());
  *read_only = view->readonly != 0;
  const DType dtype = dtype_of_format(view->format, view->itemsize);
  const auto size = static_cast<Py_ssize_t>(size_of(dtype));
  Dims shape, strides;
  for (int i = 0; i < view->ndim; i++) {
    shape.push_back(view->shape[i]);
    if (view->strides[i] % size != 0)
      throw Error(ErrorKind::kArgument, "from_numpy: a stride of " + std::to_string(view->strides[i]) +
                                            " bytes is no whole number of " + name(dtype) +
                                            " — a.copy() lays the elements out");
    strides.push_back(view->strides[i] / size);
  }
  Tensor tensor =
      Tensor::wrap(view->buf, shape, dtype, strides, released_in_python([raw = view.get()] { ReleaseBuffer()(raw); }));
  static_cast<void>(view.release());
  return tensor;
}

// DLPack: the structs of its specification, version 0 and 1 ------------------------------------------------------------

struct DlDevice {
  int32_t type, id;
};
struct DlType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DlManaged {  // "dltensor"
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged*);
};
struct DlManagedVersioned {  // "dltensor_versioned"
  uint32_t major, minor;
  void* context;
  void (*deleter)(DlManagedVersioned*);
  uint64_t flags;
  DlTensor tensor;
};
constexpr int32_t kCpu = 1;
constexpr uint64_t kReadOnly = 1;
constexpr uint8_t kInt = 0, kUnsigned = 1, kFloat = 2, kBrainFloat = 4, kBoolean = 6;

DlType dl_type_of(DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * size_of(dtype));
  switch (dtype) {
    case kI32:
    case kI64: return {kInt, bits, 1};
    case kU8: return {kUnsigned, bits, 1};
    case kBool: return {kBoolean, bits, 1};
    case kBF16: return {kBrainFloat, bits, 1};
    default: return {kFloat, bits, 1};
  }
}

DType dtype_of_dl(const DlType& type) {
  for (DType t : {kF32, kF64, kI32, kI64, kU8, kBool, kF16, kBF16}) {
    const DlType own = dl_type_of(t);
    if (own.code == type.code && own.bits == type.bits && type.lanes == 1) return t;
  }
  throw Error(ErrorKind::kType, "from_dlpack: elements of code " + std::to_string(type.code) + " and " +
                                    std::to_string(type.bits) +
                                    " bits — f32, f64, i32, i64, u8, bool, f16 and bf16 can be shared");
}

// A managed tensor of either version on memory of a tensor's, which it keeps.
template <class Managed>
struct Lent {
  Managed managed = {};
  Tensor tensor;
  int64_t shape[kMaxRank], strides[kMaxRank];
};

template <class Managed>
py::object lend(const Tensor& t, const char* capsule_name) {
  auto lent = std::make_unique<Lent<Managed>>();
  lent->tensor = t;
  for (int i = 0; i < t.rank(); i++) lent->shape[i] = t.shape()[i], lent->strides[i] = t.strides()[i];
  lent->managed.tensor = {t.raw(), {kCpu, 0}, t.rank(), dl_type_of(t.dtype()), lent->shape, lent->strides, 0};
  lent->managed.context = lent.get();
  lent->managed.deleter = [](Managed* m) { delete static_cast<Lent<Managed>*>(m->context); };
  if constexpr (std::is_same_v<Managed, DlManagedVersioned>) lent->managed.major = 1;
  PyObject* capsule = PyCapsule_New(&lent->managed, capsule_name, [](PyObject* c) {
    const char* given = PyCapsule_GetName(c);
    if (std::strncmp(given, "used_", 5) == 0) return;  // whoever took it lets it go
    auto* m = static_cast<Managed*>(PyCapsule_GetPointer(c, given));
    m->deleter(m);
  });
  if (capsule == nullptr) throw py::error_already_set();
  static_cast<void>(lent.release());
  return py::reinterpret_steal<py::object>(capsule);
}

py::object to_dlpack(const Tensor& t, const py::object& /*stream*/, const py::object& max_version,
                     const py::object& /*dl_device*/, const py::object& copy) {
  check_has_elements(t, "dlpack");
  const Tensor given = !copy.is_none() && copy.cast<bool>() ? clone(t) : t;
  if (!max_version.is_none() && max_version.cast<py::tuple>()[0].cast<int>() >= 1)
    return lend<DlManagedVersioned>(given, "dltensor_versioned");
  if (t.dtype() == kBool)
    throw Error(ErrorKind::kType,
                "dlpack: its first version, which was asked for, has no bool — pass x.to(\"u8\") or x.numpy()");
  return lend<DlManaged>(given, "dltensor");
}

template <class Managed>
Tensor borrow(const py::capsule& capsule, const char* name, const char* used) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (managed == nullptr) throw py::error_already_set();
  const DlTensor& t = managed->tensor;
  if (t.device.type != kCpu)
    throw Error("from_dlpack: the elements are on another device — move them to the CPU first");
  if constexpr (std::is_same_v<Managed, DlManagedVersioned>) {
    if (managed->major > 1) throw Error("from_dlpack: a version of DLPack from after this one");
    if ((managed->flags & kReadOnly) != 0)
      throw Error("from_dlpack: the elements are read-only — ingot.tensor(a) copies them");
  }
  const DType dtype = dtype_of_dl(t.dtype);
  Dims shape, strides;
  for (int i = 0; i < t.ndim; i++) shape.push_back(t.shape[i]);
  if (t.strides != nullptr)
    for (int i = 0; i < t.ndim; i++) strides.push_back(t.strides[i]);
  char* const data = static_cast<char*>(t.data) + t.byte_offset;
  Tensor tensor = Tensor::wrap(data, shape, dtype, strides, released_in_python([managed] {
                                 if (managed->deleter != nullptr) managed->deleter(managed);
                               }));
  PyCapsule_SetName(capsule.ptr(), used);
  return tensor;
}

// Numbers in lists -----------------------------------------------------------------------------------------------------

bool is_list(py::handle h) { return py::isinstance<py::list>(h) || py::isinstance<py::tuple>(h); }

void find_shape(py::handle data, Dims& shape) {
  if (!is_list(data)) return;
  const auto list = py::reinterpret_borrow<py::sequence>(data);
  shape.push_back(static_cast<int64_t>(list.size()));
  if (!list.empty()) find_shape(list[0], shape);
}

// Calls f for every number, in order; an Error if lists differ in length.
template <class F>
void each_number(py::handle data, const Dims& shape, int axis, F& f) {
  if (is_list(data) != (axis < shape.size()) || (is_list(data) && static_cast<int64_t>(py::len(data)) != shape[axis]))
    throw Error(ErrorKind::kShape, "tensor: the lists differ in length — all rows of an axis have as many entries");
  if (!is_list(data)) return f(data);
  for (const py::handle each : py::reinterpret_borrow<py::sequence>(data)) each_number(each, shape, axis + 1, f);
}

Tensor from_lists(py::handle data, py::handle dtype) {
  Dims shape;
  find_shape(data, shape);
  bool real = element_count(shape) == 0, whole = false;
  const auto look = [&](py::handle h) {
    if (PyBool_Check(h.ptr())) return;
    if (PyIndex_Check(h.ptr()) && !PyFloat_Check(h.ptr()))
      whole = true;
    else if (PyFloat_Check(h.ptr()) || py::hasattr(h, "__float__"))
      real = true;
    else
      throw py::type_error("tensor: numbers, lists of numbers, arrays and tensors are data, not " +
                           std::string(py::str(py::type::of(h))));
  };
  each_number(data, shape, 0, look);
  const DType type = !dtype.is_none() ? as_dtype(dtype) : real ? kF32 : whole ? kI64 : kBool;
  // By way of a type that holds them all; `to` and the op's own rules do the rest.
  const bool by_integer = !real;
  Tensor wide = Tensor::empty(shape, by_integer ? kI64 : kF64);
  int64_t at = 0;
  const auto put = [&](py::handle h) {
    if (by_integer)
      wide.data<int64_t>()[at++] = PyLong_AsLongLong(h.ptr());
    else
      wide.data<double>()[at++] = PyFloat_AsDouble(h.ptr());
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  };
  each_number(data, shape, 0, put);
  if (real && is_integer(type))
    for (int64_t i = 0; i < at; i++)
      if (wide.data<double>()[i] != static_cast<double>(saturate<int64_t>(wide.data<double>()[i])))
        throw Error(ErrorKind::kType, std::string("tensor: a fraction for a tensor of ") + name(type) +
                                          " — round it, or give dtype=\"f32\"");
  return wide.dtype() == type ? wide : to(wide, type);
}

}  // namespace

bool is_array(PyObject* object) {
  if (tensor_in(object) != nullptr) return false;
  return PyObject_CheckBuffer(object) != 0 || PyObject_HasAttrString(object, "__dlpack__") != 0;
}

Tensor from_buffer(py::handle object) {
  if (Tensor* t = tensor_in(object.ptr())) return *t;
  if (PyObject_CheckBuffer(object.ptr()) == 0)
    throw py::type_error(
        "from_numpy: expected an array, not " + std::string(py::str(py::type::of(object))) +
        " — ingot.tensor() makes a tensor of lists, ingot.from_dlpack() looks at other libraries' tensors");
  bool read_only = false;
  Tensor tensor = look_at(object, &read_only);
  if (read_only) throw Error(ErrorKind::kArgument, "from_numpy: the array is read-only — ingot.tensor(a) copies it");
  return tensor;
}

Tensor from_dlpack(py::handle object) {
  if (Tensor* t = tensor_in(object.ptr())) return *t;
  if (!py::hasattr(object, "__dlpack__"))
    throw py::type_error("from_dlpack: " + std::string(py::str(py::type::of(object))) + " has no __dlpack__");
  if (py::hasattr(object, "__dlpack_device__") &&
      object.attr("__dlpack_device__")().cast<py::tuple>()[0].cast<int>() != kCpu)
    throw Error("from_dlpack: the elements are on another device — move them to the CPU first");
  const py::object given = object.attr("__dlpack__")();
  if (!py::isinstance<py::capsule>(given)) throw py::type_error("from_dlpack: __dlpack__ gave no capsule");
  const auto capsule = py::reinterpret_borrow<py::capsule>(given);
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0)
    return borrow<DlManagedVersioned>(capsule, "dltensor_versioned", "used_dltensor_versioned");
  return borrow<DlManaged>(capsule, "dltensor", "used_dltensor");
}

Tensor as_tensor(py::handle object, const char* place) {
  if (Tensor* t = tensor_in(object.ptr())) return *t;
  if (PyObject_CheckBuffer(object.ptr()) != 0) {
    bool read_only = false;
    const Tensor tensor = look_at(object, &read_only);
    return read_only ? clone(tensor) : tensor;
  }
  if (py::hasattr(object, "__dlpack__")) return from_dlpack(object);
  throw py::type_error(std::string(place) + ": expected a tensor or an array, not " +
                       std::string(py::str(py::type::of(object))));
}

Tensor make_tensor(py::handle data, py::handle dtype) {
  if (tensor_in(data.ptr()) != nullptr || is_array(data.ptr())) {
    const Tensor tensor = as_tensor(data, "tensor");
    const DType type = dtype.is_none() ? tensor.dtype() : as_dtype(dtype);
    return type == tensor.dtype() ? clone(tensor) : clone(to(tensor, type));
  }
  if (is_list(data) && py::len(data) > 0) {
    const py::object first = py::reinterpret_borrow<py::sequence>(data)[0];
    if (tensor_in(first.ptr()) != nullptr || (is_array(first.ptr()) && !PyNumber_Check(first.ptr()))) {
      std::vector<Tensor> rows;
      for (const py::handle each : py::reinterpret_borrow<py::sequence>(data))
        rows.push_back(as_tensor(each, "tensor"));
      const Tensor stacked = stack(rows);
      return dtype.is_none() ? stacked : to(stacked, as_dtype(dtype));
    }
  }
  return from_lists(data, dtype);
}

void add_exchange(py::class_<Tensor>& type) {
  PyBufferProcs& procs = *reinterpret_cast<PyTypeObject*>(type.ptr())->tp_as_buffer;
  procs.bf_getbuffer = get_buffer;
  procs.bf_releasebuffer = release_buffer;
  const auto numpy = [](const py::object& self) {
    const Tensor& t = *tensor_in(self.ptr());
    check_has_elements(t, "numpy");
    format_of(t.dtype());
    return py::module_::import("numpy").attr("asarray")(
        py::reinterpret_steal<py::object>(PyMemoryView_FromObject(self.ptr())));
  };
  type.def("numpy", numpy,
           "The elements as an array of NumPy's: the same memory, which lives as long as one of the two.")
      .def(
          "__array__",
          [numpy](const py::object& self, const py::object& dtype) {
            const py::object array = numpy(self);
            return dtype.is_none() ? array : array.attr("astype")(dtype);
          },
          py::arg("dtype") = py::none())
      .def("__dlpack__", &to_dlpack, py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
           py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      .def(py::pickle(
          [](const Tensor& t) {
            check_has_elements(t, "pickle");
            const Tensor c = contiguous(t);
            return py::make_tuple(
                name(c.dtype()), shape_tuple(c.shape()),
                py::bytes(static_cast<const char*>(c.raw()), static_cast<size_t>(c.numel()) * size_of(c.dtype())));
          },
          [](const py::tuple& state) {
            if (state.size() != 3) throw Error("pickle: no state of a tensor");
            Tensor t = Tensor::empty(as_dims(state[1]), as_dtype(state[0]));
            const std::string_view bytes = state[2].cast<py::bytes>();
            if (bytes.size() != static_cast<size_t>(t.numel()) * size_of(t.dtype()))
              throw Error("pickle: the bytes do not fit the shape");
            std::memcpy(t.raw(), bytes.data(), bytes.size());
            return t;
          }))
      .def("__dlpack_device__", [](const Tensor&) { return py::make_tuple(kCpu, 0); });
}

}  // namespace ingot::python
