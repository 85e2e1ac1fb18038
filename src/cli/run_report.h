// The page of a run, made from the job and what came of it.
#pragma once
#include <string>
#include <vector>

#include "cli/automaton.h"
#include "cli/job.h"
#include "cli/report.h"

namespace ingot::cli {

/// Tests the model once more and fills the page in. `status`: empty, or why this is not the end of the run; `circuit`:
/// of an automaton, else nullptr; `attempts`: what became of each, as lines of JSON.
Report make_report(Job& job, const std::string& command, const std::string& status,
                   const std::vector<ReportText>& texts, const TrainedCircuit* circuit = nullptr,
                   const std::string& attempts = "");

}  // namespace ingot::cli
