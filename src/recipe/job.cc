#include "ingot/recipe/job.h"

#include <fmt/format.h>

#include "ingot/base/error.h"
#include "ingot/base/threads.h"
#include "recipe/auto_batch.h"
#include "recipe/core_types.h"

namespace ingot::recipe {
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

// A trained model takes samples of one shape; where the source says so, of any height and width.
void check_samples(const Settings& of_data, const SourceType& source, const Task& task, const Task& trained) {
  const auto alike = [](const Dims& a, const Dims& b) { return a.size() == 3 && b.size() == 3 && a[0] == b[0]; };
  if (source.any_size && alike(task.input, trained.input) && alike(task.target, trained.target)) return;
  if (task.input != trained.input || task.target != trained.target)
    of_data.fail(
        fmt::format("the model takes samples of {} with targets of {}; this data has {} with {}",
                    to_string(trained.input), to_string(trained.target), to_string(task.input), to_string(task.target)),
        ErrorKind::kShape);
}

// Some sources have a loss of their own, and it has no others.
void check_loss(const Description& d, const SourceType& source, const LossType& loss) {
  const std::string_view type = loss.choice.type;
  if (source.loss != nullptr ? type == source.loss : loss.of == nullptr) return;
  const LossType* own = &loss;
  Value named = record({{"type", source.loss != nullptr ? source.loss : loss.choice.type}});
  if (source.loss != nullptr) own = &d.catalogue->loss(named);
  std::string sources;
  for (const std::string& name : d.catalogue->sources_with(*own)) sources += (sources.empty() ? "" : ", ") + name;
  d.settings("loss").fail(fmt::format("{} is the loss of {} ({}), and of them only", own->choice.type,
                                      own->of != nullptr ? own->of : "data", sources));
}

}  // namespace

Job::Job(Description d, const PlanOptions& plan, const TrainedNet* trained)
    : description(std::move(d)), kind(description.catalogue->kind_of(description)) {
  if (kind != nullptr && kind->begin != nullptr)
    throw Error(fmt::format("{}: this is {}, which has no training step over a dataset — `ingot train` runs it",
                            description.name, kind->about));
  const Settings settings = description.settings("train"), of_data = description.settings("data");
  const Settings of_loss = description.settings("loss");
  if (settings.integer("threads") > 0) set_threads(static_cast<int>(settings.integer("threads")));
  threads();  // what INGOT_THREADS says is checked here: it is no fault of the description's
  if (settings.value("batch").type == Value::Type::kText) choose_batch(trained);
  const int64_t seed = kind != nullptr && kind->seed != nullptr ? kind->seed(description) : settings.integer("seed");

  const Catalogue& catalogue = *description.catalogue;
  const LossType& loss_type = catalogue.loss(of_loss.table());
  const SourceType& source_type = catalogue.source(of_data.table());
  const nn::Loss loss = loss_type.make(of_loss);
  data = load_data(of_data.table(), catalogue, settings.integer("batch"), loss_type.targets,
                   trained != nullptr ? &trained->task : nullptr);
  if (trained != nullptr) check_samples(of_data, source_type, data.task, trained->task);
  if (trained == nullptr) check_prompt(description.settings("output"), data.task);
  if (data.train->size() < 1) of_data.fail("there is nothing to train on");
  if ((loss.target == kI64) != (data.task.classes > 0))
    of_loss.fail(fmt::format("the loss {} is for {}, but the target is {}", loss.name,
                             loss.target == kI64 ? "labels" : "numbers",
                             data.task.classes > 0 ? "a label" : "numbers"));
  check_loss(description, source_type, loss_type);
  const nn::SeedScope initial_values(seed);
  const bool same_net = trained != nullptr && trained->net != nullptr && trained->task.rows == data.task.rows;
  model = same_net ? trained->net : make_model(description, data.task);
  if (trained != nullptr && trained->net != nullptr && !same_net) model->load_state_dict(trained->net->state_dict());
  metrics = metrics_for(data.task);
  if (settings.number("ema") >= 1) settings.fail("ema", "\"ema\" must be below 1");
  placed("data", [&] { make_loaders(seed); });
  placed("optimizer", [&] { make_trainer(loss, seed, plan); });
}

// Data and layers may depend on the batch, so a job of another size is asked, and everything is made anew: as if the
// number had been given.
void Job::choose_batch(const TrainedNet* trained) {
  constexpr int64_t kSize = 32;
  Value& batch = *description.root.find("train")->find("batch");
  const auto set = [&, place = batch.place](int64_t number) {
    batch = number;
    batch.place = place;
  };
  set(kSize);
  const Job sized(description, {.threads = 1}, trained);
  BatchChoice choice;
  try {
    choice = recipe::choose_batch(sized);
  } catch (const Error& e) {
    description.settings("train").fail("batch", e.what(), e.kind());
  }
  set(choice.batch);
  batch_reason = std::move(choice.why);
}

void Job::make_loaders(int64_t seed) {
  const Settings settings = description.settings("train");
  std::vector<data::TransformPtr> transforms = data.augment;
  transforms.insert(transforms.end(), data.always.begin(), data.always.end());
  const int prefetch = static_cast<int>(settings.integer("prefetch"));
  const int64_t size = data.train->size(), batch = settings.integer("batch");
  const bool one_left = size % std::min(batch, size) == 1;  // which no batch norm can be trained with
  train = std::make_unique<data::Loader>(*data.train, data::LoaderOptions{.batch = std::min(batch, size),
                                                                          .shuffle = data.shuffle,
                                                                          .drop_last = !data.shuffle || one_left,
                                                                          .seed = static_cast<uint64_t>(seed),
                                                                          .prefetch = prefetch,
                                                                          .transforms = transforms,
                                                                          .batches = settings.integer("batches")});
  const bool goes_on = data.task.rows > 0;  // from batch to batch: they must be of one size
  if (data.test != nullptr && data.test->size() > 0)
    test = std::make_unique<data::Loader>(*data.test, data::LoaderOptions{.batch = std::min(batch, data.test->size()),
                                                                          .drop_last = goes_on,
                                                                          .prefetch = prefetch,
                                                                          .transforms = data.always});
}

void Job::make_trainer(const nn::Loss& loss, int64_t seed, const PlanOptions& plan) {
  const Settings settings = description.settings("train");
  nn::TrainerOptions options{.epochs = settings.integer("epochs"),
                             .schedule = make_schedule(description.section("schedule")),
                             .accumulate = settings.integer("accumulate"),
                             .ema = settings.number("ema"),
                             .patience = settings.integer("patience"),
                             .seed = seed,
                             .metrics = metrics,
                             .plan = plan};
  if (kind != nullptr && kind->enough != nullptr) options.enough = kind->enough(description);
  options.keep_best = true;
  trainer = std::make_unique<nn::Trainer>(*model, loss, make_optimizer(description.section("optimizer")), options);
}

void Job::placed(const char* section, const std::function<void()>& make) const {
  try {
    make();
  } catch (const Error& e) {
    description.settings(section).fail(e);
  }
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

}  // namespace ingot::recipe
