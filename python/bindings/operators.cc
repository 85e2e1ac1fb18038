// Operators. They go straight into the slots of the class: a look-up by name would cost more than a small op.
#include "bindings.h"

#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::python {
namespace {

bool is_number(PyObject* object) {
  return PyFloat_Check(object) || PyLong_Check(object) ||
         (!is_array(object) && PyNumber_Check(object) && !tensor_in(object));
}

double number(PyObject* object) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return value;
}

// A number where an op takes tensors only: a tensor without axes, of the other one's type.
Tensor constant(double value, const Tensor& like) { return full({}, value, like.dtype()); }

using Tensors2 = Tensor (*)(const Tensor&, const Tensor&);
using TensorNumber = Tensor (*)(const Tensor&, double);
using NumberTensor = Tensor (*)(double, const Tensor&);

Tensor binary(const Tensor& a, const Tensor& b, Tensors2 function) {
  const Unlocked unlocked(a.numel() + b.numel() > 100000 && !a.is_symbolic() && !b.is_symbolic());
  return function(a, b);
}

template <Tensors2 both, TensorNumber right, NumberTensor left>
PyObject* operate(PyObject* a, PyObject* b) {
  try {
    const Tensor *x = tensor_in(a), *y = tensor_in(b);
    if (x != nullptr && y != nullptr) return new_tensor(binary(*x, *y, both));
    if (x != nullptr && is_number(b)) return new_tensor(right(*x, number(b)));
    if (y != nullptr && is_number(a)) return new_tensor(left(number(a), *y));
    if (x != nullptr && is_array(b)) return new_tensor(binary(*x, as_tensor(b, "operator"), both));
    if (y != nullptr && is_array(a)) return new_tensor(binary(as_tensor(a, "operator"), *y, both));
    Py_RETURN_NOTIMPLEMENTED;
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

template <Tensors2 both>
Tensor with_number(const Tensor& a, double b) {
  return both(a, constant(b, a));
}
template <Tensors2 both>
Tensor number_with(double a, const Tensor& b) {
  return both(constant(a, b), b);
}
// matmul of a number says what is wrong, like any other pair of shapes.
constexpr auto matrix_product = operate<matmul, with_number<matmul>, number_with<matmul>>;

PyObject* power(PyObject* a, PyObject* b, PyObject*) {
  return operate<static_cast<Tensors2>(pow), static_cast<TensorNumber>(pow), number_with<static_cast<Tensors2>(pow)>>(
      a, b);
}

template <Tensor (*function)(const Tensor&)>
PyObject* unary(PyObject* a) {
  try {
    return new_tensor(function(*tensor_in(a)));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
Tensor itself(const Tensor& x) { return x; }

template <Tensors2 both, TensorNumber right>
PyObject* compared(PyObject* a, PyObject* b) {
  return operate<both, right, number_with<both>>(a, b);
}

PyObject* compare(PyObject* a, PyObject* b, int how) {
#define INGOT_COMPARED(op) return compared<static_cast<Tensors2>(op), static_cast<TensorNumber>(op)>(a, b)
  switch (how) {
    case Py_EQ: INGOT_COMPARED(equal);
    case Py_NE: INGOT_COMPARED(not_equal);
    case Py_LT: INGOT_COMPARED(less);
    case Py_LE: INGOT_COMPARED(less_equal);
    case Py_GT: INGOT_COMPARED(greater);
    case Py_GE: INGOT_COMPARED(greater_equal);
    default: Py_RETURN_NOTIMPLEMENTED;
  }
#undef INGOT_COMPARED
}

}  // namespace

void add_operators() {
  PyTypeObject* const type = tensor_type();
  PyNumberMethods& n = *type->tp_as_number;
#define INGOT_OPERATOR(op) \
  operate<static_cast<Tensors2>(op), static_cast<TensorNumber>(op), static_cast<NumberTensor>(op)>
  n.nb_add = INGOT_OPERATOR(operator+);
  n.nb_subtract = INGOT_OPERATOR(operator-);
  n.nb_multiply = INGOT_OPERATOR(operator*);
  n.nb_true_divide = INGOT_OPERATOR(operator/);
#undef INGOT_OPERATOR
  n.nb_matrix_multiply = matrix_product;
  n.nb_power = power;
  n.nb_negative = unary<negative>;
  n.nb_positive = unary<itself>;
  n.nb_absolute = unary<abs>;
  type->tp_richcompare = compare;
  PyType_Modified(type);
}

}  // namespace ingot::python
