#include "ingot/nn.h"

#include <string>

#include "ingot/error.h"

namespace ingot::nn {
namespace {

std::vector<InputSpec> with_targets(std::vector<InputSpec> inputs, const Loss& loss) {
  if (inputs.size() != 2)
    throw Error(std::string("train_step: ") + std::to_string(inputs.size()) +
                " input specs — give the batch's and the targets'");
  inputs[1].dtype = loss.target;
  if (inputs[0].name.empty()) inputs[0].name = std::string("x");
  if (inputs[1].name.empty()) inputs[1].name = std::string("target");
  return inputs;
}

}  // namespace

Step::Step(Layer& model, const Loss& loss, const Optimizer& optimizer, std::vector<InputSpec> inputs,
           const PlanOptions& options)
    : slab_(std::make_unique<ParameterSlab>(model.trainable_parameters())),
      step_(
          [&](const Tensor& x, const Tensor& target) {
            const Tensor result = model(x);
            const Scope scope(loss.name);
            return loss.function(result, target);
          },
          *slab_, optimizer, with_targets(std::move(inputs), loss), options) {}

}  // namespace ingot::nn
