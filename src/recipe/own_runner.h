// Runs of kinds that run themselves.
#pragma once
#include <string>

#include "ingot/recipe/recipe.h"
#include "ingot/recipe/run_folder.h"

namespace ingot::recipe {

Run run_own(const Description& description, const std::string& folder, Progress& progress, const RunOptions& options);
Run resume_own(const Description& description, RunFolder folder, Progress& progress, const RunOptions& options);

}  // namespace ingot::recipe
