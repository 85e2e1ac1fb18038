#include "cli/job.h"

#include <fmt/format.h>

#include "cli/learning.h"
#include "cli/run_folder.h"
#include "ingot/error.h"
#include "ingot/threads.h"

namespace ingot::cli {
namespace {

std::vector<nn::Metric> metrics_for(const Task& task) {
  if (task.classes > 0) return {nn::accuracy_metric()};
  return {};
}

}  // namespace

Job::Job(Description d, const PlanOptions& plan) : description(std::move(d)) {
  const Settings settings = description.settings("train");
  if (settings.integer("threads") > 0) set_threads(static_cast<int>(settings.integer("threads")));
  const int64_t seed = settings.integer("seed"), batch = settings.integer("batch");

  const nn::Loss loss = make_loss(description.section("loss"));
  data = load_data(description.section("data"), batch, loss.target == kI64);
  if (data.train->size() < 1) description.settings("data").fail("there is nothing to train on");
  if ((loss.target == kI64) != (data.task.classes > 0))
    description.settings("loss").fail(fmt::format("the loss {} is for {}, but the target is {}", loss.name,
                                                  loss.target == kI64 ? "labels" : "numbers",
                                                  data.task.classes > 0 ? "a label" : "numbers"));
  nn::set_seed(seed);
  model = make_model(description.section("model"), data.task);
  metrics = metrics_for(data.task);

  std::vector<data::TransformPtr> transforms = data.augment;
  transforms.insert(transforms.end(), data.always.begin(), data.always.end());
  const int prefetch = static_cast<int>(settings.integer("prefetch"));
  train = std::make_unique<data::Loader>(*data.train, data::LoaderOptions{.batch = std::min(batch, data.train->size()),
                                                                          .shuffle = data.shuffle,
                                                                          .drop_last = !data.shuffle,
                                                                          .seed = static_cast<uint64_t>(seed),
                                                                          .prefetch = prefetch,
                                                                          .transforms = transforms,
                                                                          .batches = settings.integer("batches")});
  if (data.test != nullptr && data.test->size() > 0)
    test = std::make_unique<data::Loader>(*data.test, data::LoaderOptions{.batch = std::min(batch, data.test->size()),
                                                                          .drop_last = !data.shuffle,
                                                                          .prefetch = prefetch,
                                                                          .transforms = data.always});
  trainer = std::make_unique<nn::Trainer>(*model, loss, make_optimizer(description.section("optimizer")),
                                          nn::TrainerOptions{.epochs = settings.integer("epochs"),
                                                             .schedule = make_schedule(description.section("schedule")),
                                                             .accumulate = settings.integer("accumulate"),
                                                             .ema = settings.number("ema"),
                                                             .patience = settings.integer("patience"),
                                                             .seed = seed,
                                                             .metrics = metrics,
                                                             .plan = plan});
}

std::vector<std::string> Job::metric_names() const {
  std::vector<std::string> names;
  names.reserve(metrics.size());
  for (const nn::Metric& m : metrics) names.push_back(m.name);
  return names;
}

io::Metadata Job::metadata() const {
  return {
      {"ingot.description", description.toml()}, {"ingot.name", description.name}, {"ingot.task", data.task.to_json()}};
}

TrainedModel load_model(const std::string& file_or_run) {
  TrainedModel m;
  m.path = file_or_run;
  if (is_run(file_or_run)) {
    for (const char* name : {"/model.safetensors", "/best.safetensors"})
      if (m.path = file_or_run + name; is_file(m.path)) break;
    if (!is_file(m.path))
      throw Error(fmt::format("\"{}\" has no trained model yet — `ingot train {} --resume` goes on with it",
                              file_or_run, file_or_run));
  }
  const io::SafeTensors file = io::load_safetensors(m.path);
  const auto text = file.metadata.find("ingot.description"), task = file.metadata.find("ingot.task");
  if (text == file.metadata.end() || task == file.metadata.end())
    throw Error(fmt::format(
        "\"{}\" has weights, but does not say of which model — give a file that `ingot train` wrote", m.path));
  m.description = parse_description(m.path, text->second);
  m.task = Task::from_json(task->second);
  m.model = make_model(m.description.section("model"), m.task);
  m.model->load_state_dict(file.tensors);
  m.model->eval();
  return m;
}

}  // namespace ingot::cli
