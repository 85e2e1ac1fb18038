// `ingot logic learn`: a theory from a file, what it learns, and answers.
#pragma once
#include "ingot/recipe/command.h"

namespace ingot::logic::door {

recipe::Command learn_command();

}  // namespace ingot::logic::door
