// Pictures of numbers, read by a network that is told nothing but sums: a kind of job that runs itself.
#pragma once
#include <memory>
#include <span>

#include "ingot/recipe/own_run.h"

namespace ingot::logic::door {

std::span<const recipe::Section> sum_sections();
std::unique_ptr<recipe::OwnRun> begin_sums(const recipe::Description& d);

}  // namespace ingot::logic::door
