// A description brought to life: its data, its model, and a trainer that knows both.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/io/io.h"
#include "ingot/nn/trainer.h"
#include "ingot/recipe/data_source.h"
#include "ingot/recipe/description.h"

namespace ingot::recipe {

/// A trained model for a job to test: what it has learned to see, and its weights.
struct TrainedNet {
  const Task& task;
  std::shared_ptr<nn::Sequential> net;
};

struct INGOT_API Job {
  /// Loads the data and makes the model. Threads are set as [train] says. With a trained model, the data is seen as
  /// that model has learned to.
  explicit Job(Description d, const PlanOptions& plan = {}, const TrainedNet* trained = nullptr);

  Description description;
  const JobKind* kind;  // nullptr: a plain job
  DataSource data;
  std::shared_ptr<nn::Sequential> model;
  std::vector<nn::Metric> metrics;
  std::unique_ptr<data::Loader> train, test;  // test: may be none
  std::unique_ptr<nn::Trainer> trainer;

  std::vector<std::string> metric_names() const;
  /// What samples of text begin with.
  std::string sample_prompt() const;
  /// Is the result of the run its best epoch, and not its last? So it is where patience, or a rule, decides when to
  /// stop.
  bool keeps_best() const;
  /// What a model file says about itself: description and task, enough to use it without anything else.
  io::Metadata metadata() const;

 private:
  bool stops_early_ = false;
  void make_loaders(int64_t seed);
  void make_trainer(const nn::Loss& loss, int64_t seed, const PlanOptions& plan);
  // What goes wrong there is the fault of a section.
  void placed(const char* section, const std::function<void()>& make) const;
};

/// The layers of a completed [model] one after the other. Shapes are tried out with zeros: an Error points at the layer
/// that does not fit.
INGOT_API std::shared_ptr<nn::Sequential> make_model(const Description& description, const Task& task);

}  // namespace ingot::recipe
