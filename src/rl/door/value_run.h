// Runs that learn the values of a puzzle's states.
#pragma once
#include <memory>

#include "ingot/recipe/own_run.h"
#include "ingot/rl/cube2.h"
#include "ingot/rl/cube3.h"

namespace ingot::rl::door {

std::unique_ptr<recipe::OwnRun> value_run(const Cube2& cube, const recipe::Description& d);
std::unique_ptr<recipe::OwnRun> value_run(const Cube3& cube, const recipe::Description& d);

}  // namespace ingot::rl::door
