// The sections of a description that learns by playing, and what they say.
#pragma once
#include <span>

#include "ingot/recipe/description.h"
#include "ingot/rl/dqn.h"
#include "ingot/rl/pqn.h"
#include "ingot/rl/pretrain.h"
#include "ingot/rl/value_learning.h"

namespace ingot::rl::door {

std::span<const recipe::Section> sections();

DqnOptions dqn_options(const recipe::Description& d);
PretrainOptions pretrain_options(const recipe::Description& d);  // of cube2
PqnOptions pqn_options(const recipe::Description& d);
ValueOptions value_options(const recipe::Description& d);

}  // namespace ingot::rl::door
