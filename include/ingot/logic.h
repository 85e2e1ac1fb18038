// Logic: facts, rules, and what follows from them.
#pragma once
#include "ingot/logic/program.h"  // IWYU pragma: export
