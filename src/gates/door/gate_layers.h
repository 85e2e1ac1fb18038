// Layers of logic gates, and their loss, from their tables in a description.
#pragma once
#include <span>

#include "ingot/recipe/system.h"

namespace ingot::gates::door {

std::span<const recipe::LayerType> gate_layers();
std::span<const recipe::LossType> gate_losses();

}  // namespace ingot::gates::door
