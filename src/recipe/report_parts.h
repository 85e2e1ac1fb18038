// The sections of the report: each returns its HTML, or nothing if its data is not there.
#pragma once
#include <string>

#include "ingot/recipe/report.h"

namespace ingot::recipe {

// report_data.cc: what the model makes of samples.
std::string confusion_section(const ReportConfusion& confusion);
std::string pictures_section(const std::vector<ReportPicture>& pictures);
std::string reconstructions_section(const std::vector<ReportReconstruction>& pairs);
std::string texts_section(const std::vector<ReportText>& texts);
std::string scatter_section(const std::vector<ReportScatter>& scatters);

// report_plan.cc: what it is, where its time goes, what memory it takes.
std::string model_section(const Report& report);
std::string time_section(const Report& report);
std::string memory_section(const Report& report);
std::string setting_section(const Report& report);

// What a step uses in all: the plan's own memory and what it reads and writes.
size_t all_bytes(const PlanBytes& bytes);

// report_style.cc
extern const char* const kReportStyle;
extern const char* const kReportScript;
extern const char* const kReportLogo;

}  // namespace ingot::recipe
