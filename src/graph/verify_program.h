// Checks of a Program: what lowering makes, and what files say.
#pragma once
#include <memory>
#include <vector>

#include "graph/cpu/kernel.h"
#include "ingot/graph/program.h"

namespace ingot::graph {

/// Throws an Error that begins with `place` if a program is not sound: an operand outside its space or of a type or shape
/// that its record does not have, records out of order, arena bytes read that no earlier record wrote, values alive
/// together that overlap, scratch in the way. After it, kernels can be made of the records.
void verify(const Program& program, const std::string& place, int depth = 0);

/// The same for what workers do at the same time: a barrier that is missing between records that touch the same bytes.
void verify_barriers(const Program& program, const std::vector<std::unique_ptr<Kernel>>& kernels,
                     const std::string& place);

}  // namespace ingot::graph
