#include "ingot/recipe/data_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/page.h"
#include "recipe/core_types.h"
#include "recipe/scaling.h"

namespace ingot::recipe {
namespace {

std::string shape_words(const Dims& shape) {
  std::string out;
  for (const int64_t size : shape) out += (out.empty() ? "" : " x ") + std::to_string(size);
  return out;
}

// Targets in the shape and type that the loss takes.
Tensor as_targets(const Settings& s, const Tensor& y, Targets targets, Task& task, const Task* trained) {
  if (targets == Targets::kLabels) {
    int64_t classes = 0;
    Tensor labels = labels_of(s, y, classes);
    if (trained != nullptr && classes > trained->classes)
      s.fail(fmt::format("there is a label {}, but the model knows {} classes: 0 to {}", classes - 1, trained->classes,
                         trained->classes - 1));
    task.classes = std::max(
        {task.classes, classes, static_cast<int64_t>(task.class_names.size()), trained ? trained->classes : 0});
    return labels;
  }
  Tensor numbers = task.reconstructs ? y : to(y.rank() == 1 ? reshape(y, {y.size(0), 1}) : y, kF32);
  if (targets == Targets::kShares) check_shares(s, to(numbers, kF32));
  return numbers;
}

// A file that is missing or broken is the fault of the key that names it.
[[noreturn]] void blame(const Settings& s, const Error& e) {
  const std::string what = e.what();
  if (dynamic_cast<const PlacedError*>(&e) == nullptr)
    for (const Entry& key : s.table().table)
      if (key.value.type == Value::Type::kText && key.key != "type" && !key.value.text.empty() &&
          what.find(key.value.text) != std::string::npos)
        fail_at(key.value.place, what, e.kind());
  s.fail(e);
}

// Names are part of every file that a run writes, and those are UTF-8.
void check_names(const Settings& s, const Task& task) {
  const auto check = [&](const std::vector<std::string>& names, const char* of) {
    for (size_t i = 0; i < names.size(); i++)
      if (!is_utf8(names[i]))
        s.fail(fmt::format("the name of {} {}, {}, is no UTF-8 — save the file as UTF-8, or rename it", of, i,
                           in_quotes(valid_utf8(names[i]))),
               ErrorKind::kFile);
  };
  check(task.columns, "column");
  check(task.class_names, "class");
}

}  // namespace

DataSource source_of(const SourceRequest& r, Samples samples) {
  const Settings& s = r.s;
  const Targets targets = r.targets;
  const Task* const trained = r.trained;
  DataSource out;
  Task& task = out.task;
  task.reconstructs = s.flag("reconstruct");
  task.class_names = samples.class_names;
  task.columns = samples.columns;
  task.column_numbers = samples.column_numbers, task.table_columns = samples.table_columns;
  out.guessed = samples.guessed;
  if (task.reconstructs) samples.y = samples.x, samples.test_y = samples.test_x;
  if (!samples.y.defined()) s.fail("there are inputs but no targets — name them, or set reconstruct = true");
  if (samples.x.size(0) != samples.y.size(0))
    s.fail(fmt::format("there are {} inputs but {} targets", samples.x.size(0), samples.y.size(0)));
  if (samples.test_x.defined() != samples.test_y.defined()) s.fail("to test with, there must be inputs and targets");
  samples.y = as_targets(s, samples.y, targets, task, trained);
  if (samples.test_y.defined()) samples.test_y = as_targets(s, samples.test_y, targets, task, trained);

  const double held_back = s.number("held_back");
  const auto seed = static_cast<uint64_t>(s.integer("seed"));
  const auto part = [&] {
    if (samples.test_x.defined()) {
      out.train = std::make_unique<data::TensorDataset>(samples.x, samples.y);
      out.test = std::make_unique<data::TensorDataset>(samples.test_x, samples.test_y);
    } else if (held_back > 0) {
      out.whole = std::make_unique<data::TensorDataset>(samples.x, samples.y);
      data::Split parts = data::split(*out.whole, held_back, seed);
      out.train = std::make_unique<data::Subset>(std::move(parts.train));
      out.test = std::make_unique<data::Subset>(std::move(parts.test));
    } else {
      out.train = std::make_unique<data::TensorDataset>(samples.x, samples.y);
    }
  };
  part();
  // Both to the scale of what a model begins with. A trained one stays with the scale that it has learned.
  const bool normalize = s.flag("normalize") && trained == nullptr;
  Scale scale;
  if (trained != nullptr) scale = {trained->target_mean, trained->target_deviation};
  if (normalize && targets == Targets::kNumbers && !task.reconstructs) scale = target_scale(*out.train);
  task.target_mean = scale.mean, task.target_deviation = scale.deviation;
  if (!scale.mean.empty()) {
    const Tensor mean = Tensor::from(scale.mean), deviation = Tensor::from(scale.deviation);
    samples.y = divide(subtract(samples.y, mean), deviation);
    if (samples.test_y.defined()) samples.test_y = divide(subtract(samples.test_y, mean), deviation);
    part();
  }
  scale = {};
  if (trained != nullptr) scale = {trained->mean, trained->deviation};
  if (normalize && out.train->input().dtype == kF32) scale = input_scale(*out.train);
  task.mean = scale.mean, task.deviation = scale.deviation;
  if (!scale.mean.empty()) out.always.push_back(data::normalize(scale.mean, scale.deviation));
  // What is trained on shows in the loss; what is tested with would only make a score of nothing.
  const data::Dataset* tested = out.test != nullptr ? out.test.get() : trained != nullptr ? out.train.get() : nullptr;
  if (tested != nullptr && tested->input().dtype == kF32) input_scale(*tested);
  if (tested != nullptr && targets == Targets::kNumbers) target_scale(*tested);
  return out;
}

std::span<const SourceType> core_sources() {
  static const std::vector<SourceType> all = [] {
    std::vector<SourceType> rows = file_sources();
    rows.push_back({{"text",
                     "a text, of which the model learns to say the next character",
                     {{"file", Kind::kPath, "", "the text"},
                      {"length", Kind::kInteger, "64", "characters in a sample", 1, 65536},
                      {"continuous", Kind::kBoolean, "false",
                       "samples follow each other in `batch` rows, for recurrent layers that keep their state; else "
                       "they begin anywhere"},
                      {"held_back", Kind::kNumber, "0.1",
                       "share of the text, its end, that is not trained on but tested with", 0, 0.9}}},
                    load_text});
    return rows;
  }();
  return all;
}

DataSource load_data(const Value& section, const Catalogue& catalogue, int64_t batch, Targets targets,
                     const Task* trained) {
  const Settings s(section);
  DataSource out;
  try {
    const bool text = s.type() == std::string_view("text");
    if (trained != nullptr && text != !trained->vocabulary.empty())
      s.fail(fmt::format("the model is {} of text", trained->vocabulary.empty() ? "none" : "one"));
    out = catalogue.source(section).load({s, catalogue, batch, targets, trained});
    for (const Value& each : s.value("transforms").list) {
      out.augment.push_back(make_transform(each));
      const Settings transform(each);
      if (transform.type() == "crop")
        out.always.insert(out.always.begin(),
                          data::center_crop(transform.integer("height"), transform.integer("width")));
    }
  } catch (const Error& e) {
    blame(s, e);
  }
  check_names(s, out.task);
  const InputSpec input = out.train->input();
  out.task.input = input.shape;
  out.task.input_type = input.dtype;
  out.task.target = out.train->target().shape;
  for (const data::TransformPtr& t : out.always) out.task.input = t->shape(out.task.input);
  if (!out.about.empty()) return out;
  out.about = fmt::format("{} samples of {}{}", grouped(out.train->size()), shape_words(out.task.input),
                          out.task.vocabulary.empty() ? "" : " characters");
  if (out.test != nullptr) out.about += fmt::format(", {} to test with", grouped(out.test->size()));
  if (!out.guessed.empty()) out.about += "; " + out.guessed;
  return out;
}

std::string read_source(const std::string& path, const Catalogue& catalogue) {
  if (!path.starts_with("recipe:")) return io::read_file(path);
  const EmbeddedFile* file = catalogue.file(path.substr(7));
  if (file == nullptr) throw Error(ErrorKind::kFile, fmt::format("the program has no file \"{}\"", path.substr(7)));
  return std::string(file->text);
}

std::string cache_folder(const std::string& name) {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (cache != nullptr && *cache != '\0') return std::string(cache) + "/ingot/" + name;
  return std::string(home != nullptr ? home : ".") + "/.cache/ingot/" + name;
}

}  // namespace ingot::recipe
