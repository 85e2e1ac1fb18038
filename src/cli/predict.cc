// `ingot predict`: what a trained model makes of new inputs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/commands.h"
#include "cli/job.h"
#include "cli/learning.h"
#include "cli/sampling.h"
#include "cli/terminal.h"
#include "ingot/error.h"
#include "ingot/functions.h"
#include "ingot/ops.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

int64_t count_of(const Dims& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

// The inputs of a table: by the names of the training columns if it has them, else from where they stood in the table
// that was trained on, or all of as many columns as the model takes.
Tensor table_inputs(const std::string& path, const Task& task) {
  const io::Csv table = io::load_csv(path);
  const int64_t columns = table.values.size(1), wanted = count_of(task.input);
  if (!table.columns.empty() && !task.columns.empty())
    return index_select(table.values, Tensor::from(columns_named(table, task.columns)), 1);
  if (columns == wanted) return table.values;
  if (columns != task.table_columns)
    throw Error(fmt::format("predict: \"{}\" has {} columns, the model takes {}", path, columns, wanted));
  return index_select(table.values, Tensor::from(task.column_numbers), 1);
}

// Pixels between 0 and 1, in the shape that the model takes.
Tensor picture_input(const std::string& path, const Task& task) {
  Tensor picture = io::load_png(path);
  if (picture.rank() == 2) picture = reshape(picture, {1, picture.size(0), picture.size(1)});
  const bool channels = task.input.size() == 3;  // else pixels in a row
  const int64_t wanted = channels ? task.input[0] : 1;
  const auto has_alpha = [&] { return picture.size(0) == 2 || picture.size(0) == 4; };
  if (picture.size(0) != wanted && has_alpha()) picture = slice(picture, 0, 0, picture.size(0) - 1);
  Tensor pixels = multiply(to(contiguous(picture), kF32), 1.0 / 255);
  if (wanted == 1 && pixels.size(0) == 3) pixels = mean(pixels, {0}, true);
  if (channels && pixels.shape() != task.input)
    throw Error(fmt::format("predict: \"{}\" has {} x {} pixels in {} channels, the model takes {} x {} in {}", path,
                            pixels.size(2), pixels.size(1), pixels.size(0), task.input[2], task.input[1], wanted));
  return reshape(pixels, {1, pixels.size(0), pixels.size(1), pixels.size(2)});
}

Tensor load_inputs(const std::string& path, const Task& task) {
  Tensor x;
  if (path.ends_with(".png")) {
    x = picture_input(path, task);
  } else if (path.ends_with(".npy")) {
    x = io::load_npy(path);
    x = x.dtype() == kU8 && task.input_type == kF32 ? multiply(to(x, kF32), 1.0 / 255) : to(x, task.input_type);
  } else {
    x = table_inputs(path, task);
  }
  const int64_t per_sample = count_of(task.input);
  if (x.numel() % per_sample != 0 || x.numel() == 0 ||
      (x.rank() > 1 && x.size(0) != x.numel() / per_sample && x.numel() != per_sample))
    throw Error(fmt::format("predict: \"{}\" has the shape {}, the model takes samples of {}", path,
                            to_string(x.shape()), to_string(task.input)));
  Dims shape{x.numel() / per_sample};
  for (const int64_t size : task.input) shape.push_back(size);
  x = contiguous(reshape(x, shape));
  std::vector<int64_t> samples(static_cast<size_t>(x.size(0)));
  std::iota(samples.begin(), samples.end(), 0);
  if (!task.mean.empty()) data::normalize(task.mean, task.deviation)->apply(x, x, samples, {});
  return x;
}

std::string class_name(const Task& task, int64_t number) {
  const auto i = static_cast<size_t>(number);
  return i < task.class_names.size() ? task.class_names[i] : std::to_string(number);
}

void print_row(const TrainedModel& trained, const std::string& path, int64_t row, const float* result, bool json) {
  const Task& task = trained.task;
  Json out = {{"input", path}, {"row", row}};
  std::string text = fmt::format("{} {:>5}  ", path, row);
  if (task.classes > 0) {
    const int64_t best = std::max_element(result, result + task.classes) - result;
    std::vector<double> shares;
    double sum = 0;
    for (int64_t c = 0; c < task.classes; c++) sum += std::exp(static_cast<double>(result[c] - result[best]));
    for (int64_t c = 0; c < task.classes; c++)
      shares.push_back(std::exp(static_cast<double>(result[c] - result[best])) / sum);
    out["class"] = class_name(task, best);
    out["probability"] = shares[static_cast<size_t>(best)];
    out["probabilities"] = shares;
    text += fmt::format("{:<12} {:5.1f} %", printable(class_name(task, best)), 100 * shares[static_cast<size_t>(best)]);
  } else {
    std::vector<double> numbers;
    for (int64_t i = 0; i < task.results(); i++) {
      const size_t column = task.target_mean.size() > 1 ? static_cast<size_t>(i) : 0;
      numbers.push_back(task.target_mean.empty()
                            ? shown_result(trained.description.section("loss"), result[i])
                            : result[i] * task.target_deviation[column] + task.target_mean[column]);
      text += fmt::format("{}{:.6g}", i == 0 ? "" : " ", numbers.back());
    }
    out["prediction"] = numbers;
  }
  fmt::print("{}\n", json ? out.dump() : text);
}

int write_text(TrainedModel& trained, const PredictOptions& o) {
  const Task& task = trained.task;
  const SamplingOptions options{.prompt = o.prompt, .length = o.length, .temperature = o.temperature, .seed = o.seed};
  Plan plan = compile([&](const Tensor& x) { return trained.model->forward(x); }, {{{1, task.input[0]}, kI64, "x"}});
  bool begun = false;  // the prompt is shown once it is known to be one
  const std::string text = sample_text(
      task, task.input[0], [&](const Tensor& x) { return plan.run(x)[0]; }, options,
      [&](char c) {
        if (o.json) return;
        if (!begun) fmt::print("{}", o.prompt);
        begun = true;
        std::fputc(c, stdout);
        std::fflush(stdout);
      });
  if (o.json)
    fmt::print("{}\n", Json{{"prompt", o.prompt}, {"text", text}}.dump(-1, ' ', false, Json::error_handler_t::replace));
  else
    fmt::print("\n");
  return 0;
}

}  // namespace

int predict(const PredictOptions& o) {
  TrainedModel trained = load_model(o.model);
  if (!trained.task.vocabulary.empty()) {
    if (!o.inputs.empty())
      throw Error(
          fmt::format("predict: a model of text takes no file \"{}\" — say what to begin with: --prompt", o.inputs[0]));
    return write_text(trained, o);
  }
  if (o.inputs.empty()) throw Error("predict: give inputs: tables (.csv), arrays (.npy) or pictures (.png)");
  for (const std::string& path : o.inputs) {
    const Tensor x = load_inputs(path, trained.task);
    const Tensor y = contiguous((*trained.model)(x));
    const int64_t rows = x.size(0), width = y.numel() / rows;
    for (int64_t row = 0; row < rows; row++) print_row(trained, path, row, y.data<float>() + row * width, o.json);
  }
  return 0;
}

}  // namespace ingot::cli
