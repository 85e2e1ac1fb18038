// What the two halves of training share: the step and the trainer.
#pragma once
#include "bindings.h"
#include "ingot/nn/loss.h"
#include "ingot/nn/optim.h"

namespace ingot::python {

/// An optimiser of the library's, or an object with lr, slots and update(u): a rule written in Python.
Optimizer as_optimizer(const py::object& object);
/// Calls a Python function of result and target.
nn::Loss python_loss(const std::string& name, py::function function, DType target);

void bind_losses(py::module_& nn);
void bind_optimizers(py::module_& m);
void bind_data(py::module_& m);
void bind_step(py::module_& nn);
void bind_trainer(py::module_& nn);

}  // namespace ingot::python
