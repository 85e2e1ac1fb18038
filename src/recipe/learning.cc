// Losses, optimisers and schedules by their names in a description.
#include <cmath>

#include "recipe/core_types.h"

namespace ingot::recipe {
namespace {

const Key kMomentum{"momentum", Kind::kNumber, "0.0", "share of the last step that goes on", 0, 1};
const Key kClipNorm{"clip_norm", Kind::kNumber, "0.0",
                    "scales gradients down to this norm over all parameters; 0: never", 0};
const Key kClipValue{"clip_value", Kind::kNumber, "0.0", "cuts each gradient off at ± this; 0: never", 0};
const Key kBeta1{"beta1", Kind::kNumber, "0.9", "decay of the mean gradient", 0, 1};
const Key kBeta2{"beta2", Kind::kNumber, "0.999", "decay of the mean squared gradient", 0, 1};
const Key kEps{"eps", Kind::kNumber, "1e-8", "added to the denominator", 0};

// Ranges with an end that is not in them.
double below_one(const Settings& s, const char* key) {
  if (s.number(key) >= 1) s.fail(key, std::string("\"") + key + "\" must be below 1");
  return s.number(key);
}
double above_zero(const Settings& s, const char* key) {
  if (s.number(key) <= 0) s.fail(key, std::string("\"") + key + "\" must be above 0");
  return s.number(key);
}

Key decay(const char* initial) { return {"weight_decay", Kind::kNumber, initial, "pulls weights towards 0", 0}; }
Key rate(const char* initial) { return {"lr", Kind::kNumber, initial, "learning rate", 0}; }

const LossType kLosses[] = {
    {{"cross_entropy",
      "classes: -log of the probability that the softmax of the results gives to the label",
      {{"label_smoothing", Kind::kNumber, "0.0", "share of the target that is spread over all classes", 0, 1}}},
     Targets::kLabels,
     [](const Settings& s) {
       const double smoothing = s.number("label_smoothing");
       return smoothing > 0 ? nn::cross_entropy_with({.label_smoothing = smoothing}) : nn::cross_entropy;
     }},
    {{"nll", "classes: -result[label] of logarithms of probabilities (after log_softmax)"},
     Targets::kLabels,
     [](const Settings&) { return nn::nll; }},
    {{"mse", "numbers: mean squared error"}, Targets::kNumbers, [](const Settings&) { return nn::mse; }},
    {{"mae", "numbers: mean absolute error"}, Targets::kNumbers, [](const Settings&) { return nn::mae; }},
    {{"huber",
      "numbers: squared near the target, straight beyond",
      {{"delta", Kind::kNumber, "1.0", "where it becomes straight", 1e-9}}},
     Targets::kNumbers,
     [](const Settings& s) { return nn::huber(s.number("delta")); }},
    {{"bce", "shares between 0 and 1, from results between 0 and 1 (after sigmoid)"},
     Targets::kShares,
     [](const Settings&) { return nn::bce; }},
    {{"bce_with_logits", "shares between 0 and 1, from any results"},
     Targets::kShares,
     [](const Settings&) { return nn::bce_with_logits; },
     [](double logit) { return 1 / (1 + std::exp(-logit)); }},
    {{"kl_div", "distributions, from logarithms of probabilities (after log_softmax)"},
     Targets::kShares,
     [](const Settings&) { return nn::kl_div; },
     [](double logarithm) { return std::exp(logarithm); }},
};

struct OptimizerRow {
  Choice choice;
  Optimizer (*make)(const Settings&);
};
template <class O>
O common(O o, const Settings& s) {
  o.lr = static_cast<float>(s.number("lr"));
  o.weight_decay = s.number("weight_decay");
  o.clip_norm = s.number("clip_norm");
  o.clip_value = s.number("clip_value");
  return o;
}
template <class O>
Optimizer adam(const Settings& s) {
  O o{.beta1 = below_one(s, "beta1"), .beta2 = below_one(s, "beta2"), .eps = above_zero(s, "eps")};
  return common(o, s);
}
const OptimizerRow kOptimizers[] = {
    {{"sgd",
      "stochastic gradient descent",
      {rate("0.01"),
       kMomentum,
       {"nesterov", Kind::kBoolean, "false", "looks ahead along the momentum"},
       decay("0.0"),
       kClipNorm,
       kClipValue}},
     [](const Settings& s) -> Optimizer {
       optim::Sgd o{.momentum = s.number("momentum"), .nesterov = s.flag("nesterov")};
       return common(o, s);
     }},
    {{"adam",
      "Adam; weight decay is added to the gradient",
      {rate("0.001"), kBeta1, kBeta2, kEps, decay("0.0"), kClipNorm, kClipValue}},
     adam<optim::Adam>},
    {{"adamw",
      "Adam with weight decay apart from the gradient",
      {rate("0.001"), kBeta1, kBeta2, kEps, decay("0.01"), kClipNorm, kClipValue}},
     adam<optim::AdamW>},
    {{"rmsprop",
      "gradients divided by their running root mean square",
      {rate("0.01"),
       {"alpha", Kind::kNumber, "0.99", "decay of the mean squared gradient", 0, 1},
       kEps,
       kMomentum,
       decay("0.0"),
       kClipNorm,
       kClipValue}},
     [](const Settings& s) -> Optimizer {
       optim::RmsProp o{.alpha = below_one(s, "alpha"), .eps = above_zero(s, "eps"), .momentum = s.number("momentum")};
       return common(o, s);
     }},
    {{"adagrad",
      "gradients divided by the root of the sum of their squares",
      {rate("0.01"),
       {"eps", Kind::kNumber, "1e-10", "added to the denominator", 0},
       decay("0.0"),
       kClipNorm,
       kClipValue}},
     [](const Settings& s) -> Optimizer {
       optim::Adagrad o{.eps = above_zero(s, "eps")};
       return common(o, s);
     }},
    {{"lion",
      "steps of one size along the sign of a moving mean",
      {rate("0.0001"),
       kBeta1,
       {"beta2", Kind::kNumber, "0.99", "decay of the moving mean", 0, 1},
       decay("0.0"),
       kClipNorm,
       kClipValue}},
     [](const Settings& s) -> Optimizer {
       optim::Lion o{.beta1 = below_one(s, "beta1"), .beta2 = below_one(s, "beta2")};
       return common(o, s);
     }},
};

struct ScheduleRow {
  Choice choice;
  schedule::Schedule (*make)(const Settings&);
};
const ScheduleRow kSchedules[] = {
    {{"constant", "the learning rate as it is"}, [](const Settings&) { return schedule::constant(); }},
    {{"step",
      "falls by a factor at regular intervals",
      {{"every", Kind::kInteger, "", "updates between two falls", 1},
       {"gamma", Kind::kNumber, "0.1", "what the rate is multiplied by", 0, 1}}},
     [](const Settings& s) { return schedule::step(s.integer("every"), s.number("gamma")); }},
    {{"cosine", "half a cosine down", {{"floor", Kind::kNumber, "0.0", "share of the rate at the end", 0, 1}}},
     [](const Settings& s) { return schedule::cosine(s.number("floor")); }},
    {{"one_cycle",
      "up to the full rate and down again",
      {{"rise", Kind::kNumber, "0.3", "share of the run that goes up", 0, 1},
       {"begin", Kind::kNumber, "0.04", "share of the rate at the beginning", 0, 1},
       {"end", Kind::kNumber, "4e-6", "share of the rate at the end", 0, 1}}},
     [](const Settings& s) { return schedule::one_cycle(s.number("rise"), s.number("begin"), s.number("end")); }},
};

}  // namespace

std::span<const LossType> core_losses() { return kLosses; }

Choices optimizer_choices() {
  Choices all;
  add_choices(all, kOptimizers);
  return all;
}
Choices schedule_choices() {
  Choices all;
  add_choices(all, kSchedules);
  return all;
}

Optimizer make_optimizer(const Value& section) { return row_of(kOptimizers, section).make(Settings(section)); }
schedule::Schedule make_schedule(const Value& section) {
  const Settings s(section);
  const schedule::Schedule main = row_of(kSchedules, section).make(s);
  return s.integer("warm_up") > 0 ? schedule::warm_up(s.integer("warm_up"), main) : main;
}

}  // namespace ingot::recipe
