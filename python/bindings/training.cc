// Losses, optimisers, and the training step.
#include "training.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <deque>

#include "ingot/nn/train_step.h"
#include "nn.h"
#include "plans.h"

namespace ingot::python {
namespace {

using py::arg;

// A rule written in Python; see as_optimizer.
struct PythonRule {
  static constexpr const char* kName = "python";
  float lr = 0;
  int count = 0;
  std::shared_ptr<py::object> rule;
  int slots() const { return count; }
  void update(const Update& u) const {
    const py::gil_scoped_acquire lock;
    rule->attr("update")(py::cast(&u, py::return_value_policy::reference));
  }
};

std::shared_ptr<py::object> held(const py::object& object) {
  return {new py::object(object), [](py::object* o) {
            const py::gil_scoped_acquire lock;
            delete o;
          }};
}

void set_update(const Update& u, const Tensor& values, const py::args& slots) {
  const auto s = [&](size_t i) { return slots[i].cast<Tensor>(); };
  switch (slots.size()) {
    case 0: return u.set(values);
    case 1: return u.set(values, {s(0)});
    case 2: return u.set(values, {s(0), s(1)});
    case 3: return u.set(values, {s(0), s(1), s(2)});
    case 4: return u.set(values, {s(0), s(1), s(2), s(3)});
    default: throw Error("update: at most four slots per parameter");
  }
}

// A training step for every batch shape it meets: they share parameters, optimiser and counters.
class Step : public std::enable_shared_from_this<Step> {
 public:
  Step(py::object model, const py::object& loss, const py::object& optimizer, const UpdateOptions& options,
       PlanOptions plan)
      : model_(std::move(model)),
        layer_(model_.cast<nn::Layer&>()),
        function_(as_function(loss)),
        plan_(std::move(plan)),
        slab_(layer_.trainable_parameters()),
        updates_(slab_, as_optimizer(optimizer), options) {}

  float run(const py::args& args) {
    std::vector<Tensor> inputs;
    for (const py::handle each : args) inputs.push_back(as_tensor(each, "step"));
    TrainStep& step = for_inputs(inputs);
    const Unlocked unlocked;
    const std::lock_guard lock(mutex_);
    return step.run(Pointers(inputs));
  }
  void prepare(const std::vector<InputSpec>& specs) { compile(typed(specs)); }
  std::shared_ptr<SharedPlan> plan(const py::args& args) {
    TrainStep* step = steps_.empty() ? nullptr : steps_.back().step.get();
    if (args.size() > 0) {
      std::vector<Tensor> inputs;
      for (const py::handle each : args) inputs.push_back(as_tensor(each, "step"));
      step = &for_inputs(inputs);
    }
    if (step == nullptr)
      throw Error("step: it has no plan before its first batch — give plan(...) a batch, or train_step(inputs=…)");
    return std::make_shared<SharedPlan>(step->plan(), shared_from_this());
  }
  Profile profile(int runs, const py::args& args) {
    std::vector<Tensor> inputs;
    for (const py::handle each : args) inputs.push_back(as_tensor(each, "step"));
    TrainStep& step = for_inputs(inputs);
    const Unlocked unlocked;
    const std::lock_guard lock(mutex_);
    return step.profile(runs, Pointers(inputs));
  }
  Updates& updates() { return updates_; }
  py::dict gradients() const {
    py::dict dict;
    for (size_t i = 0; i < slab_.size(); i++) dict[slab_.name(i).c_str()] = slab_.gradient(i);
    return dict;
  }

 private:
  struct Made {
    std::vector<InputSpec> inputs;
    std::unique_ptr<TrainStep> step;
  };

  PlanFunction as_function(const py::object& loss) {
    if (!py::isinstance<nn::Loss>(loss)) {
      if (!PyCallable_Check(loss.ptr()))
        throw py::type_error("train_step: the loss is a Loss (nn.cross_entropy), or a function of the batch");
      return plan_function(loss);
    }
    const nn::Loss& known = loss.cast<const nn::Loss&>();
    target_ = known.target;
    return [this, known](std::span<const Tensor> in) -> std::vector<NamedTensor> {
      if (in.size() != 2 && in.size() != 3)
        throw Error(
            "step: " + std::to_string(in.size()) +
            " tensors given — a model with a loss takes x, the targets, and weights of the samples if there are any");
      const Tensor result = layer_(in[0]);
      const Scope scope(known.name);
      return {{"", in.size() == 2 ? known(result, in[1]) : known(result, in[1], in[2])}};
    };
  }

  std::vector<InputSpec> typed(std::vector<InputSpec> specs) const {
    if (target_ && specs.size() > 1 && !specs[1].typed) specs[1].dtype = *target_;
    return specs;
  }

  TrainStep& for_inputs(const std::vector<Tensor>& inputs) {
    for (const Made& made : steps_) {
      bool fits = made.inputs.size() == inputs.size();
      for (size_t i = 0; fits && i < inputs.size(); i++)
        fits = inputs[i].dtype() == made.inputs[i].dtype && inputs[i].shape() == made.inputs[i].shape;
      if (fits) return *made.step;
    }
    std::vector<InputSpec> specs;
    for (const Tensor& t : inputs) specs.emplace_back(t.shape(), t.dtype());
    return compile(specs);
  }

  TrainStep& compile(const std::vector<InputSpec>& specs) {
    std::unique_ptr<TrainStep> step;
    {
      const Unlocked unlocked;
      step = std::make_unique<TrainStep>(function_, updates_, specs, plan_);
      step->watch(layer_);
    }
    steps_.push_back({specs, std::move(step)});
    return *steps_.back().step;
  }

  py::object model_;
  nn::Layer& layer_;
  std::optional<DType> target_;
  PlanFunction function_;
  PlanOptions plan_;
  ParameterSlab slab_;
  Updates updates_;
  std::vector<Made> steps_;
  std::mutex mutex_;
};

}  // namespace

Optimizer as_optimizer(const py::object& object) {
  if (py::isinstance<Optimizer>(object)) return object.cast<Optimizer>();
  if (!py::hasattr(object, "update") || !py::hasattr(object, "lr"))
    throw py::type_error("expected an optimiser: one of ingot.optim, or an object with lr, slots and update(u)");
  return PythonRule{object.attr("lr").cast<float>(), py::getattr(object, "slots", py::int_(0)).cast<int>(),
                    held(object)};
}

nn::Loss python_loss(const std::string& name, py::function function, DType target) {
  static std::deque<std::string> names;  // a loss only looks at its own
  const std::shared_ptr<py::object> kept = held(function);
  return {names.emplace_back(name).c_str(),
          [kept](const Tensor& result, const Tensor& t) {
            const py::gil_scoped_acquire lock;
            return (*kept)(result, t).cast<Tensor>();
          },
          target,
          {}};
}

void bind_losses(py::module_& n) {
  py::class_<nn::Loss>(
      n, "Loss", "A function of a model's result and a target to one number. One of yours: Loss(\"mine\", f, \"f32\").")
      .def(py::init([](const std::string& name, py::function f, const py::object& target) {
             return python_loss(name, std::move(f), as_dtype(target));
           }),
           arg("name"), arg("function"), arg("target") = "f32")
      .def(
          "__call__",
          [](const nn::Loss& l, const Tensor& result, const Tensor& target, const Tensor& weight) {
            return weight.defined() ? l(result, target, weight) : l(result, target);
          },
          arg("result"), arg("target"), arg("weight") = Tensor())
      .def_property_readonly("name", [](const nn::Loss& l) { return std::string(l.name); })
      .def_property_readonly("target", [](const nn::Loss& l) { return dtype_object(l.target); });
  n.attr("mse") = nn::mse, n.attr("mae") = nn::mae, n.attr("cross_entropy") = nn::cross_entropy,
  n.attr("nll") = nn::nll;
  n.attr("bce") = nn::bce, n.attr("bce_with_logits") = nn::bce_with_logits, n.attr("kl_div") = nn::kl_div;
  n.def(
      "huber", [](double delta) { return nn::huber(delta); }, arg("delta") = 1.0,
      "½e² where the error is at most delta, a straight line beyond.");
  n.def(
      "cross_entropy_with",
      [](double label_smoothing, const Tensor& weight, bool skip_negative) {
        nn::CrossEntropyOptions o;
        o.label_smoothing = label_smoothing, o.weight = weight, o.skip_negative = skip_negative;
        return nn::cross_entropy_with(o);
      },
      arg("label_smoothing") = 0.0, arg("weight") = Tensor(), arg("skip_negative") = false,
      "Cross entropy with options.");
}

void bind_optimizers(py::module_& m) {
  py::module_ o = m.def_submodule("optim", "Optimisers. Any object with lr, slots and update(u) is one, too.");
  py::class_<Optimizer>(o, "Optimizer",
                        "A rule that makes new parameters of parameters, gradients and what it remembers.")
      .def_property_readonly("name", &Optimizer::name)
      .def_property_readonly("lr", &Optimizer::lr)
      .def_property_readonly("slots", &Optimizer::slots)
      .def("__repr__", [](const Optimizer& r) { return "<optimizer " + r.name() + ">"; });
  py::class_<Update>(o, "Update", "What a rule sees: parameters, gradients and slots, all vectors of one length.")
      .def_property_readonly("values", &Update::values)
      .def(
          "gradient", [](const Update& u, double norm, double value) { return u.gradient(norm, value); },
          arg("clip_norm") = 0.0, arg("clip_value") = 0.0)
      .def("slot", &Update::slot, arg("i"), "The numbers of slot i, zero before the first update.")
      .def("rate", &Update::rate, "The learning rate in the parameters' type.")
      .def_property_readonly("step", &Update::step, "The number of this update, an i64 scalar: the first is 1.")
      .def("set", &set_update, arg("values"), "The end of an update: set(new_values, new_slot_0, new_slot_1, …).");
  o.def(
      "Sgd",
      [](float lr, double momentum, double weight_decay, bool nesterov, double clip_norm, double clip_value) {
        return Optimizer(optim::Sgd{lr, momentum, weight_decay, nesterov, clip_norm, clip_value});
      },
      arg("lr") = 1e-2f, arg("momentum") = 0.0, arg("weight_decay") = 0.0, arg("nesterov") = false,
      arg("clip_norm") = 0.0, arg("clip_value") = 0.0, "Gradient descent, as PyTorch defines it.");
  o.def(
      "Adam",
      [](float lr, double beta1, double beta2, double eps, double weight_decay, double clip_norm, double clip_value) {
        return Optimizer(optim::Adam{lr, beta1, beta2, eps, weight_decay, clip_norm, clip_value});
      },
      arg("lr") = 1e-3f, arg("beta1") = 0.9, arg("beta2") = 0.999, arg("eps") = 1e-8, arg("weight_decay") = 0.0,
      arg("clip_norm") = 0.0, arg("clip_value") = 0.0, "Adam (Kingma and Ba).");
  o.def(
      "AdamW",
      [](float lr, double beta1, double beta2, double eps, double weight_decay, double clip_norm, double clip_value) {
        return Optimizer(optim::AdamW{lr, beta1, beta2, eps, weight_decay, clip_norm, clip_value});
      },
      arg("lr") = 1e-3f, arg("beta1") = 0.9, arg("beta2") = 0.999, arg("eps") = 1e-8, arg("weight_decay") = 1e-2,
      arg("clip_norm") = 0.0, arg("clip_value") = 0.0, "Adam with decoupled weight decay.");
  o.def(
      "RmsProp",
      [](float lr, double alpha, double eps, double momentum, double weight_decay, double clip_norm,
         double clip_value) {
        return Optimizer(optim::RmsProp{lr, alpha, eps, momentum, weight_decay, clip_norm, clip_value});
      },
      arg("lr") = 1e-2f, arg("alpha") = 0.99, arg("eps") = 1e-8, arg("momentum") = 0.0, arg("weight_decay") = 0.0,
      arg("clip_norm") = 0.0, arg("clip_value") = 0.0, "RMSProp, as PyTorch defines it.");
  o.def(
      "Adagrad",
      [](float lr, double eps, double weight_decay, double clip_norm, double clip_value) {
        return Optimizer(optim::Adagrad{lr, eps, weight_decay, clip_norm, clip_value});
      },
      arg("lr") = 1e-2f, arg("eps") = 1e-10, arg("weight_decay") = 0.0, arg("clip_norm") = 0.0, arg("clip_value") = 0.0,
      "Adagrad.");
  o.def(
      "Lion",
      [](float lr, double beta1, double beta2, double weight_decay, double clip_norm, double clip_value) {
        return Optimizer(optim::Lion{lr, beta1, beta2, weight_decay, clip_norm, clip_value});
      },
      arg("lr") = 1e-4f, arg("beta1") = 0.9, arg("beta2") = 0.99, arg("weight_decay") = 0.0, arg("clip_norm") = 0.0,
      arg("clip_value") = 0.0, "Lion: the sign of a moving mean.");
}

void bind_step(py::module_& n) {
  py::class_<Step, std::shared_ptr<Step>>(
      n, "TrainStep", "Forward, loss, backward and update as one plan per batch shape: see train_step.")
      .def("__call__", &Step::run, "One step; the loss before the update.")
      .def("plan", &Step::plan, "The plan of the step for such a batch, or the latest: to describe and to look at.")
      .def("profile", &Step::profile, arg("runs"), "Measures the step on a batch; parameters are put back afterwards.")
      .def("gradients", &Step::gradients, "The gradients of the last step by name; they look at the step's memory.")
      .def_property(
          "lr", [](Step& s) { return s.updates().lr(); }, [](Step& s, float lr) { s.updates().set_lr(lr); },
          "The learning rate of the next update.")
      .def_property_readonly(
          "steps", [](Step& s) { return s.updates().steps(); }, "Updates so far.")
      .def_property_readonly(
          "averages", [](Step& s) { return s.updates().averages(); }, "Averaged parameters, with ema.");
  n.def(
      "train_step",
      [](const py::object& model, const py::object& loss, const py::object& optimizer, const py::object& inputs,
         int64_t accumulate, double ema, int64_t seed, const py::kwargs& options) {
        if (!py::isinstance<nn::Layer>(model)) throw py::type_error("train_step: the model is an nn.Module");
        auto step =
            std::make_shared<Step>(model, loss, optimizer, UpdateOptions{accumulate, ema, seed}, plan_options(options));
        if (!inputs.is_none()) step->prepare(as_specs(inputs));
        return step;
      },
      arg("model"), arg("loss"), arg("optimizer"), arg("inputs") = py::none(), arg("accumulate") = 1, arg("ema") = 0.0,
      arg("seed") = 0,
      "A training step: step(x, targets) returns the loss. The loss is a Loss, or a function of the batch's tensors "
      "that calls the model "
      "and returns a scalar. The model's parameters move into one block; `inputs` compiles the plan now.");
}

void bind_training(py::module_& m, py::module_& n) {
  bind_losses(n);
  bind_optimizers(m);
  bind_step(n);
  bind_data(m);
  bind_trainer(n);
}

}  // namespace ingot::python
