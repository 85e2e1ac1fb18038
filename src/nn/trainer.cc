#include "ingot/nn/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "nn/parts.h"
#include "nn/trainer_impl.h"

namespace ingot::nn {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// The tensors of a batch in their order, without taking memory once there was room.
void list_tensors(const data::Batch& batch, std::vector<const Tensor*>& into) {
  into.clear();
  batch.each([&](std::string_view, const Tensor& t) { into.push_back(&t); });
}

std::vector<InputSpec> fields_of(const data::Batch& batch) {
  std::vector<InputSpec> fields;
  batch.each(
      [&](std::string_view name, const Tensor& t) { fields.emplace_back(t.shape(), t.dtype(), std::string(name)); });
  return fields;
}

data::Batch batch_of(std::span<const InputSpec> fields, std::span<const Tensor> tensors) {
  data::Batch batch;
  for (size_t i = 0; i < fields.size(); i++) batch.set(fields[i].name, tensors[i]);
  return batch;
}

// What was made for batches of such tensors.
template <class Made>
Made& made_for(ShapeCache<Made>& cache, const data::Batch& batch, std::vector<const Tensor*>& inputs) {
  list_tensors(batch, inputs);
  size_t i = 0;
  if (Made* const found = cache.find(inputs, [&](const std::vector<InputSpec>& fields) {
        bool same = true;
        i = 0;
        batch.each([&](std::string_view name, const Tensor&) { same = same && fields[i++].name == name; });
        return same;
      }))
    return *found;
  return cache.get(fields_of(batch));
}

const Tensor* find(const std::vector<NamedTensor>& list, std::string_view name) {
  for (const NamedTensor& t : list)
    if (t.name == name) return &t.tensor;
  return nullptr;
}

}  // namespace

Metric accuracy_metric() {
  return {"accuracy", [](const Tensor& result, const Tensor& target) {
            return mean(to(equal(argmax(result, {-1}), target), kF32));
          }};
}

const EpochResult* best_epoch(std::span<const EpochResult> history) {
  const EpochResult* best = nullptr;
  for (const EpochResult& e : history)
    if (e.best) best = &e;
  return best;
}

void Sums::clear(size_t metric_count) {
  samples = 0;
  loss = 0;
  metrics.assign(metric_count, 0);
}

void Sums::add(std::span<const Tensor> results, size_t losses, int64_t count) {
  const double n = static_cast<double>(count);
  samples += n;
  loss += n * results[0].item<double>();
  for (size_t i = 0; i < metrics.size(); i++) metrics[i] += n * results[i + losses].item<double>();
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
  if (!trainer_.updates().averages().defined() || trainer_.updates().steps() == 0) return;
  for (const auto& l : trainer_.learning) {
    const Tensor &a = l->slab.values(), &b = l->updates.averages();
    auto* bytes = static_cast<std::byte*>(a.raw());
    std::swap_ranges(bytes, bytes + a.numel() * static_cast<int64_t>(size_of(a.dtype())),
                     static_cast<std::byte*>(b.raw()));
  }
}

Learning::Learning(const Learner& learner, const UpdateOptions& options)
    : slab(learner.part.trainable_parameters()), updates(slab, learner.optimizer, options), base_lr(updates.lr()) {}

Trainer::Impl::Impl(Module& the_model, BatchFunction the_function, const std::vector<Learner>& learners,
                    TrainerOptions the_options)
    : model(the_model), function(std::move(the_function)), options(std::move(the_options)) {
  if (learners.empty()) throw Error("trainer: no learners — give at least a part of the model and its optimiser");
  for (const Learner& l : learners)
    learning.push_back(std::make_unique<Learning>(
        l, UpdateOptions{.accumulate = options.accumulate, .ema = options.ema, .seed = options.seed}));
  if (options.epochs < 0) throw Error("trainer: epochs are 0 or more");
  if (options.patience < 0) throw Error("trainer: patience is 0 (never stop early) or more epochs");
  if (!options.schedule) options.schedule = schedule::constant();
  sums.clear(options.metrics.size());
  sums.mean(running);
  *evaluation_seed.data<int64_t>() = 0;
}

// The losses and the metrics, and behind them the result, if it is asked for and there is one. Whatever else the function
// gives is dropped: a plan computes only what is handed out.
std::vector<NamedTensor> Trainer::Impl::judge(const data::Batch& batch, bool with_result) const {
  const std::vector<NamedTensor> given = function(batch);
  const size_t losses = learning.size();
  if (given.size() < losses)
    throw Error("trainer: the function returns " +
                (given.empty() ? "nothing" : std::to_string(given.size()) + " results") + " — it must return the loss" +
                (losses == 1 ? std::string() : "es of all " + std::to_string(losses) + " learners first"));
  std::vector<NamedTensor> all{{"loss", given[0].tensor}};
  all.insert(all.end(), given.begin() + 1, given.begin() + static_cast<ptrdiff_t>(losses));
  const Tensor* result = find(given, "result");
  const Tensor fixed = result == nullptr ? Tensor() : stop_gradient(*result);
  for (const Metric& m : options.metrics) {
    const Scope scope(m.name);
    const Tensor* named = m.function ? nullptr : find(given, m.name);
    if (named == nullptr && (!m.function || result == nullptr))
      throw Error("trainer: the metric \"" + m.name + "\" needs a result \"" + (m.function ? "result" : m.name) +
                  "\" — the function must return one of that name");
    const Tensor value = named != nullptr ? stop_gradient(*named) : m.function(fixed, batch.y);
    if (!value.defined() || value.numel() != 1)
      throw Error(ErrorKind::kShape, "trainer: the metric \"" + m.name + "\" is " +
                                         (value.defined() ? to_string(value.shape()) : std::string("undefined")) +
                                         " — it must be one number, the mean over the batch");
    all.push_back({m.name, value});
  }
  if (with_result && result != nullptr) all.push_back({"result", *result});
  return all;
}

TrainStep Trainer::Impl::make_step(std::span<const InputSpec> fields) {
  const std::vector<InputSpec> inputs_of(fields.begin(), fields.end());
  if (!model.training()) model.train();  // as fit() does
  std::vector<Updates*> updates_of;
  for (const auto& l : learning) updates_of.push_back(&l->updates);
  TrainStep step([&](std::span<const Tensor> in) { return judge(batch_of(fields, in), false); }, updates_of, inputs_of,
                 options.plan);
  step.watch(model);
  return step;
}

Plan Trainer::Impl::make_evaluation(std::span<const InputSpec> fields) {
  PlanOptions plan = options.plan;
  plan.name = options.plan.name + " evaluation";
  const Evaluating mode(model);
  const RandomScope random(evaluation_seed);
  return compile_function([&](std::span<const Tensor> in) { return judge(batch_of(fields, in), true); }, fields, plan);
}

Plan Trainer::Impl::make_prediction(std::span<const InputSpec> x) {
  auto* const layer = dynamic_cast<Layer*>(&model);
  if (layer == nullptr)
    throw Error("trainer: predict() is for a Layer, and the model is a " + model.kind() +
                " — compile() a plan that calls its forward");
  PlanOptions plan = options.plan;
  plan.name = options.plan.name + " prediction";
  const Evaluating mode(model);
  const RandomScope random(evaluation_seed);
  const PlanFunction predict = [&](std::span<const Tensor> in) {
    return std::vector<NamedTensor>{{"result", (*layer)(in[0])}};
  };
  return compile_function(predict, x, plan);
}

void Trainer::Impl::train_batch(const data::Batch& batch, int64_t total_updates) {
  const double share = options.schedule(updates().steps(), total_updates);
  for (const auto& l : learning) l->updates.set_lr(static_cast<float>(l->base_lr * share));
  TrainStep& step = made_for(steps, batch, inputs);
  batch_loss = step.run(inputs);
  const std::span<const Tensor> results = step.plan().outputs();
  sums.add(results, learning.size(), batch.size());
  sums.mean(running);
  const auto lost = std::find_if(results.begin(), results.begin() + std::ssize(learning),
                                 [](const Tensor& loss) { return !std::isfinite(loss.item<double>()); });
  if (lost != results.begin() + std::ssize(learning))
    throw Error(ErrorKind::kNumeric,
                "trainer: the loss is " + std::to_string(lost->item<double>()) + " in epoch " +
                    std::to_string(epoch + 1) + ", batch " + std::to_string(position.batch) +
                    " — lower the learning rate, clip gradients (clip_norm), or look for such numbers in the data");
}

// Adds an epoch and decides whether it is the best so far: the one place that does. Keeps count of those without a
// better score. What is enough is no worse than the best, and what was learned while training is no judge of an epoch.
EpochResult& Trainer::Impl::add_epoch(const EpochResult& result) {
  const Scores& scores = result.tested ? result.test : result.train;
  const bool by_metric = !options.metrics.empty(), higher = by_metric && options.metrics[0].higher_is_better;
  const double now = by_metric ? scores.metrics[0] : scores.loss;
  const bool better = std::isnan(best) ? !std::isnan(now) : higher ? now > best : now < best;
  if (better) best = now;
  worse_epochs = better ? 0 : worse_epochs + 1;
  EpochResult& added = history.emplace_back(result);
  added.best = better || std::isnan(best) || !result.tested || has_enough();
  return added;
}

bool Trainer::Impl::has_enough() const { return options.enough && !history.empty() && options.enough(history); }

void Trainer::Impl::keep_best_weights(const std::vector<NamedTensor>& weights) {
  if (best_weights.empty())
    for (const NamedTensor& w : weights) best_weights.push_back({w.name, clone(w.tensor)});
  else
    for (size_t i = 0; i < weights.size(); i++) copy_into(best_weights[i].tensor, weights[i].tensor);
}

Trainer::Trainer(Module& model, BatchFunction function, const std::vector<Learner>& learners, TrainerOptions options,
                 std::nullptr_t)
    : impl_(std::make_unique<Impl>(model, std::move(function), learners, std::move(options))) {}

Trainer::Trainer(Layer& model, Loss loss, const Optimizer& optimizer, TrainerOptions options)
    : Trainer(
          model,
          [&model, loss = std::move(loss)](const data::Batch& b) {
            const Tensor result = model(b["x"]);
            const Scope scope(loss.name);
            const Tensor* weight = b.find("weight");
            const Tensor value = weight == nullptr ? loss(result, b["y"]) : loss(result, b["y"], *weight);
            return std::vector<NamedTensor>{{"loss", value}, {"result", result}};
          },
          {{model, optimizer}}, std::move(options), nullptr) {}
Trainer::~Trainer() = default;

bool Trainer::fit(data::Loader& train, data::Loader* test) {
  Impl& t = *impl_;
  if (!t.model.training()) t.model.train();  // else parts that the user put into evaluation mode stay there
  train.seek(t.position);
  const int64_t total_updates = t.options.epochs * train.batches() / t.options.accumulate;
  const auto done = [&] {
    return t.epoch >= t.options.epochs || (t.options.patience > 0 && t.worse_epochs >= t.options.patience) ||
           has_enough();
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
                  .lr = t.updates().lr(),
                  .samples_per_second = t.speed()});
      if (stop_.exchange(false)) return false;
    }
    const data::Position end = train.position();
    Scores tested;
    // Until the test is done, the epoch is not: the position stays behind its last batch.
    if (test != nullptr && !t.evaluate(*test, tested, {}, [&] {
          if (on_test_batch) on_test_batch();
          return !stop_.exchange(false);
        }))
      return false;
    t.position = end;
    EpochResult result{.epoch = ++t.epoch,
                       .train = t.running,
                       .test = tested,
                       .tested = test != nullptr,
                       .lr = t.updates().lr(),
                       .seconds = t.seconds,
                       .samples_per_second = t.speed()};
    t.sums.clear(t.options.metrics.size());
    t.seconds = 0;
    if (test == &train) train.seek(t.position);
    const EpochResult& added = t.add_epoch(result);
    if (added.best && t.options.keep_best) t.keep_best_weights(weights());
    if (on_epoch) on_epoch(added);
    if (stop_.exchange(false)) return done();
  }
  return true;
}

bool Trainer::Impl::evaluate(data::Loader& loader, Scores& scores, const EachResult& each,
                             const std::function<bool()>& go_on) {
  const AveragedWeights averaged(*this);
  Sums all;
  all.clear(options.metrics.size());
  loader.seek({});
  std::vector<const Tensor*> tensors;
  // The same random numbers in every evaluation, others in each of its batches.
  int64_t& seed = *evaluation_seed.data<int64_t>();
  for (seed = 0; const data::Batch* batch = loader.next(); seed++) {
    const std::span<const Tensor> results = made_for(evaluations, *batch, tensors).run(tensors);
    all.add(results, learning.size(), batch->size());
    if (go_on && !go_on()) return false;
    if (!each) continue;
    if (results.size() == all.metrics.size() + learning.size())
      throw Error("trainer: there is no result to hand out — the function must return one called \"result\"");
    each(*batch, results.back());
  }
  all.mean(scores);
  return true;
}

Scores Trainer::evaluate(data::Loader& loader, const EachResult& each) {
  Scores scores;
  impl_->evaluate(loader, scores, each, {});
  return scores;
}

Tensor Trainer::predict(const Tensor& x) {
  const AveragedWeights averaged(*impl_);
  const Tensor* const input[] = {&x};
  if (!x.defined()) throw Error("trainer: the input is undefined — give it a tensor");
  Plan* const found = impl_->predictions.find(input);
  const InputSpec spec(x.shape(), x.dtype(), "x");
  return (found != nullptr ? *found : impl_->predictions.get(std::span(&spec, 1)))(x);
}

const std::vector<EpochResult>& Trainer::history() const { return impl_->history; }
bool Trainer::has_enough() const { return impl_->has_enough(); }
const std::vector<NamedTensor>& Trainer::best_weights() const { return impl_->best_weights; }
const Updates& Trainer::updates() const { return impl_->updates(); }

TrainStep& Trainer::step_for(const data::Loader& loader) { return impl_->steps.get(loader.fields()); }

void Trainer::restore_best() {
  if (impl_->best_weights.empty())
    throw Error("trainer: there are no best weights — set keep_best, and train an epoch first");
  impl_->model.load_state_dict(impl_->best_weights);
  for (const auto& l : impl_->learning)
    if (l->updates.averages().defined()) copy_into(l->updates.averages(), l->slab.values());
}

}  // namespace ingot::nn
