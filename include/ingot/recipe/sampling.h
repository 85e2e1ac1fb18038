// Text from a language model, character by character.
#pragma once
#include <functional>
#include <string>

#include "ingot/base/export.h"
#include "ingot/recipe/task.h"

namespace ingot::recipe {

struct SamplingOptions {
  std::string prompt = "\n";
  int64_t length = 300;      // characters after the prompt
  double temperature = 0.8;  // 0: always the likeliest
  int64_t seed = 0;
};

/// The character that a byte of a text belongs to, as an error can show it: "é", line break, or the byte as 0xff.
INGOT_API std::string shown_character(std::string_view text, size_t at);

/// What a model writes. `predict` gives logits [1, n, classes] for characters [1, n]; the model sees the last `window`.
INGOT_API std::string sample_text(const Task& task, int64_t window, const std::function<Tensor(const Tensor&)>& predict,
                                  const SamplingOptions& options, const std::function<void(char)>& each = {});

}  // namespace ingot::recipe
