// `ingot cube`: cubes scrambled, solved and looked at.
#pragma once
#include "ingot/recipe/command.h"

namespace ingot::rl::door {

recipe::Command cube_command();
recipe::Command cube_view_command();

}  // namespace ingot::rl::door
