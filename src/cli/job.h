// A description brought to life: its data, its model, and a trainer that knows both.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/data_source.h"
#include "cli/description.h"
#include "ingot/io.h"
#include "ingot/trainer.h"

namespace ingot::cli {

struct Job {
  /// Loads the data and makes the model. Threads are set as [train] says. With the task of a trained model, the data is
  /// seen as that model has learned to.
  explicit Job(Description d, const PlanOptions& plan = {}, const Task* trained = nullptr);

  Description description;
  DataSource data;
  std::shared_ptr<nn::Sequential> model;
  std::vector<nn::Metric> metrics;
  std::unique_ptr<data::Loader> train, test;  // test: may be none
  std::unique_ptr<nn::Trainer> trainer;

  std::vector<std::string> metric_names() const;
  /// What samples of text begin with.
  std::string sample_prompt() const;
  /// Is the result of the run its best epoch, and not its last? So it is where patience decides when to stop.
  bool keeps_best() const;
  /// What a model file says about itself: description and task, enough to use it without anything else.
  io::Metadata metadata() const;

 private:
  // What goes wrong there is the fault of a section.
  void placed(const char* section, const std::function<void()>& make) const;
};

/// A trained model from its file, or from the folder of its run.
struct TrainedModel {
  std::string path;
  Description description;
  Task task;
  std::shared_ptr<nn::Sequential> model;  // in evaluation mode
};
TrainedModel load_model(const std::string& file_or_run);

}  // namespace ingot::cli
