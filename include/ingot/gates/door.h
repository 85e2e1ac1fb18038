// The door of this system: automata, circuits and networks of gates in descriptions and commands (ingot::gates_door).
//
//   auto run = Recipe::load("gol", {&gates::system()}).run();
#pragma once
#include "ingot/base/export.h"
#include "ingot/recipe/system.h"

namespace ingot::gates {

INGOT_API const recipe::System& system();

}  // namespace ingot::gates
