// Small networks that the commands of the program work on: each is one compiled step with inputs to run it on.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ingot/graph/plan.h"

namespace ingot::cli {

struct ExampleInfo {
  const char *name, *what;
  int64_t batch;  // unless the user says otherwise
};

/// All examples, in the order in which they are listed.
std::span<const ExampleInfo> examples();

/// A compiled step, the memory that it uses, and inputs for it.
class Example {
 public:
  virtual ~Example() = default;
  virtual Plan& plan() = 0;
  virtual Profile profile(int runs) { return plan().profile(runs, inputs()); }
  std::span<const Tensor* const> inputs() const { return input_pointers_; }

 protected:
  void set_inputs(std::vector<Tensor> inputs);

 private:
  std::vector<Tensor> inputs_;
  std::vector<const Tensor*> input_pointers_;
};

/// The example of that name for a batch of this size (0: its own); an Error that lists the names if there is none.
std::unique_ptr<Example> make_example(std::string_view name, int64_t batch, const PlanOptions& options);

}  // namespace ingot::cli
