// What exists only where a system of Ingot's is built: each has a file of its own.
#pragma once
#include <csignal>
#include <functional>

#include "bindings.h"

namespace ingot::python {

void bind_io(py::module_& m);
void bind_recipes(py::module_& m);
void bind_gates(py::module_& m);
void bind_logic(py::module_& m);

}  // namespace ingot::python
