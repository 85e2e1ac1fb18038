// Files of tensors.
#include "ingot/io/io.h"

#include <pybind11/stl.h>

#include "systems.h"

namespace ingot::python {
namespace {

py::dict as_dict(const std::vector<NamedTensor>& list) {
  py::dict dict;
  for (const NamedTensor& t : list) dict[t.name.c_str()] = t.tensor;
  return dict;
}

template <io::SafeTensors (*read)(const std::string&)>
py::dict read_safetensors(const py::object& path) {
  const std::string name = py::str(path);
  io::SafeTensors file;
  {
    const Unlocked unlocked;
    file = read(name);
  }
  return as_dict(file.tensors);
}

}  // namespace

void bind_io(py::module_& m) {
  py::module_ n = m.def_submodule("io", "Files of tensors.");
  n.def("load_safetensors", &read_safetensors<io::load_safetensors>, py::arg("path"), "The tensors of a file by name.");
  n.def("map_safetensors", &read_safetensors<io::map_safetensors>, py::arg("path"),
        "The same without reading: pages are loaded when they are touched.");
  n.def(
      "save_safetensors",
      [](const py::object& path, const py::dict& tensors, const io::Metadata& metadata) {
        std::vector<NamedTensor> list;
        for (const auto& [name, tensor] : tensors)
          list.push_back({name.cast<std::string>(), as_tensor(tensor, "save_safetensors")});
        const std::string file = py::str(path);
        const Unlocked unlocked;
        io::save_safetensors(file, list, metadata);
      },
      py::arg("path"), py::arg("tensors"), py::arg("metadata") = io::Metadata(),
      "Writes tensors or arrays: byte for byte what the package safetensors writes.");
  n.def(
      "load_png", [](const py::object& path) { return io::load_png(py::str(path)); }, py::arg("path"),
      "A picture as u8: [h, w] if grey, else [c, h, w].");
  n.def(
      "save_png", [](const py::object& path, const Tensor& picture) { io::save_png(py::str(path), picture); },
      py::arg("path"), py::arg("picture"), "Writes u8 [h, w] or [c, h, w].");
}

}  // namespace ingot::python
