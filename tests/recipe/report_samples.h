// Reports to test and to look at: everything filled in, with numbers that look like a run's.
#pragma once
#include "ingot/recipe/report.h"

namespace ingot::recipe {

/// A classification run of so many epochs with every section; class names as given.
Report sample_report(int epochs, const std::vector<std::string>& classes);
/// The sections that a classifier does not have: reconstructions, texts, scatter.
void add_other_sections(Report& report);

}  // namespace ingot::recipe
