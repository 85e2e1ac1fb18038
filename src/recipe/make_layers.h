// Layers from their tables in a description.
#pragma once
#include <memory>

#include "ingot/recipe/system.h"

namespace ingot::recipe {

/// The layer that a completed table describes, for inputs like x.
nn::LayerPtr make_layer(const Value& table, const Tensor& x, const Task& task, const Catalogue& catalogue);

/// Adds the layers of a list to a model, in training mode; what they make of x.
Tensor add_layers(nn::Sequential& model, const Value& list, Tensor x, const Task& task, const Catalogue& catalogue);

/// Lets recurrent layers over continuous text begin anew.
void reset_state(nn::Sequential& model);

}  // namespace ingot::recipe
