// Places of atoms made simple, before anything is known about names.
#pragma once
#include "logic/theory/syntax.h"

namespace ingot::logic {

/// In rules and equations: what stands in a place is a name or a constant; arithmetic there becomes a variable and a
/// comparison, `_` a variable of its own (inside of "not" one with "there is"), and the places of a head are different variables.
void normalize(TheoryUnit& unit, Statement& s);

}  // namespace ingot::logic
