// What the data of a job is like, as far as a model depends on it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"

namespace ingot::recipe {

/// What a loss compares results with: numbers of classes, any numbers, or shares between 0 and 1.
enum class Targets { kLabels, kNumbers, kShares };

/// What the data is like, as far as a model depends on it; and what is needed to use the model without that data.
struct INGOT_API Task {
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

  std::string to_json() const;
  /// An Error if the text is damaged or contradicts itself.
  static Task from_json(const std::string& text);
  /// How many numbers a model gives per sample (or per token).
  int64_t results() const;
  /// How many numbers a sample has.
  int64_t inputs() const;
  /// What a class is called: its name, or its number.
  std::string class_name(int64_t number) const;
};

}  // namespace ingot::recipe
