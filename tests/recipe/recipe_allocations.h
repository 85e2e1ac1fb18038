// Trains recipes for two short epochs and counts allocations in the second: there must be none, in any thread.
#pragma once
#include <string>
#include <vector>

#include "ingot/recipe/system.h"

namespace ingot::recipe {

/// `sets`: changes for all of them. A fake MNIST stands in for the real one.
void expect_no_allocations(const std::vector<std::string>& recipes, const Systems& systems,
                           const std::vector<std::string>& sets);

}  // namespace ingot::recipe
