// `ingot logic`: programs of facts and rules.
#pragma once
#include "ingot/recipe/command.h"

namespace ingot::logic::door {

recipe::Command logic_command();
/// `ingot logic repl`.
recipe::Command repl_command();
/// `ingot logic watch`.
recipe::Command watch_command();

}  // namespace ingot::logic::door
