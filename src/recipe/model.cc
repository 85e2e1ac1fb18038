#include "ingot/recipe/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ingot/base/error.h"
#include "ingot/base/memory_budget.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/job.h"
#include "ingot/recipe/run_folder.h"
#include "recipe/core_types.h"

namespace ingot::recipe {
namespace {

// What layers of a file may take for the two samples that they are tried on, besides a few times the weights that the
// file holds: a description may ask for anything.
constexpr uint64_t kActivationBytes = uint64_t{1} << 30;

// The inputs of a table: by the names of the training columns if it has them, else from where they stood in the table
// that was trained on, or all of as many columns as the model takes.
Tensor table_inputs(const std::string& path, const Task& task) {
  const io::Csv table = io::load_csv(path);
  const int64_t columns = table.values.size(1), wanted = task.inputs();
  if (!table.columns.empty() && !task.columns.empty())
    return index_select(table.values, Tensor::from(columns_named(table, task.columns)), 1);
  if (columns == wanted) return table.values;
  if (columns != task.table_columns)
    throw Error(ErrorKind::kShape,
                fmt::format("predict: \"{}\" has {} columns, the model takes {}", path, columns, wanted));
  return index_select(table.values, Tensor::from(task.column_numbers), 1);
}

// u8 as numbers between 0 and 1, if the model takes such.
Tensor as_numbers(const Tensor& x, const Task& task) {
  return x.dtype() == kU8 && task.input_type == kF32 ? multiply(to(contiguous(x), kF32), 1.0 / 255)
                                                     : to(x, task.input_type);
}

// A picture of another size is refused before its pixels are unpacked.
void check_size(const io::PngInfo& picture, const Task& task, const std::string& name) {
  const bool channels = task.input.size() == 3;
  if (channels ? picture.height == task.input[1] && picture.width == task.input[2]
               : picture.height * picture.width == task.inputs())
    return;
  throw Error(ErrorKind::kShape,
              fmt::format("predict: {} has {} x {} pixels, the model takes {}", name, picture.width, picture.height,
                          channels ? fmt::format("{} x {}", task.input[2], task.input[1])
                                   : fmt::format("{} numbers", task.inputs())));
}

// A picture [h, w] or [channels, h, w] with the channels that the model takes, [1, channels, h, w].
Tensor fitting_picture(Tensor picture, const Task& task, const std::string& name) {
  if (picture.rank() == 2) picture = reshape(picture, {1, picture.size(0), picture.size(1)});
  const bool channels = task.input.size() == 3;  // else pixels in a row
  const int64_t wanted = channels ? task.input[0] : 1;
  const bool has_alpha = picture.size(0) == 2 || picture.size(0) == 4;
  if (picture.size(0) != wanted && has_alpha) picture = slice(picture, 0, 0, picture.size(0) - 1);
  Tensor pixels = as_numbers(picture, task);
  if (wanted == 1 && pixels.size(0) == 3) pixels = mean(pixels, {0}, true);
  if (channels && pixels.shape() != task.input)
    throw Error(ErrorKind::kShape,
                fmt::format("predict: {} has {} x {} pixels in {} channels, the model takes {} x {} in {}", name,
                            pixels.size(2), pixels.size(1), pixels.size(0), task.input[2], task.input[1], wanted));
  return reshape(pixels, {1, pixels.size(0), pixels.size(1), pixels.size(2)});
}

// As many samples as there are numbers for, [n, …].
Tensor as_rows(const Tensor& x, const Task& task, const std::string& name) {
  const int64_t per_sample = task.inputs();
  if (x.numel() % per_sample != 0 || x.numel() == 0 ||
      (x.rank() > 1 && x.size(0) != x.numel() / per_sample && x.numel() != per_sample))
    throw Error(ErrorKind::kShape, fmt::format("predict: {} has the shape {}, the model takes samples of {}", name,
                                               to_string(x.shape()), to_string(task.input)));
  Dims shape{x.numel() / per_sample};
  for (const int64_t size : task.input) shape.push_back(size);
  return contiguous(reshape(x, shape));
}

Answer class_answer(const Task& task, const float* result) {
  const int64_t best = std::max_element(result, result + task.classes) - result;
  const auto weight = [&](int64_t c) { return std::exp(static_cast<double>(result[c] - result[best])); };
  Answer out{.label = best, .name = task.class_name(best)};
  double sum = 0;
  for (int64_t c = 0; c < task.classes; c++) sum += weight(c);
  for (int64_t c = 0; c < task.classes; c++) out.probabilities.push_back(weight(c) / sum);
  out.probability = out.probabilities[static_cast<size_t>(best)];
  return out;
}

// The largest of numbers that are none is the first, which would look like an answer.
void check_finite(std::span<const float> sample, std::span<const float> result, int64_t row) {
  const auto finite = [](float v) { return std::isfinite(v); };
  if (std::ranges::all_of(result, finite)) return;
  throw Error(
      ErrorKind::kNumeric,
      fmt::format("predict: {} for sample {}{}",
                  std::ranges::all_of(sample, finite) ? "the model's numbers are not finite" : "there is no answer",
                  row, std::ranges::all_of(sample, finite) ? "" : ", which holds numbers that are not finite"));
}

}  // namespace

Tensor Model::normalised(const Tensor& samples) const {
  if (task_.mean.empty()) return samples;
  Tensor out = clone(samples);
  std::vector<int64_t> rows(static_cast<size_t>(out.size(0)));
  std::iota(rows.begin(), rows.end(), 0);
  data::normalize(task_.mean, task_.deviation)->apply(out, out, rows, {});
  return out;
}

Tensor Model::load_inputs(const std::string& path) const {
  const std::string name = fmt::format("\"{}\"", path);
  if (path.ends_with(".png")) {
    check_size(io::png_info(path), task_, name);
    return as_rows(fitting_picture(io::load_png(path), task_, name), task_, name);
  }
  const Tensor x = path.ends_with(".npy") ? as_numbers(io::load_npy(path), task_) : table_inputs(path, task_);
  return as_rows(x, task_, name);
}

Answer Model::predict(const Tensor& sample) {
  const bool picture = (sample.rank() == 2 || sample.rank() == 3) && sample.shape() != task_.input;
  const Tensor x = picture && task_.input.size() == 3 ? fitting_picture(sample, task_, "the picture") : sample;
  if (x.numel() != task_.inputs())
    throw Error(ErrorKind::kShape, fmt::format("predict: a sample of {}, the model takes {} — predict_rows takes many",
                                               to_string(sample.shape()), to_string(task_.input)));
  return predict_rows(as_rows(x, task_, "the sample"))[0];
}

std::vector<Answer> Model::predict_rows(const Tensor& samples) {
  if (!task_.vocabulary.empty()) throw Error("predict: a model of text writes — give it a prompt, with write()");
  const Tensor x = normalised(as_rows(as_numbers(samples, task_), task_, "the tensor"));
  const Tensor y = contiguous((*net_)(x));
  const int64_t rows = x.size(0), width = y.numel() / rows;
  const LossType& loss = description_.catalogue->loss(description_.section("loss"));
  std::vector<Answer> out;
  for (int64_t row = 0; row < rows; row++) {
    const float* result = y.data<float>() + row * width;
    check_finite({x.data<float>() + row * task_.inputs(), static_cast<size_t>(task_.inputs())},
                 {result, static_cast<size_t>(width)}, row);
    if (task_.classes > 0) {
      out.push_back(class_answer(task_, result));
      continue;
    }
    Answer& answer = out.emplace_back();
    for (int64_t i = 0; i < task_.results(); i++) {
      const size_t column = task_.target_mean.size() > 1 ? static_cast<size_t>(i) : 0;
      const double plain = loss.shown != nullptr ? loss.shown(result[i]) : result[i];
      answer.numbers.push_back(
          task_.target_mean.empty() ? plain : result[i] * task_.target_deviation[column] + task_.target_mean[column]);
    }
  }
  return out;
}

std::string Model::write(const SamplingOptions& options, const std::function<void(char)>& each) {
  if (task_.vocabulary.empty()) throw Error("predict: only a model of text writes — this one takes samples");
  Plan plan = compile([&](const Tensor& x) { return net_->forward(x); }, {{{1, task_.input[0]}, kI64, "x"}});
  return sample_text(
      task_, task_.input[0], [&](const Tensor& x) { return plan.run(x)[0]; }, options, each);
}

Evaluation Model::evaluate(std::span<const std::string> sets) {
  std::vector<std::string> all(sets.begin(), sets.end());
  all.emplace_back("train.ema=0");  // the file has the averaged weights already
  const TrainedNet trained{task_, net_};
  Job job(parse_trained(path_, description_.toml(), all, description_.catalogue), {}, &trained);
  data::Loader& loader = job.test != nullptr ? *job.test : *job.train;
  Evaluation out{.samples = loader.samples(), .held_back = job.test != nullptr};
  out.scores = job.trainer->evaluate(loader);
  out.metrics = job.metric_names();
  net_->eval();
  return out;
}

Model load_model(const std::string& file_or_run, Systems systems) {
  Model m;
  m.path_ = file_or_run;
  if (is_run(file_or_run)) {
    for (const char* name : {"/best.safetensors", "/model.safetensors"})  // the former: training is under way
      if (m.path_ = file_or_run + name; is_file(m.path_)) break;
    if (!is_file(m.path_))
      throw Error(ErrorKind::kFile,
                  fmt::format("\"{}\" has no trained model yet — `ingot train {} --resume` goes on with it",
                              file_or_run, file_or_run));
  }
  const io::SafeTensors file = io::load_safetensors(m.path_);
  const auto text = file.metadata.find("ingot.description"), task = file.metadata.find("ingot.task");
  if (text != file.metadata.end() && file.metadata.count("ingot.own") != 0)
    throw Error(ErrorKind::kFile, fmt::format("\"{}\" is no model of samples — `ingot eval {}` says how good it is",
                                              m.path_, file_or_run));
  if (text == file.metadata.end() || task == file.metadata.end())
    throw Error(ErrorKind::kFile,
                fmt::format("\"{}\" has weights, but does not say of which model — give a file that `ingot train` "
                            "wrote",
                            m.path_));
  if (file.metadata.count("optimizer") != 0)  // a checkpoint's weights are those of the middle of a run
    throw Error(ErrorKind::kFile,
                fmt::format("\"{}\" is the checkpoint of a run, to go on with — give model.safetensors, "
                            "best.safetensors or the folder that they are in",
                            m.path_));
  m.description_ = parse_trained(m.path_, text->second, {}, std::make_shared<Catalogue>(std::move(systems)));
  m.task_ = Task::from_json(task->second);
  uint64_t held = 0;
  for (const NamedTensor& t : file.tensors) held += static_cast<uint64_t>(t.tensor.numel()) * sizeof(float);
  const MemoryBudget budget(4 * held + kActivationBytes);
  m.net_ = make_model(m.description_, m.task_);
  m.net_->load_state_dict(file.tensors);
  m.net_->eval();
  return m;
}

}  // namespace ingot::recipe
