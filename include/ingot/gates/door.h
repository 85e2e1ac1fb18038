// The door of this system: automata, circuits and networks of gates in descriptions and commands (ingot::gates_door).
//
//   auto run = Recipe::load("gol", {&gates::system()}).run();
#pragma once
#include "ingot/recipe/system.h"

namespace ingot::gates {

const recipe::System& system();

}  // namespace ingot::gates
