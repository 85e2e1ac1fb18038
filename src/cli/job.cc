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

// The text that samples begin with must be made of characters that the model knows.
void check_prompt(const Settings& output, const Task& task) {
  if (task.vocabulary.empty() || output.integer("sample_length") == 0 || !output.has("sample_prompt")) return;
  const std::string& prompt = output.text("sample_prompt");
  if (prompt.empty()) output.fail("sample_prompt", "samples begin with at least one character");
  if (prompt.find_first_not_of(task.vocabulary) != std::string::npos)
    output.fail("sample_prompt", "the text to train on has not all of these characters — leave it out, or name others");
}

}  // namespace

Job::Job(Description d, const PlanOptions& plan, const Task* trained) : description(std::move(d)) {
  const Settings settings = description.settings("train");
  if (settings.integer("threads") > 0) set_threads(static_cast<int>(settings.integer("threads")));
  const int64_t seed = settings.integer("seed") + settings.integer("attempt"), batch = settings.integer("batch");

  const nn::Loss loss = make_loss(description.section("loss"));
  data = load_data(description.section("data"), batch, targets_of(description.section("loss")), trained);
  // An automaton runs on boards of any size.
  const bool same_boards = trained != nullptr && trained->visible > 0 && data.task.visible == trained->visible &&
                           data.task.input[0] == trained->input[0];
  if (trained != nullptr && !same_boards && (data.task.input != trained->input || data.task.target != trained->target))
    description.settings("data").fail(fmt::format(
        "the model takes samples of {} with targets of {}; this data has {} with {}", to_string(trained->input),
        to_string(trained->target), to_string(data.task.input), to_string(data.task.target)));
  if (trained == nullptr) check_prompt(description.settings("output"), data.task);
  if (data.train->size() < 1) description.settings("data").fail("there is nothing to train on");
  if ((loss.target == kI64) != (data.task.classes > 0))
    description.settings("loss").fail(fmt::format("the loss {} is for {}, but the target is {}", loss.name,
                                                  loss.target == kI64 ? "labels" : "numbers",
                                                  data.task.classes > 0 ? "a label" : "numbers"));
  if ((description.settings("loss").type() == "squared_error_sum") != (data.task.visible > 0))
    description.settings("loss").fail(
        "squared_error_sum is the loss of boards (life, checkerboard, grow), and of them only");
  nn::set_seed(seed);
  model = make_model(description.section("model"), data.task);
  metrics = metrics_for(data.task);

  std::vector<data::TransformPtr> transforms = data.augment;
  transforms.insert(transforms.end(), data.always.begin(), data.always.end());
  if (settings.number("ema") >= 1) settings.fail("ema", "\"ema\" must be below 1");
  const int prefetch = static_cast<int>(settings.integer("prefetch"));
  const int64_t size = data.train->size();
  const bool one_left = size % std::min(batch, size) == 1;  // which no batch norm can be trained with
  placed("data", [&] {
    train = std::make_unique<data::Loader>(*data.train, data::LoaderOptions{.batch = std::min(batch, size),
                                                                            .shuffle = data.shuffle,
                                                                            .drop_last = !data.shuffle || one_left,
                                                                            .seed = static_cast<uint64_t>(seed),
                                                                            .prefetch = prefetch,
                                                                            .transforms = transforms,
                                                                            .batches = settings.integer("batches")});
    const bool text = !data.shuffle && data.task.visible == 0;  // goes on from batch to batch: they must be of one size
    if (data.test != nullptr && data.test->size() > 0)
      test = std::make_unique<data::Loader>(*data.test, data::LoaderOptions{.batch = std::min(batch, data.test->size()),
                                                                            .drop_last = text,
                                                                            .prefetch = prefetch,
                                                                            .transforms = data.always});
  });
  placed("optimizer", [&] {
    trainer =
        std::make_unique<nn::Trainer>(*model, loss, make_optimizer(description.section("optimizer")),
                                      nn::TrainerOptions{.epochs = settings.integer("epochs"),
                                                         .schedule = make_schedule(description.section("schedule")),
                                                         .accumulate = settings.integer("accumulate"),
                                                         .ema = settings.number("ema"),
                                                         .patience = settings.integer("patience"),
                                                         .zeros = settings.integer("zeros"),
                                                         .seed = seed,
                                                         .metrics = metrics,
                                                         .keep_best = keeps_best(),
                                                         .plan = plan});
  });
}

void Job::placed(const char* section, const std::function<void()>& make) const {
  try {
    make();
  } catch (const PlacedError&) {
    throw;
  } catch (const Error& e) {
    description.settings(section).fail(e.what());
  }
}

bool Job::keeps_best() const {
  const Settings s = description.settings("train");
  return (s.integer("patience") > 0 || s.integer("zeros") > 0) && test != nullptr;
}

std::vector<std::string> Job::metric_names() const {
  std::vector<std::string> names;
  names.reserve(metrics.size());
  for (const nn::Metric& m : metrics) names.push_back(m.name);
  return names;
}

std::string Job::sample_prompt() const {
  const Settings output = description.settings("output");
  return output.has("sample_prompt") ? output.text("sample_prompt") : data.prompt;
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
  if (file.metadata.count("optimizer") != 0)  // a checkpoint's weights are those of the middle of a run
    throw Error(
        fmt::format("\"{}\" is the checkpoint of a run, to go on with — give model.safetensors, "
                    "best.safetensors or the folder that they are in",
                    m.path));
  m.description = parse_description(m.path, text->second);
  m.task = Task::from_json(task->second);
  m.model = make_model(m.description.section("model"), m.task);
  m.model->load_state_dict(file.tensors);
  m.model->eval();
  return m;
}

}  // namespace ingot::cli
