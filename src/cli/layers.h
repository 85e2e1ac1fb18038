// One layer from its table in a description.
#pragma once
#include <memory>

#include "cli/keys.h"
#include "cli/model.h"

namespace ingot::cli {

struct LayerContext {
  const Task& task;
};

/// The layer that a completed table describes, for inputs like x.
std::shared_ptr<nn::Layer> make_layer(const Settings& settings, const Tensor& x, const LayerContext& context);

/// Adds the layers of a list to a model, in training mode; what they make of x.
Tensor add_layers(nn::Sequential& model, const Value& list, Tensor x, const LayerContext& context);

}  // namespace ingot::cli
