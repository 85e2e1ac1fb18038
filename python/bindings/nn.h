// Modules as Python has them.
#pragma once
#include "bindings.h"
#include "ingot/nn/module.h"

namespace ingot::python {

/// A module that is a class of Python's: its parts are what its attributes hold, its forward is Python's.
class PythonModule : public nn::Layer {
 public:
  void parts(nn::Parts& p) override;
  Tensor forward(const Tensor& x) override;
  std::string kind() const override;
};

/// A layer for another one to hold, which keeps the Python object alive: its attributes are the module.
nn::LayerPtr layer_pointer(const py::object& object);

using LayerClass = py::class_<nn::Layer, PythonModule, std::shared_ptr<nn::Layer>>;
void bind_layers(py::module_& m);
void bind_composition(py::module_& m);

}  // namespace ingot::python
