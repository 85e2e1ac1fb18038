#include "ingot/recipe/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ingot/base/error.h"
#include "ingot/base/random.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/terminal.h"

namespace ingot::recipe {
namespace {

constexpr uint64_t kStream = 0x7465787473;  // of sampling

// The character that a uniform number falls on when each has a share of exp(logit / temperature).
size_t draw(const float* logits, size_t count, double temperature, double uniform) {
  const size_t likeliest = static_cast<size_t>(std::max_element(logits, logits + count) - logits);
  if (temperature <= 0) return likeliest;
  const auto weight = [&](size_t i) { return std::exp((logits[i] - logits[likeliest]) / temperature); };
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += weight(i);
  double left = uniform * sum;
  for (size_t i = 0; i < count; i++)
    if ((left -= weight(i)) < 0) return i;
  return likeliest;
}

}  // namespace

std::string shown_character(std::string_view text, size_t at) {
  const auto goes_on = [&](size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  size_t begin = at, end = at + 1;
  while (begin > 0 && at - begin < 3 && goes_on(begin)) begin--;
  while (goes_on(end)) end++;
  const std::string_view character = text.substr(begin, end - begin);
  if (character == "\n") return "line break";
  if (character == "\t") return "tab";
  if (printable(character) == character) return fmt::format("\"{}\"", character);
  return fmt::format("0x{:02x}", static_cast<unsigned char>(text[at]));
}

std::string sample_text(const Task& task, int64_t window, const std::function<Tensor(const Tensor&)>& predict,
                        const SamplingOptions& options, const std::function<void(char)>& each) {
  std::vector<int64_t> tokens;
  for (size_t i = 0; i < options.prompt.size(); i++) {
    const size_t number = task.vocabulary.find(options.prompt[i]);
    if (number == std::string::npos)
      throw Error(fmt::format("predict: the model has never seen the character {} of the prompt",
                              shown_character(options.prompt, i)));
    tokens.push_back(static_cast<int64_t>(number));
  }
  if (tokens.empty())
    throw Error("predict: an empty prompt — begin with at least one character, a line break for instance");

  // Always a whole window, so that one plan serves all: what stands behind the last character cannot be seen by it.
  const Tensor x = full({1, window}, 0, kI64);
  std::string text;
  for (int64_t i = 0; i < options.length; i++) {
    const auto seen = std::min<int64_t>(window, static_cast<int64_t>(tokens.size()));
    std::copy(tokens.end() - seen, tokens.end(), x.data<int64_t>());
    const Tensor logits = contiguous(predict(x));
    double u = 0;
    fill_uniform(&u, 1, i, 0.0, 1.0, {static_cast<uint64_t>(options.seed), kStream});
    const size_t next = draw(logits.data<float>() + (seen - 1) * task.classes, static_cast<size_t>(task.classes),
                             options.temperature, u);
    tokens.push_back(static_cast<int64_t>(next));
    text += task.vocabulary[next];
    if (each) each(task.vocabulary[next]);
  }
  return text;
}

}  // namespace ingot::recipe
