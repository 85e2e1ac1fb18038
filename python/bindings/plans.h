// Plans as Python holds them, and how Python's values are taken apart into tensors and put together again.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "bindings.h"
#include "ingot/graph/plan.h"

namespace ingot::python {

/// A value made of tensors, numbers, tuples, lists and dicts, without its tensors: those are in a list beside it.
struct Tree {
  enum class Kind { kTensor, kConstant, kTuple, kList, kDict };
  Kind kind = Kind::kConstant;
  py::object value;  // the constant; a named tuple's class; the keys of a dict
  std::vector<Tree> children;
  bool operator==(const Tree& other) const;
};

/// Takes a value apart. Arrays become tensors if `arrays`.
Tree take_apart(py::handle value, std::vector<Tensor>& tensors, bool arrays);
/// Puts it together again with other tensors, from the front of the list.
py::object put_together(const Tree& tree, std::span<const Tensor>& tensors);

/// A plan, and who runs it: one thread at a time. That of a training step is the step's to run.
struct SharedPlan {
  explicit SharedPlan(Plan p) : own(std::move(p)), plan(own) {}
  SharedPlan(Plan& of_step, std::shared_ptr<void> step) : plan(of_step), keep(std::move(step)) {}
  void check_runs() const {
    if (keep != nullptr)
      throw Error("plan: it belongs to a training step — call the step, which counts and sets the rate");
  }
  Plan own;
  Plan& plan;
  std::shared_ptr<void> keep;
  std::mutex mutex;
};

/// Runs it with Python unlocked.
std::vector<Tensor> compute(SharedPlan& shared, const std::vector<Tensor>& inputs);

/// Calls a Python function during a capture: Python's lock, and the tensors as arguments.
PlanFunction plan_function(py::function function);

/// A shape; (shape, dtype); (shape, dtype, name); a tensor or an array like those to come.
InputSpec as_spec(py::handle object);
std::vector<InputSpec> as_specs(py::handle list);
/// Options by keyword.
PlanOptions plan_options(const py::kwargs& options);

/// Pointers, as runs take them.
class Pointers {
 public:
  explicit Pointers(const std::vector<Tensor>& list) {
    for (const Tensor& t : list) pointers_.push_back(&t);
  }
  operator std::span<const Tensor* const>() const { return pointers_; }

 private:
  std::vector<const Tensor*> pointers_;
};

}  // namespace ingot::python
