// A theory that learns by itself, from its facts and assertions: a kind of job that runs itself.
#pragma once
#include <memory>
#include <span>

#include "ingot/recipe/own_run.h"

namespace ingot::logic::door {

std::span<const recipe::Section> theory_sections();
std::unique_ptr<recipe::OwnRun> begin_theory(const recipe::Description& d);

}  // namespace ingot::logic::door
