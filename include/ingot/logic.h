// Logic: facts, rules, and what follows from them; contractions over an algebra, and truth between 0 and 1.
#pragma once
#include "ingot/logic/addition.h"         // IWYU pragma: export
#include "ingot/logic/algebra.h"          // IWYU pragma: export
#include "ingot/logic/builder.h"          // IWYU pragma: export
#include "ingot/logic/chance_function.h"  // IWYU pragma: export
#include "ingot/logic/fixpoint.h"         // IWYU pragma: export
#include "ingot/logic/program.h"          // IWYU pragma: export
#include "ingot/logic/theory.h"           // IWYU pragma: export
#include "ingot/logic/truth.h"            // IWYU pragma: export
