// What the files of the Python module share.
#pragma once
#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/base/tensor.h"

namespace ingot::python {

namespace py = pybind11;

// Each file adds its part to the module, in this order.
void bind_errors(py::module_& m);
void bind_tensor(py::module_& m);
void bind_ops(py::module_& m);
void bind_plans(py::module_& m);
void bind_nn(py::module_& m);
void bind_training(py::module_& m, py::module_& nn);

/// Makes the Python exception of the C++ one under way: call it in a catch (...) of a function that Python calls without pybind11.
void set_python_error() noexcept;

/// The class of tensors.
PyTypeObject* tensor_type();
/// The tensor in an object, or null; much faster than a cast, and what an operator spends its time on.
inline Tensor* tensor_in(PyObject* object) {
  if (Py_TYPE(object) != tensor_type()) return nullptr;
  return static_cast<Tensor*>(reinterpret_cast<py::detail::instance*>(object)->simple_value_holder[0]);
}
/// A new object of a tensor.
PyObject* new_tensor(Tensor tensor);

/// Is it something whose elements a tensor could look at: an array of NumPy's, a tensor of PyTorch's?
bool is_array(PyObject* object);
/// A tensor, or one that looks at an array. What may not be written to is copied, so that nobody writes to it by mistake.
Tensor as_tensor(py::handle object, const char* place);
/// A tensor that looks at an array and keeps it alive; an Error if the array may not be written to.
Tensor from_buffer(py::handle object);
Tensor from_dlpack(py::handle object);
/// A tensor with its own elements: of numbers in nested lists, of arrays, of tensors.
Tensor make_tensor(py::handle data, py::handle dtype);
/// The buffer protocol and DLPack for the class of tensors.
void add_exchange(py::class_<Tensor>& type);
/// x[...] and x[...] = y.
void add_indexing(py::class_<Tensor>& type);
/// + - * / ** @, comparisons.
void add_operators();

/// "f32", ingot.f32, numpy.float32, float.
DType as_dtype(py::handle object);
/// The one object of a type.
py::object dtype_object(DType dtype);
/// One number, or a list of them.
Dims as_dims(py::handle object);
py::tuple shape_tuple(const Dims& dims);

/// Lets other Python threads run while it lives, if `yes`: it costs more than a small op.
class Unlocked {
 public:
  explicit Unlocked(bool yes = true) : state_(yes ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace ingot::python

/// Lists of sizes, and one number as a list of itself.
template <>
struct pybind11::detail::type_caster<ingot::Dims> {
  PYBIND11_TYPE_CASTER(ingot::Dims, const_name("Dims"));
  bool load(handle object, bool /*convert*/) {
    if (PyIndex_Check(object.ptr()) == 0 && (PySequence_Check(object.ptr()) == 0 || PyUnicode_Check(object.ptr()) != 0))
      return false;
    value = ingot::python::as_dims(object);
    return true;
  }
  static handle cast(const ingot::Dims& dims, return_value_policy, handle) {
    return ingot::python::shape_tuple(dims).release();
  }
};
