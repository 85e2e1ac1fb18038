// Data and the trainer: epochs in C++, with Python's datasets and callbacks.
#include "ingot/nn/trainer.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <cstring>

#include "ingot/ops/ops.h"
#include "nn.h"
#include "plans.h"
#include "training.h"

namespace ingot::python {
namespace {

using py::arg;

// Anything with len() and [i] that gives tensors, arrays or numbers: (x, y), or a dict of them by name.
class PythonDataset : public data::Dataset {
 public:
  explicit PythonDataset(py::object samples) : samples_(std::move(samples)) {
    size_ = static_cast<int64_t>(py::len(samples_));
    if (size_ == 0) throw Error("dataset: it has no samples");
    for (const auto& [name, tensor] : sample(0)) {
      const bool whole = is_integer(tensor.dtype());
      fields_.emplace_back(tensor.shape(), whole ? kI64 : tensor.dtype() == kF64 ? kF32 : tensor.dtype(), name);
    }
  }
  int64_t size() const override { return size_; }
  std::vector<InputSpec> fields() const override { return fields_; }
  void fetch(std::span<const int64_t> samples, const data::Batch& batch) const override {
    const py::gil_scoped_acquire lock;
    for (size_t i = 0; i < samples.size(); i++) {
      const std::vector<NamedTensor> given = sample(samples[i]);
      if (given.size() != fields_.size())
        throw Error("dataset: sample " + std::to_string(samples[i]) + " has not the tensors of the first one");
      for (size_t k = 0; k < given.size(); k++) {
        if (given[k].name != fields_[k].name || !(given[k].tensor.shape() == fields_[k].shape))
          throw Error(ErrorKind::kShape, "dataset: sample " + std::to_string(samples[i]) + " has " +
                                             describe(given[k].tensor) + " for " + fields_[k].name +
                                             ", the first one had " + to_string(fields_[k].shape));
        const Tensor row = select(batch[fields_[k].name], 0, static_cast<int64_t>(i));
        copy_into(row, to(given[k].tensor, fields_[k].dtype));
      }
    }
  }

 private:
  static Tensor one(py::handle value) {
    return tensor_in(value.ptr()) != nullptr || is_array(value.ptr()) ? as_tensor(value, "dataset")
                                                                      : make_tensor(value, py::none());
  }
  std::vector<NamedTensor> sample(int64_t i) const {
    const py::object given = samples_[py::int_(i)];
    if (py::isinstance<py::dict>(given)) {
      std::vector<NamedTensor> list;
      for (const auto& [name, value] : py::dict(given)) list.push_back({py::str(name), one(value)});
      return list;
    }
    const auto pair = given.cast<py::tuple>();
    if (pair.size() != 2) throw Error("dataset: a sample is (x, y), or a dict of tensors by name");
    return {{"x", one(pair[0])}, {"y", one(pair[1])}};
  }
  py::object samples_;
  int64_t size_ = 0;
  std::vector<InputSpec> fields_;
};

py::object batch_of(const data::Batch& b) {
  bool plain = b.more.empty() && b.x.defined() && b.y.defined();
  if (plain) return py::make_tuple(b.x, b.y);
  py::dict dict;
  b.each([&](std::string_view name, const Tensor& t) { dict[py::str(std::string(name))] = t; });
  return dict;
}

// A loader ends by waiting for its thread, which may be waiting for Python's lock to ask a dataset of Python's.
struct EndUnlocked {
  void operator()(data::Loader* loader) const {
    const Unlocked unlocked;
    delete loader;
  }
};
using LoaderPtr = std::unique_ptr<data::Loader, EndUnlocked>;

py::object next_batch(data::Loader& loader) {
  const data::Batch* batch = nullptr;
  {
    const Unlocked unlocked;
    batch = loader.next();
  }
  if (batch == nullptr) throw py::stop_iteration();
  return batch_of(*batch);
}

py::dict scores(const nn::Scores& s, const std::vector<std::string>& names) {
  py::dict dict;
  dict["loss"] = s.loss;
  for (size_t i = 0; i < s.metrics.size(); i++) dict[names[i].c_str()] = s.metrics[i];
  return dict;
}

// The trainer, and what it uses of Python's.
class Trainer {
 public:
  Trainer(py::object model, const py::object& loss, const py::object& optimizer, nn::TrainerOptions options)
      : model_(std::move(model)) {
    for (const nn::Metric& m : options.metrics) names_.push_back(m.name);
    auto& layer = model_.cast<nn::Layer&>();
    trainer_ = std::make_unique<nn::Trainer>(layer, loss.cast<nn::Loss>(), as_optimizer(optimizer), std::move(options));
    trainer_->on_batch = [this](const nn::BatchResult&) { look_for_signals(); };
    trainer_->on_test_batch = [this] { look_for_signals(); };
    trainer_->on_epoch = [this](const nn::EpochResult& e) {
      const py::gil_scoped_acquire lock;
      if (on_epoch.is_none() || pending_) return;
      try {
        on_epoch(epoch(e));
      } catch (py::error_already_set&) {
        stop_by(std::current_exception());
      }
    };
  }

  bool fit(data::Loader& train, data::Loader* test) {
    bool done = false;
    {
      const Unlocked unlocked;
      done = trainer_->fit(train, test);
    }
    if (pending_) std::rethrow_exception(std::exchange(pending_, nullptr));
    return done;
  }
  py::dict evaluate(data::Loader& loader) {
    nn::Scores s;
    {
      const Unlocked unlocked;
      s = trainer_->evaluate(loader);
    }
    return scores(s, names_);
  }
  Tensor predict(const py::object& x) {
    const Tensor t = as_tensor(x, "predict");
    const Unlocked unlocked;
    return trainer_->predict(t);
  }
  py::list history() const {
    py::list list;
    for (const nn::EpochResult& e : trainer_->history()) list.append(epoch(e));
    return list;
  }
  nn::Trainer& trainer() { return *trainer_; }
  py::object on_epoch = py::none();

 private:
  // Ctrl-C ends fit() after the batch under way: the exception waits until everything is in order.
  void look_for_signals() {
    if (pending_) return;
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() == 0) return;
    try {
      throw py::error_already_set();
    } catch (...) {
      stop_by(std::current_exception());
    }
  }
  void stop_by(std::exception_ptr why) {
    pending_ = std::move(why);
    trainer_->stop();
  }
  py::dict epoch(const nn::EpochResult& e) const {
    py::dict d;
    d["epoch"] = e.epoch, d["train"] = scores(e.train, names_), d["best"] = e.best, d["lr"] = e.lr,
    d["seconds"] = e.seconds;
    d["test"] = e.tested ? py::object(scores(e.test, names_)) : py::none();
    return d;
  }

  py::object model_;
  std::vector<std::string> names_;
  std::unique_ptr<nn::Trainer> trainer_;
  std::exception_ptr pending_;
};

std::vector<nn::Metric> metrics_of(const std::vector<std::string>& names) {
  std::vector<nn::Metric> metrics;
  for (const std::string& name : names) {
    if (name != "accuracy") throw Error("trainer: there is no metric \"" + name + "\" — accuracy is there");
    metrics.push_back(nn::accuracy_metric());
  }
  return metrics;
}

// A schedule: one of the library's, or a function of (update, total).
schedule::Schedule python_schedule(py::function f) {
  const std::shared_ptr<py::function> kept(new py::function(std::move(f)), [](py::function* p) {
    const py::gil_scoped_acquire lock;
    delete p;
  });
  return [kept](int64_t step, int64_t total) {
    const py::gil_scoped_acquire lock;
    return (*kept)(step, total).cast<double>();
  };
}

struct Schedule {
  schedule::Schedule function;
};
schedule::Schedule as_schedule(const py::object& object) {
  if (object.is_none()) return schedule::constant();
  if (py::isinstance<Schedule>(object)) return object.cast<Schedule>().function;
  return python_schedule(object.cast<py::function>());
}

void bind_schedules(py::module_& m) {
  py::module_ s =
      m.def_submodule("schedule", "Factors of the learning rate; any function of (update, total) is one, too.");
  py::class_<Schedule>(s, "Schedule")
      .def(
          "__call__", [](const Schedule& f, int64_t step, int64_t total) { return f.function(step, total); },
          arg("update"), arg("total"));
  s.def("constant", [] { return Schedule{schedule::constant()}; });
  s.def(
      "step", [](int64_t every, double gamma) { return Schedule{schedule::step(every, gamma)}; }, arg("every"),
      arg("gamma") = 0.1);
  s.def(
      "cosine", [](double floor) { return Schedule{schedule::cosine(floor)}; }, arg("floor") = 0.0,
      "Half a cosine from 1 down to `floor`.");
  s.def(
      "warm_up",
      [](int64_t updates, const py::object& after) { return Schedule{schedule::warm_up(updates, as_schedule(after))}; },
      arg("updates"), arg("after") = py::none(), "A straight line from 0 to 1, then `after`.");
  s.def(
      "one_cycle", [](double rise) { return Schedule{schedule::one_cycle(rise)}; }, arg("rise") = 0.3,
      "Up for a share of the run, then down.");
}

}  // namespace

void bind_data(py::module_& m) {
  bind_schedules(m);
  py::module_ d = m.def_submodule("data", "Datasets and loaders.");
  py::class_<data::Dataset, std::shared_ptr<data::Dataset>>(
      d, "Dataset", "Samples by number. Anything with len() and [i] that gives (x, y) or a dict becomes one.")
      .def(py::init([](py::object samples) -> std::shared_ptr<data::Dataset> {
             return std::make_shared<PythonDataset>(std::move(samples));
           }),
           arg("samples"))
      .def("__len__", &data::Dataset::size);
  py::class_<data::TensorDataset, data::Dataset, std::shared_ptr<data::TensorDataset>>(
      d, "TensorDataset", "Tensors or arrays x [n, …] and y [n, …].")
      .def(py::init([](const py::object& x, const py::object& y) {
             return std::make_shared<data::TensorDataset>(as_tensor(x, "x"), as_tensor(y, "y"));
           }),
           arg("x"), arg("y"));
  py::class_<data::Subset, data::Dataset, std::shared_ptr<data::Subset>>(d, "Subset",
                                                                         "Some samples of another dataset.")
      .def(py::init<const data::Dataset&, std::vector<int64_t>>(), arg("all"), arg("samples"), py::keep_alive<1, 2>());
  d.def(
      "split",
      [](const py::object& all, double held_back, uint64_t seed) {
        const data::Split s = data::split(all.cast<const data::Dataset&>(), held_back, seed);
        const auto part = [&](const data::Subset& subset) {
          py::object made = py::cast(std::make_shared<data::Subset>(subset));
          py::detail::keep_alive_impl(made, all);
          return made;
        };
        return py::make_tuple(part(s.train), part(s.test));
      },
      arg("all"), arg("held_back"), arg("seed") = 0, "(train, test): a share of the samples held back.");
  py::class_<data::Loader, LoaderPtr>(d, "Loader",
                                      "Batches of a dataset, made ahead by a thread: `for x, y in "
                                      "loader` is an epoch. A batch is valid until the next.")
      .def(py::init([](const data::Dataset& dataset, int64_t batch, bool shuffle, bool drop_last, uint64_t seed,
                       int prefetch) {
             data::LoaderOptions o;
             o.batch = batch, o.shuffle = shuffle, o.drop_last = drop_last, o.seed = seed, o.prefetch = prefetch;
             const Unlocked unlocked;
             return LoaderPtr(new data::Loader(dataset, o));
           }),
           arg("dataset"), arg("batch") = 32, arg("shuffle") = false, arg("drop_last") = false, arg("seed") = 0,
           arg("prefetch") = 2, py::keep_alive<1, 2>())
      .def("__len__", &data::Loader::batches)
      .def("__iter__", [](const py::object& self) { return self; })
      .def("__next__", &next_batch)
      .def_property_readonly("samples", &data::Loader::samples);
}

void bind_trainer(py::module_& n) {
  py::class_<Trainer>(n, "Trainer",
                      "Epochs of training steps on a loader's batches, with evaluation and early stopping.")
      .def(py::init([](const py::object& model, const py::object& loss, const py::object& optimizer, int64_t epochs,
                       const py::object& schedule, int64_t accumulate, double ema, int64_t patience, int64_t seed,
                       const std::vector<std::string>& metrics, bool keep_best, const py::kwargs& plan) {
             nn::TrainerOptions o;
             o.epochs = epochs, o.schedule = as_schedule(schedule), o.accumulate = accumulate, o.ema = ema,
             o.patience = patience, o.seed = seed;
             o.metrics = metrics_of(metrics), o.keep_best = keep_best, o.plan = plan_options(plan);
             return std::make_unique<Trainer>(model, loss, optimizer, std::move(o));
           }),
           arg("model"), arg("loss"), arg("optimizer"), arg("epochs") = 10, arg("schedule") = py::none(),
           arg("accumulate") = 1, arg("ema") = 0.0, arg("patience") = 0, arg("seed") = 0,
           arg("metrics") = std::vector<std::string>(), arg("keep_best") = false)
      .def(
          "fit", [](Trainer& t, data::Loader& train, data::Loader* test) { return t.fit(train, test); }, arg("train"),
          arg("test") = nullptr,
          "Trains until the epochs are done; Ctrl-C ends it after the batch under way, and another fit() goes on from "
          "there.")
      .def("evaluate", &Trainer::evaluate, arg("loader"), "Scores over one epoch of a loader, in evaluation mode.")
      .def("predict", &Trainer::predict, arg("x"), "What the model makes of x, in evaluation mode.")
      .def(
          "stop", [](Trainer& t) { t.trainer().stop(); }, "Ends fit() after the batch under way.")
      .def(
          "weights",
          [](Trainer& t) {
            py::dict d;
            for (const NamedTensor& w : t.trainer().weights()) d[w.name.c_str()] = w.tensor;
            return d;
          },
          "The weights to keep: averaged if there are averages.")
      .def(
          "restore_best", [](Trainer& t) { t.trainer().restore_best(); },
          "With keep_best: puts the best epoch's weights into the model.")
      .def_property_readonly("history", &Trainer::history)
      .def_readwrite("on_epoch", &Trainer::on_epoch, "Called after every epoch with a dict of what came of it.");
}

}  // namespace ingot::python
