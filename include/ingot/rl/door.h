// The door of this system: learning by playing in descriptions and commands (ingot::rl_door).
//
//   auto run = Recipe::load("cartpole", {&rl::system()}).run();
#pragma once
#include "ingot/base/export.h"
#include "ingot/recipe/system.h"

namespace ingot::rl {

INGOT_API const recipe::System& system();

}  // namespace ingot::rl
