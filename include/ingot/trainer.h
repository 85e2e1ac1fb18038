// The trainer: epochs of training steps on a loader's batches, with evaluation, early stopping and a state that can be
// saved and gone on from to the bit.
//
//   nn::Trainer trainer(net, nn::cross_entropy, optim::Adam{}, {.epochs = 20, .schedule = schedule::cosine()});
//   trainer.on_epoch = [](const nn::EpochResult& e) { std::printf("%.4f\n", e.test.loss); };
//   trainer.fit(train_loader, &test_loader);
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ingot/data.h"
#include "ingot/loss.h"
#include "ingot/module.h"
#include "ingot/optim.h"
#include "ingot/plan.h"
#include "ingot/schedule.h"

namespace ingot::nn {

/// A figure of merit, computed inside the plan beside the loss: a scalar, the mean over the batch.
struct Metric {
  std::string name;
  std::function<Tensor(const Tensor& result, const Tensor& target)> function;
  bool higher_is_better = true;
};
/// The share of rows whose largest logit is the label's.
Metric accuracy_metric();

struct TrainerOptions {
  int64_t epochs = 10;
  schedule::Schedule schedule = schedule::constant();
  int64_t accumulate = 1;            // batches whose mean gradient makes one update
  double ema = 0;                    // decay of averaged weights that evaluation uses; 0: none
  int64_t patience = 0;              // stop after so many epochs without a better result; 0: never
  int64_t zeros = 0;                 // stop when so many epochs in a row had a loss of 0 (as evaluated); 0: never
  int64_t seed = 0;                  // of random layers
  std::vector<Metric> metrics = {};  // the first decides which epoch is best; without one, the loss
  bool keep_best = false;            // keep a copy of the best epoch's weights: restore_best()
  PlanOptions plan = {};
};

/// Means over samples: the loss, then the metrics in their order.
struct Scores {
  double loss = 0;
  std::vector<double> metrics = {};
};

struct EpochResult {
  int64_t epoch = 0;    // the first is 1
  Scores train, test;   // test: of the evaluation loader
  bool tested = false;  // was there one?
  bool best = false;    // the best epoch so far
  float lr = 0;         // of the last update
  double seconds = 0;   // training alone
  double samples_per_second = 0;
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

class Trainer {
 public:
  /// `model`, and what it is made of, must outlive the trainer; its trainable parameters move into one slab.
  Trainer(Layer& model, Loss loss, const Optimizer& optimizer, TrainerOptions options = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains until options.epochs are done, patience is over, the loss stays 0, or stop() is called; true if it came to
  /// the end. Goes on from where the last fit or load_state() stood. A loss that is no number is an Error.
  bool fit(data::Loader& train, data::Loader* test = nullptr);
  /// Scores over one epoch of a loader, in evaluation mode, with the averaged weights if there are any. `each` sees
  /// every batch and what the model made of it.
  Scores evaluate(data::Loader& loader,
                  const std::function<void(const data::Batch& batch, const Tensor& result)>& each = {});
  /// What the model makes of a batch, in evaluation mode with the same weights; valid until the next call.
  const Tensor& predict(const Tensor& x);

  /// Called after every batch, and after every epoch with its evaluation.
  std::function<void(const BatchResult&)> on_batch;
  std::function<void(const EpochResult&)> on_epoch;
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
  /// With options.keep_best: puts the weights of the best epoch into the model.
  void restore_best();

  const std::vector<EpochResult>& history() const;
  /// With options.zeros: has the loss been 0 in so many epochs, up to the last one?
  bool settled() const;
  const Updates& updates() const;
  /// The plan of a training step for full batches of a loader, compiled now if need be: to describe and to profile.
  TrainStep& step_for(const data::Loader& loader);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
  std::atomic<bool> stop_ = false;
};

}  // namespace ingot::nn
