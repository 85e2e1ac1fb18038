// Logic: facts, rules, and what follows from them.
#pragma once
#include "ingot/logic/builder.h"  // IWYU pragma: export
#include "ingot/logic/program.h"  // IWYU pragma: export
