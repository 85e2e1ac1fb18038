// A trained model as `ingot train` wrote it: weights, normalisation, names of classes, characters of a text.
//
//   auto model = ingot::load_model("runs/digits");
//   auto answer = model.predict(picture);                     // u8 or 0 … 1, as a camera or a file has it
//   std::printf("%s, %.1f %%\n", answer.name.c_str(), 100 * answer.probability);
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/nn/trainer.h"
#include "ingot/recipe/description.h"
#include "ingot/recipe/sampling.h"
#include "ingot/recipe/task.h"

namespace ingot::recipe {

/// What a model makes of one sample: of classes, the likeliest; else numbers, in the unit of the target.
struct Answer {
  int64_t label = -1;     // -1: numbers are predicted
  std::string name = {};  // of that class
  double probability = 0;
  std::vector<double> probabilities = {};  // of all classes
  std::vector<double> numbers = {};
};

/// How good a model is.
struct Evaluation {
  int64_t samples = 0;
  bool held_back = false;  // were these samples kept from training?
  nn::Scores scores = {};
  std::vector<std::string> metrics = {};  // names of scores.metrics
};

class INGOT_API Model {
 public:
  /// What one sample becomes. u8 pictures are taken as 0 … 255, others as the training data had them; a picture may be
  /// [h, w] or [channels, h, w], colours become grey and an alpha channel goes where the model has none.
  Answer predict(const Tensor& sample);
  /// The same for the rows of a tensor.
  std::vector<Answer> predict_rows(const Tensor& samples);
  /// Samples out of a table (.csv), an array (.npy) or a picture (.png), for predict_rows.
  Tensor load_inputs(const std::string& path) const;
  /// What a model of text writes; `each` sees every character as it comes.
  std::string write(const SamplingOptions& options, const std::function<void(char)>& each = {});
  /// Tests it on what was held back, or on other data: {"data.file=new.csv", "data.held_back=0"}.
  Evaluation evaluate(std::span<const std::string> sets = {});

  const std::string& path() const { return path_; }
  const Description& description() const { return description_; }
  const Task& task() const { return task_; }
  /// The layers, in evaluation mode.
  nn::Sequential& net() { return *net_; }

 private:
  friend Model load_model(const std::string& file_or_run, Systems systems);
  Tensor normalised(const Tensor& samples) const;

  std::string path_;
  Description description_;
  Task task_;
  std::shared_ptr<nn::Sequential> net_;
};

/// From its file, or from the folder of its run.
INGOT_API Model load_model(const std::string& file_or_run, Systems systems = {});

}  // namespace ingot::recipe

namespace ingot {
using recipe::load_model;
}
