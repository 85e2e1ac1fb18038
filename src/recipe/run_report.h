// The page of a run, made from the job and what came of it.
#pragma once
#include <string>
#include <vector>

#include "ingot/recipe/job.h"
#include "ingot/recipe/report.h"

namespace ingot::recipe {

/// Tests the model once more and fills the page in. `kind`: has sections of its own; may be nullptr.
Report make_report(Job& job, const std::string& command, const std::vector<ReportText>& texts, const KindOfRun* kind);

/// What the page of every run says: its name, when and where it was made, how to repeat it.
Report report_head(const Description& description, const std::string& about, const std::string& command);

}  // namespace ingot::recipe
