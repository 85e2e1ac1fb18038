// Learning by playing: environments, puzzles, their solvers.
#pragma once
#include "ingot/rl/best_first.h"      // IWYU pragma: export
#include "ingot/rl/check_env.h"       // IWYU pragma: export
#include "ingot/rl/classic.h"         // IWYU pragma: export
#include "ingot/rl/cube2.h"           // IWYU pragma: export
#include "ingot/rl/cube3.h"           // IWYU pragma: export
#include "ingot/rl/cube_picture.h"    // IWYU pragma: export
#include "ingot/rl/curriculum.h"      // IWYU pragma: export
#include "ingot/rl/distance.h"        // IWYU pragma: export
#include "ingot/rl/dqn.h"             // IWYU pragma: export
#include "ingot/rl/environment.h"     // IWYU pragma: export
#include "ingot/rl/notation.h"        // IWYU pragma: export
#include "ingot/rl/pqn.h"             // IWYU pragma: export
#include "ingot/rl/pretrain.h"        // IWYU pragma: export
#include "ingot/rl/puzzle.h"          // IWYU pragma: export
#include "ingot/rl/rewards.h"         // IWYU pragma: export
#include "ingot/rl/search.h"          // IWYU pragma: export
#include "ingot/rl/value_learning.h"  // IWYU pragma: export
#include "ingot/rl/vector_env.h"      // IWYU pragma: export
