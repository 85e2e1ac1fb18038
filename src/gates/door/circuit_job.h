// The kinds of job that end with a circuit: automata on boards, and classifiers with a network of gates.
#pragma once
#include <span>

#include "ingot/recipe/system.h"

namespace ingot::gates::door {

std::span<const recipe::JobKind> circuit_jobs();
/// Keys of [train] that these jobs have.
std::span<const recipe::SectionKeys> circuit_keys();

}  // namespace ingot::gates::door
