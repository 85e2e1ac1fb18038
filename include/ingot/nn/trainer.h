// The trainer: epochs of training steps on a loader's batches, with evaluation, early stopping and a state that can be
// saved and gone on from to the bit.
//
//   nn::Trainer trainer(net, nn::cross_entropy, optim::Adam{}, {.epochs = 20, .schedule = schedule::cosine()});
//   trainer.on_epoch = [](const nn::EpochResult& e) { std::printf("%.4f\n", e.test.loss); };
//   trainer.fit(train_loader, &test_loader);
//
// Or over any function of a batch, which may have more tensors than x and y:
//
//   nn::Trainer trainer(net, [&](const data::Batch& b) { return mean(square(net(b.x, b["speed"]) - b.y)); },
//                       optim::Adam{});
#pragma once
#include <atomic>
#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/data/batch.h"
#include "ingot/data/loader.h"
#include "ingot/graph/plan.h"
#include "ingot/nn/loss.h"
#include "ingot/nn/module.h"
#include "ingot/nn/optim.h"
#include "ingot/nn/schedule.h"
#include "ingot/nn/train_step.h"

namespace ingot::nn {

/// What a trainer trains: results of a batch by name, the loss first. One called "result" is what the model says of the
/// samples: metrics judge it, and evaluate() hands it out.
using BatchFunction = std::function<std::vector<NamedTensor>(const data::Batch&)>;

/// A figure of merit, computed inside the plan beside the loss: a scalar, the mean over the batch. Without a function
/// of its own it is the result of its name.
struct Metric {
  std::string name;
  std::function<Tensor(const Tensor& result, const Tensor& target)> function = {};
  bool higher_is_better = true;
};
/// The share of rows whose largest logit is the label's.
INGOT_API Metric accuracy_metric();

/// Means over samples: the loss, then the metrics in their order.
struct Scores {
  double loss = 0;
  std::vector<double> metrics = {};
};

struct EpochResult {
  int64_t epoch = 0;    // the first is 1
  Scores train, test;   // test: of the evaluation loader
  bool tested = false;  // was there one?
  bool best = false;    // the best epoch so far, whose weights are to be kept: see best_epoch()
  float lr = 0;         // of the last update
  double seconds = 0;   // training alone
  double samples_per_second = 0;
};

/// The epoch whose weights a run is for: the one that was evaluated best, by the first metric or the loss; the last one
/// if nothing was evaluated, or if options.enough ended the run there. nullptr before the first one.
INGOT_API const EpochResult* best_epoch(std::span<const EpochResult> history);

struct TrainerOptions {
  int64_t epochs = 10;
  schedule::Schedule schedule = schedule::constant();
  int64_t accumulate = 1;            // batches whose mean gradient makes one update
  double ema = 0;                    // decay of averaged weights that evaluation uses; 0: none
  int64_t patience = 0;              // stop after so many epochs without a better result; 0: never
  int64_t seed = 0;                  // of random layers
  std::vector<Metric> metrics = {};  // the first decides which epoch is best; without one, the loss
  bool keep_best = false;            // keep a copy of the best epoch's weights: best_weights(), restore_best()
  /// A rule of one's own that ends training: it sees all epochs so far.
  std::function<bool(const std::vector<EpochResult>& history)> enough = {};
  PlanOptions plan = {};
};

/// What a callback sees after every batch.
struct BatchResult {
  int64_t epoch, batch, batches;  // the first epoch and batch are 1
  double loss;                    // of this batch
  const Scores& mean;             // over the epoch so far
  float lr;
  double samples_per_second;
};

/// Everything a run needs to go on: weights, optimiser, averages, counters, where the data stands, what was reached.
/// Tensors look at the trainer's memory: write them before training goes on (io::save_safetensors).
struct TrainingState {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> values;
};

/// A part of a model, and the optimiser that its trainable parameters follow.
struct Learner {
  Module& part;
  Optimizer optimizer;
};

class INGOT_API Trainer {
 public:
  /// `model`, and what it is made of, must outlive the trainer; its trainable parameters move into one slab. The loss
  /// is that of model(batch.x) and batch.y, weighted by batch["weight"] if there is one.
  Trainer(Layer& model, Loss loss, const Optimizer& optimizer, TrainerOptions options = {});
  /// For a function that uses the model's parameters and gives the loss, or a BatchFunction's list.
  template <class F>
  requires(!std::convertible_to<F, Loss>)
      Trainer(Module& model, F function, const Optimizer& optimizer, TrainerOptions options = {})
      : Trainer(model, as_function(std::move(function)), {{model, optimizer}}, std::move(options), nullptr) {}
  /// Several optimisers in one run (actor and critic, generator and discriminator), each for a part of the model with a
  /// slab of its own: the function's results begin with a loss for each of them, all before any update. The first is
  /// the one that scores have.
  template <class F>
  requires(!std::convertible_to<F, Loss>)
      Trainer(Module& model, F function, const std::vector<Learner>& learners, TrainerOptions options = {})
      : Trainer(model, as_function(std::move(function)), learners, std::move(options), nullptr) {}
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains until options.epochs are done, patience is over, options.enough says so, or stop() is called; true if it came
  /// to the end. Goes on from where the last fit or load_state() stood. A loss that is no number is an Error of the
  /// kind kNumeric.
  bool fit(data::Loader& train, data::Loader* test = nullptr);
  /// Scores over one epoch of a loader, in evaluation mode, with the averaged weights if there are any. `each` sees
  /// every batch and what the model made of it ("result").
  Scores evaluate(data::Loader& loader,
                  const std::function<void(const data::Batch& batch, const Tensor& result)>& each = {});
  /// What the model, a Layer, makes of x, in evaluation mode with the same weights; a tensor of its own.
  Tensor predict(const Tensor& x);

  /// Called after every batch, and after every epoch with its evaluation.
  std::function<void(const BatchResult&)> on_batch;
  std::function<void(const EpochResult&)> on_epoch;
  /// After each batch of the test within fit(): stop() there leaves the test undone, and fit() begins with it next time.
  std::function<void()> on_test_batch;
  /// Ends fit() after the batch under way (or the next fit() after its first); may be called by a signal handler.
  void stop() { stop_ = true; }
  /// Was stop() called, and fit() has not ended yet?
  bool stopping() const { return stop_; }

  /// The state now (also inside on_batch and on_epoch); and going on from it, an Error if it is of another model or
  /// optimiser.
  TrainingState state();
  void load_state(const TrainingState& state);
  /// The weights to keep: averaged if there are averages. Names are the model's.
  std::vector<NamedTensor> weights();
  /// With options.keep_best: the weights of the best epoch so far, empty before the first one; and putting them into the
  /// model, after the state to go on from was saved.
  const std::vector<NamedTensor>& best_weights() const;
  void restore_best();
  /// The epoch that they are of, whether or not weights are kept.
  const EpochResult* best_epoch() const { return nn::best_epoch(history()); }

  const std::vector<EpochResult>& history() const;
  /// With options.enough: does it say so of the epochs up to the last one?
  bool has_enough() const;
  const Updates& updates() const;  // of the first learner, if there are several
  /// The plan of a training step for full batches of a loader, compiled now if need be: to describe and to profile.
  TrainStep& step_for(const data::Loader& loader);

  struct INGOT_PRIVATE Impl;

 private:
  template <class F>
  static BatchFunction as_function(F function) {
    constexpr bool kTakesBatch = std::is_invocable_v<F&, const data::Batch&>;
    static_assert(kTakesBatch,
                  "the trainer's function must take one const data::Batch&: batch.x, batch.y, batch[\"name\"]");
    if constexpr (kTakesBatch)
      return [f = std::move(function)](const data::Batch& b) mutable { return ingot::detail::outputs_of(f, b); };
    else
      return {};
  }
  Trainer(Module& model, BatchFunction function, const std::vector<Learner>& learners, TrainerOptions options,
          std::nullptr_t);
  std::unique_ptr<Impl> impl_;
  std::atomic<bool> stop_ = false;
};

}  // namespace ingot::nn
