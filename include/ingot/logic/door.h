// The door of this system: facts and rules in commands (ingot::logic_door).
#pragma once
#include "ingot/base/export.h"
#include "ingot/recipe/system.h"

namespace ingot::logic {

INGOT_API const recipe::System& system();

}  // namespace ingot::logic
