// Losses, optimisers and schedules by their names in a description.
#pragma once
#include "cli/keys.h"
#include "ingot/trainer.h"

namespace ingot::cli {

Choices loss_choices();
Choices optimizer_choices();
Choices schedule_choices();

nn::Loss make_loss(const Value& section);
Optimizer make_optimizer(const Value& section);
schedule::Schedule make_schedule(const Value& section);

}  // namespace ingot::cli
