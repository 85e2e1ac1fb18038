// Losses, optimisers and schedules by their names in a description.
#pragma once
#include "cli/keys.h"
#include "cli/model.h"
#include "ingot/trainer.h"

namespace ingot::cli {

Choices loss_choices();
Choices optimizer_choices();
Choices schedule_choices();

nn::Loss make_loss(const Value& section);
/// What the loss of a completed [loss] compares results with.
Targets targets_of(const Value& section);
/// A result in the unit of the target: a share for a logit or a logarithm, where the loss takes those.
double shown_result(const Value& section, double result);
Optimizer make_optimizer(const Value& section);
schedule::Schedule make_schedule(const Value& section);

}  // namespace ingot::cli
