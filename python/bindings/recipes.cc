// Recipes, and the models that their runs leave.
#ifdef INGOT_WITH_RECIPE
#include <pybind11/stl.h>

#include <atomic>

#include "ingot/ops/own_op.h"
#include "ingot/recipe.h"
#include "systems.h"
#ifdef INGOT_WITH_GATES
#include "ingot/gates/door.h"
#endif
#ifdef INGOT_WITH_LOGIC
#include "ingot/logic/door.h"
#endif
#ifdef INGOT_WITH_RL
#include "ingot/rl/door.h"
#endif

namespace ingot::python {
namespace {

using py::arg;

recipe::Systems systems() {
  return {
#ifdef INGOT_WITH_GATES
      &gates::system(),
#endif
#ifdef INGOT_WITH_RL
      &rl::system(),
#endif
#ifdef INGOT_WITH_LOGIC
      &logic::system(),
#endif
  };
}

// Ends a run after the batch under way when Python has a signal, and calls a function after every epoch.
class Watch : public recipe::Progress {
 public:
  explicit Watch(py::object on_epoch) : on_epoch_(std::move(on_epoch)) {}
  void batch(const nn::BatchResult&) override { look(); }
  void begin(const recipe::RunInfo& info) override { metrics_ = info.metrics; }
  void epoch(const nn::EpochResult& e) override {
    look();
    if (on_epoch_.is_none() || pending_) return;
    const py::gil_scoped_acquire lock;
    try {
      py::dict d;
      d["epoch"] = e.epoch, d["loss"] = e.train.loss;
      if (e.tested) d["test_loss"] = e.test.loss;
      for (size_t i = 0; i < e.test.metrics.size() && i < metrics_.size(); i++)
        d[metrics_[i].c_str()] = e.test.metrics[i];
      on_epoch_(d);
    } catch (py::error_already_set&) {
      stop();
    }
  }
  void finish() {
    if (pending_) std::rethrow_exception(pending_);
  }
  std::atomic<bool> cancel = false;

 private:
  void look() {
    if (pending_) return;
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() == 0) return;
    try {
      throw py::error_already_set();
    } catch (...) {
      stop();
    }
  }
  void stop() {
    pending_ = std::current_exception();
    cancel = true;
  }
  py::object on_epoch_;
  std::vector<std::string> metrics_;
  std::exception_ptr pending_;
};

py::dict as_dict(const recipe::Answer& a) {
  py::dict d;
  if (a.label >= 0)
    d["label"] = a.label, d["name"] = a.name, d["probability"] = a.probability, d["probabilities"] = a.probabilities;
  else
    d["numbers"] = a.numbers;
  return d;
}

}  // namespace

void bind_recipes(py::module_& m) {
  for (const recipe::System* system : systems()) add_ops(system->ops);  // so that plans with them can be read
  using recipe::Model;
  using recipe::Recipe;
  using recipe::Run;
  py::class_<Run>(m, "Run", "What came of a run.")
      .def_readonly("folder", &Run::folder)
      .def_property_readonly("finished", [](const Run& r) { return r.outcome == recipe::Outcome::kDone; })
      .def_property_readonly("score", &Run::score, "What runs are compared by.")
      .def("__repr__", [](const Run& r) { return "<run in " + r.folder + ">"; });
  py::class_<Recipe>(m, "Recipe", "A named, complete, repeatable training job.")
      .def(py::init([](const py::object& name) { return Recipe::load(py::str(name), systems()); }),
           arg("recipe_or_file"))
      .def(
          "set", [](Recipe& r, const std::string& assignment) -> Recipe& { return r.set(assignment); },
          arg("assignment"), py::return_value_policy::reference_internal, "Changes a key: \"optimizer.lr=0.01\".")
      .def(
          "run",
          [](const Recipe& r, const py::object& folder, const py::object& on_epoch) {
            Watch watch(on_epoch);
            const std::string name = folder.is_none() ? "" : std::string(py::str(folder));
            recipe::RunOptions options;
            options.cancel = &watch.cancel;
            Run run;
            {
              const Unlocked unlocked;
              run = r.run(name, watch, options);
            }
            watch.finish();
            return run;
          },
          arg("folder") = py::none(), arg("on_epoch") = py::none(),
          "Trains it into a new folder. Ctrl-C saves what there is and ends it.");
  m.def(
      "recipes", [] { return Recipe::names(systems()); }, "The names of all recipes.");
  py::class_<Model>(m, "Model", "A trained model as a run left it.")
      .def(
          "predict",
          [](Model& model, const py::object& sample) { return as_dict(model.predict(as_tensor(sample, "predict"))); },
          arg("sample"), "What one sample becomes: label, name and probability, or numbers.")
      .def(
          "predict_rows",
          [](Model& model, const py::object& samples) {
            py::list list;
            for (const recipe::Answer& a : model.predict_rows(as_tensor(samples, "predict"))) list.append(as_dict(a));
            return list;
          },
          arg("samples"))
      .def(
          "load_inputs", [](const Model& model, const py::object& path) { return model.load_inputs(py::str(path)); },
          arg("path"), "Samples out of a .csv, .npy or .png.")
      .def(
          "evaluate",
          [](Model& model, const std::vector<std::string>& sets) {
            const recipe::Evaluation e = model.evaluate(sets);
            py::dict d;
            d["samples"] = e.samples, d["loss"] = e.scores.loss;
            for (size_t i = 0; i < e.metrics.size(); i++) d[e.metrics[i].c_str()] = e.scores.metrics[i];
            return d;
          },
          arg("sets") = std::vector<std::string>(), "Tests it on what was held back.")
      .def_property_readonly("path", &Model::path)
      .def_property_readonly(
          "net", [](Model& model) -> nn::Sequential& { return model.net(); },
          py::return_value_policy::reference_internal, "The layers, in evaluation mode.");
  m.def(
      "load_model", [](const py::object& path) { return recipe::load_model(py::str(path), systems()); },
      arg("file_or_run"), "A trained model from its file, or from the folder of its run.");
}

}  // namespace ingot::python
#endif
