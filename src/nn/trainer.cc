#include "ingot/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "ingot/error.h"
#include "ingot/functions.h"
#include "ingot/grad.h"
#include "ingot/ops.h"
#include "nn/parts.h"
#include "nn/trainer_impl.h"

namespace ingot::nn {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

InputSpec spec_of(const Tensor& t, const char* name) { return {t.shape(), t.dtype(), name}; }

template <class Entry>
Entry* find(std::vector<std::unique_ptr<Entry>>& entries, const Dims& x, const Dims& y) {
  for (const auto& e : entries)
    if (e->x == x && e->y == y) return e.get();
  return nullptr;
}

}  // namespace

Metric accuracy_metric() {
  return {"accuracy", [](const Tensor& result, const Tensor& target) {
            return mean(to(equal(argmax(result, {-1}), target), kF32));
          }};
}

void Sums::clear(size_t metric_count) {
  samples = 0;
  loss = 0;
  metrics.assign(metric_count, 0);
}

void Sums::add(std::span<const Tensor> results, int64_t count) {
  const double n = static_cast<double>(count);
  samples += n;
  loss += n * results[0].item<double>();
  for (size_t i = 0; i < metrics.size(); i++) metrics[i] += n * results[i + 1].item<double>();
}

void Sums::mean(Scores& into) const {
  const double n = std::max(samples, 1.0);
  into.loss = loss / n;
  into.metrics.resize(metrics.size());
  for (size_t i = 0; i < metrics.size(); i++) into.metrics[i] = metrics[i] / n;
}

AveragedWeights::AveragedWeights(Trainer::Impl& trainer) : trainer_(trainer) {
  if (trainer_.averaging++ == 0) swap();
}
AveragedWeights::~AveragedWeights() {
  if (--trainer_.averaging == 0) swap();
}

// Before the first update there is nothing to average.
void AveragedWeights::swap() {
  if (!trainer_.updates.averages().defined() || trainer_.updates.steps() == 0) return;
  const Tensor &a = trainer_.slab.values(), &b = trainer_.updates.averages();
  auto* bytes = static_cast<std::byte*>(a.raw());
  std::swap_ranges(bytes, bytes + a.numel() * static_cast<int64_t>(size_of(a.dtype())),
                   static_cast<std::byte*>(b.raw()));
}

Trainer::Impl::Impl(Layer& the_model, Loss the_loss, const Optimizer& optimizer, TrainerOptions the_options)
    : model(the_model),
      loss(std::move(the_loss)),
      options(std::move(the_options)),
      slab(model.trainable_parameters()),
      updates(slab, optimizer, {.accumulate = options.accumulate, .ema = options.ema, .seed = options.seed}),
      base_lr(updates.lr()) {
  if (options.epochs < 0) throw Error("trainer: epochs are 0 or more");
  if (options.patience < 0 || options.zeros < 0)
    throw Error("trainer: patience and zeros are 0 (never stop early) or more epochs");
  for (const Metric& m : options.metrics)
    if (!m.function) throw Error("trainer: the metric \"" + m.name + "\" has no function");
  if (!options.schedule) options.schedule = schedule::constant();
  sums.clear(options.metrics.size());
  sums.mean(running);
  *evaluation_seed.data<int64_t>() = 0;
}

// The loss and the metrics of a result, named.
std::vector<NamedTensor> Trainer::Impl::judge(const Tensor& result, const Tensor& target) const {
  std::vector<NamedTensor> all;
  {
    const Scope scope(loss.name);
    all.push_back({"loss", loss.function(result, target)});
  }
  const Tensor fixed = stop_gradient(result);
  for (const Metric& m : options.metrics) {
    const Scope scope(m.name);
    all.push_back({m.name, m.function(fixed, target)});
    if (const Tensor& value = all.back().tensor; !value.defined() || value.numel() != 1)
      throw Error("trainer: the metric \"" + m.name + "\" is " +
                  (value.defined() ? to_string(value.shape()) : std::string("undefined")) +
                  " — it must be one number, the mean over the batch");
  }
  return all;
}

TrainStep& Trainer::Impl::step_for(const InputSpec& x, const InputSpec& y) {
  if (auto* e = find(steps, x.shape, y.shape)) return e->step;
  const PlanFunction function = [this](std::span<const Tensor> in) { return judge(model(in[0]), in[1]); };
  if (!model.training()) model.train();  // else parts that the user put into evaluation mode stay there
  steps.push_back(
      std::make_unique<StepEntry>(StepEntry{x.shape, y.shape, TrainStep(function, updates, {x, y}, options.plan)}));
  return steps.back()->step;
}

Plan& Trainer::Impl::evaluation_for(const Tensor& x, const Tensor& y) {
  if (auto* e = find(evaluations, x.shape(), y.shape())) return e->plan;
  const PlanFunction function = [this](std::span<const Tensor> in) {
    const Tensor result = model(in[0]);
    std::vector<NamedTensor> all = judge(result, in[1]);
    all.push_back({"result", result});
    return all;
  };
  PlanOptions plan = options.plan;
  plan.name = options.plan.name + " evaluation";
  const Evaluating mode(model);
  const RandomScope random(evaluation_seed);
  const InputSpec specs[] = {spec_of(x, "x"), spec_of(y, "target")};
  evaluations.push_back(
      std::make_unique<PlanEntry>(PlanEntry{x.shape(), y.shape(), compile_function(function, specs, plan)}));
  return evaluations.back()->plan;
}

Plan& Trainer::Impl::prediction_for(const Tensor& x) {
  if (auto* e = find(predictions, x.shape(), {})) return e->plan;
  const PlanFunction function = [this](std::span<const Tensor> in) {
    return std::vector<NamedTensor>{{"result", model(in[0])}};
  };
  PlanOptions plan = options.plan;
  plan.name = options.plan.name + " prediction";
  const Evaluating mode(model);
  const RandomScope random(evaluation_seed);
  const InputSpec specs[] = {spec_of(x, "x")};
  predictions.push_back(std::make_unique<PlanEntry>(PlanEntry{x.shape(), {}, compile_function(function, specs, plan)}));
  return predictions.back()->plan;
}

void Trainer::Impl::train_batch(const data::Batch& batch, int64_t total_updates) {
  updates.set_lr(static_cast<float>(base_lr * options.schedule(updates.steps(), total_updates)));
  TrainStep& step = step_for(spec_of(batch.x, "x"), spec_of(batch.y, "target"));
  batch_loss = step(batch.x, batch.y);
  sums.add(step.plan().outputs(), batch.size());
  sums.mean(running);
  if (!std::isfinite(batch_loss))
    throw Error("trainer: the loss is " + std::to_string(batch_loss) + " in epoch " + std::to_string(epoch + 1) +
                ", batch " + std::to_string(position.batch) +
                " — lower the learning rate, clip gradients (clip_norm), or look for such numbers in the data; "
                "PlanOptions::check_numerics names the step that made it");
}

// Is this epoch the best so far? Keeps count of those that are not.
bool Trainer::Impl::judge_epoch(const Scores& scores) {
  const bool by_metric = !options.metrics.empty(), higher = by_metric && options.metrics[0].higher_is_better;
  const double now = by_metric ? scores.metrics[0] : scores.loss;
  const bool better = std::isnan(best) ? !std::isnan(now) : higher ? now > best : now < best;
  if (better) best = now;
  worse_epochs = better ? 0 : worse_epochs + 1;
  return better;
}

void Trainer::Impl::keep_best_weights(const std::vector<NamedTensor>& weights) {
  if (best_weights.empty())
    for (const NamedTensor& w : weights) best_weights.push_back({w.name, clone(w.tensor)});
  else
    for (size_t i = 0; i < weights.size(); i++) copy_into(best_weights[i].tensor, weights[i].tensor);
}

Trainer::Trainer(Layer& model, Loss loss, const Optimizer& optimizer, TrainerOptions options)
    : impl_(std::make_unique<Impl>(model, std::move(loss), optimizer, std::move(options))) {}
Trainer::~Trainer() = default;

bool Trainer::fit(data::Loader& train, data::Loader* test) {
  Impl& t = *impl_;
  train.seek(t.position);
  const int64_t total_updates = t.options.epochs * train.batches() / t.options.accumulate;
  const auto done = [&] {
    return t.epoch >= t.options.epochs || (t.options.patience > 0 && t.worse_epochs >= t.options.patience) || settled();
  };
  while (!done()) {
    const Clock::time_point begin = Clock::now();
    const double before = t.seconds;
    while (const data::Batch* batch = train.next()) {
      t.position = train.position();
      t.train_batch(*batch, total_updates);
      for (Module* m : t.modules) m->observe(t.batch_loss);
      t.seconds = before + seconds_since(begin);
      if (on_batch)
        on_batch({.epoch = t.epoch + 1,
                  .batch = t.position.batch,
                  .batches = train.batches(),
                  .loss = t.batch_loss,
                  .mean = t.running,
                  .lr = t.updates.lr(),
                  .samples_per_second = t.speed()});
      if (stop_.exchange(false)) return false;
    }
    t.position = train.position();
    EpochResult result{.epoch = ++t.epoch,
                       .train = t.running,
                       .test = {},
                       .tested = test != nullptr,
                       .lr = t.updates.lr(),
                       .seconds = t.seconds,
                       .samples_per_second = t.speed()};
    t.sums.clear(t.options.metrics.size());
    t.seconds = 0;
    if (test != nullptr) result.test = evaluate(*test);
    if (test == &train) train.seek(t.position);
    result.best = t.judge_epoch(test != nullptr ? result.test : result.train);
    if (result.best && t.options.keep_best) t.keep_best_weights(weights());
    t.history.push_back(result);
    if (on_epoch) on_epoch(result);
    if (stop_.exchange(false)) return done();
  }
  return true;
}

Scores Trainer::evaluate(data::Loader& loader, const std::function<void(const data::Batch&, const Tensor&)>& each) {
  const AveragedWeights averaged(*impl_);
  Sums sums;
  sums.clear(impl_->options.metrics.size());
  loader.seek({});
  // The same random numbers in every evaluation, others in each of its batches.
  int64_t& seed = *impl_->evaluation_seed.data<int64_t>();
  for (seed = 0; const data::Batch* batch = loader.next(); seed++) {
    const std::span<const Tensor> results = impl_->evaluation_for(batch->x, batch->y).run(batch->x, batch->y);
    sums.add(results, batch->size());
    if (each) each(*batch, results.back());
  }
  Scores scores;
  sums.mean(scores);
  return scores;
}

const Tensor& Trainer::predict(const Tensor& x) {
  const AveragedWeights averaged(*impl_);
  return impl_->prediction_for(x).run(x)[0];
}

const std::vector<EpochResult>& Trainer::history() const { return impl_->history; }
bool Trainer::settled() const {
  const std::vector<EpochResult>& all = impl_->history;
  const auto wanted = static_cast<ptrdiff_t>(impl_->options.zeros);
  return wanted > 0 && std::ssize(all) >= wanted &&
         std::all_of(all.end() - wanted, all.end(),
                     [](const EpochResult& e) { return (e.tested ? e.test : e.train).loss == 0; });
}
const Updates& Trainer::updates() const { return impl_->updates; }

TrainStep& Trainer::step_for(const data::Loader& loader) {
  InputSpec x = loader.input(), y = loader.target();
  x.name = std::string("x"), y.name = std::string("target");
  return impl_->step_for(x, y);
}

void Trainer::restore_best() {
  if (impl_->best_weights.empty())
    throw Error("trainer: there are no best weights — set keep_best, and train an epoch first");
  impl_->model.load_state_dict(impl_->best_weights);
  if (impl_->updates.averages().defined()) copy_into(impl_->updates.averages(), impl_->slab.values());
}

}  // namespace ingot::nn
