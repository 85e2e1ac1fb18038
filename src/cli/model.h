// Models from a list of layers. A layer's input size comes from what stands before it, so that a user rarely writes
// one.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cli/keys.h"
#include "ingot/module.h"

namespace ingot::cli {

/// What a loss compares results with: numbers of classes, any numbers, or shares between 0 and 1.
enum class Targets { kLabels, kNumbers, kShares };

/// What the data is like, as far as a model depends on it; and what is needed to use the model without that data.
struct Task {
  Dims input, target;  // shapes of one sample; {} is a label or a single number
  DType input_type = kF32;
  int64_t classes = 0;                               // 0: numbers are predicted
  std::vector<std::string> class_names;              // of pictures in folders, of a text column
  std::vector<std::string> columns;                  // of a table's inputs
  std::vector<int64_t> column_numbers;               // where they stand in a table
  int64_t table_columns = 0;                         // of so many; 0: the data was no table
  std::vector<float> mean, deviation;                // what inputs were normalised with
  std::vector<float> target_mean, target_deviation;  // one for all numbers of a target, or one each
  std::string vocabulary;                            // of a text: the characters, in the order of their numbers
  int64_t rows = 0;           // continuous text: rows of a batch, each going on where it ended; 0: none
  bool reconstructs = false;  // the target is the input
  int64_t visible = 0;        // of an automaton: the target is that of the first so many channels; 0: it is none

  std::string to_json() const;
  /// An Error if the text is damaged or contradicts itself.
  static Task from_json(const std::string& text);
  /// How many numbers a model gives per sample (or per token).
  int64_t results() const;
};

/// The types of layers.
Choices layer_choices();

/// The layers of a completed [model] one after the other. Shapes are tried out with zeros: an Error points at the layer
/// that does not fit.
std::shared_ptr<nn::Sequential> make_model(const Value& section, const Task& task);
/// Lets recurrent layers over continuous text begin anew.
void reset_state(nn::Sequential& model);

}  // namespace ingot::cli
