// What may stand at the top of a description, before its sections.
#pragma once
#include <span>

#include "ingot/recipe/keys.h"

namespace ingot::recipe {

std::span<const Key> top_keys();

}  // namespace ingot::recipe
