// The module ingot._core.
#include "bindings.h"

#include "ingot/base/memory.h"
#include "ingot/base/simd.h"
#include "ingot/base/threads.h"
#include "systems.h"

namespace ingot::python {
namespace {

void bind_machine(py::module_& m) {
  m.def("threads", &threads, "The number of threads that an op may use.");
  m.def(
      "set_threads",
      [](int n) {
        const Unlocked unlocked;
        set_threads(n);
      },
      py::arg("n"), "Sets the number of threads, 1 to 256. No result changes by it.");
  py::class_<MemoryStats>(m, "MemoryStats", "What tensors took of memory so far.")
      .def_readonly("allocations", &MemoryStats::allocations)
      .def_readonly("frees", &MemoryStats::frees)
      .def_readonly("bytes_in_use", &MemoryStats::bytes_in_use)
      .def_readonly("peak_bytes", &MemoryStats::peak_bytes);
  m.def("memory_stats", &memory_stats, "Counters of the memory of tensors.");
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "The compiled half of ingot.";
  bind_errors(m);
  bind_tensor(m);
  bind_ops(m);
  bind_plans(m);
  bind_nn(m);
  bind_io(m);
#ifdef INGOT_WITH_RECIPE
  bind_recipes(m);
#endif
#ifdef INGOT_WITH_GATES
  bind_gates(m);
#endif
#ifdef INGOT_WITH_LOGIC
  bind_logic(m);
#endif
  bind_machine(m);
}

}  // namespace ingot::python
