// What a Trainer holds; trainer.cc trains with it, trainer_state.cc saves and loads it.
#pragma once
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "ingot/graph/plan_cache.h"
#include "ingot/nn/trainer.h"

namespace ingot::nn {

/// Sums over the samples of an epoch.
struct Sums {
  double samples = 0, loss = 0;
  std::vector<double> metrics;

  void clear(size_t metric_count);
  /// `results`: a batch's mean losses, of which the first counts, and metrics.
  void add(std::span<const Tensor> results, size_t losses, int64_t count);
  void mean(Scores& into) const;
};

/// A Learner at work.
struct Learning {
  Learning(const Learner& learner, const UpdateOptions& options);
  ParameterSlab slab;
  Updates updates;
  float base_lr;
};

using EachResult = std::function<void(const data::Batch& batch, const Tensor& result)>;

struct Trainer::Impl {
  Impl(Module& model, BatchFunction function, const std::vector<Learner>& learners, TrainerOptions options);

  TrainStep make_step(std::span<const InputSpec> fields);
  Plan make_evaluation(std::span<const InputSpec> fields);
  Plan make_prediction(std::span<const InputSpec> x);
  std::vector<NamedTensor> judge(const data::Batch& batch, bool with_result) const;
  void train_batch(const data::Batch& batch, int64_t total_updates);
  /// False if `go_on`, asked after every batch, said so; `scores` are not, then.
  bool evaluate(data::Loader& loader, Scores& scores, const EachResult& each, const std::function<bool()>& go_on);
  EpochResult& add_epoch(const EpochResult& result);
  bool has_enough() const;
  void keep_best_weights(const std::vector<NamedTensor>& weights);

  Module& model;
  std::vector<Module*> modules = model.modules();    // who is told the losses
  Tensor evaluation_seed = Tensor::empty({}, kI64);  // what random layers draw from there
  BatchFunction function;
  TrainerOptions options;
  std::vector<std::unique_ptr<Learning>> learning;
  Updates& updates() const { return learning[0]->updates; }  // whose counters are those of all
  // One plan per batch shape: a run has few, and who predicts on many shapes keeps the latest.
  ShapeCache<TrainStep> steps{[this](auto fields) { return make_step(fields); }};
  ShapeCache<Plan> evaluations{[this](auto fields) { return make_evaluation(fields); }};
  ShapeCache<Plan> predictions{[this](auto x) { return make_prediction(x); }};
  std::vector<const Tensor*> inputs;  // of the batch under way

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
