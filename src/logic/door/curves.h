// Sections of the page that both kinds of run have.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "ingot/nn/trainer.h"

namespace ingot::logic::door {

/// A chart per metric, and one of the loss, over epochs or steps.
std::string curves_section(std::span<const nn::EpochResult> history, const std::vector<std::string>& metrics,
                           const std::string& loss, const std::string& test, const std::string& axis = "epoch",
                           double per_period = 1);
/// The program, its words in colour.
std::string program_section(const std::string& text);

}  // namespace ingot::logic::door
