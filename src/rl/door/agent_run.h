// Runs of the two kinds: an agent in an environment, and values of a puzzle.
#pragma once
#include <memory>

#include "ingot/recipe/own_run.h"

namespace ingot::rl::door {

/// What a description with [agent] trains.
std::unique_ptr<recipe::OwnRun> begin_run(const recipe::Description& description);

}  // namespace ingot::rl::door
