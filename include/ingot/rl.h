// Learning by playing: environments, puzzles, their solvers.
#pragma once
#include "ingot/rl/environment.h"  // IWYU pragma: export
#include "ingot/rl/vector_env.h"   // IWYU pragma: export
