// What a Trainer holds; trainer.cc trains with it, trainer_state.cc saves and loads it.
#pragma once
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "ingot/trainer.h"

namespace ingot::nn {

/// Sums over the samples of an epoch.
struct Sums {
  double samples = 0, loss = 0;
  std::vector<double> metrics;

  void clear(size_t metric_count);
  /// `results`: a batch's mean loss and metrics.
  void add(std::span<const Tensor> results, int64_t count);
  void mean(Scores& into) const;
};

struct Trainer::Impl {
  Impl(Layer& model, Loss loss, const Optimizer& optimizer, TrainerOptions options);

  // One plan per batch shape.
  struct StepEntry {
    Dims x, y;
    TrainStep step;
  };
  struct PlanEntry {
    Dims x, y;
    Plan plan;
  };
  TrainStep& step_for(const InputSpec& x, const InputSpec& y);
  Plan& evaluation_for(const Tensor& x, const Tensor& y);
  Plan& prediction_for(const Tensor& x);
  std::vector<NamedTensor> judge(const Tensor& result, const Tensor& target) const;
  void train_batch(const data::Batch& batch, int64_t total_updates);
  bool judge_epoch(const Scores& scores);
  void keep_best_weights(const std::vector<NamedTensor>& weights);

  Layer& model;
  std::vector<Module*> modules = model.modules();    // who is told the losses
  Tensor evaluation_seed = Tensor::empty({}, kI64);  // what random layers draw from there
  Loss loss;
  TrainerOptions options;
  ParameterSlab slab;
  Updates updates;
  float base_lr;
  std::vector<std::unique_ptr<StepEntry>> steps;
  std::vector<std::unique_ptr<PlanEntry>> evaluations, predictions;

  // Where the run stands: all of it is part of its state.
  int64_t epoch = 0;  // completed
  data::Position position;
  Sums sums;           // of the epoch under way
  double seconds = 0;  // spent on it
  double best = std::numeric_limits<double>::quiet_NaN();
  int64_t worse_epochs = 0;  // since the best one
  std::vector<EpochResult> history;
  std::vector<NamedTensor> best_weights;

  Scores running;  // means of `sums`
  double batch_loss = 0;
  int averaging = 0;  // how many AveragedWeights there are
  double speed() const { return sums.samples / std::max(seconds, 1e-9); }
};

/// While it lives, the model has the averaged weights, if there are any.
class AveragedWeights {
 public:
  explicit AveragedWeights(Trainer::Impl& trainer);
  ~AveragedWeights();
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  void swap();
  Trainer::Impl& trainer_;
};

}  // namespace ingot::nn
