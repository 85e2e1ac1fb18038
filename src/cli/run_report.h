// The page of a run, made from the job and what came of it.
#pragma once
#include <string>
#include <vector>

#include "cli/job.h"
#include "cli/report.h"

namespace ingot::cli {

/// Tests the model once more and fills the page in. `status`: empty, or why this is not the end of the run.
Report make_report(Job& job, const std::string& command, const std::string& status,
                   const std::vector<ReportText>& texts);

}  // namespace ingot::cli
