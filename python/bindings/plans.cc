// Plans, and functions of Python's that are compiled into them.
#include "plans.h"

#include <pybind11/stl.h>

#include "ingot/graph/grad.h"
#include "ingot/nn/module.h"

namespace ingot::python {
namespace {

// Numbers and texts are the same if they are equal; anything else if it is the same object.
bool same_constant(const py::object& a, const py::object& b) {
  if (a.is(b)) return true;
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(a.ptr()));
  if (type != reinterpret_cast<PyObject*>(Py_TYPE(b.ptr()))) return false;
  const bool plain = PyLong_Check(a.ptr()) || PyFloat_Check(a.ptr()) || PyUnicode_Check(a.ptr()) ||
                     PyBytes_Check(a.ptr()) || PySlice_Check(a.ptr()) || PyTuple_Check(a.ptr()) ||
                     PyList_Check(a.ptr()) || py::isinstance<DType>(a);
  return plain && a.equal(b);
}

py::dict bytes_of(const Plan& plan) {
  const PlanBytes b = plan.bytes();
  py::dict d;
  d["arena"] = b.arena, d["scratch"] = b.scratch, d["outputs"] = b.outputs, d["constants"] = b.constants;
  d["inputs"] = b.inputs, d["parameters"] = b.parameters, d["gradients"] = b.gradients, d["state"] = b.state;
  d["bound"] = b.bound, d["live_peak"] = b.live_peak, d["own"] = b.own();
  return d;
}

std::vector<Tensor> as_tensors(const py::args& args) {
  std::vector<Tensor> list;
  for (const py::handle each : args) list.push_back(as_tensor(each, "plan"));
  return list;
}

std::vector<NamedTensor> named(const py::dict& bindings) {
  std::vector<NamedTensor> list;
  for (const auto& [name, tensor] : bindings) list.push_back({name.cast<std::string>(), as_tensor(tensor, "bindings")});
  return list;
}

py::object one_or_all(const std::vector<Tensor>& results) {
  if (results.size() == 1) return py::cast(results[0]);
  py::tuple all(results.size());
  for (size_t i = 0; i < results.size(); i++) all[i] = results[i];
  return all;
}

void bind_profile(py::module_& m) {
  py::class_<StepProfile>(m, "StepProfile", "One step of a plan, measured.")
      .def_readonly("name", &StepProfile::name)
      .def_readonly("kind", &StepProfile::kind)
      .def_readonly("us", &StepProfile::us)
      .def_readonly("share", &StepProfile::share)
      .def_readonly("flops", &StepProfile::flops)
      .def_readonly("bytes", &StepProfile::bytes)
      .def_readonly("roofline", &StepProfile::roofline);
  py::class_<Profile>(m, "Profile", "What Plan.profile measured.")
      .def_readonly("us", &Profile::us)
      .def_readonly("plain_us", &Profile::plain_us)
      .def_readonly("threads", &Profile::threads)
      .def_readonly("runs", &Profile::runs)
      .def_readonly("steps", &Profile::steps)
      .def("table", &Profile::table, py::arg("by_time") = false, "The steps, in their order or the slowest first.")
      .def("by_op", &Profile::by_op, "All steps that do the same as one row.")
      .def("chrome_trace", &Profile::chrome_trace, "The last run for Perfetto or chrome://tracing (JSON).")
      .def("__repr__", [](const Profile& p) { return p.table(); });
}

void bind_plan(py::module_& m) {
  using Shared = SharedPlan;
  py::class_<Shared, std::shared_ptr<Shared>> type(
      m, "Plan", "A function of tensors as a flat list of kernel calls, with every buffer at a fixed place.");
  type.def(
          "__call__", [](Shared& s, const py::args& inputs) { return one_or_all(compute(s, as_tensors(inputs))); },
          "Runs it. The result is a tensor of its own, or a tuple of them.")
      .def(
          "run",
          [](Shared& s, const py::args& args) {
            s.check_runs();
            const std::vector<Tensor> inputs = as_tensors(args);
            std::span<const Tensor> results;
            {
              const Unlocked unlocked;
              const std::lock_guard lock(s.mutex);
              results = s.plan.run(Pointers(inputs));
            }
            return one_or_all({results.begin(), results.end()});
          },
          "The fast form: results that the next run overwrites. Allocates no tensor.")
      .def(
          "run_batch",
          [](Shared& s, const py::args& args) {
            s.check_runs();
            const std::vector<Tensor> inputs = as_tensors(args);
            const Unlocked unlocked;
            const std::lock_guard lock(s.mutex);
            return s.plan.run_batch(Pointers(inputs));
          },
          "Once for each row of inputs that have one more axis in front, spread over the workers.")
      .def(
          "output", [](Shared& s, const std::string& name) { return s.plan.output(name); }, py::arg("name"),
          "A result of the last run by name.")
      .def(
          "bytes", [](const Shared& s) { return bytes_of(s.plan); }, "Its memory, known before the first run.")
      .def_property_readonly("threads", [](const Shared& s) { return s.plan.threads(); })
      .def_property_readonly("step_count", [](const Shared& s) { return s.plan.step_count(); })
      .def(
          "profile",
          [](Shared& s, int runs, const py::args& args) {
            s.check_runs();
            const std::vector<Tensor> inputs = as_tensors(args);
            const Unlocked unlocked;
            const std::lock_guard lock(s.mutex);
            return s.plan.profile(runs, Pointers(inputs));
          },
          py::arg("runs") = 100, "Measures its steps on the inputs given, or on zeros.")
      .def(
          "describe", [](const Shared& s, bool by_node) { return s.plan.describe(by_node); },
          py::arg("by_node") = false, "What the passes did, the steps, the bytes.")
      .def(
          "dump", [](const Shared& s) { return s.plan.dump(); }, "Stable text of the steps.")
      .def(
          "dot", [](const Shared& s, bool after) { return s.plan.dot(after); }, py::arg("after") = true,
          "A picture for Graphviz: of the steps, or of the graph as it was captured.")
      .def(
          "svg", [](const Shared& s, bool after) { return s.plan.svg(after); }, py::arg("after") = true,
          "The same picture as SVG.")
      .def("_repr_svg_", [](const Shared& s) { return s.plan.svg(); })
      .def("__repr__",
           [](const Shared& s) {
             return "<ingot.Plan of " + std::to_string(s.plan.step_count()) + " steps, " +
                    std::to_string(s.plan.bytes().own()) + " bytes>";
           })
      .def(
          "save", [](const Shared& s, const py::object& path) { s.plan.save(py::str(path)); }, py::arg("path"),
          "Writes it to a file: a frozen plan with its weights, another one with the names of what it is bound to.")
      .def(
          "slabs", [](const Shared& s) { return s.plan.slabs(); }, "Names of the memory that load() must be given.")
      .def_static(
          "load",
          [](const py::object& path, const py::dict& bindings, size_t byte_limit) {
            return std::make_shared<Shared>(Plan::load(py::str(path), named(bindings), byte_limit));
          },
          py::arg("path"), py::arg("bindings") = py::dict(), py::arg("byte_limit") = 0, "Reads such a file.");
  type.def(py::pickle(
      [](const Shared& s) {
        const std::vector<std::byte> bytes = s.plan.to_bytes();
        return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      },
      [](const py::bytes& bytes) {
        const std::string_view text = bytes;
        return std::make_shared<Shared>(
            Plan::from_bytes({reinterpret_cast<const std::byte*>(text.data()), text.size()}));
      }));
}

// A function that is compiled for every shape, type and constant it is called with; the plans used last are kept.
class Compiled {
 public:
  Compiled(py::function function, PlanOptions options, size_t most)
      : function_(std::move(function)), options_(std::move(options)), most_(most) {
    if (most == 0) throw Error("compile: it must keep at least one plan — most is 0");
  }

  py::object call(const py::args& args, const py::kwargs& kwargs) {
    if (capturing()) return function_(*args, **kwargs);  // it becomes part of the plan under way
    std::vector<Tensor> inputs;
    const Entry& e = entry(py::make_tuple(args, kwargs), inputs);
    const std::shared_ptr<SharedPlan> plan = e.plan;
    const std::shared_ptr<const Tree> result = e.result;
    const std::vector<Tensor> outputs = compute(*plan, inputs);
    std::span<const Tensor> rest(outputs);
    return put_together(*result, rest);
  }
  std::shared_ptr<SharedPlan> plan(const py::args& args, const py::kwargs& kwargs) {
    std::vector<Tensor> inputs;
    return entry(py::make_tuple(args, kwargs), inputs).plan;
  }
  std::vector<std::shared_ptr<SharedPlan>> plans() const {
    std::vector<std::shared_ptr<SharedPlan>> list;
    for (const Entry& e : entries_) list.push_back(e.plan);
    return list;
  }
  const py::function& function() const { return function_; }

 private:
  struct Entry {
    Tree arguments;
    std::vector<Spec> inputs;
    std::shared_ptr<SharedPlan> plan;
    std::shared_ptr<const Tree> result;
    uint64_t moves;  // of parameters before it was compiled: after more of them it may look at the wrong memory
    bool bound;
    int64_t used;
    bool is_for(const Tree& tree, const std::vector<Tensor>& tensors) const {
      if (inputs.size() != tensors.size()) return false;
      for (size_t i = 0; i < inputs.size(); i++)
        if (tensors[i].dtype() != inputs[i].dtype || !(tensors[i].shape() == inputs[i].shape)) return false;
      return arguments == tree;
    }
  };

  const Entry& entry(const py::tuple& arguments, std::vector<Tensor>& inputs) {
    Tree tree = take_apart(arguments, inputs, /*arrays=*/true);
    const uint64_t moves = move_count();
    for (size_t i = 0; i < entries_.size(); i++) {
      if (!entries_[i].is_for(tree, inputs)) continue;
      if (!entries_[i].bound || entries_[i].moves == moves) return entries_[i].used = ++clock_, entries_[i];
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    Entry made = compile(std::move(tree), inputs);
    made.moves = moves, made.used = ++clock_;
    if (entries_.size() == most_) {
      size_t oldest = 0;
      for (size_t i = 1; i < entries_.size(); i++)
        if (entries_[i].used < entries_[oldest].used) oldest = i;
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(oldest));
    }
    entries_.push_back(std::move(made));
    return entries_.back();
  }

  Entry compile(Tree tree, const std::vector<Tensor>& inputs) const {
    std::vector<InputSpec> specs;
    std::vector<Spec> shapes;
    for (const Tensor& t : inputs) specs.emplace_back(t.shape(), t.dtype()), shapes.push_back({t.dtype(), t.shape()});
    Tree result;
    const PlanFunction traced = [&](std::span<const Tensor> symbols) {
      const py::gil_scoped_acquire lock;
      const py::tuple both = put_together(tree, symbols);
      const py::object value = function_(*both[0].cast<py::tuple>(), **both[1].cast<py::dict>());
      std::vector<Tensor> outputs;
      result = take_apart(value, outputs, /*arrays=*/false);
      std::vector<NamedTensor> list;
      list.reserve(outputs.size());
      for (const Tensor& t : outputs) list.push_back({"", t});
      return list;
    };
    std::shared_ptr<SharedPlan> plan;
    {
      const Unlocked unlocked;
      plan = std::make_shared<SharedPlan>(compile_function(traced, specs, options_));
    }
    const PlanBytes b = plan->plan.bytes();
    return {std::move(tree),
            std::move(shapes),
            std::move(plan),
            std::make_shared<const Tree>(std::move(result)),
            0,
            b.parameters + b.gradients + b.state + b.bound > 0,
            0};
  }

  py::function function_;
  PlanOptions options_;
  size_t most_;
  int64_t clock_ = 0;
  std::vector<Entry> entries_;
};

void bind_compiled(py::module_& m) {
  py::class_<Compiled>(m, "Compiled", py::dynamic_attr(), "A function that runs as plans: see ingot.compile.")
      .def(py::init([](py::function function, size_t most, const py::kwargs& options) {
             return std::make_unique<Compiled>(std::move(function), plan_options(options), most);
           }),
           py::arg("function"), py::arg("most") = 8)
      .def("__call__", &Compiled::call)
      .def("plan", &Compiled::plan, "The plan for such arguments, compiled now if need be.")
      .def_property_readonly("plans", &Compiled::plans, "The plans that it keeps.")
      .def_property_readonly("function", &Compiled::function, "What was compiled.")
      .def(
          "__get__",
          [](const py::object& self, const py::object& object, const py::object&) {
            if (object.is_none()) return self;
            return py::reinterpret_steal<py::object>(PyMethod_New(self.ptr(), object.ptr()));
          },
          py::arg("object"), py::arg("type") = py::none());
}

Unused unused_of(const std::string& word) {
  if (word != "error" && word != "zeros")
    throw Error("gradients: unused is \"error\" or \"zeros\", not \"" + word + "\"");
  return word == "error" ? Unused::kError : Unused::kZeros;
}

class ScopeHere {  // with ingot.scope("encoder"):
 public:
  explicit ScopeHere(std::string name) : name_(std::move(name)) {}
  void enter() { scope_ = std::make_unique<Scope>(name_); }
  void leave() { scope_.reset(); }

 private:
  std::string name_;
  std::unique_ptr<Scope> scope_;
};

}  // namespace

bool Tree::operator==(const Tree& other) const {
  if (kind != other.kind || children.size() != other.children.size()) return false;
  if ((value.ptr() == nullptr) != (other.value.ptr() == nullptr)) return false;
  return (value.ptr() == nullptr || same_constant(value, other.value)) && children == other.children;
}

Tree take_apart(py::handle value, std::vector<Tensor>& tensors, bool arrays) {
  if (Tensor* t = tensor_in(value.ptr())) return tensors.push_back(*t), Tree{Tree::Kind::kTensor, {}, {}};
  if (py::isinstance<py::dict>(value)) {
    Tree tree{Tree::Kind::kDict, {}, {}};
    const auto dict = py::reinterpret_borrow<py::dict>(value);
    py::list keys;
    for (const auto& [key, each] : dict) keys.append(key), tree.children.push_back(take_apart(each, tensors, arrays));
    tree.value = keys;
    return tree;
  }
  const bool tuple = py::isinstance<py::tuple>(value);
  if (tuple || py::isinstance<py::list>(value)) {
    Tree tree{tuple ? Tree::Kind::kTuple : Tree::Kind::kList, {}, {}};
    if (tuple && Py_TYPE(value.ptr()) != &PyTuple_Type) tree.value = py::type::of(value);
    for (const py::handle each : value) tree.children.push_back(take_apart(each, tensors, arrays));
    return tree;
  }
  if (arrays && !py::isinstance<py::bytes>(value) && is_array(value.ptr()))
    return tensors.push_back(as_tensor(value, "compile")), Tree{Tree::Kind::kTensor, {}, {}};
  return {Tree::Kind::kConstant, py::reinterpret_borrow<py::object>(value), {}};
}

py::object put_together(const Tree& tree, std::span<const Tensor>& tensors) {
  switch (tree.kind) {
    case Tree::Kind::kTensor: {
      py::object tensor = py::cast(tensors.front());
      tensors = tensors.subspan(1);
      return tensor;
    }
    case Tree::Kind::kConstant: return tree.value;
    case Tree::Kind::kDict: {
      py::dict dict;
      size_t i = 0;
      for (const py::handle key : tree.value) dict[key] = put_together(tree.children[i++], tensors);
      return dict;
    }
    default: break;
  }
  py::list list;
  for (const Tree& child : tree.children) list.append(put_together(child, tensors));
  if (tree.kind == Tree::Kind::kList) return list;
  if (!tree.value) return py::tuple(list);
  return py::hasattr(tree.value, "_make") ? tree.value.attr("_make")(list)
                                          : tree.value(list);  // a named tuple's own way
}

std::vector<Tensor> compute(SharedPlan& shared, const std::vector<Tensor>& inputs) {
  shared.check_runs();
  const Unlocked unlocked;
  const std::lock_guard lock(shared.mutex);
  return detail::copies(shared.plan.run(Pointers(inputs)));
}

PlanFunction plan_function(py::function function) {
  // Python's lock is taken for the copy of the function, too, which may be dropped without it.
  const std::shared_ptr<py::function> held(new py::function(std::move(function)), [](py::function* f) {
    const py::gil_scoped_acquire lock;
    delete f;
  });
  return [held](std::span<const Tensor> inputs) {
    const py::gil_scoped_acquire lock;
    py::tuple args(inputs.size());
    for (size_t i = 0; i < inputs.size(); i++) args[i] = inputs[i];
    std::vector<Tensor> outputs;
    take_apart((*held)(*args), outputs, /*arrays=*/false);
    std::vector<NamedTensor> list;
    list.reserve(outputs.size());
    for (const Tensor& t : outputs) list.push_back({"", t});
    return list;
  };
}

InputSpec as_spec(py::handle object) {
  if (tensor_in(object.ptr()) != nullptr || is_array(object.ptr())) {
    const Tensor t = as_tensor(object, "input");
    return {t.shape(), t.dtype()};
  }
  if (py::isinstance<py::tuple>(object) && py::len(object) > 0) {
    const auto tuple = py::reinterpret_borrow<py::tuple>(object);
    if (!PyIndex_Check(py::object(tuple[0]).ptr())) {  // (shape, dtype), (shape, dtype, name)
      const std::string name = tuple.size() > 2 ? tuple[2].cast<std::string>() : "";
      if (tuple.size() == 1 || tuple.size() > 3)
        throw py::type_error("an input is a shape, (shape, dtype) or (shape, dtype, name)");
      return {as_dims(tuple[0]), as_dtype(tuple[1]), name};
    }
  }
  return InputSpec(as_dims(object));
}

std::vector<InputSpec> as_specs(py::handle list) {
  std::vector<InputSpec> specs;
  for (const py::handle each : list) specs.push_back(as_spec(each));
  return specs;
}

PlanOptions plan_options(const py::kwargs& given) {
  PlanOptions options;
  for (const auto& [key, value] : given) {
    const std::string name = key.cast<std::string>();
    if (name == "name")
      options.name = value.cast<std::string>();
    else if (name == "without")
      options.without = value.cast<std::vector<std::string>>();
    else if (name == "threads")
      options.threads = value.cast<int>();
    else if (name == "byte_limit")
      options.byte_limit = value.cast<size_t>();
    else if (name == "frozen")
      options.frozen = value.cast<bool>();
    else if (name == "check_numerics")
      options.check_numerics = value.cast<bool>();
    else
      throw py::type_error("a plan has no option '" + name +
                           "', only name, without, threads, byte_limit, frozen and check_numerics");
  }
  return options;
}

void bind_plans(py::module_& m) {
  bind_profile(m);
  bind_plan(m);
  bind_compiled(m);
  m.def("capturing", &capturing, "Is a function being compiled on this thread?");
  m.def(
      "pass_names",
      [] {
        const std::span<const char* const> names = pass_names();
        return std::vector<std::string>(names.begin(), names.end());
      },
      "The passes that without=[…] can switch off.");
  m.def(
      "gradients",
      [](const Tensor& y, const std::vector<Tensor>& wrt, const std::string& unused) {
        return gradients(y, Tensors(wrt), unused_of(unused));
      },
      py::arg("y"), py::arg("wrt"), py::arg("unused") = "error",
      "d sum(y) / d x for every x, inside a compiled function: values like any other.");
  m.def("stop_gradient", &stop_gradient, py::arg("x"), "x as a constant for gradients.");
  m.def(
      "checkpoint",
      [](const py::function& function, const py::args& args) {
        const detail::Region region;
        return py::object(function(*args));
      },
      py::arg("function"),
      "function(*args), whose inner values are not kept for the backward pass but computed again there.");
  py::class_<ScopeHere>(m, "scope", "with ingot.scope(\"encoder\"): names what is recorded, for profiles and pictures.")
      .def(py::init<std::string>(), py::arg("name"))
      .def("__enter__", &ScopeHere::enter)
      .def("__exit__", [](ScopeHere& s, const py::args&) { s.leave(); });
}

}  // namespace ingot::python
