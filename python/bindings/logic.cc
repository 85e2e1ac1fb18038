// Facts and rules.
#ifdef INGOT_WITH_LOGIC
#include "ingot/logic.h"

#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <future>

#include "systems.h"

namespace ingot::python {
namespace {

using logic::Engine;
using py::arg;

// An engine, and who may end its run.
struct Rules {
  std::atomic<bool> cancel = false;
  std::unique_ptr<Engine> engine;
};

std::unique_ptr<Rules> make(const logic::Program& program, const std::string& facts, const std::string& output,
                            int proofs) {
  auto rules = std::make_unique<Rules>();
  logic::RunOptions options;
  options.facts = facts, options.output = output, options.cancel = &rules->cancel, options.proofs = proofs;
  rules->engine = std::make_unique<Engine>(program, options);
  return rules;
}

std::vector<std::string> words(const py::args& values) {
  std::vector<std::string> fact;
  for (const py::handle v : values) fact.push_back(py::str(v));
  return fact;
}

// Computes on a thread of its own while this one waits for signals: Ctrl-C ends it in order.
void run(Rules& rules) {
  rules.cancel = false;
  auto done = std::async(std::launch::async, [&rules] { rules.engine->run(); });
  bool interrupted = false;
  while (true) {
    {
      const Unlocked unlocked;
      if (done.wait_for(std::chrono::milliseconds(20)) == std::future_status::ready) break;
    }
    if (!interrupted && PyErr_CheckSignals() != 0) interrupted = true, rules.cancel = true;
    if (interrupted) {
      py::error_scope kept;
      const Unlocked unlocked;
      done.wait();
      break;
    }
  }
  if (interrupted) throw py::error_already_set();
  done.get();
}

py::object value_of(const std::string& text, logic::Type type) {
  if (type == logic::Type::kSymbol) return py::str(text);
  if (type == logic::Type::kFloat) return py::float_(std::stod(text));
  return py::int_(py::str(text));
}

py::list facts(const Rules& rules, const std::string& relation) {
  const std::vector<logic::Type> types = rules.engine->types(relation);
  py::list list;
  for (const std::vector<std::string>& fact : rules.engine->facts(relation)) {
    py::tuple row(fact.size());
    for (size_t i = 0; i < fact.size(); i++) row[i] = value_of(fact[i], types[i]);
    list.append(row);
  }
  return list;
}

py::list answers(const Rules& rules) {
  py::list list;
  for (const logic::Answer& a : rules.engine->answers()) {
    py::dict d;
    d["query"] = a.query, d["names"] = a.names, d["rows"] = a.rows, d["probabilities"] = a.probabilities;
    list.append(d);
  }
  return list;
}

py::list slopes(const Rules& rules, const std::string& fact) {
  py::list list;
  for (const logic::Slope& s : rules.engine->slopes(fact))
    list.append(py::make_tuple(s.statement, s.probability, s.slope));
  return list;
}

}  // namespace

void bind_logic(py::module_& m) {
  py::module_ n = m.def_submodule("logic", "Facts, rules and what follows from them.");
  py::class_<Rules>(n, "Engine", "Computes what follows from a program of rules, and knows the result.")
      .def(py::init([](const std::string& text, const std::string& dialect, const std::string& facts,
                       const std::string& output, int proofs) {
             if (dialect != "rules" && dialect != "souffle")
               throw Error("logic: the dialect is \"rules\" or \"souffle\", not \"" + dialect + "\"");
             return make(
                 logic::Program::parse(text, dialect == "rules" ? logic::Dialect::kRules : logic::Dialect::kSouffle),
                 facts, output, proofs);
           }),
           arg("program"), arg("dialect") = "rules", arg("facts") = ".", arg("output") = ".", arg("proofs") = -1)
      .def_static(
          "load",
          [](const py::object& path, const std::string& facts, const std::string& output, int proofs) {
            return make(logic::Program::load(py::str(path)), facts, output, proofs);
          },
          arg("path"), arg("facts") = ".", arg("output") = ".", arg("proofs") = -1,
          "From a file; .dl is Soufflé's dialect.")
      .def(
          "add",
          [](Rules& r, const std::string& relation, const py::args& values) { r.engine->add(relation, words(values)); },
          arg("relation"), "Adds a fact: add(\"edge\", 1, 2).")
      .def(
          "remove",
          [](Rules& r, const std::string& relation, const py::args& values) {
            r.engine->remove(relation, words(values));
          },
          arg("relation"), "Takes back a given fact, after run().")
      .def("run", &run, "Computes what follows; after changes only what changes with them. Ctrl-C ends it.")
      .def(
          "write", [](Rules& r) { return r.engine->write(); },
          "Writes the files that the program names; returns what goes to standard output.")
      .def_property_readonly("relations", [](const Rules& r) { return r.engine->relations(); })
      .def(
          "size", [](const Rules& r, const std::string& relation) { return r.engine->size(relation); }, arg("relation"))
      .def(
          "contains",
          [](const Rules& r, const std::string& relation, const py::args& values) {
            return r.engine->contains(relation, words(values));
          },
          arg("relation"))
      .def("facts", &facts, arg("relation"), "All facts as tuples of numbers and texts.")
      .def("answers", &answers, "The answers to the program's queries.")
      .def(
          "explain", [](const Rules& r, const std::string& fact) { return r.engine->explain(fact); }, arg("fact"),
          "A smallest proof, or what is missing.")
      .def(
          "probability", [](const Rules& r, const std::string& fact) { return r.engine->probability(fact); },
          arg("fact"))
      .def("slopes", &slopes, arg("fact"), "(statement, its probability, how the fact's grows with it).")
      .def(
          "plan", [](const Rules& r) { return r.engine->plan(); }, "Strata, methods, orders of joins.");
}

}  // namespace ingot::python
#endif
