// nn.Module: what every module can, and modules written in Python.
#include "nn.h"

#include <pybind11/stl.h>

#include "ingot/nn/slab.h"
#include "plans.h"

namespace ingot::python {
namespace {

py::dict as_dict(const std::vector<NamedTensor>& list) {
  py::dict dict;
  for (const NamedTensor& t : list) dict[t.name.c_str()] = t.tensor;
  return dict;
}

py::object object_of(const nn::Layer* layer) { return py::cast(layer, py::return_value_policy::reference); }

bool is_buffer(const py::object& self, const std::string& name) {
  const py::object names = py::getattr(self, "_buffers", py::none());
  return !names.is_none() && names.contains(name);
}

// Tells what an attribute holds: a tensor, a module, or lists and dicts of them, named as in PyTorch ("blocks.0").
void tell(nn::Parts& p, const py::object& self, const std::string& name, py::handle value) {
  if (Tensor* t = tensor_in(value.ptr())) {
    if (is_float(t->dtype()) && !is_buffer(self, name))
      p(name, *t);
    else
      p.buffer(name, *t);
  } else if (py::isinstance<nn::Layer>(value)) {
    p(name, value.cast<nn::Layer&>());
  } else if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
    int i = 0;
    for (const py::handle each : value) tell(p, self, name + "." + std::to_string(i++), each);
  } else if (py::isinstance<py::dict>(value)) {
    for (const auto& [key, each] : py::reinterpret_borrow<py::dict>(value))
      tell(p, self, name + "." + std::string(py::str(key)), each);
  }
}

py::object call_module(const py::object& self, const py::args& args, const py::kwargs& kwargs) {
  auto& layer = self.cast<nn::Layer&>();
  if (dynamic_cast<PythonModule*>(&layer) == nullptr && args.size() == 1 && kwargs.empty())
    return py::cast(layer(as_tensor(args[0], "forward")));
  const nn::Within here(layer);
  py::object result = self.attr("forward")(*args, **kwargs);
  if (const Tensor* t = tensor_in(result.ptr())) here.result(*t);
  return result;
}

// A copy with memory of its own, made as Python makes copies: attribute by attribute.
py::object deep_copy(const py::object& self, const py::dict& memo) {
  const auto& layer = self.cast<nn::Layer&>();
  if (dynamic_cast<const PythonModule*>(&layer) == nullptr)
    throw py::type_error("copy: a " + layer.kind() + " cannot be copied — make another one and load_state_dict(...)");
  const py::object type = py::type::of(self), copy = type.attr("__new__")(type);
  py::type::of<nn::Layer>().attr("__init__")(copy);
  memo[py::int_(reinterpret_cast<std::uintptr_t>(self.ptr()))] = copy;
  const py::object deepcopy = py::module_::import("copy").attr("deepcopy");
  const py::dict to = copy.attr("__dict__");
  for (const auto& [key, value] : py::dict(self.attr("__dict__"))) to[key] = deepcopy(value, memo);
  auto& made = copy.cast<nn::Layer&>();
  made.train(layer.training()), made.freeze(layer.frozen());
  return copy;
}

std::vector<NamedTensor> named_tensors(const py::dict& state) {
  std::vector<NamedTensor> list;
  for (const auto& [name, tensor] : state)
    list.push_back({name.cast<std::string>(), as_tensor(tensor, "load_state_dict")});
  return list;
}

}  // namespace

void PythonModule::parts(nn::Parts& p) {
  const py::gil_scoped_acquire lock;
  const py::object self = object_of(this);
  for (const auto& [key, value] : py::dict(self.attr("__dict__"))) {
    const std::string name = py::str(key);
    if (name.rfind('_', 0) != 0) tell(p, self, name, value);
  }
}

Tensor PythonModule::forward(const Tensor& x) {
  const py::gil_scoped_acquire lock;
  const py::object result = object_of(this).attr("forward")(x);
  if (const Tensor* t = tensor_in(result.ptr())) return *t;
  throw py::type_error(kind() + ".forward: where a layer is called by others it returns one tensor, not " +
                       std::string(py::str(py::type::of(result))));
}

std::string PythonModule::kind() const {
  const py::gil_scoped_acquire lock;
  return py::str(py::type::of(object_of(this)).attr("__name__"));
}

nn::LayerPtr layer_pointer(const py::object& object) {
  if (!py::isinstance<nn::Layer>(object))
    throw py::type_error("expected a layer, not " + std::string(py::str(py::type::of(object))));
  auto* layer = object.cast<nn::Layer*>();
  return std::shared_ptr<nn::Layer>(layer, [held = object.inc_ref().ptr()](nn::Layer*) {
    if (Py_IsInitialized() == 0) return;
    const py::gil_scoped_acquire lock;
    Py_DECREF(held);
  });
}

void bind_nn(py::module_& m) {
  py::module_ n = m.def_submodule("nn", "Layers, losses, training.");
  LayerClass type(
      n, "Module",
      "Parameters plus a forward written with ops. A module of yours lists nothing: tensors of real numbers that are "
      "its "
      "attributes are parameters, modules (also in lists and dicts) are parts, names that begin with _ are neither.");
  type.def(py::init<>())
      .def("__call__", &call_module)
      .def(
          "forward",
          [](nn::Layer& l, const Tensor& x) {
            if (dynamic_cast<PythonModule*>(&l) != nullptr)
              throw py::type_error(l.kind() + " has no forward(self, x) — write one");
            return l(x);
          },
          py::arg("x"), "What the module makes of x.")
      .def(
          "parameters", [](const nn::Layer& l) { return as_dict(l.parameters()); },
          "Parameters by path: {\"0.weight\": …}; they look at the module's memory.")
      .def(
          "buffers", [](const nn::Layer& l) { return as_dict(l.buffers()); },
          "Tensors of the state that are not trained.")
      .def(
          "state_dict", [](const nn::Layer& l) { return as_dict(l.state_dict()); },
          "Parameters and buffers, in PyTorch's names and order.")
      .def(
          "load_state_dict",
          [](nn::Layer& l, const py::dict& state, bool strict) {
            const nn::StateDifference d = l.load_state_dict(named_tensors(state), strict);
            return py::make_tuple(d.missing, d.unexpected);
          },
          py::arg("state"), py::arg("strict") = true,
          "Copies a state (tensors, or arrays) into the module's own tensors; returns (missing, unexpected).")
      .def(
          "register_buffer",
          [](const py::object& self, const std::string& name, const Tensor& t) {
            if (!py::hasattr(self, "_buffers")) self.attr("_buffers") = py::set();
            py::set(self.attr("_buffers")).add(name);
            self.attr(name.c_str()) = t;
          },
          py::arg("name"), py::arg("tensor"), "An attribute that belongs to the state, but is not trained.")
      .def("parameter_count", &nn::Layer::parameter_count, "Elements of all parameters.")
      .def(
          "train", [](nn::Layer& l, bool on) { l.train(on); }, py::arg("on") = true,
          "Training mode, the first one, or evaluation.")
      .def("eval", [](nn::Layer& l) { l.eval(); })
      .def(
          "freeze", [](nn::Layer& l, bool on) { l.freeze(on); }, py::arg("on") = true,
          "Keeps the parameters from being trained, or lets them again.")
      .def(
          "to", [](nn::Layer& l, const py::object& dtype) { l.to(as_dtype(dtype)); }, py::arg("dtype"),
          "Converts parameters and buffers to f32 or f64, in new memory.")
      .def_property_readonly("training", &nn::Layer::training)
      .def_property_readonly("frozen", &nn::Layer::frozen)
      .def_property_readonly("kind", &nn::Layer::kind)
      .def(
          "modules",
          [](const py::object& self) {
            py::list list;
            for (nn::Module* each : self.cast<nn::Layer&>().modules())
              if (auto* layer = dynamic_cast<nn::Layer*>(each))
                list.append(py::cast(layer, py::return_value_policy::reference_internal, self));
            return list;
          },
          "The module and all inside.")
      .def(
          "summary", [](nn::Layer& l, const py::object& input) { return nn::summary(l, as_spec(input)).text(); },
          py::arg("input"), "A table of what it is made of, with shapes and work for an input of that shape.")
      .def("__deepcopy__", &deep_copy)
      .def("__repr__", [](const nn::Layer& l) {
        return "<" + l.kind() + ", " + std::to_string(l.parameter_count()) + " parameters>";
      });
  n.def("set_seed", &nn::set_seed, py::arg("seed"),
        "Initial values of this thread's modules begin anew with this seed.");
  n.def(
      "copy_parameters", [](nn::Layer& dst, const nn::Layer& src, double tau) { nn::copy_parameters(dst, src, tau); },
      py::arg("dst"), py::arg("src"), py::arg("tau") = 1.0,
      "Copies parameters and buffers between modules alike; with tau < 1 a share of the parameters.");
  bind_layers(n);
  bind_composition(n);
  bind_training(m, n);
}

}  // namespace ingot::python
