// Errors as exceptions: a class per kind, each also of the class that Python has for such things.
#include "bindings.h"

namespace ingot::python {
namespace {

constexpr int kKinds = static_cast<int>(ErrorKind::kInternal) + 1;
PyObject* base_class = nullptr;
PyObject* classes[kKinds];

struct Class {
  ErrorKind kind;
  const char* name;
  PyObject* const* also;
  const char* doc;
};

void raise(const Error& e) { PyErr_SetString(classes[static_cast<int>(e.kind())], e.what()); }

}  // namespace

void set_python_error() noexcept {
  try {
    throw;
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (const Error& e) {
    raise(e);
  } catch (const py::builtin_exception& e) {
    e.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

void bind_errors(py::module_& m) {
  base_class = PyErr_NewExceptionWithDoc("ingot.Error", "What Ingot raises: `op: what went wrong (shapes) — hint`.",
                                         PyExc_Exception, nullptr);
  m.attr("Error") = py::handle(base_class);
  const Class kinds[] = {
      {ErrorKind::kArgument, "ArgumentError", &PyExc_ValueError, "A value, a name or an option that does not fit."},
      {ErrorKind::kShape, "ShapeError", &PyExc_ValueError, "Shapes that do not go together."},
      {ErrorKind::kType, "DTypeError", &PyExc_TypeError, "A dtype that does not fit."},
      {ErrorKind::kFile, "FileError", &PyExc_OSError, "A file that is missing, broken or cannot be written."},
      {ErrorKind::kMemory, "OutOfMemoryError", &PyExc_MemoryError,
       "More bytes than there are, or than a limit allows."},
      {ErrorKind::kNumeric, "NumericError", &PyExc_ArithmeticError, "NaN or infinity where a number was due."},
      {ErrorKind::kCancelled, "CancelledError", &PyExc_RuntimeError, "Somebody asked to stop."},
      {ErrorKind::kInternal, "InternalError", &PyExc_RuntimeError, "A fault of Ingot's."},
  };
  for (const Class& c : kinds) {
    const py::tuple bases = py::make_tuple(py::handle(base_class), py::handle(*c.also));
    PyObject* made = PyErr_NewExceptionWithDoc((std::string("ingot.") + c.name).c_str(), c.doc, bases.ptr(), nullptr);
    if (made == nullptr) throw py::error_already_set();
    classes[static_cast<int>(c.kind)] = made;  // for the life of the process
    m.attr(c.name) = py::handle(made);
  }
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const Error& e) {
      raise(e);
    }
  });
}

}  // namespace ingot::python
