// Circuits: files, evaluation, simplification, proofs, exports.
#ifdef INGOT_WITH_GATES
#include "ingot/gates.h"

#include <pybind11/stl.h>

#include "systems.h"

namespace ingot::python {
namespace {

using gates::Circuit;
using py::arg;

std::string exported(const Circuit& c, const std::string& to) {
  if (to == "c") return gates::to_c(c);
  if (to == "verilog") return gates::to_verilog(c);
  if (to == "blif") return gates::to_blif(c);
  if (to == "aiger") return gates::to_aag(c);
  if (to == "dot") return gates::to_dot(c);
  if (to == "svg") return gates::to_svg(c);
  if (to == "json") return gates::to_json(c);
  throw Error("circuit: there is no form \"" + to + "\" — c, verilog, blif, aiger, dot, svg and json are there");
}

// Asks Python for signals while a solver works; Ctrl-C ends the proof.
gates::GoOn until_interrupted(bool& interrupted) {
  return [&interrupted](int64_t, int64_t) {
    const py::gil_scoped_acquire lock;
    interrupted = PyErr_CheckSignals() != 0;
    return !interrupted;
  };
}

py::dict proved(const Circuit& a, const Circuit& b) {
  gates::Proof p;
  bool interrupted = false;
  {
    const Unlocked unlocked;
    p = gates::prove_equal(a, b, until_interrupted(interrupted));
  }
  if (interrupted) throw py::error_already_set();
  py::dict d;
  d["equal"] = p.equal, d["decided"] = p.decided, d["method"] = p.method, d["seconds"] = p.seconds;
  d["counterexample"] = p.counterexample;
  return d;
}

// Boards [batch, channels, height, width] after some steps of a cell rule.
Tensor stepped(gates::Runner& runner, const py::object& boards, int64_t steps, int64_t seed) {
  const Tensor given = as_tensor(boards, "step");
  const Unlocked unlocked;
  gates::Grid grid = gates::Grid::from_tensor(given);
  RandomKey key;
  key.seed = static_cast<uint64_t>(seed);
  runner.step(grid, steps, key);
  return grid.to_tensor();
}

}  // namespace

void bind_gates(py::module_& m) {
  py::module_ n = m.def_submodule("gates", "Circuits of two-input gates.");
  py::class_<Circuit>(n, "Circuit", "Gates without cycles: what a trained gate network becomes.")
      .def_static(
          "load", [](const py::object& path) { return gates::load_circuit(py::str(path)); }, arg("path"))
      .def_static(
          "life_like", [](const std::string& rule) { return gates::life_like(rule); }, arg("rule"),
          "The rule of an automaton such as the Game of Life: \"B3/S23\".")
      .def(
          "save", [](const Circuit& c, const py::object& path) { gates::save_circuit(py::str(path), c); }, arg("path"))
      .def_property_readonly("inputs", [](const Circuit& c) { return c.inputs; })
      .def_property_readonly("outputs", [](const Circuit& c) { return c.outputs.size(); })
      .def_property_readonly("gates", [](const Circuit& c) { return c.gates.size(); })
      .def_property_readonly("active_gates", &gates::active_gates, "Gates that are neither constant nor a copy.")
      .def("evaluate", &gates::evaluate, arg("inputs"), "The outputs for one assignment of bools.")
      .def(
          "simplify",
          [](const Circuit& c) {
            const Unlocked unlocked;
            return gates::simplify(c).circuit;
          },
          "A circuit with the same outputs and as few gates as its passes find; every pass is proved.")
      .def("prove_equal", &proved, arg("other"), "Are all outputs equal for every assignment? Exhaustively, or by SAT.")
      .def("to", &exported, arg("form"), "As text: c, verilog, blif, aiger, dot, svg or json.")
      .def("_repr_svg_", [](const Circuit& c) { return gates::to_svg(c); })
      .def(
          "__eq__", [](const Circuit& a, const Circuit& b) { return a == b; }, py::is_operator())
      .def("__repr__", [](const Circuit& c) {
        return "<circuit of " + std::to_string(c.inputs) + " inputs, " + std::to_string(c.gates.size()) + " gates, " +
               std::to_string(c.outputs.size()) + " outputs>";
      });
  py::class_<gates::Runner>(n, "Runner", "A circuit compiled into vector instructions: 64 assignments a word.")
      .def(py::init<const Circuit&>(), arg("circuit"))
      .def(
          "evaluate",
          [](gates::Runner& r, const py::object& x) {
            const Tensor t = as_tensor(x, "evaluate");
            const Unlocked unlocked;
            return r.evaluate(t);
          },
          arg("x"), "The outputs [batch, outputs] of assignments f32 [batch, inputs], zeros and ones.")
      .def("step", &stepped, arg("boards"), arg("steps") = 1, arg("seed") = 0,
           "Boards f32 [batch, channels, height, width] after some steps of a cell rule.");
}

}  // namespace ingot::python
#endif
