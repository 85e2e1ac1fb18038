// The page of a run, made from the job and what came of it.
#pragma once
#include <string>
#include <vector>

#include "ingot/recipe/job.h"
#include "ingot/recipe/report.h"

namespace ingot::recipe {

/// Tests the model once more and fills the page in. `kind`: has sections of its own; may be nullptr.
Report make_report(Job& job, const std::string& command, const std::vector<ReportText>& texts, const KindOfRun* kind);

}  // namespace ingot::recipe
