// The order of steps, chosen so that less is alive at once.
#pragma once
#include <vector>

#include "graph/liveness.h"

namespace ingot::graph {

struct Order {
  std::vector<int> steps;
  size_t saved = 0;  // bytes of the live peak, beside the captured order
};

/// The captured order: 0, 1, 2, …
Order captured_order(const Steps& steps);

/// An order in which every step runs after those before it, with a lower live peak than the captured one, or that one
/// itself where too little is saved. Time grows with steps and values, not faster than n log n.
Order choose_order(const Steps& steps);

}  // namespace ingot::graph
